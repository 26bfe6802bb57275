"""Folders of CTranslate2 come in: ours as they were, and those that its own converter made of MarianMT models."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import ENGLISH, make_marian_folder

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.errors import ModelError
from interlingua.interop.export import export_model
from interlingua.interop.import_model import import_model
from interlingua.interop.plain_search import plain_search
from interlingua.translator import Translator

ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")

LANGUAGES = {"source_lang": "ro", "target_lang": "en"}


@pytest.mark.parametrize(
    ("name", "shared", "changes"),
    [
        ("tied", True, {}),
        ("separate", False, {}),
        ("untied-biased", False, {}),
        ("6+6", True, {}),
        ("12+1", True, {}),
        ("tied", True, {"norm": "pre", "activation": "swiglu"}),
        ("separate", True, {"positions": "learned"}),
    ],
)
def test_what_goes_out_comes_back_bit_for_bit(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    name: str,
    shared: bool,
    changes: dict[str, object],
) -> None:
    folder = make_folder(name, shared=shared, **changes)
    export_model(folder, tmp_path / "ct2", format_name="ctranslate2", is_proved=False)
    import_model(tmp_path / "ct2", tmp_path / "back")
    ours, back = load_model_folder(folder), load_model_folder(tmp_path / "back")
    assert (back.source_lang, back.target_lang) == (ours.source_lang, ours.target_lang)
    sizes = ours.model.architecture.to_dict() | {"dropout": 0.1}
    assert back.model.architecture.to_dict() == sizes
    one, other = parameters_of(ours.model), parameters_of(back.model)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)
    for pair in ours.sentences:
        wanted = ours.tokenizers.source.encode(pair.source).ids
        assert back.tokenizers.source.encode(pair.source).ids == wanted


@pytest.mark.parametrize(
    ("quantization", "apart"),
    [("int8", 0.02), ("int16", 0.01), ("float16", 0.002), ("int8_bfloat16", 0.02)],
)
def test_a_quantised_model_comes_back_as_what_its_numbers_stand_for(
    make_folder: Callable[..., Path], tmp_path: Path, quantization: str, apart: float
) -> None:
    folder = make_folder("tied")
    arguments = {"format_name": "ctranslate2", "is_proved": False, "quantization": quantization}
    export_model(folder, tmp_path / "ct2", **arguments)
    import_model(tmp_path / "ct2", tmp_path / "back", **LANGUAGES)
    one = parameters_of(load_model_folder(folder).model)
    other = parameters_of(load_model_folder(tmp_path / "back").model)
    assert one.keys() == other.keys()
    for key, tensor in one.items():
        assert (tensor - other[key]).abs().max() <= apart * tensor.abs().max(), key


@pytest.mark.parametrize("quantization", [None, "int8"])
def test_a_folder_that_the_converter_made_of_opus_translates_as_there(
    tmp_path: Path, quantization: str | None
) -> None:
    opus = make_marian_folder(tmp_path / "opus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converter = ctranslate2.converters.TransformersConverter(
            str(opus), copy_files=["source.spm", "target.spm"]
        )
        converter.convert(str(tmp_path / "ct2"), quantization=quantization)
    import_model(tmp_path / "ct2", tmp_path / "ours", **LANGUAGES)
    ours = Translator.load(tmp_path / "ours", device="cpu")
    source, target = ours.tokenizers.source, ours.tokenizers.target
    tokens = [[*source.tokens(source.encode(text).ids), "</s>"] for text in ENGLISH]
    theirs = ctranslate2.Translator(str(tmp_path / "ct2"), compute_type="float32")
    for beam_size in (1, 4):
        wanted = theirs.translate_batch(
            tokens,
            beam_size=beam_size,
            length_penalty=0,
            max_decoding_length=25,
            min_decoding_length=0,
        )
        found = [
            plain_search(
                ours.model,
                torch.tensor([[*source.encode(text).ids, source.end_id]]),
                begin_id=target.begin_id,
                end_id=target.end_id,
                never=[],
                beam_size=beam_size,
                max_length=25,
            )[0]
            for text in ENGLISH
        ]
        assert [target.tokens(each.ids) for each in found] == [
            each.hypotheses[0] for each in wanted
        ]


@pytest.mark.parametrize("target_tag", [None, "fra"])
def test_what_the_card_of_a_copy_says_of_an_imported_model_can_be_done(
    tmp_path: Path, target_tag: str | None
) -> None:
    pytest.importorskip("tokenizers")
    opus = make_marian_folder(
        tmp_path / "opus", **({"tags": (">>fra<<", ">>ron<<")} if target_tag else {})
    )
    import_model(opus, tmp_path / "ours", **LANGUAGES, target_tag=target_tag)
    export_model(tmp_path / "ours", tmp_path / "out", format_name="ctranslate2", is_proved=False)
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in card.splitlines() if line.startswith("    ")]
    source = Translator.load(tmp_path / "ours", device="cpu").tokenizers.source
    # What a vocabulary lacks is unknown here, and cut into smaller pieces there.
    known = [text for text in ENGLISH if source.unknown_id not in source.encode(text).ids]
    assert known
    for text in known:
        code = (
            "\n".join(lines).replace("FOLDER", str(tmp_path / "out")).replace('"TEXT"', repr(text))
        )
        names: dict[str, Any] = {}
        exec(code.partition("(found,)")[0], names)  # the model is too small to be searched freely
        join = names["join"]
        wanted = source.tokens(source.encode(text).ids)
        assert names["tokens"] == (wanted[1:] if target_tag else wanted)
        assert None not in [join.token_to_id(token) for token in names["tokens"]]
    assert (f"is `>>{target_tag}<<`" in card) == bool(target_tag)


def test_a_folder_without_a_tokenizer_says_what_to_put_there(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    export_model(make_folder("tied"), tmp_path / "ct2", format_name="ctranslate2", is_proved=False)
    (tmp_path / "ct2" / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"put source\.spm"):
        import_model(tmp_path / "ct2", tmp_path / "back", **LANGUAGES)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"add_source_eos": False}, "do not end with the end symbol"),
        ({"add_source_bos": True}, "begin with a symbol"),
        ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon is 1e-06"),
    ],
)
def test_what_is_not_the_architecture_is_refused(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    words: str,
) -> None:
    export_model(make_folder("tied"), tmp_path / "ct2", format_name="ctranslate2", is_proved=False)
    path = tmp_path / "ct2" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    assert main(["import", str(tmp_path / "ct2"), "--output", str(tmp_path / "back")]) == 5
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    shutil.rmtree(tmp_path / "ct2")
