import itertools
import math
import subprocess
import sys
from copy import copy

import pytest
import torch

from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig
from interlingua.corpus.placeholders import find_placeholders, keeps_placeholders
from interlingua.corpus.words import count_phrase, holds_phrase
from interlingua.errors import ConfigError, ModelError, TokenizerError
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.requests.glossary import Glossary, Term
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.translator import WINDOW, Translator

LETTERS = "abcdefghijklmnopqrstuvwxyz ABC.,!"


@pytest.fixture(scope="module")
def tokenizers():
    tokenizer = train_tokenizer([LETTERS], kind="char", vocabulary_size=320)
    return TokenizerPair(tokenizer, tokenizer, shared=True)


class CopyState:
    def __init__(self, source, time):
        self.source, self.time = source, time

    def reorder(self, rows):
        return CopyState(self.source[rows], self.time)


class Copy:
    """Writes the source again, the end symbol included; records the shapes and letters that it reads."""

    def __init__(self, vocabulary, beams=1):
        self.vocabulary, self.shapes = vocabulary, []

    def encode(self, source):
        self.shapes.append(tuple(source.shape))
        return source

    def start(self, memory):
        return CopyState(memory, 0)

    def step(self, ids, state):
        logits = torch.zeros(len(ids), self.vocabulary)
        logits.scatter_(1, state.source[:, state.time : state.time + 1], 20.0)
        return logits, CopyState(state.source, state.time + 1)


class Endless(Copy):
    """Writes the first source symbol for ever."""

    def step(self, ids, state):
        return super().step(ids, CopyState(state.source, 0))


def translator_of(model, tokenizers, *, max_source_length=64, **decoding):
    return Translator(
        model,
        tokenizers,
        source_lang="xx",
        target_lang="yy",
        decoding=DecodingConfig(**decoding),
        device="cpu",
        max_source_length=max_source_length,
    )


@pytest.fixture
def copying(tokenizers):
    return translator_of(Copy(tokenizers.target.vocabulary_size), tokenizers, beam_size=2)


def test_a_source_in_capitals_is_read_in_the_letters_of_the_vocabulary():
    tokenizer = train_tokenizer(["The dog is here."] * 9, kind="bpe", vocabulary_size=300)
    pair = TokenizerPair(tokenizer, tokenizer, shared=True)
    translator = translator_of(Copy(tokenizer.vocabulary_size), pair)
    assert [each.text for each in translator.translate(["THE DOG.", "The DOG."])] == [
        "The dog.",
        "The DOG.",
    ]
    assert "".join(translator.stream("THE DOG.")) == "The dog."
    assert translator.with_model(translator.model).translate(["THE DOG."])[0].text == "The dog."


@pytest.fixture(scope="module")
def transformer(tokenizers):
    torch.manual_seed(5)
    size = tokenizers.source.vocabulary_size
    architecture = Architecture(
        encoder_layers=2, decoder_layers=2, d_model=16, d_ff=32, heads=2, max_positions=128
    )
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size).eval()
    with torch.no_grad():
        model.output.weight.mul_(4.0)
    return model


TEXTS = ["a", "bcd", "a longer text than the others, by far", "", "ef", "   ", "g h i", "Zq!"]


def test_the_translations_come_in_the_order_of_the_texts(copying):
    texts = ["ab", "a", "", "abc def", "b", " ", "abc"]
    found = copying.translate(texts)
    assert [t.text for t in found] == ["ab", "a", "", "abc def", "b", "", "abc"]


@pytest.mark.parametrize("text", ["", " ", "\t \n", "\u2003\u00a0"])
def test_nothing_to_translate_gives_an_empty_translation(copying, text):
    (found,) = copying.translate([text])
    assert (found.text, found.score, found.tokens, found.flags) == ("", 0.0, (), ("empty",))


def test_no_texts_give_no_translations(copying):
    assert copying.translate([]) == []
    assert list(copying.translate_iter([])) == []


