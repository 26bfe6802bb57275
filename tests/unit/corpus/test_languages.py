"""Which lines are in another language than their side, and which pairs changed sides, is told line by line."""

import random
from pathlib import Path

import numpy as np

from interlingua.corpus.languages import (
    Languages,
    examine_languages,
    is_another,
    language_code,
    language_of_lines,
    names_another,
)

ENGLISH = (
    "The {0} of the village was closed when we came home in the evening.",
    "My brother wants to buy a new {0} before the winter begins.",
    "Nobody knows why the {0} has not been repaired since last year.",
    "My sister told me that her {0} was standing behind the old church.",
)
GERMAN = (
    "Das {0} des Dorfes war geschlossen, weil wir am Abend nach Hause gingen.",
    "Mein Bruder will ein neues {0} kaufen, bevor der Winter beginnt.",
    "Niemand weiß, warum das {0} seit letztem Jahr nicht repariert wurde.",
    "Meine Schwester erzählte mir, dass ihr {0} hinter der alten Kirche stand.",
)
NOUNS = (("house", "Haus"), ("car", "Auto"), ("boat", "Boot"), ("bicycle", "Fahrrad"), ("window", "Fenster"),
         ("picture", "Bild"), ("roof", "Dach"), ("gate", "Tor"), ("table", "Möbel"), ("knife", "Messer"))  # fmt: skip
FRENCH = "Ils ont décidé de ne plus jamais retourner dans cette petite ville près de la mer."
RUSSIAN = "Они решили никогда больше не возвращаться в этот маленький город у моря."


def corpus() -> tuple[list[str], list[str]]:
    """Return forty English sentences and their translations into German."""
    rng = random.Random(3)
    pairs = [
        (english.format(noun[0]), german.format(noun[1]))
        for english, german in zip(ENGLISH, GERMAN, strict=True)
        for noun in NOUNS
    ]
    rng.shuffle(pairs)
    return [source for source, _ in pairs], [target for _, target in pairs]


def examine(folder: Path, sources: list[str], targets: list[str]) -> Languages:
    paths = folder / "text.en", folder / "text.de"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return examine_languages(*paths)


def places(mask: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[int]:
    found: list[int] = np.flatnonzero(mask).tolist()
    return found


def test_the_languages_of_a_corpus_are_told_and_no_line_is_foreign(tmp_path: Path) -> None:
    found = examine(tmp_path, *corpus())
    assert found.sides == ("en", "de")
    assert places(found.swapped) == places(found.foreign) == []
    assert found.others == {}


def test_pairs_that_changed_sides_are_not_told_as_foreign(tmp_path: Path) -> None:
    sources, targets = corpus()
    for n in (7, 20, 21):
        sources[n], targets[n] = targets[n], sources[n]
    found = examine(tmp_path, sources, targets)
    assert places(found.swapped) == [7, 20, 21]
    assert places(found.foreign) == []


def test_lines_in_a_third_language_are_found_on_either_side(tmp_path: Path) -> None:
    sources, targets = corpus()
    sources[3], targets[11], sources[30] = FRENCH, RUSSIAN, FRENCH.replace("petite", "grande")
    found = examine(tmp_path, sources, targets)
    assert places(found.foreign) == [3, 11, 30]
    assert places(found.swapped) == []
    assert set(found.others) == {"fr", "ru"}


def test_text_that_is_no_language_has_none(tmp_path: Path) -> None:
    digits = [" ".join(str((n * k) % 10) for k in range(1, 9)) for n in range(60)]
    found = examine(tmp_path, digits, [line[::-1] for line in digits])
    assert found.sides == (None, None)
    assert places(found.foreign) == []


def test_codes_of_any_length_name_a_language() -> None:
    assert [language_code(code) for code in ("deu_Latn", "de-AT", "ger", "de")] == ["de"] * 4
    assert language_code("zho_Hans") == "zh"
    assert language_code("txt") is None
    assert language_code(None) is None


def test_a_text_tells_its_language_and_a_list_of_few_words_none() -> None:
    english, german = corpus()
    assert language_of_lines([english[:9], english[9:]], len(english)) == "en"
    assert language_of_lines([german], len(german)) == "de"
    assert language_of_lines([["left right turn"] * 300], 300) is None
    assert language_of_lines([], 0) is None
    assert is_another("en", "deu_Latn")
    assert not is_another("de", "deu_Latn")
    assert not is_another("en", "digits")
    assert not is_another(None, "de")
    assert names_another(Path("a.en.gz"), "de")
    assert not names_another(Path("a.txt"), "de")
