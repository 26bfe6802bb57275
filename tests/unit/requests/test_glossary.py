import pytest

from interlingua.errors import ConfigError, CorpusError
from interlingua.requests.glossary import Glossary, Term, holds_phrase


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
    assert glossary.targets_for("DOG dog") == ("Hund",)
    german = Glossary([Term("Straße", "street"), Term("café", "coffee house")])
    assert german.targets_for("Die STRASSE, das Cafe\u0301") == ("street", "coffee house")
    for turkish in ("istanbul", "\u0130stanbul"):
        assert Glossary([Term(turkish, "I.")]).targets_for("in \u0130STANBUL") == ("I.",)
    assert Glossary([Term("istanbul", "I.")]).targets_for("\u0131stanbul") == ()
    assert Glossary([Term("C++", "C++")]).targets_for("in C++ or") == ("C++",)


def test_a_phrase_is_held_as_it_is_and_not_within_a_longer_word():
    assert holds_phrase("Der Hund, da.", "Hund")
    assert not holds_phrase("Die Hunde", "Hund")
    assert not holds_phrase("der hund", "Hund")
