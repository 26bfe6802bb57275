"""Learn a vocabulary from text.

Words are counted first, so that learning costs the number of different words and not the length of the corpus, and so
that the order of the lines does not matter. SentencePiece learns the pieces of BPE, WordPiece and Unigram from the
counts (``docs/decisions/0002-tokenizer-training.md`` says why); words and characters are simply the most frequent ones.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from interlingua.errors import TokenizerError
from interlingua.tokenization.learnt_from import LearntFrom
from interlingua.tokenization.normalisation import Normaliser, as_form
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.sentencepiece_training import learn_pieces
from interlingua.tokenization.text_form import (
    BYTE_ALPHABET,
    LONGEST_WORD,
    Spacing,
    runs_of_one_class,
    to_byte_letters,
)
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.vocabulary import (
    BYTE_PIECES,
    SPACE_MARK,
    SPECIAL_PIECES,
    Vocabulary,
)

__all__ = ["SMALLEST_VOCABULARY", "train_tokenizer"]

_FIXED = (*SPECIAL_PIECES, *BYTE_PIECES)

SMALLEST_VOCABULARY = len(_FIXED) + 2
"""Specials and bytes, the space mark and one character."""

_MOST_WORDS = {"bpe": 400_000, "wordpiece": 400_000, "unigram": 150_000}
"""Different words that SentencePiece learns from, the most frequent ones: it needs about 0.85 kB a word for BPE and 2.8 kB
for Unigram, and what is rarer than so many others has no say in a vocabulary."""

_SEPARATORS = "\0\t\n\r"
"""Characters that SentencePiece's table of counts cannot hold; they are spelled in bytes."""


