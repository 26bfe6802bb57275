"""Languages are known by the sentences of the models themselves."""

import random

from interlingua.server.detection import Detector

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
