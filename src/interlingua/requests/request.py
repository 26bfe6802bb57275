"""The options of one call to translate, and the checked record that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypedDict

from pydantic import ValidationError

from interlingua.config import DecodingConfig
from interlingua.corpus.words import holds_phrase
from interlingua.decoding.options import SearchOptions
from interlingua.errors import ConfigError
from interlingua.requests.glossary import Glossary

__all__ = ["Place", "Request", "TranslateOptions", "read_request"]

Place = int | tuple["Place", int]
"""Where a text stands: the n-th of a call, or the m-th part of the text at another place."""


class TranslateOptions(TypedDict, total=False):
    """What a call may ask for; None and what is left out are as the model was trained to be used.

    Those that are not told here are fields of :class:`interlingua.decoding.options.SearchOptions`.
    """

    batch_tokens: int | None
    """Tokens in one batch."""
    prefix: str | None
    """What every translation begins with."""
    force: Sequence[str] | None
    """Words or phrases that every translation holds."""
    ban: Sequence[str] | None
    """Words or phrases that no translation holds."""
    glossary: Glossary | None
    """Terms whose translation is prescribed."""
    lock: bool | None
    """Whether numbers, addresses, variables, tags and emoji come through unchanged; see docs/guides/decoding.md."""
    check: bool | None
    """Whether loops, copies and sources that were hardly looked at are flagged."""
    mbr: int | None
    """Candidates from which the one most like the others is taken: samples with ``sample``, else the n best."""
    split: bool | None
    """Whether a text is translated sentence by sentence, its white space kept."""
    confidence: bool | None
    """Whether each translation tells how sure one may be of it; for a model that was calibrated."""
    batch_invariant: bool | None
    """Whether the last bit is the same whatever else is translated, and so every draw of a sample; slower."""
    beam_size: int | None
    n_best: int | None
    length_penalty: float | None
    coverage_penalty: float | None
    min_length: int | None
    max_length: int | None
    no_repeat_ngram: int | None
    max_repeats: int | None
    groups: int | None
    diversity: float | None
    sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None


_TEXT_LEVEL = (
    "prefix",
    "force",
    "ban",
    "glossary",
    "lock",
    "check",
    "mbr",
    "split",
    "confidence",
    "batch_invariant",
)
_OF_THE_MODEL = ("beam_size", "length_penalty", "batch_tokens")
_FRACTIONS = ("length_penalty", "coverage_penalty", "diversity", "temperature", "top_p")
_SWITCHES = ("lock", "check", "split", "confidence", "batch_invariant", "sample")


@dataclass(frozen=True, slots=True)
class Request:
    """A call that can be carried out."""

    search: SearchOptions
    decoding: DecodingConfig
    """What the model says, with what the call says in its place."""
    prefix: str = ""
    """What every translation begins with."""
    force: tuple[str, ...] = ()
    """What every translation holds."""
    ban: tuple[str, ...] = ()
    """What no translation holds."""
    glossary: Glossary | None = None
    """Terms whose translation is prescribed."""
    lock: bool = False
    """Whether placeholders come through unchanged."""
    n_best: int = 1
    """Translations returned; search finds more where one is chosen among them."""
    mbr: int = 0
    """Candidates for minimum Bayes risk; 0 takes the likeliest."""
    check: bool = False
    split: bool = False
    confidence: bool = False
    batch_invariant: bool = False


ALTERNATIVES = 3
"""Alternatives that a confidence is computed from, unless the beam is narrower."""


def read_request(decoding: DecodingConfig, asked: TranslateOptions) -> Request:
    """Check what was asked for, and fill up what was left open.

    Without a ``beam_size``, as many samples are drawn as translations are wanted, and a beam in groups is widened
    to a multiple of them.

    Raises:
        TypeError: an option that does not exist, or a value of another kind than it takes.
        ConfigError: a value out of range, or values that do not go together.
    """
    unknown = sorted(asked.keys() - TranslateOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"translate has no option {unknown[0]!r}")
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    for name, value in given.items():
        _refuse_other_kinds(name, value)
    force, ban = _phrases("force", given), _phrases("ban", given)
    if given.get("prefix", "").isspace():
        raise ConfigError("prefix is nothing but white space; leave it out")
    _refuse_what_is_banned(given)
    decoding = _of_the_model(decoding, given)
    numbers = {
        name: value
        for name, value in given.items()
        if name not in (*_TEXT_LEVEL, *_OF_THE_MODEL, "n_best")
    }
    beam_size, n_best, wanted = _widths(decoding, given)
    if given.get("split") and n_best > 1:
        raise ConfigError(
            "split and n_best are both given; sentences of one text have no common ranking"
        )
    search = SearchOptions(
        n_best=wanted, beam_size=beam_size, length_penalty=decoding.length_penalty, **numbers
    )
    return Request(
        search,
        decoding,
        prefix=given.get("prefix", ""),
        force=force,
        ban=ban,
        glossary=given.get("glossary"),
        lock=given.get("lock", False),
        n_best=n_best,
        mbr=given.get("mbr", 0),
        check=given.get("check", False),
        split=given.get("split", False),
        confidence=given.get("confidence", False),
        batch_invariant=given.get("batch_invariant", False),
    )


def _widths(decoding: DecodingConfig, given: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the slots of the beam, the translations that are returned, and those that are searched to choose them from."""
    beam_size, n_best, mbr = decoding.beam_size, given.get("n_best", 1), given.get("mbr", 0)
    if "beam_size" not in given:
        if given.get("sample"):
            beam_size = max(1, n_best, mbr)
        beam_size = max(beam_size, mbr)
        groups = max(1, given.get("groups", 1))
        beam_size = -(-beam_size // groups) * groups
    SearchOptions(beam_size=beam_size, n_best=n_best)  # refuses more translations than hypotheses
    if mbr and not max(2, n_best) <= mbr <= beam_size:
        raise ConfigError(
            f"mbr is {mbr}; it takes 2 candidates or more, no fewer than n_best ({n_best}) and no more than "
            f"beam_size ({beam_size})"
        )
    wanted = max(n_best, mbr)
    if given.get("confidence"):
        wanted = max(wanted, min(ALTERNATIVES + 1, beam_size))
    return beam_size, n_best, wanted


def _refuse_other_kinds(name: str, value: object) -> None:
    if name in ("force", "ban"):
        if isinstance(value, str):
            raise TypeError(f"{name} takes a list of phrases: {name}=[{value!r}]")
        is_right = isinstance(value, Sequence) and all(isinstance(each, str) for each in value)
        kind = "a list of phrases"
    elif name == "prefix":
        is_right, kind = isinstance(value, str), "text"
    elif name == "glossary":
        is_right, kind = isinstance(value, Glossary), "a Glossary: Glossary.read(Path(...))"
    elif name in _SWITCHES:
        is_right, kind = isinstance(value, bool), "True or False"
    elif name in _FRACTIONS:
        is_right, kind = isinstance(value, Real) and not isinstance(value, bool), "a number"
    else:
        is_right, kind = (
            isinstance(value, Integral) and not isinstance(value, bool),
            "a whole number",
        )
    if not is_right:
        raise TypeError(f"{name} takes {kind}, not {value!r}")


def _refuse_what_is_banned(given: Mapping[str, Any]) -> None:
    """Refuse to ban what must be written: forced words, the prefix, the targets of the glossary."""
    terms = given["glossary"].terms if "glossary" in given else []
    demanded = [
        *((phrase, "forced") for phrase in given.get("force", ())),
        (given.get("prefix", ""), "the prefix"),
        *((term.target, "a target of the glossary") for term in terms),
    ]
    for banned in given.get("ban", ()):
        for phrase, what in demanded:
            if holds_phrase(phrase.casefold(), banned.casefold()):
                raise ConfigError(f"{banned!r} is banned, and {phrase!r} is {what}; choose one")


def _phrases(name: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    phrases = given.get(name, ())
    for phrase in phrases:
        if not phrase.strip():
            raise ConfigError(f"{name} holds an empty phrase; leave it out")
    return tuple(phrase.strip() for phrase in phrases)


def _of_the_model(decoding: DecodingConfig, given: Mapping[str, Any]) -> DecodingConfig:
    chosen = {name: given[name] for name in _OF_THE_MODEL if name in given}
    try:
        return DecodingConfig.model_validate(decoding.model_dump() | chosen)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{name} is {first['input']!r}: {first['msg']}") from error
