"""From sizes to a model: the one place that knows every kind."""

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
    match architecture:
        case Architecture():
            return Transformer(
                architecture,
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                source_pad=source_pad,
                target_pad=target_pad,
            )
        case RecurrentArchitecture():
            return RecurrentModel(
                architecture,
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                source_pad=source_pad,
                target_pad=target_pad,
            )
        case ConvolutionalArchitecture():
            return ConvolutionalModel(
                architecture,
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                source_pad=source_pad,
                target_pad=target_pad,
            )
        case EncoderArchitecture():
            return Labeller(
                architecture,
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                source_pad=source_pad,
                target_pad=target_pad,
            )
        case DecoderArchitecture():
            return LanguageModel(
                architecture,
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                source_pad=source_pad,
                target_pad=target_pad,
            )