@pytest.mark.parametrize("texts", ["abc", [None], [b"abc"]])
def test_what_is_no_list_of_texts_is_refused(copying, texts):
    with pytest.raises(TypeError, match=r"a list of texts|Type-check"):
        copying.translate(texts)


def test_several_lines_in_one_text_are_one_text(copying):
    found = copying.translate(["ab\ncd", "e"])
    assert len(found) == 2
    assert [t.flags for t in found] == [(), ()]


def test_a_batch_never_holds_more_padded_tokens_than_its_budget(tokenizers):
    model = Copy(tokenizers.target.vocabulary_size)
    translator = translator_of(model, tokenizers, beam_size=3)
    translator.translate(["ab" * n for n in range(1, 20)], batch_tokens=120)
    assert sum(rows for rows, _ in model.shapes) == 19
    assert all(rows == 1 or rows * width * 3 <= 120 for rows, width in model.shapes)
    assert any(rows > 1 for rows, _ in model.shapes)
    assert model.shapes == sorted(model.shapes, key=lambda shape: -shape[1])


def test_a_text_beyond_the_budget_is_translated_alone(copying):
    (found,) = copying.translate(["abcdefgh"], batch_tokens=1)
    assert found.text == "abcdefgh"


def test_too_long_a_source_is_cut_and_says_so(tokenizers):
    model = Copy(tokenizers.target.vocabulary_size)
    translator = translator_of(model, tokenizers, beam_size=1, max_source_length=10)
    long, short = translator.translate(["word " * 5_000, "word"])
    assert model.shapes == [(2, 10)]
    assert "word word".startswith(long.text)
    assert long.flags == ("truncated-source",)
    assert short.flags == ()


def test_a_source_of_exactly_the_maximum_length_is_not_cut(tokenizers):
    model = Copy(tokenizers.target.vocabulary_size)
    (ids,) = tokenizers.source.encode_batch(["abcdef"])
    exact = translator_of(model, tokenizers, max_source_length=len(ids) + 1)
    assert exact.translate(["abcdef"])[0].flags == ()
    tight = translator_of(model, tokenizers, max_source_length=len(ids))
    assert tight.translate(["abcdef"])[0].flags == ("truncated-source",)


def test_a_target_that_the_model_does_not_end_is_cut_at_factor_times_source_plus_offset(tokenizers):
    model = Endless(tokenizers.target.vocabulary_size)
    translator = translator_of(
        model, tokenizers, beam_size=2, max_length_factor=1.5, max_length_offset=3
    )
    (ids,) = tokenizers.source.encode_batch(["abc"])
    (found,) = translator.translate(["abc"])
    assert len(found.log_probabilities) == int(1.5 * (len(ids) + 1)) + 3
    assert (found.stopped, found.flags) == ("max_length", ("max-length",))


def test_no_target_is_longer_than_the_model_can_read(tokenizers):
    model = Endless(tokenizers.target.vocabulary_size)
    translator = translator_of(
        model, tokenizers, max_source_length=12, max_length_factor=1e300, beam_size=1
    )
    assert len(translator.translate(["a"])[0].log_probabilities) == 12


def test_tokens_and_log_probabilities_tell_the_same_story(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, length_penalty=0.7)
    for found in translator.translate([text for text in TEXTS if text.strip()]):
        ended = found.stopped == "end"
        assert len(found.log_probabilities) == len(found.tokens) + ended
        penalty = ((5 + len(found.log_probabilities)) / 6) ** 0.7
        assert found.score == pytest.approx(sum(found.log_probabilities) / penalty)


def test_alternatives_follow_the_best_in_order_and_differ_in_text(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, beam_size=4)
    for found in translator.translate(["abc", "b", "Zq!", "ef"], n_best=4, max_length=3):
        ranking = [found, *found.alternatives]
        assert len(ranking) <= 4
        assert all(a.score >= b.score for a, b in itertools.pairwise(ranking))
        assert len({t.text for t in ranking}) == len(ranking)
        assert all(t.alternatives == () for t in found.alternatives)
    assert translator.translate(["abc"])[0].alternatives == ()


