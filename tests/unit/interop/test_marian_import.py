"""MarianMT folders that transformers wrote, imported: the same ids, logits and translations as transformers gives."""

import warnings
from pathlib import Path

import pytest
import torch
from marian_folders import ENGLISH, GERMAN, make_marian_folder, transformers
from safetensors.torch import load_file

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.cli import main
from interlingua.interop.import_model import import_model
from interlingua.interop.plain_search import plain_search
from interlingua.translator import Translator

CASES = {
    "tied": {},
    "separate vocabularies": {"separate": True},
    "12+1 relu": {
        "encoder_layers": 12,
        "decoder_layers": 1,
        "activation_function": "relu",
        "d_model": 16,
    },
    "6+6 gelu": {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "activation_function": "gelu",
        "kind": "bpe",
    },
    "no bias": {"bias": False},
    "output apart": {"tie_word_embeddings": False},
    "bytes": {"byte_fallback": True},
}
HARD = [
    *ENGLISH,
    "",
    " ",
    "two  spaces   here ",
    "日本 unknown 語 語語",
    "ﬁne ①  ￼ ½ — \u200b\t tab",
    ">>fra<< the cat",
    ">>xx<< the cat",
    ">>broken the cat",
    "the ü ß ä cat",
    "Garten schläft",
    "a\u2581b ▁ c",
]


def load_theirs(folder: Path) -> tuple[object, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        model = transformers.MarianMTModel.from_pretrained(folder, attn_implementation="eager")
    return model.eval(), tokenizer


@pytest.mark.parametrize("name", CASES)
def test_ids_logits_and_translations_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    tags = (">>fra<<", ">>deu<<") if name == "tied" else ()
    folder = make_marian_folder(tmp_path / "theirs", tags=tags, **CASES[name])
    import_model(folder, tmp_path / "ours")
    ours, (model, tokenizer) = Translator.load(tmp_path / "ours", device="cpu"), load_theirs(folder)
    source, target = ours.tokenizers.source, ours.tokenizers.target

    for text in HARD:
        wanted = tokenizer(text).input_ids  # type: ignore[operator]
        assert [*source.encode(text).ids, source.end_id] == wanted, text
        assert source.encode_batch([text])[0] == source.encode(text).ids
    for text in [*GERMAN, *HARD]:
        wanted = tokenizer(text_target=text).input_ids  # type: ignore[operator]
        assert [*target.encode(text).ids, target.end_id] == wanted, text

    batch = tokenizer(ENGLISH, padding=True, return_tensors="pt")  # type: ignore[operator]
    target_in = torch.randint(2, target.vocabulary_size - 1, (len(ENGLISH), 9))
    target_in[:, 0] = target.begin_id
    with torch.inference_mode():
        theirs = model(**batch, decoder_input_ids=target_in).logits  # type: ignore[operator]
        mine = ours.model(batch.input_ids, target_in)
    assert (mine - theirs).abs().max() <= 1e-5 * max(1.0, float(theirs.abs().max()))

    for beam_size in (1, 4):
        written = model.generate(  # type: ignore[attr-defined]
            **batch,
            num_beams=beam_size,
            length_penalty=0.0,
            do_sample=False,
            max_new_tokens=25,
            early_stopping=False,
        )
        found = plain_search(
            ours.model,
            batch.input_ids,
            begin_id=target.begin_id,
            end_id=target.end_id,
            never=[target.pad_id],
            beam_size=beam_size,
            max_length=25,
        )
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)  # type: ignore[attr-defined]
        assert [target.decode(each.ids) for each in found] == texts
        if beam_size == 1:
            lines = ours.translate(ENGLISH, beam_size=1)
            short = [each for each in lines if each.stopped == "end" and len(each.tokens) < 25]
            assert all(each.text in texts for each in short)


