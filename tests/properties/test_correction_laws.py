"""Laws of corrections: a repeat is right, whatever was corrected and however it is searched, and the rest is as before."""

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import SHAPES, random_model

from interlingua.corpus.corrections import Correction, add_corrections
from interlingua.requests.remembering import Spelled, try_to_spell
from interlingua.translator import Translator

WORDS = [
    "pisica",
    "doarme",
    "în",
    "grădina",
    "noastră",
    "câinele",
    "aleargă",
    "nu",
    "știu",
    "日本",
    "the",
    "cat",
    "sleeps",
    "a",
    "7",
    ".",
    ",",
    "!",
]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@cache
def translator() -> Translator:
    """One model for all cases, with random weights."""
    loaded = random_model(SHAPES["separate"], shared=False)
    return Translator(
        loaded.model,
        loaded.tokenizers,
        source_lang="ro",
        target_lang="en",
        decoding=loaded.decoding,
        device="cpu",
        max_source_length=16,
    )


@pytest.mark.slow
@pytest.mark.unchecked
@settings(max_examples=50)
@given(
    corrected=st.dictionaries(SENTENCES, SENTENCES, min_size=1, max_size=4),
    others=st.lists(SENTENCES, max_size=2),
    beam_size=st.integers(1, 4),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    batch_tokens=st.sampled_from([32, 4096]),
)
def test_a_repeat_is_right_and_what_is_like_none_is_as_before(
    corrected: dict[str, str],
    others: list[str],
    beam_size: int,
    length_penalty: float,
    batch_tokens: int,
) -> None:
    follows = translator()
    options = {
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "batch_tokens": batch_tokens,
    }
    follows.corrections = None
    before = follows.translate(others, **options)
    told = [Correction(source, target, "ro", "en") for source, target in corrected.items()]
    told = [
        each for each in told if isinstance(try_to_spell(each, follows.tokenizers, 16), Spelled)
    ]
    with tempfile.TemporaryDirectory() as folder:
        add_corrections(Path(folder), told)
        follows.remember(Path(folder), "sha")
        follows.refresh_corrections()
    found = follows.translate([*others, *(each.source for each in told)], **options)
    for each, translation in zip(told, found[len(others) :], strict=True):
        assert translation.text == each.target
        assert "corrected" in translation.flags
    for was, now in zip(before, found[: len(others)], strict=True):
        if not {"corrected", "like-a-correction"} & set(now.flags):
            assert now.text == was.text
