"""What a linear classifier reads off a layer: what is there, and nothing that is not."""

import random
from pathlib import Path

import pytest
import torch

from interlingua.config import DecodingConfig
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError
from interlingua.inspection import probing
from interlingua.inspection.canvas import write_figure
from interlingua.inspection.probing import draw_probes, probe_encoder
from interlingua.model.architecture import Architecture
from interlingua.model.removed_parts import without_positions
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.translator import Translator

CLASSES = {
    "noun": ["cat", "dog", "bird", "fish"],
    "verb": ["sees", "eats", "finds"],
    "det": ["the", "a"],
}
OF_WORD = {word: tag for tag, words in CLASSES.items() for word in words}


def sentences(count: int) -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choices(list(OF_WORD), k=draw.randint(3, 9))) for _ in range(count)]


TEXTS = sentences(300)
TAGS = [[OF_WORD[word] for word in text.split()] for text in TEXTS]


def translator(build=Transformer, texts=TEXTS, tags=()) -> Translator:
    torch.manual_seed(1)
    tokenizer = train_tokenizer(texts, kind="bpe", vocabulary_size=300, tags=tags)
    sizes = Architecture(encoder_layers=2, decoder_layers=1, d_model=64, d_ff=64, heads=2)
    size = tokenizer.vocabulary_size
    model = build(sizes, source_vocabulary=size, target_vocabulary=size)
    return Translator(
        model, TokenizerPair(tokenizer, tokenizer, shared=True), source_lang="aa", target_lang="bb",
        decoding=DecodingConfig(), device="cpu", max_source_length=64,
    )  # fmt: skip


def test_what_stands_in_the_vectors_is_found_and_what_does_not_is_not() -> None:
    found = probe_encoder(translator(), TEXTS, TAGS)
    assert [each.layer for each in found.layers] == [0, 1, 2]
    assert found.by_word == 1.0  # no word has two classes here
    assert all(each.word_class is not None and each.word_class > 0.99 for each in found.layers)
    assert found.layers[0].order > 0.9
    blind = probe_encoder(translator(without_positions), TEXTS, TAGS)
    assert abs(blind.layers[0].order - 0.5) < 0.1


def test_a_class_that_the_word_does_not_tell_is_not_read_off_the_embeddings() -> None:
    draw = random.Random(2)
    tags = [[draw.choice("xy") for _ in text.split()] for text in TEXTS]
    found = probe_encoder(translator(), TEXTS, tags)
    assert found.by_word is not None
    assert abs(found.by_word - 0.5) < 0.1
    assert all(abs((each.word_class or 0) - 0.5) < 0.12 for each in found.layers)


def test_a_word_of_many_pieces_is_one_word_and_a_copy_of_the_text_changes_nothing() -> None:
    one = translator(texts=["the cat"] * 40)  # every other word is spelled out
    first, again = (probe_encoder(one, TEXTS, TAGS, seed=3) for _ in range(2))
    assert first == again
    assert first.words == sum(len(text.split()) for text in TEXTS)
    assert first.layers[0].word_class is not None
    assert first.layers[0].word_class > 0.9


def test_without_tags_the_order_alone_is_asked_and_drawn(tmp_path: Path) -> None:
    found = probe_encoder(translator(), TEXTS)
    assert (found.most_frequent, found.by_word, found.layers[1].word_class) == (None, None, None)
    path = write_figure(draw_probes(found), tmp_path / "probes.svg")
    assert "order of two words" in path.read_text()


@pytest.mark.parametrize(
    ("texts", "tags", "told"),
    [
        (TEXTS[:9], None, "9 of 9 lines are sentences"),
        (TEXTS, TAGS[:-1], "there are 300 lines of text and 299 of tags"),
        (TEXTS, [*TAGS[:1], TAGS[1][1:], *TAGS[2:]], "line 2: has "),
        (TEXTS, [["x"] * len(each) for each in TAGS], "the tags are all the same"),
        (["\u200b"] * 300, None, "0 of 300 lines are sentences"),
    ],
)
def test_what_cannot_be_asked_is_refused(texts: list[str], tags: object, told: str) -> None:
    with pytest.raises((CorpusError, ConfigError), match=told):
        probe_encoder(translator(), texts, tags)


def test_lines_that_are_left_out_leave_some_to_ask_about() -> None:
    spaced = [
        line for n, text in enumerate(TEXTS[:80]) for line in ([text, ""] if n % 4 == 3 else [text])
    ]
    found = probe_encoder(translator(), spaced)
    assert all(0.0 <= each.order <= 1.0 for each in found.layers)


def test_the_tag_of_a_language_is_of_no_word() -> None:
    one = translator(tags=("<2bb>",)).towards(Direction("aa", "bb"))
    found = probing._read_words(one, TEXTS, None)
    encoding = one.tokenizers.source.encode(TEXTS[0])
    first = [
        at
        for at, (begin, end) in enumerate(encoding.offsets)
        if begin < end <= len(TEXTS[0].split()[0])
    ]
    assert first
    assert 0 not in first
    wanted = probing._encode(one, [encoding.ids])[:, 0, first].mean(1)
    assert torch.allclose(found.vectors[:, 0], wanted, atol=1e-6)