def train_tokenizer(
    texts: Iterable[str],
    *,
    kind: str,
    vocabulary_size: int,
    normalization: str = "nfkc",
    lowercase: bool = False,
    byte_level: bool = False,
    tags: Sequence[str] = (),
    of_lines: int | None = None,
) -> Tokenizer:
    """Learn a tokenizer of at most ``vocabulary_size`` entries, specials and bytes included.

    A corpus that is too small for the size gives fewer entries. The same texts give the same tokenizer, to the byte.

    Args:
        texts: sentences, read once.
        kind: ``bpe``, ``unigram``, ``wordpiece``, ``word`` or ``char``.
        vocabulary_size: entries at most.
        normalization: ``nfkc``, ``nfc`` or ``none``; has no effect with ``byte_level``.
        lowercase: fold case before anything else.
        byte_level: cut bytes instead of characters, so that every text comes back as it was (``bpe`` only).
        of_lines: how many lines ``texts`` is a sample of, for the record (None: it is all of them).
        tags: symbols of more than one character that get an id each, which no text becomes, whatever it looks like.

    Raises:
        TokenizerError: an argument makes no sense, or ``texts`` holds no text.
    """
    _check(kind, vocabulary_size, len(tags), lowercase=lowercase, byte_level=byte_level)
    normaliser = Normaliser("none" if byte_level else as_form(normalization), lowercase)
    words, lines = _count_words(texts, normaliser)
    used = min(len(words), _MOST_WORDS.get(kind, len(words)))
    learnt_from = LearntFrom(lines, of_lines or lines, len(words), used)
    if byte_level:
        return _train_byte_level(words, vocabulary_size, normaliser, tags, learnt_from)
    fixed = (*_FIXED, *tags)
    room = vocabulary_size - len(fixed)
    alphabet = _choose_alphabet(words, room if kind == "char" else max(room // 2, 2))
    if kind == "char":
        learnt = [(letter, 0.0) for letter in alphabet]
    elif kind == "word":
        learnt = _frequent_words(words, alphabet, room)
    else:
        counts = _most_frequent(_count_parts(words, frozenset(alphabet)), _MOST_WORDS[kind])
        learnt = _learn_with_alphabet(counts, kind, room, alphabet, fixed)
    pieces = (*fixed, *(piece for piece, _ in learnt))
    scores = (*(0.0 for _ in fixed), *(score for _, score in learnt))
    vocabulary = Vocabulary(pieces, scores, hidden=_places_of(tags, pieces))
    return PieceTokenizer(kind, vocabulary, normaliser, learnt_from=learnt_from)


def _places_of(tags: Sequence[str], pieces: Sequence[str]) -> frozenset[int]:
    return frozenset(pieces.index(tag) for tag in tags)


def _check(
    kind: str, vocabulary_size: int, num_tags: int, *, lowercase: bool, byte_level: bool
) -> None:
    if kind not in ("bpe", "unigram", "wordpiece", "word", "char"):
        raise TokenizerError(
            f"{kind!r} is not a kind of tokenizer; choose bpe, unigram, wordpiece, word or char"
        )
    if byte_level and kind != "bpe":
        raise TokenizerError(
            f"byte_level works with bpe only, not with {kind}; set tokenization.kind to bpe"
        )
    if byte_level and lowercase:
        raise TokenizerError(
            "byte_level keeps every text as it is and lowercase changes it; choose one of the two"
        )
    smallest = SMALLEST_VOCABULARY + num_tags
    if vocabulary_size < smallest:
        tags = f" and {num_tags} {'is a tag' if num_tags == 1 else 'are tags'}" if num_tags else ""
        raise TokenizerError(
            f"a vocabulary of {vocabulary_size} is too small: {len(_FIXED)} entries are special symbols and bytes"
            f"{tags}; set tokenization.vocabulary_size to {smallest} at the least, better to 1000 or more"
        )


def _count_words(texts: Iterable[str], normaliser: Normaliser) -> tuple[Counter[str], int]:
    """Count what stands between spaces, and the lines; the empty word between two spaces counts as well."""
    words: Counter[str] = Counter()
    lines = 0
    for text in texts:
        words.update(normaliser(text).split(" "))
        lines += 1
    if not any(words):
        raise TokenizerError("there is no text to learn a tokenizer from; is the corpus empty?")
    return words, lines


def _choose_alphabet(words: Counter[str], room: int) -> list[str]:
    """Return the space mark and the most frequent characters, at most ``room`` in all.

    A character that makes up less than a millionth of the text is left to the bytes: noise would fill the vocabulary.
    """
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
    del letters[SPACE_MARK]
    rare = letters.total() // 1_000_000
    kept = sorted((-count, letter) for letter, count in letters.items() if count > rare)
    return [SPACE_MARK, *(letter for _, letter in kept[: room - 1])]


def _frequent_words(words: Counter[str], alphabet: list[str], room: int) -> list[tuple[str, float]]:
    """Return the most frequent words, and the characters that spell the others."""
    ranked = sorted((-count, word) for word, count in words.items() if word)
    marked = [SPACE_MARK + word for _, word in ranked if SPACE_MARK not in word]
    kept = [word for word in marked if len(word) <= LONGEST_WORD][: room - len(alphabet)]
    return [(piece, 0.0) for piece in (*kept, *alphabet)]


def _count_parts(words: Counter[str], alphabet: frozenset[str]) -> Counter[str]:
    """Count what is left of the words when they are cut at characters outside the alphabet."""
    usable = alphabet - {SPACE_MARK, *_SEPARATORS}
    parts: Counter[str] = Counter()
    for word, count in words.items():
        part = SPACE_MARK
        for letter in word[:LONGEST_WORD]:
            if letter in usable:
                part += letter
            else:
                parts[part] += count
                part = ""
        parts[part] += count
    del parts[""]
    return parts


def _most_frequent(counts: Counter[str], number: int) -> Counter[str]:
    """Return at most ``number`` of the counted words; of equals, those that come first by their letters."""
    if len(counts) <= number:
        return counts
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return Counter(dict(ranked[:number]))


def _learn_with_alphabet(
    counts: Counter[str], kind: str, room: int, alphabet: list[str], fixed: Sequence[str]
) -> list[tuple[str, float]]:
    """Return pieces and scores, the best first; every character of the alphabet is among them."""
    learnt = learn_pieces(
        counts,
        "unigram" if kind == "unigram" else "bpe",
        room,
        split_classes=True,
    )
    pieces = {piece: score for piece, score in learnt if piece not in fixed}
    worst = min(pieces.values(), default=0.0)
    missing = [letter for letter in alphabet if letter not in pieces]
    kept = list(pieces.items())[: room - len(missing)]
    return kept + [(letter, worst - 1.0 - place) for place, letter in enumerate(missing)]


def _train_byte_level(
    words: Counter[str],
    vocabulary_size: int,
    normaliser: Normaliser,
    tags: Sequence[str],
    learnt_from: LearntFrom,
) -> Tokenizer:
    """Learn BPE over bytes; a space is the first byte of the word after it."""
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in runs_of_one_class(" " + word[:LONGEST_WORD], " "):
            parts[to_byte_letters(part)] += count
    parts = _most_frequent(parts, _MOST_WORDS["bpe"])
    alphabet = list(BYTE_ALPHABET)
    learnt = learn_pieces(parts, "bpe", vocabulary_size - len(SPECIAL_PIECES), split_classes=False)
    fixed = (*SPECIAL_PIECES, *alphabet, *tags)
    merged = [piece for piece, _ in learnt if len(piece) > 1 and piece not in fixed]
    pieces = (*fixed, *merged[: vocabulary_size - len(fixed)])
    scores = tuple(-float(number) for number in range(len(pieces)))
    hidden = _places_of(tags, pieces)
    vocabulary = Vocabulary(pieces, scores, byte_fallback=False, hidden=hidden)
    spacing = Spacing(byte_level=True, first_mark=False)
    return PieceTokenizer("bpe", vocabulary, normaliser, spacing, learnt_from)
