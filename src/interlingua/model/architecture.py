"""The numbers that describe a model: one row of Table 3 of Vaswani et al. 2017."""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

__all__ = ["PRESETS", "Architecture"]

Activation = Literal["relu", "gelu", "swish", "swiglu"]
Norm = Literal["post", "pre"]
Positions = Literal["sinusoidal", "learned"]
Tie = Literal["three-way", "target", "none"]

_SIZES = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads", "max_positions")
_OWN_WIDTHS = ("d_k", "d_v")
_PROBABILITIES = ("dropout", "attention_dropout", "activation_dropout")
_CHOICES = {"activation": Activation, "norm": Norm, "positions": Positions, "tie": Tie}


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
        self._check_fields()
        if (self.d_k is None or self.d_v is None) and self.d_model % self.heads:
            raise ValueError(
                f"d_model {self.d_model} is not a multiple of heads {self.heads}; "
                "change one of them, or give d_k and d_v"
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"sinusoidal positions need an even d_model, not {self.d_model}")

    @property
    def query_width(self) -> int:
        """d_k, by default d_model / heads (section 3.2.2)."""
        return self.d_k if self.d_k is not None else self.d_model // self.heads

    @property
    def value_width(self) -> int:
        """d_v, by default d_model / heads (section 3.2.2)."""
        return self.d_v if self.d_v is not None else self.d_model // self.heads

    def _check_fields(self) -> None:
        """Compare each field with what it takes: a configuration file may say anything."""
        for name in (*_SIZES, *_OWN_WIDTHS):
            value = getattr(self, name)
            if value is None and name in _OWN_WIDTHS:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}; it takes a whole number of at least 1")
        for name in _PROBABILITIES:
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
                raise ValueError(f"{name} is {value!r}; it takes a number of at least 0, below 1")
        if not isinstance(self.output_bias, bool):
            raise ValueError(f"output_bias is {self.output_bias!r}; it takes true or false")
        for name, choices in _CHOICES.items():
            value, allowed = getattr(self, name), get_args(choices)
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; it takes one of {', '.join(allowed)}")

    def to_dict(self) -> dict[str, int | float | str | None]:
        """Give every field by name, for ``config.json``."""
        return asdict(self)


PRESETS: dict[str, Architecture] = {
    "tiny": Architecture(encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, heads=4),
    "small": Architecture(encoder_layers=3, decoder_layers=3, d_model=256, d_ff=1024, heads=4),
    "base": Architecture(),
    "big": Architecture(d_model=1024, d_ff=4096, heads=16, dropout=0.3),
}
"""Sizes with a name; base and big are the paper's (Table 3)."""
