"""Languages are known by the sentences of the models themselves."""

import os
import random
from pathlib import Path

import pytest

from interlingua.server.detection import Detected, Detector

WORDS = {
    "ro": "pisica câinele băiatul fata doarme mănâncă vede aleargă în parcul mare și un măr roșu acasă mereu cu",
    "en": "the cat dog boy girl sleeps eats sees runs in a big park and an apple red at home always with",
    "xx": "qapla nuqneH tlhIngan Hol maj HIja ghobe jIyaj Doch vIneH naDev puqloD",
}
"""The last is one that no package knows."""


def sentences(code: str, number: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS[code].split(), k=5)) + "." for _ in range(number)]


SAMPLES = {code: sentences(code, 300, 1) for code in WORDS}


def test_what_the_models_were_trained_on_is_known_even_if_no_package_knows_it() -> None:
    detector = Detector(list(WORDS), SAMPLES)
    for code in WORDS:
        right = sum(detector.detect(each)[0].language == code for each in sentences(code, 100, 2))
        assert right >= 99, code


def test_a_sentence_of_another_script_is_in_none_of_them() -> None:
    detector = Detector(list(WORDS), SAMPLES)
    assert detector.detect("Γάτα κοιμάται στο πάρκο")[0].confidence < 10
    assert detector.detect("the dog eats an apple")[0].confidence > 90


def test_a_text_without_letters_is_in_none() -> None:
    for text in ("", "12 + 3", "…", "🙂"):
        [guess] = Detector(list(WORDS), SAMPLES).detect(text)
        assert (guess.language, guess.confidence) == ("en", 0.0)


def test_without_sentences_the_package_decides() -> None:
    detector = Detector(["ro", "de"], {"ro": SAMPLES["ro"]})
    assert detector.detect("Guten Morgen, wie geht es Ihnen heute?")[0].language == "de"


OTHERS = (
    "El libro es viejo.",
    "Hola, ¿cómo estás?",
    "Il gatto dorme in casa.",
    "La dame lit un livre dans le jardin.",
    "Het meisje eet een rode appel in de tuin.",
    "Kočka spí v domě.",
)


def test_a_text_in_a_language_that_no_model_has_is_surely_in_none() -> None:
    samples = {code: SAMPLES[code] for code in ("ro", "en")}
    for detector in (Detector(["ro", "en"], samples), Detector(["ro", "en"], {})):
        for text in OTHERS:
            assert detector.detect(text)[0].confidence < 10, text
        for code, text in {"ro": "Fata doarme.", "en": "The girl is reading a book."}.items():
            best = detector.detect(text)[0]
            assert (best.language, best.confidence > 90) == (code, True)


def test_what_the_package_has_no_opinion_of_is_told_by_the_sentences() -> None:
    detector = Detector(["ro", "en"], {code: SAMPLES[code] for code in ("ro", "en")})
    assert detector.detect("the")[0].language == "en"
    assert detector.detect("the")[0].confidence > 90


def test_among_some_of_the_languages_the_likeliest_is_as_sure_as_among_all() -> None:
    detector = Detector(["de", "ro", "en"], {})
    for text in ("Ana", "The girl is reading a book.", "Fata doarme. " * 100, "猫が寝る"):
        best, *others = detector.detect(text)
        assert detector.likeliest(text, detector.languages) == best
        left = [code for code in detector.languages if code != best.language]
        next_best = detector.likeliest(text, left)
        assert next_best.language in left
        assert next_best == next(iter(others), Detected(next_best.language, 0.0))


def test_of_the_languages_that_a_text_is_surely_not_in_the_nearest_is_the_likeliest() -> None:
    text = "The girl is reading a book in the garden, and her brother sleeps at home. " * 20
    for languages in (["ja", "de", "en"], ["de", "ja", "en"]):
        detector = Detector(languages, {})
        assert detector.likeliest(text, ["ja", "de"]) == Detected("de", 0.0)


def test_a_text_without_letters_is_taken_for_english_only_where_that_is_asked_about() -> None:
    detector = Detector(["ro", "en", "de"], {})
    assert detector.likeliest("12 + 3", ["ro", "en"]).language == "en"
    assert detector.likeliest("12 + 3", ["de", "ro"]) == Detected("ro", 0.0)


@pytest.mark.skipif("INTERLINGUA_DATA" not in os.environ, reason="INTERLINGUA_DATA is not set")
def test_real_sentences_of_languages_that_are_here_and_of_others() -> None:
    lines = {
        code: (Path(os.environ["INTERLINGUA_DATA"]) / f"flores200/devtest.{code}")
        .read_text(encoding="utf-8")
        .split("\n")
        for code in ("ron_Latn", "eng_Latn", "deu_Latn", "fra_Latn", "ces_Latn", "swh_Latn")
    }
    every = {"ro": "ron_Latn", "en": "eng_Latn", "de": "deu_Latn"}
    detector = Detector(list(every), {code: lines[name][:300] for code, name in every.items()})

    def beginnings(name: str) -> list[list[Detected]]:
        return [detector.detect(" ".join(line.split()[:5])) for line in lines[name][300:400]]

    for code, name in every.items():
        right = [b[0] for b in beginnings(name) if b[0].language == code]
        assert len(right) >= 95, code
        assert sum(guess.confidence > 80 for guess in right) >= 90, code
    for name in ("fra_Latn", "ces_Latn", "swh_Latn"):
        assert sum(b[0].confidence < 20 for b in beginnings(name)) >= 90, name
