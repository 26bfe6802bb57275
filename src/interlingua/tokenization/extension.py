"""More pieces for a vocabulary that a model already knows: behind the old ones, whose ids stay.

Learning goes on where the old vocabulary ends: the new text is cut by it, and the neighbours that meet most often are
joined, again and again (Sennrich et al. 2016). A join of new pieces ranks behind every old one, so that text in which no
new piece occurs is cut as before.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from interlingua.errors import TokenizerError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.renumbered import RenumberedTokenizer
from interlingua.tokenization.segmentation import UnigramScores
from interlingua.tokenization.text_form import (
    from_byte_letters,
    runs_of_one_class,
    to_byte_letters,
)
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.vocabulary import SPACE_MARK, Vocabulary

__all__ = ["extend_pair", "extend_tokenizer", "old_ids_of"]

_FEWEST = 2
"""A piece that occurs once would be learnt from one sentence."""

_MOST_LETTERS = 16
"""Letters of a new piece, as in SentencePiece."""


def extend_pair(
    tokenizers: TokenizerPair,
    sources: Sequence[str],
    targets: Sequence[str],
    number: int,
    tags: Sequence[str] = (),
) -> TokenizerPair:
    """Return the tokenizers with at most ``number`` more pieces each, and the ``tags`` that the source does not know.

    Sides that number their pieces alike, as Marian's do, still do so afterwards.

    Raises:
        TokenizerError: they cannot be extended.
    """
    if tokenizers.shared:
        both = extend_tokenizer(tokenizers.source, [*sources, *targets], number, tags)
        return TokenizerPair(both, both, shared=True)
    source = extend_tokenizer(tokenizers.source, sources, number, tags)
    target = extend_tokenizer(tokenizers.target, targets, number)
    is_alike = tokenizers.source.all_tokens() == tokenizers.target.all_tokens()
    if (
        is_alike
        and isinstance(source, RenumberedTokenizer)
        and isinstance(target, RenumberedTokenizer)
    ):
        joint = (*source.pieces, *target.pieces)
        source = source.renumber(source.cutter, joint)
        target = target.renumber(target.cutter, joint)
    return TokenizerPair(source, target, shared=False)


def extend_tokenizer(
    tokenizer: Tokenizer, texts: Iterable[str], number: int, tags: Sequence[str] = ()
) -> Tokenizer:
    """Return ``tokenizer`` with at most ``number`` more pieces that occur in ``texts``, the most frequent ones.

    Args:
        tokenizer: stays as it is.
        texts: what the pieces are learnt from.
        number: how many; a small text gives fewer.
        tags: symbols that get an id each if they have none, which no text becomes.

    Raises:
        TokenizerError: a tokenizer that does not cut into pieces of its own, such as merges of subword-nmt.
    """
    if isinstance(tokenizer, PieceTokenizer):
        return _extend_pieces(tokenizer, texts, number, tags)
    if isinstance(tokenizer, RenumberedTokenizer):
        cutter = _extend_pieces(tokenizer.cutter, texts, number, tags)
        return tokenizer.renumber(cutter, (*tokenizer.pieces, *_added(tokenizer.cutter, cutter)))
    raise TokenizerError(
        f"the tokenizer of the starting model ({tokenizer.kind}) comes from another program, which numbered its "
        "pieces, and takes no new pieces; leave out start.new_pieces and corpus.tags"
    )


def _extend_pieces(
    tokenizer: PieceTokenizer, texts: Iterable[str], number: int, tags: Sequence[str]
) -> PieceTokenizer:
    old = tokenizer.vocabulary
    missing = [tag for tag in dict.fromkeys(tags) if tag not in old.pieces]
    learnt = _learn(tokenizer, _count_words(tokenizer, texts), number) if number else []
    learnt = [(piece, score) for piece, score in learnt if piece not in missing]
    first = len(old) + len(learnt)
    vocabulary = Vocabulary(
        (*old.pieces, *(piece for piece, _ in learnt), *missing),
        (*old.scores, *(score for _, score in learnt), *(0.0 for _ in missing)),
        specials=old.specials,
        hidden=old.hidden | frozenset(range(first, first + len(missing))),
        whole=old.whole,
        byte_fallback=old.byte_fallback,
    )
    return PieceTokenizer(tokenizer.kind, vocabulary, tokenizer.normaliser, tokenizer.spacing)


def old_ids_of(old: Tokenizer, new: Tokenizer) -> list[tuple[int, ...]]:
    """Return for each piece that ``new`` has more than ``old`` the old ids that spelled it."""
    if isinstance(old, PieceTokenizer):
        return [old.spell_letters(piece) for piece in _added(old, new)]
    if isinstance(old, RenumberedTokenizer):
        return [old.spell(piece) for piece in _added(old, new)]
    raise TokenizerError("only tokenizers of pieces can be extended")


def _added(old: Tokenizer, new: Tokenizer) -> list[str]:
    return new.all_tokens()[old.vocabulary_size :]


def _count_words(tokenizer: PieceTokenizer, texts: Iterable[str]) -> Counter[str]:
    """Count what no new piece reaches beyond: words, or where these are cut their letters, digits and other signs apart."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(tokenizer.words(text))
    if tokenizer.kind == "word":
        return words
    is_bytes = tokenizer.spacing.byte_level
    runs: Counter[str] = Counter()
    for word, count in words.items():
        plain, space = (from_byte_letters(word), " ") if is_bytes else (word, SPACE_MARK)
        for run in runs_of_one_class(plain, space):
            runs[to_byte_letters(run) if is_bytes else run] += count
    return runs


