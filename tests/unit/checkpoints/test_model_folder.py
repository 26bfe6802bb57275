"""A model folder holds all that is needed to translate, and notices when something is wrong."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
import torch

from interlingua.checkpoints import model_folder, sentences
from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import (
    LoadedModel,
    build,
    check_model_folder,
    find_model_folder,
    load_model_folder,
    save_model_folder,
)
from interlingua.checkpoints.weights import parameters_of, write_tensors
from interlingua.config import DecodingConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import ConfigError, ModelError
from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=16, heads=2)


class OwnAttention(MultiHeadAttention):
    """An attention without parameters of its own: nothing but its name gives it away."""


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    tokenizer = train_tokenizer(["o casă mare", "a big house"], kind="bpe", vocabulary_size=300)
    return TokenizerPair(tokenizer, tokenizer, shared=True)


def save(folder: Path, tokenizers: TokenizerPair, build_model=Transformer) -> Transformer:
    model = build(SIZES, tokenizers, build_model)
    loaded = LoadedModel(model, tokenizers, "ro", "en", DecodingConfig(beam_size=3), 64)
    save_model_folder(folder, loaded, parameters_of(model), "A card.\n")
    return model


def change(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))
    write_manifest(folder)


def test_a_loaded_model_gives_the_same_logits(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    model = save(tmp_path / "m", tokenizers).eval()
    loaded = load_model_folder(tmp_path / "m")
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])
    assert torch.equal(loaded.model(source, target), model(source, target))
    assert (loaded.source_lang, loaded.target_lang, loaded.max_length) == ("ro", "en", 64)
    assert loaded.decoding.beam_size == 3
    assert not loaded.model.training


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_opening_draws_no_weights_and_imports_no_compiler(
    tmp_path: Path, tokenizers: TokenizerPair, positions: str
) -> None:
    loaded = LoadedModel(
        build(replace(SIZES, positions=positions), tokenizers),
        tokenizers,
        "ro",
        "en",
        DecodingConfig(),
        64,
    )
    save_model_folder(tmp_path / "m", loaded, parameters_of(loaded.model), "A card.\n")
    program = """
        import sys, torch
        from interlingua.translator import Translator
        before = torch.get_rng_state()
        Translator.load(sys.argv[1])
        assert torch.equal(torch.get_rng_state(), before)
        assert "torch._dynamo" not in sys.modules
    """
    command = [sys.executable, "-c", dedent(program), str(tmp_path / "m")]
    subprocess.run(command, check=True)


def test_saving_what_was_loaded_gives_the_same_bytes(
    tmp_path: Path, tokenizers: TokenizerPair
) -> None:
    save(tmp_path / "a", tokenizers)
    loaded = load_model_folder(tmp_path / "a")
    save_model_folder(tmp_path / "b", loaded, parameters_of(loaded.model), "A card.\n")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


def test_others_may_read_the_weights(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    save(tmp_path / "m", tokenizers)
    modes = {file.name: file.stat().st_mode for file in (tmp_path / "m").iterdir()}
    assert modes["model.safetensors"] == modes["config.json"]


def test_a_run_folder_leads_to_its_model(tmp_path: Path, tokenizers: TokenizerPair) -> None:
    save(tmp_path / "run" / "model", tokenizers)
    assert find_model_folder(tmp_path / "run") == tmp_path / "run" / "model"
    assert find_model_folder(tmp_path / "run" / "model") == tmp_path / "run" / "model"


def test_a_model_is_checked_for_its_languages_without_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagged = train_tokenizer(["o"], kind="bpe", vocabulary_size=300, tags=("<2en>", "<2de>"))
    save(tmp_path / "m", TokenizerPair(tagged, tagged, shared=True))
    monkeypatch.setattr(model_folder, "build", lambda *_, **__: pytest.fail("was built"))
    check_model_folder(tmp_path / "m")
    change(tmp_path / "m", directions=[["ro", "en"], ["ro", "de"]])
    check_model_folder(tmp_path / "m", "de")
    with pytest.raises(ConfigError, match=r"m: translates ro-en, ro-de; say into which"):
        check_model_folder(tmp_path / "m")
    change(tmp_path / "m", directions=[["ro", "it"]])
    with pytest.raises(ModelError, match=r"the tag <2it> is not in the vocabulary"):
        check_model_folder(tmp_path / "m")


def test_own_parts_are_not_taken_for_the_usual_ones(
    tmp_path: Path, tokenizers: TokenizerPair
) -> None:
    own = partial(Transformer, attention=OwnAttention)
    save(tmp_path / "m", tokenizers, own)
    with pytest.raises(ModelError, match=r"OwnAttention.*build_model"):
        load_model_folder(tmp_path / "m")
    assert load_model_folder(tmp_path / "m", build_model=own).source_lang == "ro"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architecture": {"d_model": 16}}, "shape"),
        ({"architecture": {"d_model": 7}}, "multiple"),
        ({"architecture": {"surprise": 1}}, "not known"),
        ({"architecture": {"d_ff": 10**9}}, "no model has"),
        ({"architecture": {"heads": "two"}}, "heads"),
        ({"architecture": {"heads": 0}}, "heads is 0; it takes a whole number of at least 1"),
        ({"architecture": {"d_k": 0}}, "d_k is 0"),
        ({"architecture": {"activation": "tanh"}}, "activation"),
        ({"architecture": {"tie": ["three-way"]}}, "tie"),
        ({"architecture": {"dropout": float("nan")}}, "NaN is not a number"),
        ({"max_length": 1}, "max_length is 1; it takes 2 to 1024"),
        ({"max_length": 1025}, "max_length is 1025"),
        ({"parts": None}, "parts"),
        ({"max_length": "long"}, "configuration"),
    ],
)
def test_a_configuration_that_lies_is_refused(
    tmp_path: Path, tokenizers: TokenizerPair, changes: dict[str, object], words: str
) -> None:
    save(tmp_path / "m", tokenizers)
    if isinstance(changes.get("architecture"), dict):
        changes = {"architecture": SIZES.to_dict() | changes["architecture"]}
    change(tmp_path / "m", **changes)
    with pytest.raises(ModelError, match=words):
        load_model_folder(tmp_path / "m")


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "generation_config.json"]
)
def test_a_file_that_the_manifest_does_not_list_is_not_read(
    tmp_path: Path, tokenizers: TokenizerPair, name: str
) -> None:
    save(tmp_path / "m", tokenizers)
    content = (tmp_path / "m" / name).read_bytes()
    (tmp_path / "m" / name).unlink()
    write_manifest(tmp_path / "m")
    (tmp_path / "m" / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name}: is not listed in manifest"):
        load_model_folder(tmp_path / "m")


def test_a_shared_tokenizer_cannot_be_slipped_in_beside_two(
    tmp_path: Path, tokenizers: TokenizerPair
) -> None:
    two = TokenizerPair(tokenizers.source, tokenizers.target, shared=False)
    save(tmp_path / "m", two)
    assert not load_model_folder(tmp_path / "m").tokenizers.shared
    tokenizers.source.save(tmp_path / "m" / "tokenizer.json")
    with pytest.raises(ModelError, match=r"tokenizer\.json: is not listed"):
        load_model_folder(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "tensor", "words"),
    [
        ("extra", torch.zeros(1), "does not describe"),
        ("encoder.layers.0.feed_forward.inner.bias", torch.zeros(3), "shape"),
        ("encoder.layers.0.feed_forward.inner.bias", torch.full((16,), float("nan")), "NaN"),
    ],
)
def test_wrong_tensors_are_named(
    tmp_path: Path, tokenizers: TokenizerPair, name: str, tensor: torch.Tensor, words: str
) -> None:
    weights = parameters_of(save(tmp_path / "m", tokenizers)) | {name: tensor}
    write_tensors(tmp_path / "m" / "model.safetensors", weights)
    write_manifest(tmp_path / "m")
    with pytest.raises(ModelError, match=f"{name}.*{words}"):
        load_model_folder(tmp_path / "m")


def test_what_is_written_of_long_texts_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "_LONGEST_FILE", 1000)
    texts = ["short", "ж" * 300, "middle" * 30, "x" * 5000, "the end"]
    pairs = [SentencePair(text, text[::-1], line) for line, text in enumerate(texts, 1)]
    path = tmp_path / sentences.SENTENCES
    sentences.write_sentences(path, pairs)
    assert [pair.line for pair in sentences.read_sentences(path)] == [1, 3, 5]
    assert sentences.read_sentences(path)[0] == pairs[0]
