"""What is chosen for a model that came before the Transformer, and that the Transformer's choices stay what they were."""

import pytest

from interlingua.config import ModelConfig, RunConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.model.architecture import ConvolutionalArchitecture, RecurrentArchitecture
from interlingua.training.automatic import architecture_of, choose_model


def statistics(pairs: int, words: int = 10) -> CorpusStatistics:
    return CorpusStatistics(pairs, pairs, words * pairs, words * pairs, 4000, 60, 0.9)


def chosen(model: ModelConfig, pairs: int = 20_000) -> tuple[RunConfig, list[str]]:
    config = RunConfig(model=model).model_copy(
        update={"tokenization": RunConfig().tokenization.model_copy(update={"shared": True})}
    )
    return choose_model(
        config,
        statistics(pairs),
        target_tokens=10 * pairs,
        on_gpu=False,
        batches_an_epoch=lambda tokens: 10 * pairs // tokens,
    )


def test_a_recurrent_model_gets_dot_attention_two_directions_and_few_layers() -> None:
    config, reasons = chosen(ModelConfig(kind="gru"))
    assert architecture_of(config.model) == RecurrentArchitecture(
        kind="gru", d_model=256, dropout=config.model.dropout
    )
    assert config.training.peak_learning_rate == 0.001
    assert any(reason.startswith("training.peak_learning_rate = 0.001") for reason in reasons)
    assert config.model.heads is config.model.norm is config.model.kernel_width is None


@pytest.mark.parametrize(("preset", "layers"), [("tiny", 1), ("small", 1), ("base", 2), ("big", 4)])
def test_presets_stack_recurrent_layers(preset, layers) -> None:
    config, _ = chosen(ModelConfig(kind="lstm", preset=preset, attention="none"))
    sizes = architecture_of(config.model)
    assert (sizes.encoder_layers, sizes.decoder_layers) == (layers, layers)
    assert sizes.attention == "none"


def test_a_convolutional_model_has_the_preset_s_layers_and_kernels_of_three() -> None:
    config, _ = chosen(ModelConfig(kind="convolutional", preset="tiny"))
    sizes = architecture_of(config.model)
    assert isinstance(sizes, ConvolutionalArchitecture)
    assert (sizes.encoder_layers, sizes.d_model, sizes.kernel_width) == (4, 128, 3)


def test_a_transformer_is_chosen_as_before_there_were_others() -> None:
    config, reasons = chosen(ModelConfig())
    model = config.model
    sizes = (model.encoder_layers, model.decoder_layers, model.d_model, model.d_ff, model.heads)
    assert sizes == (3, 3, 256, 1024, 4)
    assert (model.norm, model.attention, model.bidirectional) == ("post", None, None)
    assert config.training.peak_learning_rate == 0.002
    assert any("peak_learning_rate = 0.002: a short warm-up" in reason for reason in reasons)
