"""Every token belongs to a word, and a word begins with its first token."""

import pytest

from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.tokenization.words import first_tokens, word_of_each_token

TEXTS = ["the cat, the hat", "cats hate that hat", "a hatter's tea"] * 5


@pytest.fixture(params=["word", "char", "bpe", "unigram", "wordpiece"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(TEXTS, kind=request.param, vocabulary_size=300)


@pytest.mark.parametrize(
    "text",
    [
        "the cat",
        "that unknownword zzé here",
        "  hats   hate  ",
        "猫 the 😀😀 x",
        "a",
        "hat\u00a0tea",
        "the cat ",
    ],
)
def test_tokens_and_words_belong_together(tokenizer: Tokenizer, text: str) -> None:
    ids, words = word_of_each_token(tokenizer, text)
    count = len(tokenizer.normalise(text).split())
    assert ids == tokenizer.encode(text).ids
    assert words == sorted(words)
    assert set(words) == set(range(count))
    starts = first_tokens(tokenizer, ids)
    assert [words[place] for place in starts] == list(range(count))


def test_a_text_of_nothing_has_no_words(tokenizer: Tokenizer) -> None:
    assert word_of_each_token(tokenizer, "") == ([], [])
    assert first_tokens(tokenizer, []) == []