def test_a_call_may_choose_another_beam_and_penalty(transformer, tokenizers):
    wide = translator_of(transformer, tokenizers, beam_size=5, length_penalty=1.0)
    usual = translator_of(transformer, tokenizers)
    assert usual.translate(TEXTS, beam_size=5, length_penalty=1.0) == wide.translate(TEXTS)
    assert usual.decoding == DecodingConfig()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_translation_depends_on_its_neighbours(transformer, tokenizers, beam_size):
    translator = translator_of(transformer, tokenizers, beam_size=beam_size, max_length_offset=5)
    together = translator.translate(TEXTS)
    backwards = translator.translate(TEXTS[::-1], batch_tokens=50)[::-1]
    for text, a, b in zip(TEXTS, together, backwards, strict=True):
        (alone,) = translator.translate([text])
        assert (a.text, a.tokens, a.flags) == (alone.text, alone.tokens, alone.flags)
        assert (b.text, b.tokens, b.flags) == (alone.text, alone.tokens, alone.flags)
        assert (a.score, b.score) == pytest.approx((alone.score, alone.score), abs=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f600",
        "καλημέρα κόσμε",
        "日本語",
        "</s>",
        "<0x41>",
        "\u2581",
        "\x00\x07",
        "\u202eabc",
        "a" * 999,
    ],
)
def test_odd_texts_get_a_defined_answer(transformer, tokenizers, text):
    first, second = translator_of(transformer, tokenizers).translate([text, text])
    assert (first.text, first.tokens, first.flags) == (second.text, second.tokens, second.flags)
    assert first.score == pytest.approx(second.score, abs=1e-5)
    assert math.isfinite(first.score)
    assert "empty" not in first.flags


@pytest.mark.parametrize("n_best", [1, 2])
def test_the_number_of_translations_belongs_to_a_call_and_not_to_a_model(copying, n_best):
    assert len(copying.translate(["ab"], beam_size=2, n_best=n_best)[0].alternatives) == n_best - 1
    assert copying.translate(["ab"], beam_size=1)[0].alternatives == ()


def test_more_translations_than_beams_are_refused_with_the_remedy(copying):
    with pytest.raises(ConfigError, match="ask for a beam_size of at least 7"):
        copying.translate(["a"], n_best=7)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"beam_size": 0}, "beam_size is 0"),
        ({"n_best": 0}, "n_best is 0"),
        ({"batch_tokens": -4}, "batch_tokens is -4"),
        ({"length_penalty": math.nan}, "length_penalty is nan"),
        ({"length_penalty": 1e9}, "length_penalty is 1000000000.0"),
        ({"diversity": 0.7}, "diversity is for groups"),
        ({"prefix": " \n"}, "prefix is nothing but white space"),
        ({"force": ["a" * 80]}, "the forced words have 8. tokens with the end, and the model"),
        ({"force": ["abcdef"], "max_length": 4}, "and max_length is 4"),
        ({"force": ["abab"], "no_repeat_ngram": 2}, "which no_repeat_ngram = 2 forbids"),
    ],
)
def test_values_out_of_range_are_refused_by_name_before_a_line_is_read(copying, asked, message):
    def lines():
        pytest.fail("a line was read")
        yield ""

    with pytest.raises(ConfigError, match=message):
        copying.translate_iter(lines(), **asked)


def test_a_stream_is_read_a_window_at_a_time_and_keeps_its_order(copying):
    read = itertools.count()

    def endless():
        for n in itertools.count():
            next(read)
            yield "" if n % 3 else "abcdefgh"[: n % 7 + 1]

    found = list(itertools.islice(copying.translate_iter(endless()), WINDOW + 5))
    assert next(read) == 2 * WINDOW
    wanted = ["" if n % 3 else "abcdefgh"[: n % 7 + 1] for n in range(WINDOW + 5)]
    assert [t.text for t in found] == wanted


