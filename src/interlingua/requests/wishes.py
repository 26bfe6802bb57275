"""What one sentence of a request asks of the search: how long it may get, how it begins, what its samples depend on."""

import hashlib
from collections.abc import Callable, Sequence

from interlingua.decoding.options import Wishes
from interlingua.errors import ConfigError
from interlingua.requests.request import Place, Request
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["refuse_what_cannot_be_written", "wishes_of"]

_NO_SPELLING = "cannot be spelled with the model's vocabulary, which lacks some of its letters; say it in others"


def wishes_of(
    request: Request,
    source: Sequence[int],
    place: Place,
    *,
    tokenizer: Tokenizer,
    longest: int,
    least_room: int,
) -> Wishes:
    """Say in ids what one sentence asks for.

    Args:
        request: what the whole call asks for.
        source: the ids of the sentence, without the end symbol.
        place: where it stands; a sample depends on it.
        tokenizer: of the target.
        longest: tokens that the model writes at most, the end symbol included.
        least_room: tokens that it may write in any case, unless the request or the model allows fewer.

    Raises:
        ConfigError: a prefix or a least length that leaves no room, or a prefix that has no spelling.
    """
    prefix = tuple(tokenizer.encode(request.prefix).ids) if request.prefix else ()
    if tokenizer.unknown_id in prefix:
        raise ConfigError(f"the prefix {request.prefix!r} {_NO_SPELLING}")
    if len(prefix) >= longest:
        raise ConfigError(
            f"the prefix has {len(prefix):,} tokens and leaves no room: the model writes {longest:,} at most"
        )
    most, least = request.search.max_length, request.search.min_length
    if most is not None and len(prefix) >= most:
        raise ConfigError(
            f"the prefix has {len(prefix):,} tokens, and max_length is {most:,}; it has to be greater"
        )
    if least >= longest:
        raise ConfigError(
            f"min_length is {least:,}, and the model writes {longest:,} tokens at most, the end included"
        )
    usual = request.decoding
    room = usual.max_length_factor * (len(source) + 1) + usual.max_length_offset
    wanted = most or max(room, least_room, least + 1)
    return Wishes(
        max_length=int(max(min(wanted, longest), len(prefix) + 1)),
        source_length=len(source) + 1,
        prefix=prefix,
        key=_key(request.search.seed, source, place) if request.search.sample else 0,
    )


def refuse_what_cannot_be_written(
    request: Request, within: Callable[[str], Sequence[int]], longest: int, unknown_id: int
) -> None:
    """Refuse forced words that have no spelling, for which no translation has room, or that a rule against repeats forbids.

    Args:
        request: what the whole call asks for.
        within: the ids of a phrase inside a sentence.
        longest: tokens that the model writes at most, the end symbol included.
        unknown_id: the symbol of what the model has no letters for.

    Raises:
        ConfigError: such words.
    """
    phrases = {phrase: tuple(within(phrase)) for phrase in request.force}
    for phrase, ids in phrases.items():
        if unknown_id in ids:
            raise ConfigError(f"{phrase!r} is forced, and {_NO_SPELLING}")
    size, n = sum(map(len, phrases.values())) + 1, request.search.no_repeat_ngram
    most = min(request.search.max_length or longest, longest)
    if size > most:
        limit = (
            f"max_length is {most:,}" if most < longest else f"the model writes {most:,} at most"
        )
        raise ConfigError(
            f"the forced words have {size:,} tokens with the end, and {limit}; force fewer, or shorter ones"
        )
    for phrase, ids in phrases.items():
        runs = [ids[i : i + n] for i in range(len(ids) - n + 1)] if n else []
        if len(set(runs)) < len(runs):
            raise ConfigError(
                f"{phrase!r} is forced, and writes the same {n} tokens in a row twice, which no_repeat_ngram = {n} "
                "forbids; leave one out"
            )


def _key(seed: int, source: Sequence[int], place: Place) -> int:
    """Make one number of what a sample may depend on."""
    told = repr((seed, tuple(source), place)).encode()
    return int.from_bytes(hashlib.sha256(told).digest()[:8], "big")
