"""From sizes to a model: the one place that knows every kind."""

from collections.abc import Callable
from functools import partial

from interlingua.model.architecture import (
    AnyArchitecture,
    Architecture,
    ConvolutionalArchitecture,
    DecoderArchitecture,
    EncoderArchitecture,
    RecurrentArchitecture,
)
from interlingua.model.convolutional import ConvolutionalModel
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.labeller import Labeller
from interlingua.model.language_model import LanguageModel
from interlingua.model.recurrent import RecurrentModel
from interlingua.model.transformer import Transformer

__all__ = ["build_encoder_decoder"]


def build_encoder_decoder(
    architecture: AnyArchitecture,
    *,
    source_vocabulary: int,
    target_vocabulary: int,
    source_pad: int = 0,
    target_pad: int = 0,
) -> EncoderDecoder:
    """Make a model with fresh weights; see :class:`Transformer` for the arguments.

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """
    build: Callable[..., EncoderDecoder]
    match architecture:
        case Architecture():
            build = partial(Transformer, architecture)
        case RecurrentArchitecture():
            build = partial(RecurrentModel, architecture)
        case ConvolutionalArchitecture():
            build = partial(ConvolutionalModel, architecture)
        case EncoderArchitecture():
            build = partial(Labeller, architecture)
        case DecoderArchitecture():
            build = partial(LanguageModel, architecture)
    return build(
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        source_pad=source_pad,
        target_pad=target_pad,
    )