def test_a_model_in_training_translates_without_dropout_and_stays_in_training(tokenizers):
    torch.manual_seed(1)
    size = tokenizers.source.vocabulary_size
    architecture = Architecture(
        encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, heads=2, dropout=0.5
    )
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size).train()
    translator = translator_of(model, tokenizers, beam_size=2, max_length_offset=2)
    assert translator.translate(["abc"]) == translator.translate(["abc"])
    assert model.training
    assert all(module.training for module in model.modules())
    model(torch.tensor([[5, 6]]), torch.tensor([[2, 5]])).sum().backward()
    assert model.output.weight.grad is not None


def test_weights_that_are_not_numbers_give_an_error_and_no_text(tokenizers):
    size = tokenizers.source.vocabulary_size
    architecture = Architecture(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, heads=2)
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size).eval()
    with torch.no_grad():
        model.target_embedding.table.weight.fill_(math.nan)
    for beam_size in (1, 3):
        with pytest.raises(ModelError, match="not-a-number"):
            translator_of(model, tokenizers, beam_size=beam_size).translate(["abc"])


@pytest.mark.parametrize("device", ["toaster", "cuda:4096", "meta", ""])
def test_a_device_that_is_not_there_is_refused(transformer, tokenizers, device):
    with pytest.raises(ConfigError, match="take auto or cpu"):
        Translator(
            transformer,
            tokenizers,
            source_lang="xx",
            target_lang="yy",
            decoding=DecodingConfig(),
            device=device,
            max_source_length=9,
        )


@pytest.fixture
def model_folder(transformer, tokenizers, tmp_path):
    loaded = LoadedModel(transformer, tokenizers, "ro", "en", DecodingConfig(beam_size=3), 40)
    save_model_folder(tmp_path / "run" / "model", loaded, parameters_of(transformer), "a card\n")
    return tmp_path / "run" / "model"


def test_a_saved_model_translates_as_it_did_before(transformer, tokenizers, model_folder):
    before = translator_of(transformer, tokenizers, beam_size=3, max_source_length=40)
    after = Translator.load(model_folder, device="cpu", plain=True)
    assert (after.source_lang, after.target_lang, after.max_source_length) == ("ro", "en", 40)
    assert after.translate(TEXTS) == before.translate(TEXTS)


def test_a_run_folder_is_opened_at_its_model(model_folder):
    assert Translator.load(model_folder.parent, device="cpu").source_lang == "ro"


def test_a_path_may_be_a_string_and_a_missing_one_is_refused(tmp_path):
    with pytest.raises(ModelError, match="nowhere"):
        Translator.load(str(tmp_path / "nowhere"))


def test_fewer_than_one_thread_is_refused(model_folder):
    with pytest.raises(ConfigError, match="threads must be at least 1"):
        Translator.load(model_folder, threads=0)


def test_a_sample_depends_on_seed_sentence_and_place_and_not_on_the_batch(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=5)
    texts = ["abc", "b", "abc", "Zq!"]
    asked = {"sample": True, "n_best": 3}
    drawn = translator.translate(texts, **asked)
    alone = list(translator.translate_iter(texts, **asked, batch_tokens=1))
    assert [found.text for found in drawn] == [found.text for found in alone]
    assert drawn[0].text != drawn[2].text
    assert translator.translate(texts, **asked, seed=1) != drawn
    assert len(drawn[0].alternatives) == 2


def test_every_translation_begins_with_the_prefix(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=5)
    for beam_size in (1, 3):
        for found in translator.translate(["abc", "b"], prefix="Zab c", beam_size=beam_size):
            assert found.text.startswith("Zab c")
    with pytest.raises(ConfigError, match="the prefix has"):
        translator.translate(["abc"], prefix="x" * 100)


def test_lengths_are_kept_within_what_is_asked(copying):
    (short,) = copying.translate(["abcdef"], max_length=3)
    assert (len(short.tokens), short.stopped) == (3, "max_length")
    assert len(copying.translate(["ab"], min_length=9)[0].tokens) >= 9


