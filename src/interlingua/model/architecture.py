"""The numbers that describe a model: one row of Table 3 of Vaswani et al. 2017, or the sizes of a predecessor."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

__all__ = [
    "PRESETS",
    "Answers",
    "AnyArchitecture",
    "Architecture",
    "ConvolutionalArchitecture",
    "DecoderArchitecture",
    "EncoderArchitecture",
    "Kind",
    "RecurrentArchitecture",
    "architecture_from",
    "fields_of",
]

Activation = Literal["relu", "gelu", "swish", "swiglu"]
Norm = Literal["post", "pre"]
Positions = Literal["sinusoidal", "learned"]
Tie = Literal["three-way", "target", "none"]
Recurrence = Literal["rnn", "lstm", "gru"]
LookAtSource = Literal["additive", "dot", "none"]
Kind = Literal["transformer", "rnn", "lstm", "gru", "convolutional", "encoder", "decoder"]
Answers = Literal["tokens", "sequence"]

_OWN_WIDTHS = ("d_k", "d_v")


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Sizes and choices of one Transformer; the defaults are the paper's base model.

    Raises:
        ValueError: a value that its field does not take, or sizes that cannot be built together, such as a width
            that the heads do not divide.
    """

    encoder_layers: int = 6
    decoder_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_positions: int = 1024
    tie: Tie = "three-way"
    output_bias: bool = False

    def __post_init__(self) -> None:
        names = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads", "max_positions")
        _check_sizes(self, *names)
        _check_sizes(self, *(name for name in _OWN_WIDTHS if getattr(self, name) is not None))
        _check_probabilities(self, "dropout", "attention_dropout", "activation_dropout")
        _check_switches(self, "output_bias")
        _check_choices(self, activation=Activation, norm=Norm, positions=Positions, tie=Tie)
        if (self.d_k is None or self.d_v is None) and self.d_model % self.heads:
            raise ValueError(
                f"d_model {self.d_model} is not a multiple of heads {self.heads}; "
                "change one of them, or give d_k and d_v"
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"sinusoidal positions need an even d_model, not {self.d_model}")

    @property
    def kind(self) -> Kind:
        """What it describes; a model folder that names no kind holds a Transformer."""
        return "transformer"

    @property
    def query_width(self) -> int:
        """d_k, by default d_model / heads (section 3.2.2)."""
        return self.d_k if self.d_k is not None else self.d_model // self.heads

    @property
    def value_width(self) -> int:
        """d_v, by default d_model / heads (section 3.2.2)."""
        return self.d_v if self.d_v is not None else self.d_model // self.heads

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentArchitecture:
    """Sizes and choices of one recurrent encoder-decoder; the defaults are near Bahdanau et al. 2015.

    ``d_model`` is the width of word vectors, of every decoder layer, and of an annotation: each direction of a
    bidirectional encoder has half of it. A recurrence has no table of positions; ``max_positions`` is the longest
    sequence that may be asked of it.

    Raises:
        ValueError: see :class:`Architecture`.
    """

    kind: Recurrence
    attention: LookAtSource = "dot"
    bidirectional: bool = True
    encoder_layers: int = 1
    decoder_layers: int = 1
    d_model: int = 512
    dropout: float = 0.1
    max_positions: int = 1024
    tie: Tie = "three-way"
    output_bias: bool = False

    def __post_init__(self) -> None:
        _check_sizes(self, "encoder_layers", "decoder_layers", "d_model", "max_positions")
        _check_probabilities(self, "dropout")
        _check_switches(self, "bidirectional", "output_bias")
        _check_choices(self, kind=Recurrence, attention=LookAtSource, tie=Tie)
        if self.bidirectional and self.d_model % 2:
            raise ValueError(
                f"a bidirectional encoder needs an even d_model, half for each direction, not {self.d_model}"
            )

    @property
    def looks_at_source(self) -> bool:
        """Whether there is attention to be seen."""
        return self.attention != "none"

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolutionalArchitecture:
    """Sizes and choices of one convolutional encoder-decoder (Gehring et al. 2017).

    ``d_model`` is the width of word vectors and of every layer; a layer sees ``kernel_width`` neighbours.

    Raises:
        ValueError: see :class:`Architecture`.
    """

    kind: Literal["convolutional"] = "convolutional"
    encoder_layers: int = 6
    decoder_layers: int = 6
    d_model: int = 512
    kernel_width: int = 3
    dropout: float = 0.1
    max_positions: int = 1024
    tie: Tie = "three-way"
    output_bias: bool = False

    def __post_init__(self) -> None:
        names = ("encoder_layers", "decoder_layers", "d_model", "kernel_width", "max_positions")
        _check_sizes(self, *names)
        _check_probabilities(self, "dropout")
        _check_switches(self, "output_bias")
        _check_choices(self, kind=Literal["convolutional"], tie=Tie)
        if not self.kernel_width % 2:
            raise ValueError(
                f"kernel_width is {self.kernel_width}; it takes an odd number, as many neighbours on either side"
            )

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderArchitecture:
    """Sizes and choices of a language model: the decoder of a Transformer alone (Radford et al. 2018).

    Without a source there is nothing for attention across to look at, so that a layer has the parts of an encoder's; what makes it a
    decoder is the look-ahead mask.

    Raises:
        ValueError: see :class:`Architecture`.
    """

    kind: Literal["decoder"] = "decoder"
    decoder_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_positions: int = 1024
    tie: Tie = "three-way"
    output_bias: bool = False

    def __post_init__(self) -> None:
        _check_choices(self, kind=Literal["decoder"])
        self.stack()

    @property
    def encoder_layers(self) -> int:
        """There is no encoder."""
        return 0

    def stack(self) -> Architecture:
        """Return the sizes of its layers, as those of one side of a Transformer.

        Raises:
            ValueError: as :class:`Architecture`, which has the same rules.
        """
        sizes = {name: value for name, value in asdict(self).items() if name != "kind"}
        return Architecture(encoder_layers=self.decoder_layers, **sizes)

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderArchitecture:
    """Sizes and choices of the encoder of a Transformer alone (Devlin et al. 2019), with a head that says what it read.

    ``answers`` is ``tokens`` for one answer a token (hidden words, tags), ``sequence`` for one answer a text (a class).

    Raises:
        ValueError: see :class:`Architecture`.
    """

    kind: Literal["encoder"] = "encoder"
    answers: Answers = "sequence"
    encoder_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_positions: int = 1024
    tie: Tie = "three-way"
    output_bias: bool = False

    def __post_init__(self) -> None:
        _check_choices(self, kind=Literal["encoder"], answers=Answers)
        self.stack()

    @property
    def decoder_layers(self) -> int:
        """There is no decoder."""
        return 0

    def stack(self) -> Architecture:
        """Return the sizes of its layers, as those of one side of a Transformer.

        Raises:
            ValueError: as :class:`Architecture`, which has the same rules.
        """
        sizes = {name: v for name, v in asdict(self).items() if name not in ("kind", "answers")}
        return Architecture(decoder_layers=self.encoder_layers, **sizes)

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


