"""How a batch is searched, in one frozen record; what each sentence asks for on its own, in another."""

import math
from dataclasses import dataclass

from interlingua.errors import ConfigError

__all__ = ["SearchOptions", "Wishes"]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Everything that decides a search and is the same for all sentences.

    Raises:
        ConfigError: a value out of range, or two that do not go together.
    """

    beam_size: int = 4
    """Slots a sentence, W: hypotheses kept, or samples drawn; 1 is greedy search."""
    n_best: int = 1
    """Translations returned, at most ``beam_size``."""
    length_penalty: float = 0.0
    """Alpha of :func:`interlingua.decoding.hypothesis.length_penalty`."""
    coverage_penalty: float = 0.0
    """Beta of :func:`interlingua.decoding.cross_attention.coverage_penalty`; the found targets are ranked with it."""
    min_length: int = 0
    """Symbols that a target has at least, the end symbol not counted."""
    max_length: int | None = None
    """Symbols that a target has at most, the end symbol counted (None: by the length of its source)."""
    no_repeat_ngram: int = 0
    """No n-gram of this many symbols is written twice; 0 lets all."""
    max_repeats: int = 0
    """A target that writes one phrase so many times in a row is stopped there; 0 stops none, at least 2 else."""
    groups: int = 1
    """Groups of a diverse beam, each of ``beam_size / groups`` slots; 1 is an ordinary beam."""
    diversity: float = 0.5
    """What a symbol loses in log-probability for each earlier group that has just written it."""
    sample: bool = False
    """Draw symbols by their probability instead of searching for the likeliest."""
    temperature: float = 1.0
    """Above 1 more even, below 1 more like the likeliest."""
    top_k: int = 0
    """Draw among this many likeliest symbols only; 0 among all."""
    top_p: float = 1.0
    """Draw among the fewest likeliest symbols whose probabilities sum to this."""
    seed: int = 0
    """A sample depends on this, the sentence and its place; up to rounding, see ``batch_invariant``."""

    def __post_init__(self) -> None:
        """Refuse what cannot be searched."""
        self._check_ranges()
        self._check_together()

    def _check_ranges(self) -> None:
        whole = {
            "beam_size": 1,
            "n_best": 1,
            "min_length": 0,
            "no_repeat_ngram": 0,
            "max_repeats": 0,
            "groups": 1,
            "top_k": 0,
            "seed": 0,
        }
        for name, least in whole.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}; it takes at least {least}")
        for name in ("coverage_penalty", "diversity"):
            if not 0.0 <= getattr(self, name) <= 1e6:
                raise ConfigError(f"{name} is {getattr(self, name)}; it takes 0 to 1,000,000")
        if not math.isfinite(self.length_penalty):
            raise ConfigError(f"length_penalty is {self.length_penalty}; it takes a number")
        if not 1e-3 <= self.temperature <= 1e3:
            raise ConfigError(f"temperature is {self.temperature}; it takes 0.001 to 1000")
        if not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"top_p is {self.top_p}; it takes more than 0 and at most 1")
        if self.max_repeats == 1:
            raise ConfigError("max_repeats is 1, which every word does; it takes 2 or more, or 0")
        if self.max_length is not None and self.max_length < 1:
            raise ConfigError(f"max_length is {self.max_length}; it takes at least 1")

    def _check_together(self) -> None:
        if self.n_best > self.beam_size:
            raise ConfigError(
                f"n_best is {self.n_best}, but a beam of {self.beam_size} finds no more than "
                f"{self.beam_size}; ask for a beam_size of at least {self.n_best}"
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise ConfigError(
                f"min_length is {self.min_length} and max_length {self.max_length}; a target of that length has "
                "no room for its end"
            )
        if self.beam_size % self.groups:
            raise ConfigError(
                f"a beam of {self.beam_size} cannot be cut into {self.groups} equal groups; "
                f"ask for a beam_size of {-(-self.beam_size // self.groups) * self.groups}"
            )
        if self.sample and self.groups > 1:
            raise ConfigError("sample and groups are both given; samples differ by themselves")
        if self.diversity != 0.5 and self.groups == 1:
            raise ConfigError("diversity is for groups; ask for groups too, or leave diversity out")
        drawn = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}
        changed = [name for name, usual in drawn.items() if getattr(self, name) != usual]
        if changed and not self.sample:
            raise ConfigError(
                f"{changed[0]} is for samples; ask for sample too, or leave {changed[0]} out"
            )


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one sentence asks for, in ids."""

    max_length: int
    """Symbols written at most, the end symbol included; at least 1."""
    source_length: int = 0
    """Symbols of the source, the end symbol included; what is beyond is padding."""
    prefix: tuple[int, ...] = ()
    """What its target begins with."""
    key: int = 0
    """What tells its samples from those of other sentences."""
