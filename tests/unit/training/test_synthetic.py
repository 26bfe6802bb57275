"""Which lines of a translated text become pairs, and which candidate of each."""

import gzip
import json
from pathlib import Path

import pytest

from interlingua.corpus.lines import read_lines
from interlingua.corpus.word_noise import FILLER, WordNoise
from interlingua.errors import CorpusError
from interlingua.training.synthetic import SyntheticCorpus, Written, write_synthetic

SENTENCES = [
    "Der Hund läuft über die Wiese.",
    "Eine Frau liest ein Buch im Park.",
    "Zwei Kinder spielen am Strand.",
    "Ein Mann fährt mit dem Fahrrad.",
]
OUTPUTS = [
    "The dog runs across the meadow.",
    "A woman reads a book in the park.",
    "Two children play on the beach.",
    "A man rides a bicycle.",
]


def make_job(folder: Path, lines: list[list[list[object]]], **options: object) -> SyntheticCorpus:
    """Write a text and what a model made of it."""
    text, translated = folder / "text.de", folder / "translated"
    text.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    translated.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    given = {"text_is": "target", **options}
    return SyntheticCorpus(
        text=text,
        translated=translated,
        source=folder / "out.en",
        target=folder / "out.de",
        **given,  # type: ignore[arg-type]
    )


def pairs_of(job: SyntheticCorpus) -> list[tuple[str, str]]:
    return list(zip(read_lines(job.source), read_lines(job.target), strict=True))


def test_what_goes_round_in_circles_is_no_translation_unless_its_line_does(tmp_path: Path) -> None:
    loop = "a dog a dog a dog"
    job = make_job(tmp_path, [[[text, -1.0, []]] for text in (loop, *OUTPUTS[1:])])
    assert write_synthetic(job).dropped == {"no translation": 1}
    job.text.write_text("".join(f"{line}\n" for line in ("Hund " * 3, *SENTENCES[1:])))
    assert write_synthetic(job).dropped == {}
    assert pairs_of(job)[0] == (loop, "Hund Hund Hund")


def test_what_is_in_the_validation_text_is_not_learnt(tmp_path: Path) -> None:
    valid = tmp_path / "valid.de"
    same = SENTENCES[1].upper().removesuffix(".")
    valid.write_text(f"{same} \nEtwas anderes.\n", encoding="utf-8")
    scored = [[[text, -1.0, []]] for text in OUTPUTS]
    job = make_job(tmp_path, scored, held_out=(valid,))
    assert write_synthetic(job).dropped == {"held out": 1}
    assert SENTENCES[1] not in read_lines(job.target)


def test_a_test_sentence_is_known_as_clean_mends_it(tmp_path: Path) -> None:
    valid = tmp_path / "valid.de"
    valid.write_text("Der Hund läuft.\nEine Frau.\n", encoding="utf-8")
    scored = [[[text, -1.0, []]] for text in OUTPUTS]
    job = make_job(tmp_path, scored, held_out=(valid,))
    lines = ["<i>Der Hund läuft.</i>", "Der Hund lÃ¤uft.", *SENTENCES[2:]]
    job.text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert write_synthetic(job).dropped["held out"] == 2


def test_a_year_of_three_equal_signs_is_no_circle(tmp_path: Path) -> None:
    years = ("成立于二〇〇〇年。", "哈哈哈哈哈哈", "东京东京东京")
    job = make_job(tmp_path, [[[text, -1.0, []]] for text in (*years, OUTPUTS[3])])
    assert write_synthetic(job).dropped["no translation"] == 2


def test_lines_stay_that_the_model_is_surest_of(tmp_path: Path) -> None:
    scored = [
        [[text, score, []]] for text, score in zip(OUTPUTS, (-1.0, -3.0, -2.0, -0.5), strict=True)
    ]
    job = make_job(tmp_path, scored, keep=0.5)
    assert write_synthetic(job) == Written(4, 2, {"low score": 2}, -1.0)
    assert pairs_of(job) == [(OUTPUTS[0], SENTENCES[0]), (OUTPUTS[3], SENTENCES[3])]
    job = make_job(tmp_path, scored, min_score=-2.0)
    assert write_synthetic(job).pairs == 3
    job = make_job(tmp_path, scored, keep=0.75, min_score=-2.0)  # the same line is in neither
    assert write_synthetic(job) == Written(4, 3, {"low score": 1}, -2.0)


