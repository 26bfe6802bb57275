import pytest

from interlingua.corpus.placeholders import placeholder_spans
from interlingua.errors import ConfigError, CorpusError
from interlingua.requests.glossary import Glossary, Term


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dog\tHund\ncat Katze\n", "line 2: is no term"),
        ("dog\t \n", "line 1: is no term"),
        ("dog\tHund\tWelpe\n", "line 1: is no term"),
        ("# only words\n\n", "holds no term"),
        ("dog\tHund\nDog\tWelpe\n", "line 2: 'Dog' is 'Welpe' here and 'Hund' in line 1"),
    ],
)
def test_what_is_no_glossary_is_refused_with_its_place(tmp_path, content, message):
    (tmp_path / "terms.tsv").write_text(content)
    with pytest.raises(ConfigError, match=message):
        Glossary.read(tmp_path / "terms.tsv")
    with pytest.raises(CorpusError):
        Glossary.read(tmp_path / "nowhere.tsv")


def test_terms_are_found_as_whole_words_longest_first_whatever_their_case(tmp_path):
    (tmp_path / "terms.tsv").write_text("# animals\ndog\tHund\nhot dog\tHotdog\r\n\ncat\tKatze\n")
    glossary = Glossary.read(tmp_path / "terms.tsv")
    assert glossary.targets_for("A Hot  dog for a dog.") == ("Hotdog", "Hund")
    assert glossary.targets_for("dogs, concatenated") == ()
    assert glossary.targets_for("DOG dog") == ("Hund", "Hund")
    german = Glossary([Term("Straße", "street"), Term("café", "coffee house")])
    assert german.targets_for("Die STRASSE, das Cafe\u0301") == ("street", "coffee house")
    for turkish in ("istanbul", "\u0130stanbul"):
        assert Glossary([Term(turkish, "I.")]).targets_for("in \u0130STANBUL") == ("I.",)
    assert Glossary([Term("istanbul", "I.")]).targets_for("\u0131stanbul") == ()
    assert Glossary([Term("C++", "C++")]).targets_for("in C++ or") == ("C++",)


def test_a_term_ends_where_its_word_ends_in_every_script():
    hindi = Glossary([Term("\u0939\u093f\u0928\u094d\u0926", "X")])
    assert hindi.targets_for("\u092f\u0939 \u0939\u093f\u0928\u094d\u0926\u0940 \u0939\u0948") == ()
    assert hindi.targets_for("\u0939\u093f\u0928\u094d\u0926!") == ("X",)
    chinese = Glossary([Term("\u4e2d\u6587", "Chinese"), Term("\u4e2d", "middle")])
    assert chinese.targets_for("\u6211\u8bf4\u4e2d\u6587\u53e5\u5b50") == ("Chinese",)
    assert Glossary([Term("C", "c"), Term("C++", "d")]).targets_for("C C++ CC") == ("c", "d")


def test_no_term_is_looked_for_within_a_placeholder():
    glossary = Glossary([Term("name", "Name"), Term("COVID-19", "Corona")])
    text = "My name is {{name}},  COVID-19"
    assert glossary.targets_for(text, placeholder_spans(text)) == ("Name", "Corona")
    assert glossary.targets_for("{{name}}", ((0, 8),)) == ()


def test_no_terms_ask_for_nothing():
    assert Glossary([]).targets_for("a  text") == ()
