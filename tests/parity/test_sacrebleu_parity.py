"""Our figures beside those of the real ``sacrebleu`` command, on real text."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.health import check_health
from interlingua.evaluation.metrics import Score, corpus_bleu, corpus_chrf, score
from interlingua.evaluation.significance import compare

pytestmark = pytest.mark.unchecked  # thousands of samples of every score

LINES = 200

# Folder and file of the references, the language code, and what the command must be told about BLEU.
CORPORA = {
    "German": ("multi30k_en_de/test_2016_flickr.de", "de", []),
    "English": ("ro_en/newstest2016/newstest2016.en", "en", []),
    "Romanian": ("ro_en/sts/test.ro", "ro", []),
    "Japanese": ("tanaka_en_ja/test.ja", "ja", ["-tok", "char"]),
    "Chinese": ("tico19/en-zh/test.zh", "zh", ["-tok", "zh"]),
    "Arabic": ("tico19/en-ar/test.ar", "ar", []),
}


def read_corpus(name: str, lines: int = LINES) -> list[str]:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no real text to score")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return read_lines(path)[:lines]


def perturb(lines: Sequence[str], seed: int, rate: float) -> list[str]:
    """Drop, double and swap words (characters where there are no spaces), and empty one line."""
    rng = random.Random(seed)
    changed = []
    for line in lines:
        separator = " " if " " in line else ""
        units = line.split(" ") if separator else list(line)
        units = [unit for unit in units if rng.random() > rate]
        for place in range(len(units) - 1):
            if rng.random() < rate:
                units[place], units[place + 1] = units[place + 1], units[place]
            elif rng.random() < rate / 2:
                units[place] = units[place + 1]
        changed.append(separator.join(units))
    changed[len(changed) // 2] = ""
    return changed


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def run_sacrebleu(*arguments: str | Path, form: str = "json") -> str:
    environment = {key: value for key, value in os.environ.items() if "SACREBLEU" not in key}
    result = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *map(str, arguments), "-w", "4", "-f", form, "-q"],
        capture_output=True,
        env=environment | {"NO_COLOR": "1"},
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def score_by_command(*arguments: str | Path) -> Any:
    return json.loads(run_sacrebleu(*arguments))


def read_latex_row(row: str) -> list[list[float]]:
    """Read ``name & 45.7251 (45.7281 +- 1.4568) (p = 0.0390)* & ...`` as numbers, a list a metric."""
    return [
        [float(number) for number in re.findall(r"\d+\.\d+", cell)] for cell in row.split("&")[1:]
    ]


def assert_same(ours: Score, theirs: dict[str, Any]) -> None:
    assert ours.name == theirs["name"]
    assert round(ours.value, 4) == theirs["score"]
    assert ours.signature == theirs["signature"]
    if "confidence_mean" in theirs:
        assert ours.mean is not None
        assert ours.margin is not None
        assert round(ours.mean, 4) == theirs["confidence_mean"]
        assert round(ours.margin, 4) == theirs["confidence_var"]
    else:
        assert ours.mean is None


@pytest.mark.parametrize("corpus", CORPORA)
def test_bleu_chrf_and_ter_with_intervals_equal_the_command(corpus: str, tmp_path: Path) -> None:
    name, language, options = CORPORA[corpus]
    references = read_corpus(name)
    hypotheses = perturb(references, seed=1, rate=0.1)
    files = [write(tmp_path / "ref", references), "-i", write(tmp_path / "hyp", hypotheses)]
    theirs = score_by_command(*files, "-m", "bleu", "chrf", "ter", "--confidence", *options)
    ours = score(hypotheses, [references], confidence=True, target_lang=language)
    assert 5 < ours[0].value < 95
    for our_score, their_score in zip(ours, theirs, strict=True):
        assert_same(our_score, their_score)


def test_chrf_plus_plus_and_plain_scores_equal_the_command(tmp_path: Path) -> None:
    references = read_corpus(CORPORA["German"][0])
    hypotheses = perturb(references, seed=2, rate=0.2)
    files = [write(tmp_path / "ref", references), "-i", write(tmp_path / "hyp", hypotheses)]
    theirs = score_by_command(*files, "-m", "bleu", "chrf", "--chrf-word-order", "2")
    bleu, chrf = score(hypotheses, [references], ["bleu", "chrf++"])
    assert_same(bleu, theirs[0])
    assert_same(chrf, theirs[1])
    assert corpus_bleu(hypotheses, [references]) == bleu.value
    assert corpus_chrf(hypotheses, [references], word_order=2) == chrf.value
    plain = score_by_command(*files, "-m", "chrf")
    assert round(corpus_chrf(hypotheses, [references]), 4) == plain["score"]


def test_several_references_equal_the_command(tmp_path: Path) -> None:
    first = read_corpus(CORPORA["German"][0])
    second, third = perturb(first, seed=3, rate=0.3), perturb(first, seed=4, rate=0.3)
    hypotheses = perturb(first, seed=5, rate=0.2)
    files = [
        write(tmp_path / f"ref{number}", lines)
        for number, lines in enumerate([first, second, third])
    ]
    theirs = score_by_command(
        *files,
        "-i",
        write(tmp_path / "hyp", hypotheses),
        "-m",
        "bleu",
        "chrf",
        "ter",
        "--confidence",
    )
    ours = score(hypotheses, [first, second, third], confidence=True)
    for our_score, their_score in zip(ours, theirs, strict=True):
        assert_same(our_score, their_score)


def test_the_length_ratio_is_the_one_in_the_commands_verbose_score(tmp_path: Path) -> None:
    references = [
        read_corpus(CORPORA["German"][0]),
        perturb(read_corpus(CORPORA["German"][0]), 6, 0.2),
    ]
    hypotheses = perturb(references[0], seed=7, rate=0.2)
    files = [write(tmp_path / f"ref{number}", lines) for number, lines in enumerate(references)]
    theirs = score_by_command(*files, "-i", write(tmp_path / "hyp", hypotheses))
    ratio = check_health(hypotheses, references).length_ratio
    assert f"ratio = {ratio:.3f} " in theirs["verbose_score"]


def test_the_paired_bootstrap_equals_the_command(tmp_path: Path) -> None:
    references = read_corpus(CORPORA["English"][0])
    baseline = perturb(references, seed=8, rate=0.12)
    hypotheses = perturb(references, seed=9, rate=0.1)
    written = run_sacrebleu(
        write(tmp_path / "ref", references),
        "-i",
        write(tmp_path / "baseline", baseline),
        write(tmp_path / "system", hypotheses),
        *("-m", "bleu", "chrf", "ter", "--paired-bs"),
        form="latex",  # the JSON form fails on numpy's float32 in sacreBLEU 2.6.0
    )
    rows = [line for line in written.splitlines() if re.search(r"& *\d+\.\d{4} ", line)]
    their_baseline, their_system = map(read_latex_row, rows)
    ours = compare(hypotheses, baseline, [references])
    assert [each.system.name for each in ours] == ["BLEU", "chrF2", "TER"]
    for each, baseline_cell, system_cell in zip(ours, their_baseline, their_system, strict=True):
        assert numbers(each.baseline) == baseline_cell
        assert [*numbers(each.system), round(each.p_value, 4)] == system_cell
        assert f" - {each.system.name:<10} {each.system.signature}" in written


def numbers(ours: Score) -> list[float]:
    assert ours.mean is not None
    assert ours.margin is not None
    return [round(ours.value, 4), round(ours.mean, 4), round(ours.margin, 4)]


def test_line_breaks_of_other_kinds_inside_a_line_shift_nothing(tmp_path: Path) -> None:
    references = read_corpus(CORPORA["German"][0], 60)
    for number, character in enumerate(["\r", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\u2029"]):
        references[3 * number] = references[3 * number].replace(" ", f" {character} ", 1)
        references[3 * number + 1] += character
    hypotheses = perturb(references, seed=10, rate=0.1)
    files = [write(tmp_path / "ref", references), write(tmp_path / "hyp", hypotheses)]
    theirs = score_by_command(files[0], "-i", files[1], "-m", "bleu", "chrf", "ter")
    read = [read_lines(path) for path in files]
    assert [len(lines) for lines in read] == [60, 60]
    for our_score, their_score in zip(score(read[1], [read[0]]), theirs, strict=True):
        assert_same(our_score, their_score)