def test_what_is_no_translation_or_breaks_a_rule_goes(tmp_path: Path) -> None:
    scored = [
        [["", 0.0, ["empty-output"]]],
        [[OUTPUTS[1], -1.0, ["max-length"]]],
        [[SENTENCES[2], -1.0, []]],
        [[OUTPUTS[3], -9.0, ["term-missed"]]],
    ]
    job = make_job(tmp_path, scored)
    assert write_synthetic(job).dropped == {"no translation": 2, "copied": 1}
    assert pairs_of(job) == [(OUTPUTS[3], SENTENCES[3])]


def test_of_several_candidates_the_nearest_to_the_reference_is_taken(tmp_path: Path) -> None:
    scored = [[[OUTPUTS[(n + 1) % 4], -0.1, []], [OUTPUTS[n], -1.0, []]] for n in range(4)]
    reference = tmp_path / "reference.en"
    reference.write_text("".join(f"{line}\n" for line in [*OUTPUTS[:3], ""]), encoding="utf-8")
    for nearness in ("chrf", "bleu"):
        job = make_job(tmp_path, scored, text_is="source", reference=reference, nearness=nearness)
        assert write_synthetic(job).not_first == 3  # of a blank reference nothing is near
        assert read_lines(job.target) == [*OUTPUTS[:3], OUTPUTS[0]]
        assert read_lines(job.source) == SENTENCES


def test_text_without_spaces_is_compared_by_its_characters(tmp_path: Path) -> None:
    said = [
        "犬が草原を走る。",
        "女性が公園で本を読む。",
        "子供が浜辺で遊ぶ。",
        "男性が自転車に乗る。",
    ]
    scored = [[["何も分からない。", -0.1, []], [text[:-2] + "。", -1.0, []]] for text in said]
    reference = tmp_path / "reference.ja.gz"
    reference.write_bytes(gzip.compress("".join(f"{line}\n" for line in said).encode()))
    job = make_job(
        tmp_path, scored, text_is="source", reference=reference, nearness="bleu", lang="ja"
    )
    assert write_synthetic(job).not_first == 4


def test_noise_comes_last_and_leaves_the_other_side_alone(tmp_path: Path) -> None:
    scored = [[[text, -1.0, []]] for text in OUTPUTS]
    noise = WordNoise(drop=0.0, blank=1.0, reach=0)
    job = make_job(tmp_path, scored, noise=noise)
    write_synthetic(job)
    assert read_lines(job.target) == SENTENCES
    assert read_lines(job.source)[0] == " ".join([FILLER] * 6)


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    scored = [[[text, -1.0, []]] for text in OUTPUTS]
    with pytest.raises(CorpusError, match=r"no line is left.*; lower --min-score or raise --keep"):
        write_synthetic(make_job(tmp_path, scored, min_score=-0.5))
    nothing: list[list[list[object]]] = [[] for _ in OUTPUTS]
    with pytest.raises(CorpusError, match=r"no line is left.*has it learnt enough\? Go on with"):
        write_synthetic(make_job(tmp_path, nothing))
    with pytest.raises(CorpusError, match="3 lines"):
        write_synthetic(make_job(tmp_path, scored[:3]))
    assert not list(tmp_path.glob("out.*"))
    assert not list(tmp_path.glob(".*"))


def test_noise_is_a_function_of_seed_and_text() -> None:
    text = " ".join(f"w{n}" for n in range(2_000))
    noisy = WordNoise().apply(text)
    assert noisy == WordNoise().apply(text)
    assert noisy != WordNoise(seed=2).apply(text)
    words = noisy.split()
    assert 1_700 < len(words) < 1_900
    assert 120 < words.count(FILLER) < 250
    moved = WordNoise(drop=0.0, blank=0.0).apply(text).split()
    places = [int(word[1:]) for word in moved]
    assert sorted(places) == list(range(2_000))
    assert 1 < max(abs(place - n) for n, place in enumerate(places)) <= 3
    assert WordNoise(drop=0.99).apply("eins zwei") in (
        "eins",
        "zwei",
        "eins zwei",
        "zwei eins",
        FILLER,
    )
    assert WordNoise().apply("") == ""