@pytest.mark.unchecked
def test_an_imported_model_works_like_one_trained_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_marian_folder(tmp_path / "opus")
    model = str(tmp_path / "model")
    assert main(["import", str(folder), "--output", model]) == 0
    assert "en to de" in capsys.readouterr().out
    assert main(["translate", model, ENGLISH[0], "--json"]) == 0
    assert main(["tokenize", model, ENGLISH[0], "--ids"]) == 0
    assert main(["inspect", model, ENGLISH[0], "--output", str(tmp_path / "figures")]) == 0
    (tmp_path / "a.en").write_text("\n".join(ENGLISH) + "\n")
    (tmp_path / "a.de").write_text("\n".join(GERMAN) + "\n")
    arguments = ["--source", str(tmp_path / "a.en"), "--reference", str(tmp_path / "a.de")]
    assert main(["evaluate", model, *arguments]) == 0
    assert "Imported from MarianMT" in (tmp_path / "model" / "README.md").read_text()


def test_a_model_of_several_targets_takes_the_tag_from_the_text_or_from_the_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_marian_folder(tmp_path / "opus", tags=(">>fra<<", ">>deu<<"))
    assert main(["import", str(folder), "--output", str(tmp_path / "any")]) == 0
    assert "begin each text with a tag (>>" in capsys.readouterr().err
    arguments = ["import", str(folder), "--output", str(tmp_path / "fra"), "--target-tag", "fra"]
    assert main(arguments) == 0
    assert "en to fra" in capsys.readouterr().out
    any_language = Translator.load(tmp_path / "any", device="cpu").tokenizers
    french = Translator.load(tmp_path / "fra", device="cpu").tokenizers
    tagged = any_language.source.encode(">>fra<<the cat").ids
    assert french.source.encode("the cat").ids == tagged
    assert french.source.encode(">>fra<<the cat").ids == tagged
    assert any_language.source.tokens(tagged)[0] == ">>fra<<"
    assert french.target.encode("der Hund").ids == any_language.target.encode("der Hund").ids
    assert main(["import", str(folder), "--output", str(tmp_path / "x"), "--target-tag", "xx"]) == 5
    assert "has no tag xx; it has" in capsys.readouterr().err


def test_a_pickle_of_weights_is_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder = make_marian_folder(tmp_path / "opus", separate=True)
    import_model(folder, tmp_path / "one")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    import_model(folder, tmp_path / "other")
    one, other = (tmp_path / name / "model.safetensors" for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scale_embedding": False}, "embeddings are not scaled"),
        ({"activation_function": "gelu_new"}, "it takes relu, gelu, swish"),
        ({"decoder_ffn_dim": 24}, "one number for both"),
        ({"decoder_attention_heads": 2}, "one number for both"),
    ],
)
def test_what_is_not_the_architecture_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], words: str
) -> None:
    folder = make_marian_folder(tmp_path / "opus", **changes)  # type: ignore[arg-type]
    capsys.readouterr()
    assert main(["import", str(folder), "--output", str(tmp_path / "model")]) == 5
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_languages_that_nobody_tells_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_marian_folder(tmp_path / "opus")
    (folder / "tokenizer_config.json").unlink()
    assert main(["import", str(folder), "--output", str(tmp_path / "model")]) == 2
    assert "give --source-lang CODE" in capsys.readouterr().err


def test_search_is_what_the_folder_asks_for_or_the_difference_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_marian_folder(tmp_path / "theirs")
    asked = folder / "generation_config.json"
    asked.write_text('{"num_beams": 1, "length_penalty": 0.5, "max_length": 20}')
    assert main(["import", str(folder), "--output", str(tmp_path / "one")]) == 0
    told = capsys.readouterr()
    loaded = load_model_folder(tmp_path / "one")
    assert (loaded.decoding.beam_size, loaded.decoding.length_penalty) == (1, 0.5)
    assert loaded.max_length == 64  # as many positions as it has: 20 is a limit of outputs
    assert "ends outputs at 20 tokens" in told.out + told.err

    asked.write_text('{"num_beams": 99, "length_penalty": -1.0}')
    assert main(["import", str(folder), "--output", str(tmp_path / "two")]) == 0
    told = capsys.readouterr()
    loaded = load_model_folder(tmp_path / "two")
    assert (loaded.decoding.beam_size, loaded.decoding.length_penalty) == (4, 1.0)
    assert "num_beams is 99 there and 4 here" in told.out + told.err
    assert "length_penalty is -1.0 there and 1 here" in told.out + told.err