def test_a_translation_that_goes_round_in_circles_is_stopped_and_flagged(tokenizers):
    translator = translator_of(Endless(tokenizers.target.vocabulary_size), tokenizers)
    (found,) = translator.translate(["ab"], max_repeats=3, beam_size=1)
    assert (found.stopped, found.flags) == ("repetition", ("repetition",))
    (begun,) = translator.translate(["ab"], max_repeats=3, prefix="bbbbb", beam_size=1)
    assert begun.text.startswith("bbbbb"), "what was demanded is no repeat"
    assert begun.stopped == "repetition"
    (varied,) = translator.translate(["ab"], no_repeat_ngram=1, min_length=9)
    assert len(set(varied.tokens)) == len(varied.tokens) >= 9


def test_coverage_ranks_by_what_was_looked_at(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=5)
    asked = {"n_best": 4, "max_length": 3}
    plain = translator.translate(["abc def"], **asked)[0]
    covered = translator.translate(["abc def"], **asked, coverage_penalty=3.0)[0]
    before = {t.log_probabilities: t.score for t in (plain, *plain.alternatives)}
    ranking = [covered, *covered.alternatives]
    assert {t.log_probabilities for t in ranking} == before.keys()
    assert all(t.score < before[t.log_probabilities] for t in ranking)
    assert all(a.score >= b.score for a, b in itertools.pairwise(ranking))


def test_an_option_that_does_not_exist_is_refused(copying):
    with pytest.raises(TypeError, match="no option 'beam'"):
        copying.translate(["a"], beam=3)


def test_forced_words_stand_in_every_translation_and_banned_ones_in_none(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=12)
    for found in translator.translate(["abc", "b"], force=["Zab", "c d"], n_best=2):
        for each in (found, *found.alternatives):
            assert holds_phrase(each.text, "Zab")
            assert holds_phrase(each.text, "c d")
        assert "constrained" in found.flags
        assert "term-missed" not in found.flags
    copied = translator_of(Copy(tokenizers.target.vocabulary_size), tokenizers, beam_size=3)
    texts = ["the dog is here", "the dogs"]
    assert [t.text for t in copied.translate(texts)] == texts
    banned = copied.translate(texts, ban=["Dog"])
    assert "dog" not in banned[0].text.replace(".", " ").split()
    assert banned[1].text == "the dogs"


def test_a_banned_word_that_stands_there_all_the_same_is_flagged_streamed_too(copying):
    asked = {"prefix": "é ", "ban": ["é"]}  # one letter, in another form
    (found,) = copying.translate(["a dog"], **asked)
    stream, streamed = copying.stream("a dog", **asked), None
    while streamed is None:
        try:
            next(stream)
        except StopIteration as end:
            streamed = end.value
    assert found.flags == streamed.flags == ("banned-word",)


def test_a_glossary_is_honoured_where_its_source_term_stands(copying):
    glossary = Glossary([Term("red", "Blue"), Term("the", "the")])
    (found, other) = copying.translate(["the red cat", "the reds"], glossary=glossary)
    assert "Blue" in found.text.split()
    assert (other.text, other.flags) == ("the reds", ())


def test_a_term_that_stands_twice_is_wanted_twice(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=12)
    glossary = Glossary([Term("red", "Blue")])
    (found,) = translator.translate(["red, red"], glossary=glossary, force=["Blue"])
    assert count_phrase(found.text, "Blue") == 2
    assert "term-missed" not in found.flags


def test_no_term_is_wanted_of_a_placeholder(copying):
    glossary = Glossary([Term("name", "Blue")])
    (found,) = copying.translate(["a {{name}}."], glossary=glossary, lock=True)
    assert (found.text, found.flags) == ("a {{name}}.", ())


def test_a_text_in_pieces_has_alternatives_and_they_keep_the_placeholders(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=6)
    text = "A man at https://a.b/c and {{variable_name}} or dogs"
    (found,) = translator.translate([text], lock=True, n_best=3)
    assert "placeholders-split" in found.flags
    ranked = (found, *found.alternatives)
    assert 2 <= len(ranked) == len({each.text for each in ranked}) <= 3
    for each in ranked:
        assert keeps_placeholders(found.placeholders, each.text)
        assert "placeholders-split" in each.flags


