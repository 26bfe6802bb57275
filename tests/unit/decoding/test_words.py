import pytest
import torch

from interlingua.decoding.words import BannedPhrases, Lexicon
from interlingua.tokenization.subword_nmt import SubwordNmtTokenizer
from interlingua.tokenization.train import train_tokenizer

TEXT = ["the dog sees the dogs and the new dog, not a hot dog."] * 9


@pytest.fixture(scope="module", params=["bpe", "char", "unigram"])
def lexicon(request):
    return Lexicon(train_tokenizer(TEXT, kind=request.param, vocabulary_size=320))


def may_follow(lexicon, banned, text, following, *, room=9):
    ids = lexicon.tokenizer.encode(text).ids
    next_id = lexicon.tokenizer.end_id
    if following:
        next_id = lexicon.tokenizer.encode(text + following).ids[len(ids)]
    rule = BannedPhrases(banned, lexicon, [len(ids) + room])
    step = torch.zeros(1, lexicon.tokenizer.vocabulary_size)
    return bool(rule(step, torch.tensor([ids]), torch.tensor([0]))[0, next_id] == 0.0)


def test_a_phrase_is_spelled_as_it_stands_inside_a_sentence(lexicon):
    ids = lexicon.within("new dog")
    both = lexicon.tokenizer.decode([*lexicon.tokenizer.encode("the").ids, *ids])
    assert both == "the new dog"


@pytest.mark.parametrize("kind", ["bpe", "char", "unigram"])
def test_a_phrase_of_a_script_without_spaces_is_spelled_without_one(kind):
    tokenizer = train_tokenizer(["犬が猫を見る。"] * 9, kind=kind, vocabulary_size=320)
    ids = Lexicon(tokenizer).within("猫を")
    assert tokenizer.decode([*tokenizer.encode("犬が").ids, *ids]) == "犬が猫を"


@pytest.mark.parametrize("following", ["", ",", " "])
def test_a_banned_word_cannot_be_ended(lexicon, following):
    if following == " " and lexicon.tokenizer.kind != "char":
        following = " the"
    assert not may_follow(lexicon, ["Dog"], "the dog", following)
    assert may_follow(lexicon, ["cat"], "the dog", following)


def test_a_banned_phrase_cannot_be_ended_but_its_last_word_alone_can(lexicon):
    assert not may_follow(lexicon, ["hot dog"], "a hot dog", "")
    assert may_follow(lexicon, ["hot dog"], "a new dog", "")


@pytest.mark.parametrize("banned", [".", "dog."])
def test_a_phrase_that_ends_in_a_sign_is_never_written(lexicon, banned):
    assert not may_follow(lexicon, [banned], "the dog", ".")
    assert may_follow(lexicon, [banned], "the dog", ",")
    assert may_follow(lexicon, [banned], "the dog", "")


def test_a_phrase_is_banned_in_every_form_of_its_characters():
    text = ["ein Café und ein Tee."] * 9
    lexicon = Lexicon(train_tokenizer(text, kind="char", vocabulary_size=320))
    assert not may_follow(lexicon, ["Cafe\u0301"], "ein Café", "")
    assert may_follow(lexicon, ["Cafe\u0301"], "ein Tee", "")


def test_a_banned_word_is_not_the_last_for_which_there_is_room(lexicon):
    text, last = ("the do", "g") if lexicon.tokenizer.kind == "char" else ("the", " dog")
    assert may_follow(lexicon, ["dog"], text, last), "it may become dogs"
    assert not may_follow(lexicon, ["dog"], text, last, room=1)
    assert may_follow(lexicon, ["cat"], text, last, room=1)


def test_a_banned_word_is_not_ended_by_a_sign_in_bytes(lexicon):
    assert not may_follow(lexicon, ["dog"], "the dog", "\u2014")
    assert may_follow(lexicon, ["dog"], "the dogs", "\u2014")


def test_a_banned_sign_is_not_written_in_bytes_either(lexicon):
    *begun, last = lexicon.tokenizer.encode("dogs€").ids
    assert lexicon.tokenizer.decode([last]) == "\ufffd"
    for banned, is_kept in (("€", True), ("dogs€", True), ("£", False)):
        step = torch.zeros(1, lexicon.tokenizer.vocabulary_size)
        allowed = BannedPhrases([banned], lexicon, [99])(
            step, torch.tensor([begun]), torch.tensor([0])
        )
        assert bool(allowed[0, last] < 0.0) == is_kept


@pytest.mark.parametrize(
    ("written", "following", "is_allowed"),
    [
        (["the", "do@@"], "g", False),
        (["the", "do@@"], "g@@", True),
        (["the", "dog@@"], "s", True),
        (["the", "dog@@"], None, False),
        (["the", "dog@@"], "<0x2C>", False),  # a comma
        (["the"], "dog", False),
        (["the", "ho@@"], "dog", True),  # hodog
    ],
)
def test_a_ban_is_kept_where_symbols_tell_what_they_end(written, following, is_allowed):
    pairs = [("t", "h"), ("th", "e</w>"), ("d", "o"), ("do", "g"), ("do", "g</w>"), ("h", "o")]
    tokenizer = SubwordNmtTokenizer([*pairs, ("dog", "s</w>")])
    number = {piece: id for id, piece in enumerate(tokenizer.all_tokens())}
    rule = BannedPhrases(["dog"], Lexicon(tokenizer), [99])
    step = torch.zeros(1, tokenizer.vocabulary_size)
    allowed = rule(step, torch.tensor([[number[piece] for piece in written]]), torch.tensor([0]))
    next_id = number[following] if following else tokenizer.end_id
    assert bool(allowed[0, next_id] == 0.0) == is_allowed
