"""Every kind of model from its sizes, and its sizes from what a model folder says."""

import json
from pathlib import Path

import pytest
import torch
from random_models import SOURCES

from interlingua.checkpoints.model_folder import (
    LoadedModel,
    build,
    load_model_folder,
    save_model_folder,
)
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig, ModelConfig
from interlingua.config_contradictions import ONLY_OF
from interlingua.errors import ModelError
from interlingua.kernels.packed import can_pack
from interlingua.kernels.search import can_search
from interlingua.model.architecture import (
    Architecture,
    ConvolutionalArchitecture,
    RecurrentArchitecture,
    architecture_from,
    fields_of,
)
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

ALL = [
    Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2),
    RecurrentArchitecture(kind="rnn", attention="none", d_model=8),
    RecurrentArchitecture(kind="lstm", attention="additive", d_model=8, decoder_layers=2),
    RecurrentArchitecture(kind="gru", d_model=8, bidirectional=False, encoder_layers=2),
    ConvolutionalArchitecture(encoder_layers=2, decoder_layers=1, d_model=8, kernel_width=5),
]
NAMES = [each.kind for each in ALL]


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    tokenizer = train_tokenizer(SOURCES, kind="word", vocabulary_size=300)
    return TokenizerPair(tokenizer, tokenizer, True)


def loaded(architecture, tokenizers) -> LoadedModel:
    torch.manual_seed(2)
    model = build(architecture, tokenizers).eval()
    return LoadedModel(model, tokenizers, "ro", "en", DecodingConfig(), 32)


@pytest.mark.parametrize("architecture", ALL, ids=NAMES)
def test_sizes_survive_config_json(architecture) -> None:
    assert architecture_from(json.loads(json.dumps(architecture.to_dict()))) == architecture


@pytest.mark.parametrize("architecture", ALL, ids=NAMES)
def test_a_model_is_saved_and_loaded_bit_by_bit(architecture, tokenizers, tmp_path: Path) -> None:
    before = loaded(architecture, tokenizers)
    save_model_folder(tmp_path / "model", before, parameters_of(before.model), "random\n")
    after = load_model_folder(tmp_path / "model")
    assert type(after.model) is type(before.model)
    source, target = torch.tensor([[270, 271, 3]]), torch.tensor([[2, 265]])
    with torch.inference_mode():
        assert torch.equal(after.model(source, target), before.model(source, target))


def test_a_folder_of_a_transformer_names_no_kind_as_before_there_were_others(
    tokenizers, tmp_path: Path
) -> None:
    before = loaded(ALL[0], tokenizers)
    save_model_folder(tmp_path / "model", before, parameters_of(before.model), "random\n")
    assert "kind" not in json.loads((tmp_path / "model/config.json").read_text())["architecture"]


@pytest.mark.parametrize("architecture", ALL[1:], ids=NAMES[1:])
def test_the_transformer_s_fast_paths_stay_with_the_transformer(architecture, tokenizers) -> None:
    model = build(architecture, tokenizers)
    assert not can_search(model)
    assert not can_pack(model, torch.device("cpu"), torch.float32)


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"kind": "gpt"}, "kind is 'gpt'; it takes one of transformer"),
        ({"kind": ["gru"]}, "kind is"),
        ({"kind": "gru", "heads": 8}, "keys that are not known"),
        ({"kind": "convolutional", "kernel_width": 2}, "odd number"),
    ],
)
def test_a_folder_that_describes_no_model_is_refused(
    tokenizers, tmp_path: Path, sizes, told
) -> None:
    from interlingua.checkpoints.manifest import write_manifest

    before = loaded(ALL[0], tokenizers)
    folder = tmp_path / "model"
    save_model_folder(folder, before, parameters_of(before.model), "random\n")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architecture": sizes}))
    (folder / "manifest.json").unlink()
    write_manifest(folder)
    with pytest.raises(ModelError, match=told):
        load_model_folder(folder)


def test_the_configuration_knows_which_sizes_each_kind_has() -> None:
    settings = set(ModelConfig.model_fields) - {"kind", "preset"}
    for kind in ("transformer", "rnn", "lstm", "gru", "convolutional"):
        refused = {name for name, kinds in ONLY_OF.items() if kind not in kinds}
        assert settings - refused == set(fields_of(kind))