def test_half_a_character_is_refused_with_its_place(copying):
    with pytest.raises(TokenizerError, match=r"number 1 of the texts: character 3 .* surrogate"):
        copying.translate(["a", "ab\ud800"])


def test_placeholders_survive_whatever_the_model_does(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=6)
    texts = [
        "Call +40 21 123 or write to a@b.ro, {{name}}!",
        "<b>Hi</b> %(n)d \U0001f600",
        'says "Asian 93% 2007" and "32 De" 79 %(name)d',
        "no placeholder",
        "7",
    ]
    for text, found in zip(texts, translator.translate(texts, lock=True), strict=True):
        assert found.placeholders == find_placeholders(text)
        assert keeps_placeholders(found.placeholders, found.text)
        assert "placeholders-lost" not in found.flags
    assert translator.translate(texts)[0].placeholders == ()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"force": [" "]}, "force holds an empty phrase"),
        ({"ban": [""]}, "ban holds an empty phrase"),
        ({"force": ["a"], "ban": ["a"]}, "'a' is banned, and 'a' is forced"),
        ({"force": ["the Dog"], "ban": ["dog"]}, "'the Dog' is forced"),
        ({"prefix": "A dog", "ban": ["dog"]}, "'A dog' is the prefix"),
        ({"glossary": Glossary([Term("x", "dog")]), "ban": ["DOG"]}, "is a target of the glossary"),
    ],
)
def test_phrases_that_cannot_be_kept_are_refused(copying, asked, message):
    with pytest.raises(ConfigError, match=message):
        copying.translate(["a"], **asked)
    with pytest.raises(TypeError, match="takes a list of phrases"):
        copying.translate(["a"], force="ab")
    copying.translate(["a"], force=["dogs"], ban=["dog"])


def test_words_without_a_spelling_are_refused_and_not_written_as_the_unknown_symbol(tokenizers):
    closed = copy(tokenizers.target)
    closed.unknown_id = closed.encode("q").ids[-1]  # as if there were no such letter
    pair = TokenizerPair(closed, closed, shared=True)
    translator = translator_of(Copy(closed.vocabulary_size), pair, beam_size=2)
    with pytest.raises(ConfigError, match="'aqua' is forced, and cannot be spelled"):
        translator.translate(["a"], force=["aqua"])
    with pytest.raises(ConfigError, match="the prefix 'aqua' cannot be spelled"):
        translator.translate(["a"], prefix="aqua")
    glossary = Glossary([Term("water", "aqua")])
    (found,) = translator.translate(["the water"], glossary=glossary)
    assert (found.text, found.flags) == ("the water", ("term-missed",))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("glossary", "terms.tsv"),
        ("lock", "no"),
        ("split", 1),
        ("max_length", 5.5),
        ("n_best", "2"),
        ("mbr", 2.5),
        ("seed", True),
        ("coverage_penalty", "a"),
        ("force", [1]),
        ("ban", [None]),
        ("prefix", 5),
    ],
)
def test_a_value_of_another_kind_is_refused_before_any_work(copying, name, value):
    with pytest.raises(TypeError, match=f"{name} takes .*, not "):
        copying.translate_iter(iter([]), **{name: value})


def test_only_texts_are_translated(copying):
    wrong = [
        lambda: copying.translate(text for text in ["a"]),
        lambda: copying.translate(["a", None]),
        lambda: copying.translate_iter("Dog"),
        lambda: list(copying.translate_iter(["a", None])),
        lambda: copying.stream(None),
        lambda: copying.stream(["a"]),
        lambda: copying.score(["ab"]),
        lambda: copying.score([("a",)]),
        lambda: copying.score([("a", 2)]),
        lambda: copying.score(None),
        lambda: copying.score([("a", "b")], batch_tokens="x"),
        lambda: copying.translate_iter(None),
    ]
    for call in wrong:
        with pytest.raises(TypeError):
            call()


