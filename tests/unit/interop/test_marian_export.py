"""Exports that transformers itself opens and translates with, and the way back."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import make_marian_folder, transformers
from random_models import SHAPES, SOURCES, TARGETS, random_model
from tokenizers import Tokenizer

from interlingua.checkpoints.model_folder import build, load_model_folder, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.errors import ExportError
from interlingua.interop.export import export_model
from interlingua.interop.import_model import import_model
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

CASES = [
    ("tied", True, {}),
    ("separate", False, {}),
    ("separate", True, {}),
    ("untied-biased", False, {}),
    ("6+6", True, {}),
    ("12+1", True, {}),
    ("tied", True, {"positions": "learned"}),
]


@pytest.mark.unchecked
@pytest.mark.parametrize(("name", "shared", "changes"), CASES)
def test_it_translates_the_same_there_and_comes_back_bit_for_bit(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    name: str,
    shared: bool,
    changes: dict[str, object],
) -> None:
    folder = make_folder(name, shared=shared, **changes)
    exported = export_model(folder, tmp_path / "hub", format_name="marian", licence="cc-by-4.0")
    assert exported.proof is not None
    for each in exported.proof.comparisons:
        assert each.agreement == 1.0 or each.near_ties
        assert each.score_difference is not None
        assert each.score_difference < 1e-5
        assert each.texts_differ == 0
    assert {
        *("config.json", "generation_config.json", "source.spm", "target.spm", "vocab.json"),
        *("tokenizer_config.json", "model.safetensors", "README.md"),
    } <= {name for name, _ in exported.files}
    assert ("tokenizer.json" in dict(exported.files)) == shared

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, loading = transformers.MarianMTModel.from_pretrained(
            tmp_path / "hub", output_loading_info=True
        )
    assert not any(loading.values()), loading
    ours = load_model_folder(folder)
    source = torch.randint(4, ours.tokenizers.source.vocabulary_size, (3, 7))
    target = torch.randint(4, ours.tokenizers.target.vocabulary_size, (3, 5))
    with torch.inference_mode():
        theirs = model.eval()(input_ids=source, decoder_input_ids=target).logits
        mine = ours.model(source, target)
    assert (mine - theirs).abs().max() <= 1e-5 * max(1.0, float(theirs.abs().max()))

    import_model(tmp_path / "hub", tmp_path / "back")
    back = load_model_folder(tmp_path / "back")
    assert back.model.architecture == ours.model.architecture
    assert back.max_length == ours.max_length
    one, other = parameters_of(ours.model), parameters_of(back.model)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)
    for pair in ours.sentences:
        wanted = ours.tokenizers.source.encode(pair.source).ids
        assert back.tokenizers.source.encode(pair.source).ids == wanted
        if shared:
            ids = Tokenizer.from_file(str(tmp_path / "hub/tokenizer.json")).encode(pair.source).ids
            assert ids == [*wanted, ours.tokenizers.source.end_id]


def test_a_sentence_that_marian_reads_as_a_symbol_is_named(
    make_folder: Callable[..., Path], tmp_path: Path
) -> None:
    sentences = tmp_path / "some.en"
    sentences.write_text("the cat sleeps\na </s> b\n", encoding="utf-8")
    with pytest.raises(ExportError, match="sentence 2 to verify with holds </s>"):
        export_model(
            make_folder("tied"), tmp_path / "hub", format_name="marian", verify=(sentences,)
        )


@pytest.mark.unchecked
def test_an_imported_model_goes_out_again_as_it_came_in(tmp_path: Path) -> None:
    folder = make_marian_folder(tmp_path / "opus")
    import_model(folder, tmp_path / "model")
    sentences = tmp_path / "some.en"
    sentences.write_text("the cat sleeps\nwho are you 日本\n", encoding="utf-8")
    exported = export_model(
        tmp_path / "model", tmp_path / "again", format_name="marian", verify=(sentences,)
    )
    assert exported.proof is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = (
            transformers.MarianMTModel.from_pretrained(tmp_path / name).state_dict()
            for name in ("opus", "again")
        )
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norm": "pre"}, "normalises after every sublayer"),
        ({"activation": "swiglu"}, "knows relu, gelu and swish"),
        ({"d_k": 4}, "heads of d_model / heads only"),
    ],
)
def test_what_marian_cannot_hold_is_refused(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    words: str,
) -> None:
    folder = make_folder("tied", **changes)
    out = str(tmp_path / "out")
    assert main(["export", str(folder), "--format", "marian", "--output", out]) == 8
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "bpe", "byte_level": True}, "a byte-level tokenizer cannot be written"),
        ({"kind": "wordpiece"}, "a wordpiece tokenizer cannot be written"),
        ({"kind": "word"}, "a word tokenizer cannot be written"),
    ],
)
def test_what_is_no_sentencepiece_model_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], words: str
) -> None:
    loaded = random_model(SHAPES["tied"])
    other = train_tokenizer([*SOURCES, *TARGETS], vocabulary_size=340, **settings)
    pair = TokenizerPair(other, other, shared=True)
    torch.manual_seed(0)
    changed = replace(loaded, model=build(SHAPES["tied"], pair), tokenizers=pair)
    save_model_folder(tmp_path / "model", changed, parameters_of(changed.model), "# A card\n")
    out = str(tmp_path / "out")
    assert main(["export", str(tmp_path / "model"), "--format", "marian", "--output", out]) == 8
    told = capsys.readouterr().err
    assert words in told
    assert "train a bpe, unigram or char tokenizer without byte_level" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()
