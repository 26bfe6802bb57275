"""Pairs of languages: their names, which one is meant, and what contradicts itself in a configuration."""

import re

import pytest

from interlingua.config_files import load_config
from interlingua.directions import DIRECTION, Direction, choose_direction, direction_of_text
from interlingua.errors import ConfigError

EN_DE, EN_RO, DE_EN = Direction("en", "de"), Direction("en", "ro"), Direction("de", "en")
RO_EN = Direction("ro", "en")
KNOWN = (EN_DE, EN_RO, DE_EN)


@pytest.mark.parametrize("direction", [EN_DE, Direction("en", "pt-BR"), Direction("zh-Hans", "en")])
def test_a_direction_is_read_from_its_own_name(direction: Direction) -> None:
    assert re.fullmatch(DIRECTION, str(direction))
    assert Direction.read(str(direction)) == direction


@pytest.mark.parametrize("name", ["en", "en-", "-de", "en-pt-BR", "en>de", "<2de>-en", "a b-c", ""])
def test_what_is_no_direction_is_refused_by_the_configuration(name: str) -> None:
    files = {"corpus.source": ("a.en",), "corpus.target": ("a.de",), "corpus.directions": name}
    with pytest.raises(ConfigError, match=r"corpus\.directions"):
        load_config(None, files)


def test_the_target_alone_is_enough_and_both_may_be_told() -> None:
    assert choose_direction(KNOWN, "ro") == EN_RO
    assert choose_direction(KNOWN, "en-ro") == EN_RO
    assert choose_direction((DE_EN, RO_EN)) == DE_EN


def test_a_pair_that_was_never_trained_on_can_be_asked_for() -> None:
    assert choose_direction(KNOWN, "de-ro") == Direction("de", "ro")
    assert Direction("de", "ro") not in KNOWN


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        (None, "say into which language: --to de or ro or en"),
        ("fr", "does not know fr: it reads en, de and writes de, ro, en"),
        ("ro-en", "does not know ro-en"),
        ("en-en", "en-en is no translation"),
        ("en-pt-BR", "does not know en-pt-BR"),
    ],
)
def test_what_the_model_does_not_know_is_said(to: str | None, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        choose_direction(KNOWN, to)


@pytest.mark.parametrize(
    ("to", "language", "found"),
    [
        ("en", "de", DE_EN),
        ("en", "ro", RO_EN),
        ("en", "fr", None),  # not read
        ("en", "en", None),
        ("en", None, None),  # two languages go into English
        ("de", None, EN_DE),
        ("de", "ro", Direction("ro", "de")),  # zero-shot
        ("de-en", "ro", DE_EN),
    ],
)
def test_the_name_of_a_text_tells_what_is_left_open(
    to: str, language: str | None, found: Direction | None
) -> None:
    assert direction_of_text((*KNOWN, RO_EN), to, language) == found


FILES = {"corpus.source": ("a.en", "b.en"), "corpus.target": ("a.de", "b.ro")}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"corpus.directions": "en-de"}, "corpus.directions has 1 pair of languages and"),
        ({"corpus.directions": "en-de,en-en"}, "from a language into itself"),
        (
            {"corpus.directions": "en-de,en-de,en-de"},
            "corpus.directions has 3 pairs of languages and",
        ),
        (
            {
                "corpus.source": ("a.en", "a.de"),
                "corpus.target": ("a.de", "a.en"),
                "corpus.directions": "en-de,de-en",
            },
            "a corpus serves both directions",
        ),
        ({"corpus.valid_directions": "en-de"}, "is given without corpus.directions"),
        ({"corpus.directions": "en-de,en-ro", "corpus.source_lang": "fr"}, "leave out corpus.source_lang"),
        ({"corpus.directions": "en-de,en-ro", "corpus.tags": ",<2ro>"}, "corpus.tags holds <2ro>"),
        (
            {
                "corpus.directions": "en-de,en-ro",
                "corpus.valid_source": ("v.en",),
                "corpus.valid_target": ("v.de",),
            },
            "there are 1 validation files and 2 for training",
        ),
        (
            {
                "corpus.directions": "en-de,en-ro",
                "corpus.valid_directions": "en-de,en-ro",
                "corpus.valid_source": ("v.en",),
                "corpus.valid_target": ("v.de",),
            },
            "corpus.valid_directions has 2 and there are 1 validation files",
        ),
    ],
)  # fmt: skip
def test_contradictions_are_refused_with_their_key(
    more: dict[str, str | tuple[str, ...]], reason: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        load_config(None, FILES | more)


def test_a_resolved_configuration_may_name_the_languages_of_the_first_file() -> None:
    named = {"corpus.source_lang": "en", "corpus.target_lang": "de"}
    corpus = load_config(None, FILES | named | {"corpus.directions": "en-de,en-ro"}).corpus
    assert corpus.directions == ("en-de", "en-ro")
