"""Random segmentations: pure functions of their arguments, with the probabilities of the papers."""

import math
from collections import Counter
from itertools import combinations, pairwise

import pytest

from interlingua.errors import TokenizerError
from interlingua.tokenization.normalisation import Normaliser
from interlingua.tokenization.piece_tokenizer import PieceTokenizer, Sampler
from interlingua.tokenization.sampling import Uniforms, drop_merges
from interlingua.tokenization.segmentation import (
    UnigramScores,
    best_path,
    longest_matches,
    merge_pairs,
)
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.vocabulary import BYTE_PIECES, SPECIAL_PIECES, Vocabulary

STEMS = ["low", "new", "wid", "slow", "old", "road", "riv"]
ENDINGS = ["", "e", "er", "est", "ly", "ing", "s", "en", "ness"]
CORPUS = [f"{stem}{ending} the and of" for stem in STEMS for ending in ENDINGS] * 5


def hand_made_unigram() -> PieceTokenizer:
    """A vocabulary so small that training would leave one probable path through each word."""
    pieces = [
        "\u2581",
        *"lowest",
        "\u2581lo",
        "low",
        "we",
        "est",
        "\u2581low",
        "st",
        "\u2581lowest",
    ]
    scores = [-4.0 - 0.3 * place for place in range(7)] + [-5.0, -5.5, -6.0, -5.2, -4.5, -6.5, -9.0]
    fixed = (*SPECIAL_PIECES, *BYTE_PIECES)
    vocabulary = Vocabulary((*fixed, *pieces), (*(0.0 for _ in fixed), *scores))
    return PieceTokenizer("unigram", vocabulary, Normaliser())


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece"])
def tokenizer(request: pytest.FixtureRequest) -> PieceTokenizer:
    if request.param == "unigram":
        return hand_made_unigram()
    trained = train_tokenizer(CORPUS, kind=request.param, vocabulary_size=330)
    assert isinstance(trained, PieceTokenizer)
    return trained


TEXT = "the slowest newer road \u2581 </s> is wide € 😀"


def sampled(
    tokenizer: PieceTokenizer,
    probability: float = 0.9,
    seed: int = 1,
    epoch: int = 2,
    pair: int = 3,
) -> list[int]:
    return tokenizer.encode_sampled(
        TEXT, probability=probability, seed=seed, epoch=epoch, pair=pair, side=0
    )


def test_a_sample_decodes_to_the_text(tokenizer: PieceTokenizer) -> None:
    for pair in range(50):
        assert tokenizer.decode(sampled(tokenizer, 0.5, pair=pair)) == tokenizer.normalise(TEXT)


def test_a_sample_depends_only_on_its_arguments(tokenizer: PieceTokenizer) -> None:
    first = [sampled(tokenizer, pair=pair) for pair in range(20)]
    tokenizer.encode_batch(CORPUS)
    assert [sampled(tokenizer, pair=pair) for pair in reversed(range(20))] == first[::-1]


@pytest.mark.parametrize("probability", [0.03, 0.3, 0.9])
def test_words_of_which_nothing_is_dropped_come_out_as_if_they_were_joined_letter_by_letter(
    tokenizer: PieceTokenizer, probability: float
) -> None:
    sampler, form = Sampler(tokenizer.kind, tokenizer.vocabulary), tokenizer._form
    texts = [TEXT, "", "the " * 200, "low" * 60, *CORPUS[:40]]
    for pair, text in enumerate(texts):
        draw = Uniforms(5, 1, pair, 0)
        plain: list[int] = []
        for word in form.words(tokenizer.normalise(text)):
            plain += form.spell(sampler.sample(form.letters(word), probability, draw))[0]
        found = tokenizer.encode_sampled(
            text, probability=probability, seed=5, epoch=1, pair=pair, side=0
        )
        assert found == plain


def test_numbers_that_are_passed_over_are_those_that_would_come_next() -> None:
    every = [next(stream) for stream in [Uniforms(1, 2, 3, 0)] for _ in range(300)]
    stream = Uniforms(1, 2, 3, 0)
    place = 0
    for count in (0, 1, 5, 70, 3, 130):
        lowest = min(every[place : place + count], default=1.0)
        assert not count or not stream.skip_unless_below(lowest + 1e-9, count)
        assert stream.skip_unless_below(lowest, count)
        place += count
        assert next(stream) == every[place]
        place += 1


def test_each_argument_changes_samples(tokenizer: PieceTokenizer) -> None:
    base = [sampled(tokenizer, pair=pair) for pair in range(20)]
    assert len({tuple(ids) for ids in base}) > 5
    assert [sampled(tokenizer, pair=pair, seed=7) for pair in range(20)] != base
    assert [sampled(tokenizer, pair=pair, epoch=7) for pair in range(20)] != base
    other_side = [
        tokenizer.encode_sampled(TEXT, probability=0.9, seed=1, epoch=2, pair=pair, side=1)
        for pair in range(20)
    ]
    assert other_side != base


def test_probability_zero_is_plain_encoding(tokenizer: PieceTokenizer) -> None:
    assert sampled(tokenizer, 0.0) == tokenizer.encode(TEXT).ids