AnyArchitecture = (
    Architecture
    | RecurrentArchitecture
    | ConvolutionalArchitecture
    | EncoderArchitecture
    | DecoderArchitecture
)


def architecture_from(content: Mapping[str, Any]) -> AnyArchitecture:
    """Read what ``to_dict`` gave; without a ``kind`` it is a Transformer's.

    Raises:
        ValueError: a kind or a field that is not known, or a value that its field does not take.
    """
    kind = content.get("kind", "transformer")
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}; it takes one of {', '.join(get_args(Kind))}")
    if unknown := sorted(content.keys() - fields_of(kind) - {"kind"}):
        raise ValueError(
            f"the sizes of a {kind} have keys that are not known: {', '.join(unknown)}"
        )
    match kind:
        case "transformer":
            return Architecture(**{name: v for name, v in content.items() if name != "kind"})
        case "convolutional":
            return ConvolutionalArchitecture(**content)
        case "encoder":
            return EncoderArchitecture(**content)
        case "decoder":
            return DecoderArchitecture(**content)
        case _:
            return RecurrentArchitecture(**content)


def fields_of(kind: Kind) -> frozenset[str]:
    """Name the sizes and choices that a model of this kind has."""
    described = {
        "transformer": Architecture,
        "convolutional": ConvolutionalArchitecture,
        "encoder": EncoderArchitecture,
        "decoder": DecoderArchitecture,
    }.get(kind, RecurrentArchitecture)
    return frozenset(field.name for field in fields(described)) - {"kind"}


def _check_sizes(described: object, *names: str) -> None:
    """Compare each field with what it takes, as all below do: a configuration file may say anything."""
    for name in names:
        value = getattr(described, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} is {value!r}; it takes a whole number of at least 1")


def _check_probabilities(described: object, *names: str) -> None:
    for name in names:
        value = getattr(described, name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
            raise ValueError(f"{name} is {value!r}; it takes a number of at least 0, below 1")


def _check_switches(described: object, *names: str) -> None:
    for name in names:
        value = getattr(described, name)
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; it takes true or false")


def _check_choices(described: object, **choices: Any) -> None:
    for name, choice in choices.items():
        value, allowed = getattr(described, name), get_args(choice)
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; it takes one of {', '.join(allowed)}")


PRESETS: dict[str, Architecture] = {
    "tiny": Architecture(encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, heads=4),
    "small": Architecture(encoder_layers=3, decoder_layers=3, d_model=256, d_ff=1024, heads=4),
    "base": Architecture(),
    "big": Architecture(d_model=1024, d_ff=4096, heads=16, dropout=0.3),
}
"""Sizes with a name; base and big are the paper's (Table 3)."""
