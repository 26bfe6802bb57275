"""A tag before every source: one more id, and nothing else is different."""

from pathlib import Path

import pytest

from interlingua.errors import TokenizerError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tagged import TaggedTokenizer, tag_sources
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

TEXTS = ["O casă mare.", "", "<2de> ist kein Zeichen", " două  spații "]


@pytest.fixture(scope="module")
def plain() -> Tokenizer:
    return train_tokenizer(TEXTS * 3, kind="bpe", vocabulary_size=300, tags=("<2de>", "<2ro>"))


def test_the_tag_stands_first_and_covers_nothing(plain: Tokenizer) -> None:
    tagged = TaggedTokenizer(plain, "<2de>")
    number = plain.all_tokens().index("<2de>")
    for text, batched in zip(TEXTS, tagged.encode_batch(TEXTS), strict=True):
        before, found = plain.encode(text), tagged.encode(text)
        assert found.ids == batched == ([number, *before.ids] if before.ids else [])
        assert found.offsets == ([(0, 0), *before.offsets] if before.ids else [])
        assert tagged.decode(found.ids) == plain.decode(before.ids) == tagged.normalise(text)
        sampled = tagged.encode_sampled(text, probability=0.3, seed=1, epoch=0, pair=0, side=0)
        assert sampled[:1] == found.ids[:1]


def test_a_text_that_looks_like_a_tag_is_none(plain: Tokenizer) -> None:
    tagged = TaggedTokenizer(plain, "<2ro>")
    ids = tagged.encode("<2de> da").ids
    assert plain.all_tokens().index("<2de>") not in ids
    assert tagged.decode(ids) == "<2de> da"


def test_only_sources_are_tagged_and_a_second_tag_takes_the_place_of_the_first(
    plain: Tokenizer, tmp_path: Path
) -> None:
    pair = TokenizerPair(plain, plain, shared=True)
    german = tag_sources(pair, "<2de>")
    romanian = tag_sources(german, "<2ro>")
    assert romanian.target is plain
    assert romanian.source.encode("da").ids[0] == plain.all_tokens().index("<2ro>")
    assert plain.all_tokens().index("<2de>") not in romanian.source.encode("da").ids
    romanian.save(tmp_path)
    assert TokenizerPair.load(tmp_path).source.encode("da") == plain.encode("da")


def test_a_tag_that_is_not_in_the_vocabulary_is_refused(plain: Tokenizer) -> None:
    with pytest.raises(TokenizerError, match="the tag <2fr> is not in the vocabulary"):
        TaggedTokenizer(plain, "<2fr>")