def test_a_small_probability_changes_little_and_a_large_one_much(
    tokenizer: PieceTokenizer,
) -> None:
    plain = len(tokenizer.encode(TEXT).ids)
    lengths = {
        probability: sum(len(sampled(tokenizer, probability, pair=pair)) for pair in range(100))
        / 100
        for probability in (0.02, 0.9)
    }
    assert lengths[0.9] > lengths[0.02] + 0.5
    assert tokenizer.kind == "unigram" or lengths[0.02] < plain * 1.1


@pytest.mark.parametrize("kind", ["word", "char"])
def test_a_kind_with_one_segmentation_cannot_be_sampled(kind: str) -> None:
    trained = train_tokenizer(CORPUS, kind=kind, vocabulary_size=330)
    with pytest.raises(TokenizerError, match=f"a {kind} tokenizer has only one way"):
        trained.encode_sampled("low", probability=0.1, seed=0, epoch=0, pair=0, side=0)
    assert trained.encode_sampled("low", probability=0.0, seed=0, epoch=0, pair=0, side=0)


@pytest.mark.parametrize("probability", [-0.1, 1.0, 2.0, math.nan])
def test_a_probability_outside_its_range_is_refused(
    tokenizer: PieceTokenizer, probability: float
) -> None:
    with pytest.raises(TokenizerError, match="makes no sense"):
        sampled(tokenizer, probability)


def test_streams_are_uniform_and_differ() -> None:
    draws = [next(Uniforms(seed, 0, pair, 0)) for seed in range(20) for pair in range(100)]
    assert all(0 <= draw < 1 for draw in draws)
    assert len(set(draws)) == len(draws)
    assert abs(sum(draws) / len(draws) - 0.5) < 0.03


def test_a_stream_never_changes() -> None:
    stream = Uniforms(1, 2, 3, 0)
    # Philox 4x64-10 with key (1, 0) and counter (0, 0, 3, 2), first drawn with NumPy 2.4.6.
    expected = [0.36046836291, 0.090250628358, 0.208109779774]
    assert [round(next(stream), 12) for _ in range(3)] == expected


def test_merges_are_dropped_with_the_probability() -> None:
    # One merge only: it is kept once in (1 - p), which is the whole of the law.
    kept = sum(
        drop_merges(["a", "b"], {"ab": 0}, 0.3, Uniforms(pair, 0, 0, 0)) == ["ab"]
        for pair in range(4000)
    )
    assert abs(kept / 4000 - 0.7) < 0.03


def test_a_unigram_sample_has_the_probability_of_its_path() -> None:
    trained = hand_made_unigram()
    scores = UnigramScores(trained.vocabulary)
    word, alpha = "▁lowest", 0.4
    weights = {}
    for count in range(len(word)):
        for cuts in combinations(range(1, len(word)), count):
            edges = [0, *cuts, len(word)]
            path = tuple(word[a:b] for a, b in pairwise(edges))
            if all(piece in scores.of for piece in path):
                weights[path] = math.exp(alpha * sum(scores.of[piece] for piece in path))
    total = sum(weights.values())
    assert len(weights) > 10
    draws = 6000
    found = Counter(
        tuple(
            trained.tokens(
                trained.encode_sampled(
                    "lowest", probability=1 - alpha, seed=3, epoch=0, pair=pair, side=0
                )
            )
        )
        for pair in range(draws)
    )
    for path, weight in weights.items():
        expected = weight / total
        deviation = math.sqrt(expected * (1 - expected) / draws)
        assert abs(found[path] / draws - expected) < 5 * deviation + 1e-9
    assert set(found) <= set(weights)


def test_the_best_path_is_the_best_of_all_paths() -> None:
    trained = train_tokenizer(CORPUS, kind="unigram", vocabulary_size=330)
    assert isinstance(trained, PieceTokenizer)
    scores = UnigramScores(trained.vocabulary)
    for word in ("▁slowest", "▁newer", "▁€low", "▁roads"):
        best = max(
            sum(
                scores.of.get(word[a:b], scores.unknown if b == a + 1 else -math.inf)
                for a, b in path
            )
            for count in range(len(word))
            for cuts in combinations(range(1, len(word)), count)
            for path in [list(zip([0, *cuts], [*cuts, len(word)], strict=True))]
        )
        found = sum(scores.of.get(piece, scores.unknown) for piece in best_path(word, scores))
        assert found == pytest.approx(best)


def test_merging_takes_the_best_rank_and_the_leftmost() -> None:
    ranks = {"aa": 1, "ab": 0, "aab": 2}
    assert merge_pairs(list("aaab"), ranks) == ["aa", "ab"]
    assert merge_pairs(list("aaa"), ranks) == ["aa", "a"]
    assert merge_pairs([], ranks) == []
    assert merge_pairs(["x"], ranks) == ["x"]


def test_wordpiece_takes_the_longest_match() -> None:
    ids = dict.fromkeys(("a", "ab", "abc", "d"), 0)
    assert longest_matches("abcd", ids, 3) == ["abc", "d"]
    assert longest_matches("abxabcd", ids, 3) == ["ab", "x", "abc", "d"]