REFUSED = """
from interlingua import Translator
from interlingua.requests.glossary import Glossary, Term

for call in (
    lambda: Translator.load(None),
    lambda: Translator.load("x", threads="2"),
    lambda: Translator.load("x", threads=True),
    lambda: Translator.load("x", to=5),
    lambda: Translator.load_ensemble("x"),
    lambda: Glossary([("a", "b")]),
    lambda: Glossary([Term(1, "a")]),
):
    try:
        call()
    except TypeError as error:
        print(error)
"""


def test_what_python_would_refuse_without_a_reason_is_refused_with_one():
    # In a process of its own, since in this one every type is checked before the call.
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "a model is opened by the name of its folder, not None",
        "threads takes a whole number, not '2'",
        "threads takes a whole number, not True",
        "to takes the code of a language, or two as en-ro, not 5",
        "load_ensemble takes a list of folders: load_ensemble(['x'])",
        "a glossary takes Term(source, target), two texts, not ('a', 'b')",
        "a glossary takes Term(source, target), two texts, not Term(source=1, target='a')",
    ]


def test_a_text_in_pieces_begins_with_the_prefix_and_has_forced_words_once(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=30)
    text = "A man {{x}} and 25 dogs or more {{y}} cats {{z}} b 30 c {{u}} d {{v}}"
    (found,) = translator.translate([text], lock=True, prefix="Zab", force=["c d"], n_best=2)
    assert "placeholders-split" in found.flags
    assert keeps_placeholders(found.placeholders, found.text)
    assert found.text.startswith("Zab")
    assert found.text.count("c d") == 1
    (other,) = translator.translate([f"{{{{w}}}} {text}"], lock=True, prefix="Zab")
    assert other.text.startswith("Zab {{w}}")


@pytest.mark.parametrize(
    "text", ["{{a}}", "123", "%s", "\U0001f600", '"{{x}}"', " <b></b> ", "1, 2"]
)
def test_a_text_of_placeholders_alone_is_left_as_it_is(transformer, tokenizers, text):
    translator = translator_of(transformer, tokenizers, max_length_offset=20)
    (found,) = translator.translate([text], lock=True)
    assert (found.text, found.flags) == (text, ("unchanged",))
    assert found.placeholders == find_placeholders(text)
    assert translator.translate([text], lock=True, check=True)[0].flags == ("unchanged",)
    (asked,) = translator.translate([text, "abc"], lock=True, prefix="Ab", force=["c d"])[:1]
    assert asked.text == f"Ab c d {text}"
    assert asked.flags == ("unchanged",)
    assert "unchanged" not in translator.translate([text])[0].flags


def test_a_text_of_placeholders_alone_is_translated_where_a_term_is_wanted_of_it(
    transformer, tokenizers
):
    translator = translator_of(transformer, tokenizers, max_length_offset=30)
    (found,) = translator.translate(["& 5"], lock=True, glossary=Glossary([Term("&", "und")]))
    assert "unchanged" not in found.flags
    assert "und" in found.text.split()


def test_what_the_tokenizer_writes_otherwise_is_wanted_as_it_writes_it(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=12)
    (found,) = translator.translate(["abc"], force=["a\u2026"])
    assert tokenizers.target.normalise("a\u2026") in found.text
    assert "term-missed" not in found.flags


def test_many_forced_words_have_room(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers, max_length_offset=4, max_length_factor=1.0)
    words = [f"Zab{letter}" for letter in "bcdefgh"]
    (found,) = translator.translate(["a"], force=words)
    assert "term-missed" not in found.flags


def test_flags_are_those_of_each_alternative(copying):
    (found,) = copying.translate(["a b"], force=["c d"], n_best=2, max_length=5)
    for each in (found, *found.alternatives):
        assert "constrained" in each.flags
        assert ("term-missed" in each.flags) == (not holds_phrase(each.text, "c d"))


def test_lengths_that_leave_no_room_are_refused(transformer, tokenizers):
    translator = translator_of(transformer, tokenizers)
    with pytest.raises(ConfigError, match="max_length is 3; it has to be greater"):
        translator.translate(["a"], prefix="abcdefgh ijkl", max_length=3)
    with pytest.raises(ConfigError, match="min_length is 9,999, and the model writes"):
        translator.translate(["a"], min_length=9_999)
