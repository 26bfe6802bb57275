"""Files in Marian's own layout, imported: what other readers make of the same numbers. Marian itself was not at hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from marian_folders import ENGLISH, GERMAN
from marian_npz_folders import OPTIONS, make_npz_folder, save_npz

from interlingua.batching.batch import pad_sources
from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.interop.export import export_model
from interlingua.interop.import_model import import_model
from interlingua.interop.marian_npz_import import marian_positions
from interlingua.interop.marian_yaml import read_settings, read_vocabulary
from interlingua.interop.plain_search import plain_search
from interlingua.translator import Translator

LANGUAGES = {"source_lang": "en", "target_lang": "de"}
FLAGS = ["--source-lang", "en", "--target-lang", "de"]
CASES: dict[str, dict[str, Any]] = {
    "tied all, one vocabulary": {},
    "two vocabularies": {"separate": True, "transformer_ffn_activation": "relu", "kind": "bpe"},
    "output apart": {"separate": True, "tied_output": False},
    "lists beside SentencePiece": {"listed": True, "layers": (6, 6)},
    "two lists": {"listed": True, "separate": True},
    "12+1 relu": {"layers": (12, 1), "dim_emb": 16, "transformer_ffn_activation": "relu"},
}
SEARCHED = ("tied all, one vocabulary", "two lists")


@pytest.mark.parametrize("name", CASES)
def test_logits_and_translations_are_those_of_the_same_numbers_in_transformers(
    tmp_path: Path, name: str
) -> None:
    theirs = make_npz_folder(tmp_path / "marian", **CASES[name])
    import_model(tmp_path / "marian", tmp_path / "ours", **LANGUAGES)
    ours = Translator.load(tmp_path / "ours", device="cpu")
    source, target = ours.tokenizers.source, ours.tokenizers.target

    rows = [[*source.encode(text).ids, source.end_id] for text in ENGLISH]
    batch = pad_sources(rows, pad=source.pad_id, end=source.end_id)
    mask, pad = batch != source.pad_id, theirs.config.pad_token_id
    their_batch = batch.where(mask, pad)
    target_in = torch.randint(2, target.vocabulary_size - 1, (len(rows), 9))
    target_in[:, 0] = target.begin_id
    their_target = target_in.where(target_in != target.begin_id, pad)
    with torch.inference_mode():
        wanted = theirs(
            input_ids=their_batch, attention_mask=mask, decoder_input_ids=their_target
        ).logits[..., : target.pad_id]
        found = ours.model(batch, target_in)[..., : target.pad_id]
    assert (found - wanted).abs().max() <= 1e-5 * max(1.0, float(wanted.abs().max()))

    for beam_size in (1, 4) if name in SEARCHED else ():
        written = theirs.generate(
            input_ids=their_batch,
            attention_mask=mask,
            num_beams=beam_size,
            length_penalty=0.0,
            do_sample=False,
            max_new_tokens=20,
            early_stopping=False,
        )
        searched = plain_search(
            ours.model,
            batch,
            begin_id=target.begin_id,
            end_id=target.end_id,
            never=[target.pad_id],
            beam_size=beam_size,
            max_length=20,
        )
        for row, each in zip(written[:, 1:].tolist(), searched, strict=True):
            end = row.index(0) if 0 in row else len(row)
            assert row[:end] == list(each.ids)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_ids_are_those_of_sentencepiece(tmp_path: Path, kind: str) -> None:
    make_npz_folder(tmp_path / "marian", kind=kind)
    import_model(tmp_path / "marian", tmp_path / "ours", **LANGUAGES)
    pair = Translator.load(tmp_path / "ours", device="cpu").tokenizers
    spm = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "marian/vocab.spm"))
    assert pair.shared
    for text in [*ENGLISH, *GERMAN, "", "日本 unknown", "two  spaces ", "ﬁne ① ½"]:
        assert pair.source.encode(text).ids == spm.encode(text), text
        assert pair.target.decode(spm.encode(text)) == spm.decode(
            [each for each in spm.encode(text) if each != 1]
        )
    assert (pair.source.end_id, pair.source.unknown_id) == (0, 1)
    assert pair.source.pad_id == pair.source.begin_id == len(spm)


def test_translations_are_those_of_the_reader_of_marian_files_in_ctranslate2(
    tmp_path: Path,
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")
    from ctranslate2.converters import MarianConverter

    folder = tmp_path / "marian"
    make_npz_folder(folder, listed=True)
    import_model(folder, tmp_path / "ours", **LANGUAGES)
    ours = Translator.load(tmp_path / "ours", device="cpu")
    # It would give the model the paper's positions, were it not told others.
    arrays = dict(np.load(folder / "model.npz"))
    arrays["Wpos"] = marian_positions(64, 32).numpy()
    np.savez(tmp_path / "wpos.npz", **arrays)
    converter = MarianConverter(str(tmp_path / "wpos.npz"), [str(folder / "opus.vocab.yml")] * 2)
    converter.convert(str(tmp_path / "ct2"))
    theirs = ctranslate2.Translator(str(tmp_path / "ct2"), device="cpu", intra_threads=1)
    source, target = ours.tokenizers.source, ours.tokenizers.target
    for text in ENGLISH:
        ids = source.encode(text).ids
        (result,) = theirs.translate_batch(
            [source.tokens(ids)], beam_size=1, max_decoding_length=20, length_penalty=0
        )
        (found,) = plain_search(
            ours.model,
            torch.tensor([[*ids, source.end_id]]),
            begin_id=target.begin_id,
            end_id=target.end_id,
            never=[target.pad_id],
            beam_size=1,
            max_length=20,
        )
        assert target.tokens(list(found.ids)) == result.hypotheses[0]


def test_norms_before_the_sublayers_are_read_too(tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")
    from ctranslate2.converters import MarianConverter

    folder = tmp_path / "marian"
    make_npz_folder(folder, listed=True)
    arrays = {
        f"{name}_pre" if "_ln_" in name else name: array
        for name, array in np.load(folder / "model.npz").items()
        if not name.startswith("special")
    }
    random = np.random.default_rng(0)
    for side in ("encoder", "decoder"):
        for part in ("scale", "bias"):
            arrays[f"{side}_top_ln_{part}"] = random.normal(size=(1, 32)).astype("float32")
    norms = {
        "transformer-preprocess": "n",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
    }
    save_npz(folder / "model.npz", arrays, OPTIONS | norms)
    import_model(folder, tmp_path / "ours", **LANGUAGES)
    ours = Translator.load(tmp_path / "ours", device="cpu")
    assert ours.model.architecture.norm == "pre"
    save_npz(
        folder / "wpos.npz", {**arrays, "Wpos": marian_positions(64, 32).numpy()}, OPTIONS | norms
    )
    lists = [str(folder / "opus.vocab.yml")] * 2
    MarianConverter(str(folder / "wpos.npz"), lists).convert(str(tmp_path / "ct2"))
    theirs = ctranslate2.Translator(str(tmp_path / "ct2"), device="cpu", intra_threads=1)
    source, target = ours.tokenizers.source, ours.tokenizers.target
    ids = source.encode(ENGLISH[0]).ids
    written = target.encode(GERMAN[0]).ids
    (scored,) = theirs.score_batch([source.tokens(ids)], [target.tokens(written)])
    target_in = torch.tensor([[target.begin_id, *written]])
    with torch.inference_mode():
        logits = ours.model(torch.tensor([[*ids, source.end_id]]), target_in)
    steps = logits[0].log_softmax(-1)
    mine = [float(steps[place, each]) for place, each in enumerate([*written, target.end_id])]
    assert mine == pytest.approx(scored.log_probs, abs=1e-4)


def test_it_says_that_marian_itself_was_not_at_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_npz_folder(tmp_path / "marian")
    assert main(["import", str(tmp_path / "marian"), "--output", str(tmp_path / "a")]) == 2
    assert "give --source-lang CODE" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "marian"), "--output", str(tmp_path / "a"), *FLAGS]) == 0
    told = capsys.readouterr()
    assert "never compared with Marian itself" in told.err
    assert "Marian: en to de" in told.out
    assert "never compared with Marian itself" in (tmp_path / "a" / "README.md").read_text()
    assert main(["translate", str(tmp_path / "a"), ENGLISH[0]]) == 0


@pytest.mark.slow
def test_what_came_in_goes_out_to_other_programs_and_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")
    make_npz_folder(tmp_path / "npz", layers=(1, 2))
    import_model(tmp_path / "npz", tmp_path / "model", **LANGUAGES)
    (tmp_path / "some.en").write_text("\n".join(ENGLISH[:3]), encoding="utf-8")
    ours = load_model_folder(tmp_path / "model")
    weights = parameters_of(ours.model)
    for form in ("marian", "ctranslate2", "argos"):
        if form == "argos":
            pytest.importorskip("onnx", reason="needs the export extra: onnx")
        exported = export_model(
            tmp_path / "model", tmp_path / form, format_name=form, verify=(tmp_path / "some.en",)
        )
        assert exported.proof is not None
        assert all(each.agreement == 1.0 or each.near_ties for each in exported.proof.comparisons)
        if form == "argos":
            continue
        import_model(tmp_path / form, tmp_path / f"{form}-back", **LANGUAGES)
        back = load_model_folder(tmp_path / f"{form}-back")
        assert back.model.architecture.positions == "learned"
        again = parameters_of(back.model)
        assert weights.keys() == again.keys()
        assert all(torch.equal(weights[name], again[name]) for name in weights)
        for text in ENGLISH:
            wanted = ours.tokenizers.source.encode(text).ids
            assert back.tokenizers.source.encode(text).ids == wanted


REFUSED = [
    ("type", "s2s", "of type 's2s'"),
    ("type", "multi-transformer", "of type 'multi-transformer'"),
    ("transformer-decoder-autoreg", "rnn", "in another way than by self-attention"),
    ("transformer-decoder-autoreg", "average-attention", "in another way than by self-attention"),
    ("transformer-tied-layers", [1, 1], "layers are tied"),
    ("transformer-postprocess", "dahn", "transformer-postprocess 'dahn'"),
    ("transformer-preprocess", "n", "transformer-preprocess 'n'"),
    ("transformer-postprocess-emb", "dn", "embeddings are normalised"),
    ("transformer-ffn-depth", 3, "of another depth"),
    ("transformer-ffn-activation", "gelu", "x sigmoid(1.702 x)"),
    ("transformer-ffn-activation", "tanh", "relu and swish are read"),
    ("transformer-train-positions", "true", "positions are learned"),
    ("transformer-no-projection", "true", "no output projection"),
    ("transformer-decoder-dim-ffn", 24, "one number for both"),
    ("lemma-dim-emb", 64, "its vocabulary is factored"),
    ("right-left", "true", "from right to left"),
    ("dim-vocabs", [9, 9, 9], "one source is read"),
    ("input-types", ["sequence", "class", "sequence"], "not one source"),
    ("dim-emb", 31, "does not go with"),
    ("dim-emb", 64, "instead of"),
    ("dim-emb", 10**9, "dim-emb is"),
    ("enc-depth", 3, "lacks the tensor 'encoder_l3_self_Wq'"),
    ("dec-depth", 1, "holds 'decoder_l2_context_Wk'"),
    ("transformer-heads", "many", "transformer-heads is 'many'"),
]


@pytest.mark.parametrize(("name", "value", "words"), REFUSED, ids=lambda each: str(each)[:30])
def test_what_is_not_the_architecture_is_refused_with_the_reason(
    npz_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: object,
    words: str,
) -> None:
    arrays = {
        n: a for n, a in np.load(npz_folder / "model.npz").items() if n != "special:model.yml"
    }
    folder = tmp_path / "changed"
    folder.mkdir()
    (folder / "vocab.spm").write_bytes((npz_folder / "vocab.spm").read_bytes())
    save_npz(folder / "model.npz", arrays, OPTIONS | {name: value})
    assert main(["import", str(folder), "--output", str(tmp_path / "out"), *FLAGS]) == 5
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def npz_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npz") / "marian"
    make_npz_folder(folder)
    return folder


def test_settings_are_read_as_yaml_cpp_writes_them() -> None:
    text = "# a comment\n---\na: 1\nb:\n  []\nc:\n  - x\n  - \"y z\"\nd: [1, 2]\ne: 'it''s'\nf: \"\"\ng:\n  h: 1\n"
    found = read_settings(text, "here")
    assert found == {
        "a": "1",
        "b": [],
        "c": ["x", "y z"],
        "d": ["1", "2"],
        "e": "it's",
        "f": "",
        "g": "",
    }


def test_vocabularies_are_read_as_yaml_cpp_writes_them() -> None:
    text = '</s>: 0\n"\\"": 1\n"\\x41\\u00e4": 2\n\'\'\'\': 3\n":": 4\na:b: 5\n? "long"\n: 6\n"\\\\": 7\n'
    found = read_vocabulary(text, "here")
    assert list(found) == ["</s>", '"', "Aä", "'", ":", "a:b", "long", "\\"]
    assert list(found.values()) == list(range(8))