def _learn(tokenizer: PieceTokenizer, words: Counter[str], number: int) -> list[tuple[str, float]]:
    """Return new pieces and their scores: letters first, as longer pieces are made of them."""
    known = tokenizer.vocabulary.ids
    if tokenizer.kind == "word":
        ranked = sorted((-count, word) for word, count in words.items() if word not in known)
        return [(w, 0.0) for count, w in ranked if -count >= _FEWEST and len(w) > 1][:number]
    cuts = {word: tokenizer.cut_letters(word) for word in words}
    letters = Counter[str]()
    for word, pieces in cuts.items():
        for piece in pieces:
            if piece not in known and not "\ud800" <= piece <= "\udfff":
                letters[piece] += words[word]
    ranked_letters = sorted((-count, letter) for letter, count in letters.items())
    room = number if tokenizer.kind == "char" else (number + 1) // 2
    new = {letter: -count for count, letter in ranked_letters[:room] if -count >= _FEWEST}
    if tokenizer.kind != "char":
        joins = _Joins(cuts, words, known.keys() | new.keys())
        while len(new) < number and (best := joins.take()):
            new.setdefault(*best)
    return _scored(tokenizer, new, sum(len(cut) * words[word] for word, cut in cuts.items()))


def _scored(
    tokenizer: PieceTokenizer, counts: dict[str, int], total: int
) -> list[tuple[str, float]]:
    """Give each new piece a score: for BPE behind all others, for Unigram better than the pieces it is made of."""
    vocabulary = tokenizer.vocabulary
    if tokenizer.kind != "unigram":
        worst = min(vocabulary.scores, default=0.0)
        return [(piece, worst - 1.0 - place) for place, piece in enumerate(counts)]
    of = UnigramScores(vocabulary).of
    scored = []
    for piece, count in counts.items():
        parts = sum(of.get(part, -math.inf) for part in tokenizer.cut_letters(piece))
        scored.append((piece, max(parts + 0.1, math.log(count / max(total, 1)))))
    return scored


class _Joins:
    """The most frequent pair of neighbours, again and again; what changes by a join is counted anew."""

    def __init__(
        self, cuts: dict[str, list[str]], words: Counter[str], known: Iterable[str]
    ) -> None:
        self.words = list(cuts)
        self.cuts = [list(cuts[word]) for word in self.words]
        self.counts = [words[word] for word in self.words]
        self.known = frozenset(known)
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for place, cut in enumerate(self.cuts):
            self._count(place, cut, 1)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.heap)

    def take(self) -> tuple[str, int] | None:
        """Join the best pair everywhere, and return what it makes, and how often; None if there is none left."""
        while self.heap:
            count, pair = heapq.heappop(self.heap)
            if -count != self.pairs[pair]:
                continue  # it was counted anew since, and stands in the heap again
            if -count < _FEWEST:
                return None
            if self._is_sensible(pair):
                self._join(pair)
                return "".join(pair), -count
        return None

    def _is_sensible(self, pair: tuple[str, str]) -> bool:
        left, right = pair
        joined = left + right
        return not (SPACE_MARK in right or len(joined) > _MOST_LETTERS or joined in self.known)

    def _join(self, pair: tuple[str, str]) -> None:
        touched: set[tuple[str, str]] = set()
        for place in sorted(self.where[pair]):
            cut = self.cuts[place]
            self._count(place, cut, -1)
            touched.update(pairwise(cut))
            joined: list[str] = []
            for piece in cut:
                if joined and (joined[-1], piece) == pair:
                    joined[-1] += piece
                else:
                    joined.append(piece)
            self.cuts[place] = joined
            self._count(place, joined, 1)
            touched.update(pairwise(joined))
        for other in touched:
            if self.pairs[other] > 0:
                heapq.heappush(self.heap, (-self.pairs[other], other))

    def _count(self, place: int, cut: list[str], sign: int) -> None:
        for pair in pairwise(cut):
            self.pairs[pair] += sign * self.counts[place]
            if sign > 0:
                self.where[pair].add(place)
            else:
                self.where[pair].discard(place)
