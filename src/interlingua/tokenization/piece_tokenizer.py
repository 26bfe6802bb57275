"""The tokenizer that is trained here: words, characters, BPE, WordPiece or Unigram over one kind of vocabulary."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from interlingua.errors import TokenizerError
from interlingua.tokenization.learnt_from import LearntFrom
from interlingua.tokenization.normalisation import Normaliser, SentencePieceNormaliser
from interlingua.tokenization.sampling import (
    Lattice,
    Uniforms,
    build_lattice,
    drop_matches,
    drop_merges,
    sample_path,
)
from interlingua.tokenization.segmentation import (
    UnigramScores,
    build_segment,
    piece_ranks,
    split_symbols,
    whole_pattern,
)
from interlingua.tokenization.text_form import (
    ByteForm,
    MetaspaceForm,
    Spacing,
    SpelledWord,
    TextForm,
)
from interlingua.tokenization.tokenizer import Encoding, Tokenizer
from interlingua.tokenization.vocabulary import Vocabulary

__all__ = ["PieceTokenizer"]

_CACHED_CHARACTERS = 20_000_000
_COST_OF_A_WORD = 60
"""What a remembered word costs besides its characters, in characters."""

_CACHED_LATTICES = 20_000
_CACHED_USUAL = 200_000
"""Words."""

Usual = tuple[int | None, tuple[int, ...]]
"""How many numbers the sampling of a word draws if each lets it take its usual way (None: it has none), and the ids then."""


class PieceTokenizer(Tokenizer):
    """Cuts each word once and remembers how; what it returns depends on nothing else that it has seen.

    ``decode(encode(x).ids) == normalise(x)`` for every ``x`` that is text (with byte fallback, which every tokenizer
    trained here has). Safe to use from several threads.
    """

    def __init__(
        self,
        kind: str,
        vocabulary: Vocabulary,
        normaliser: Normaliser | SentencePieceNormaliser,
        spacing: Spacing | None = None,
        learnt_from: LearntFrom | None = None,
    ) -> None:
        self.kind = kind
        self.learnt_from = learnt_from
        self.vocabulary = vocabulary
        self.normaliser = normaliser
        self.spacing = spacing or Spacing()
        self.vocabulary_size = len(vocabulary)
        specials = vocabulary.specials
        self.pad_id, self.unknown_id = specials.pad, specials.unknown
        self.begin_id, self.end_id = specials.begin, specials.end
        self._form: TextForm = (
            ByteForm(vocabulary)
            if self.spacing.byte_level
            else MetaspaceForm(vocabulary, self.spacing)
        )
        self._closed = self.spacing.byte_level or vocabulary.byte_fallback
        self._segment = build_segment(kind, vocabulary)
        self._sampler: Sampler | None = None
        self._usual: dict[str, Usual] = {}
        self._spelled: dict[str, SpelledWord] = {}
        self._spelled_characters = 0

    def normalise(self, text: str) -> str:
        """Apply the Unicode form and lower case; spaces stay. See :class:`Tokenizer`."""
        return self.normaliser(text)

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`."""
        words = self._form.words(self.normaliser(text))
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        start = -self._form.mark_width(words)
        for word in words:
            spelled, spans = self._spell(word)
            if not self._closed and ids[-1:] == [self.unknown_id] == list(spelled[:1]):
                # SentencePiece gives one unknown id to unknown words in a row.
                offsets[-1] = (offsets[-1][0], start + spans[0][1])
                ids += spelled[1:]
                offsets += [(start + begin, start + end) for begin, end in spans[1:]]
            else:
                ids += spelled
                offsets += [(max(start + begin, 0), start + end) for begin, end in spans]
            start += spans[-1][1]
        return Encoding(ids, offsets)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """See :class:`Tokenizer`."""
        if not self._closed:
            return super().encode_batch(texts)
        normalise, split, spelled = self.normaliser, self._form.words, self._spelled
        batch = []
        for text in texts:
            ids: list[int] = []
            for word in split(normalise(text)):
                known = spelled.get(word)
                ids += (known or self._spell(word))[0]
            batch.append(ids)
        return batch

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """See :class:`Tokenizer`."""
        if probability == 0.0:
            return self.encode_batch([text])[0]
        if self._sampler is None:
            self._sampler = Sampler(self.kind, self.vocabulary)
        sampler, form = self._sampler, self._form
        sampler.check(probability)
        draw = Uniforms(seed, epoch, pair, side)
        ids: list[int] = []
        for word in form.words(self.normaliser(text)):
            number, usual = self._usual.get(word) or self._find_usual(word, sampler)
            # Of most words nothing is dropped: they need not be joined letter by letter.
            if number is not None and draw.skip_unless_below(probability, number):
                ids += usual
            else:
                ids += form.spell(sampler.sample(form.letters(word), probability, draw))[0]
        return ids

    def _find_usual(self, word: str, sampler: "Sampler") -> Usual:
        letters = self._form.letters(word)
        pieces = self._segment(letters)
        found = (sampler.count_draws(letters, pieces), self._form.spell(pieces)[0])
        if len(self._usual) >= _CACHED_USUAL:
            self._usual.clear()
        self._usual[word] = found
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`."""
        try:
            return self._form.decode(ids)
        except KeyError:
            self.vocabulary.pieces_of(ids)  # Says which id is not in the vocabulary.
            raise

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """See :class:`Tokenizer`."""
        return self.vocabulary.pieces_of(ids)

    def save(self, path: Path) -> None:
        """See :class:`Tokenizer`."""
        from interlingua.tokenization.document import write_document
        from interlingua.tokenization.piece_document import describe_pieces

        write_document(Path(path), describe_pieces(self))

    def words(self, text: str) -> list[str]:
        """Split a text into what is cut on its own, each in the letters of the vocabulary's pieces."""
        return [self._form.letters(word) for word in self._form.words(self.normaliser(text))]

    def cut_letters(self, word: str) -> list[str]:
        """Cut one of :meth:`words`; a letter that no piece holds stands by itself."""
        return self._segment(word)

    def spell_letters(self, word: str) -> tuple[int, ...]:
        """Return the ids of one of :meth:`words`, or of any string of such letters."""
        return self._form.spell(self._segment(word))[0]

    def _spell(self, word: str) -> SpelledWord:
        known = self._spelled.get(word)
        if known is not None:
            return known
        spelled = self._form.spell(self._segment(self._form.letters(word)))
        # Only memory depends on when the cache is emptied, so threads that race here do no harm.
        if self._spelled_characters > _CACHED_CHARACTERS:
            self._spelled.clear()
            self._spelled_characters = 0
        self._spelled[word] = spelled
        self._spelled_characters += len(word) + _COST_OF_A_WORD
        return spelled


class Sampler:
    """Cuts words at random, in the way of each kind."""

    def __init__(self, kind: str, vocabulary: Vocabulary) -> None:
        if kind not in ("bpe", "unigram", "wordpiece"):
            raise TokenizerError(
                f"a {kind} tokenizer has only one way to cut a text; "
                "set tokenization.sampling to 0, or choose bpe, unigram or wordpiece"
            )
        self._kind = kind
        self._ids = vocabulary.ids
        self._longest = max(map(len, self._ids), default=1)
        self._whole = whole_pattern(vocabulary.whole)
        self._ranks = piece_ranks(vocabulary) if kind == "bpe" else {}
        self._scores = UnigramScores(vocabulary) if kind == "unigram" else None
        self._lattices: dict[tuple[str, float], Lattice] = {}

    def check(self, probability: float) -> None:
        """Raise a TokenizerError unless ``probability`` is in [0, 1)."""
        if not 0.0 <= probability < 1.0:
            raise TokenizerError(
                f"a sampling probability of {probability} makes no sense; give 0 or more, and less than 1"
            )

    def count_draws(self, word: str, pieces: list[str]) -> int | None:
        """Return how many numbers :meth:`sample` draws where none drops anything, so that ``pieces`` come out; None: it never drops."""
        if self._kind == "bpe":  # one for each join
            return len(split_symbols(word, self._whole)) - len(pieces)
        if self._kind == "wordpiece":  # one for each match
            return sum(len(piece) > 1 for piece in pieces)
        return None

    def sample(self, word: str, probability: float, draw: Iterator[float]) -> list[str]:
        """Return pieces that, joined, are ``word``."""
        if self._kind == "bpe":
            return drop_merges(split_symbols(word, self._whole), self._ranks, probability, draw)
        if self._scores is None:
            return drop_matches(word, self._ids, self._longest, probability, draw)
        lattice = self._lattices.get((word, probability))
        if lattice is None:
            if len(self._lattices) >= _CACHED_LATTICES:
                self._lattices.clear()
            lattice = build_lattice(word, self._scores, 1.0 - probability)
            self._lattices[word, probability] = lattice
        return sample_path(word, lattice, draw)
