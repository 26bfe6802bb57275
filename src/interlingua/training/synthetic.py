"""A parallel corpus of which a model wrote one side: by back-translation, or by the teacher of a student.

What the model wrote lies in a file of lines as ``bulk.worker.scored_line`` makes them. Of each line one candidate is chosen,
those that the model is least sure of go, then those that break a rule of ``clean``; what stays is written as two files.
"""

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.cleaning import CleaningJob, clean_corpus
from interlingua.corpus.lines import read_blocks, write_sides
from interlingua.corpus.packed import PackedFile, is_packed
from interlingua.corpus.pair_rules import normalise
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.plain_sides import PlainSides
from interlingua.corpus.repairs import repair_line
from interlingua.corpus.word_noise import WordNoise
from interlingua.corpus.words import units_of
from interlingua.errors import CorpusError
from interlingua.evaluation.metrics import choose_tokenizer, sentence_bleu, sentence_chrf
from interlingua.files import replace_file, temporary_neighbour
from interlingua.requests.faults import repeats_itself

__all__ = [
    "HELD_OUT",
    "WAY_ON",
    "Candidate",
    "SyntheticCorpus",
    "Written",
    "read_candidates",
    "write_genuine",
    "write_synthetic",
]

WAY_ON = "Go on with its training (interlingua train RUN/config.toml --run-dir RUN --training.steps MORE), then begin the text anew (another --output)"
"""What to do where a model that has not learnt enough wrote next to nothing; some callers know better."""
HELD_OUT = "held out"
"""Why a line is dropped that stands in a validation or test text."""
_LINES = 10_000
_UNUSABLE = ("empty", "empty-output", "max-length", "repetition", "truncated-source")
"""Marks of a translation that is no translation of its whole line."""

Nearness = Literal["chrf", "bleu"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the translations of a line."""

    text: str
    score: float
    """Mean log-probability of its tokens."""
    flags: tuple[str, ...]

    @property
    def is_usable(self) -> bool:
        """Whether it says something, and ends where the line ends."""
        return bool(self.text.strip()) and not set(self.flags) & set(_UNUSABLE)


def read_candidates(line: str) -> list[Candidate]:
    """Read what ``scored_line`` wrote: the translations of one line, best first."""
    return [Candidate(text, float(score), tuple(flags)) for text, score, flags in json.loads(line)]


@dataclass(frozen=True, slots=True)
class SyntheticCorpus:
    """What becomes of a translated text.

    Attributes:
        text: the text, one sentence a line.
        translated: its candidates, line by line.
        source, target: the files to write.
        text_is: the side that ``text`` is of; the model wrote the other.
        reference: translations of ``text`` by people, which may be compressed; of the candidates the nearest to it is taken, else
            the first.
        nearness: by what nearness is measured.
        lang: of the reference; BLEU cuts text into words by it.
        keep: share of the lines that stays, those with the highest score.
        min_score: lines with a lower score go in any case.
        noise: put on the side that the model wrote, at the very end.
        held_out: validation and test text in the language of ``text``; what stands in it is not learnt.
    """

    text: Path
    translated: Path
    source: Path
    target: Path
    text_is: Literal["source", "target"]
    reference: Path | None = None
    nearness: Nearness = "chrf"
    lang: str | None = None
    keep: float = 1.0
    min_score: float | None = None
    noise: WordNoise | None = None
    held_out: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a synthetic corpus came to."""

    lines: int
    """Of the text."""
    pairs: int
    """In the files."""
    dropped: dict[str, int]
    """By the reason: ``held out``, ``no translation``, ``low score``, or a rule of ``clean``."""
    threshold: float
    """The lowest score that stayed, before ``clean``."""
    not_first: int = 0
    """Lines for which another than the likeliest candidate is nearer to the reference."""


@dataclass(slots=True)
class _Choice:
    """What was chosen of each line: its score, or not-a-number where nothing is usable."""

    scores: list[float] = field(default_factory=list)
    not_first: int = 0
    held_out: int = 0
    """Lines that are in a validation or test text."""


def write_synthetic(job: SyntheticCorpus) -> Written:
    """Choose, filter and write; the two files appear whole or not at all.

    Raises:
        CorpusError: the files have other numbers of lines, or no line is left.
        OutputError: something cannot be written.
    """
    scratch = temporary_neighbour(job.source.with_name(f"{job.source.name}.pairs"))
    try:
        chosen = scratch / "chosen"
        choice = _choose(job, chosen)
        scores = np.array(choice.scores)
        stays, threshold = _select(scores, job)
        dropped = Counter(
            {
                HELD_OUT: choice.held_out,
                "no translation": int(np.isnan(scores).sum()) - choice.held_out,
                "low score": int((~np.isnan(scores) & ~stays).sum()),
            }
        )
        cleaned = None
        if stays.any():
            pairs = scratch / f"source{job.source.suffix}", scratch / f"target{job.target.suffix}"
            _write_pairs(job, chosen, stays, pairs)
            rules = CleaningJob(PlainSides.of(*pairs), scratch / "cleaned")
            cleaned = clean_corpus(rules, processes=1)
            dropped.update(cleaned.counts)
        if cleaned is None or not cleaned.kept:
            raise CorpusError(
                f"{job.text}: no line is left ({_in_words(dropped)}); {_remedy(dropped)}"
            )
        _finish(job, cleaned.outputs)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Written(
        lines=len(scores),
        pairs=cleaned.kept,
        dropped={reason: count for reason, count in dropped.items() if count},
        threshold=threshold,
        not_first=choice.not_first,
    )


def write_genuine(job: SyntheticCorpus, source: Path, target: Path) -> None:
    """Write the text and its reference without what is held out.

    Raises:
        OutputError: something cannot be written.
    """
    assert job.reference is not None
    held_out = _held_out(job.held_out)
    pairs = (
        SentencePair(line, reference, number)
        for number, (line, reference) in enumerate(_in_step([job.text, job.reference]), start=1)
    )
    write_sides((source, target), (pair for pair in pairs if _plain(pair.source) not in held_out))


def _in_words(dropped: Counter[str]) -> str:
    return ", ".join(f"{reason}: {count:,}" for reason, count in dropped.items() if count)


def _read(path: Path) -> Iterator[str]:
    if is_packed(path):
        with PackedFile(path) as file:
            yield from file.lines()
        return
    for block in read_blocks(path, _LINES):
        yield from block.lines


def _choose(job: SyntheticCorpus, chosen: Path) -> _Choice:
    """Write the candidate that is taken of each line."""
    choice = _Choice()
    nearness: Callable[[str, list[str]], float] = sentence_chrf
    if job.nearness == "bleu":
        nearness = partial(sentence_bleu, tokenize=choose_tokenizer(job.lang))
    files = [job.text, job.translated, *([job.reference] if job.reference else [])]
    held_out = _held_out(job.held_out)
    with chosen.open("w", encoding="utf-8", newline="\n") as file:
        for line, candidates, *reference in _in_step(files):
            found = [
                each
                for each in read_candidates(candidates)
                if each.is_usable and not _goes_round(each.text, line)
            ]
            if held_out and _plain(line) in held_out:
                choice.held_out += 1
                found = []
            best = _nearest(found, repair_line(reference[0])[0], nearness) if reference else 0
            choice.not_first += best > 0
            choice.scores.append(found[best].score if found else math.nan)
            file.write((found[best].text if found else "") + "\n")
    return choice


def _remedy(dropped: Counter[str]) -> str:
    """Say what to do where nothing is left, by what most lines were dropped for."""
    reason = max(dropped, key=lambda each: dropped[each])
    if reason == HELD_OUT:
        return "it is text that models are judged by; give other text"
    if reason == "no translation":
        return f"is this the language that the model reads, and has it learnt enough? {WAY_ON}"
    if reason == "low score":
        return "lower --min-score or raise --keep"
    return "look at what it says (interlingua doctor)"


def _goes_round(text: str, line: str) -> bool:
    """Tell whether a translation says the same again and again, and what it translates does not."""
    said, read = ([word for _, word in units_of(each)] for each in (text, line))
    return repeats_itself(said) and not repeats_itself(read)


def _held_out(paths: tuple[Path, ...]) -> set[str]:
    """Return the lines of texts, which may be compressed."""
    return {plain for path in paths for line in _read(path) if (plain := _plain(line))}


def _plain(line: str) -> str:
    """Return what two lines have in common that ``clean`` mends and takes for one; a line of signs alone stands for itself."""
    line = repair_line(line)[0]
    return normalise(line) or line.strip()


def _nearest(
    found: list[Candidate], reference: str, nearness: Callable[[str, list[str]], float]
) -> int:
    """Return the place of the candidate nearest to the reference; the likelier one of two that are as near."""
    if len(found) < 2 or not reference.strip():
        return 0
    near = [nearness(each.text, [reference]) for each in found]
    return near.index(max(near))


def _select(scores: NDArray[np.float64], job: SyntheticCorpus) -> tuple[NDArray[np.bool_], float]:
    """Return which lines stay, and the lowest score among them."""
    ranked = np.sort(scores[~np.isnan(scores)])[::-1]
    if not len(ranked):
        return np.zeros(len(scores), dtype=np.bool_), 0.0
    least = float(ranked[max(1, math.ceil(job.keep * len(ranked))) - 1])
    if job.min_score is not None:
        least = max(least, job.min_score)
    stays = np.nan_to_num(scores, nan=-np.inf) >= least
    return stays, float(scores[stays].min()) if stays.any() else 0.0


def _write_pairs(
    job: SyntheticCorpus, chosen: Path, stays: NDArray[np.bool_], pairs: tuple[Path, Path]
) -> None:
    """Write the lines that stay, source and target."""
    with ExitStack() as opened:
        source, target = (
            opened.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in pairs
        )
        given, written = (source, target) if job.text_is == "source" else (target, source)
        for (line, text), stay in zip(_in_step([job.text, chosen]), stays.tolist(), strict=True):
            if stay:
                given.write(line + "\n")
                written.write(text + "\n")


def _finish(job: SyntheticCorpus, cleaned: tuple[Path, ...]) -> None:
    """Put the files in their places, with noise on the side that the model wrote."""
    written = job.target if job.text_is == "source" else job.source
    with ExitStack() as opened:
        for path, place in zip(cleaned, (job.source, job.target), strict=True):
            file = opened.enter_context(replace_file(place))
            if job.noise is None or place != written:
                with path.open("rb") as content:
                    shutil.copyfileobj(content, file)
                continue
            for line in _read(path):
                file.write(job.noise.apply(line).encode("utf-8") + b"\n")


def _in_step(paths: list[Path]) -> Iterator[tuple[str, ...]]:
    """Read files side by side.

    Raises:
        CorpusError: one ends before the others.
    """
    streams = [_read(path) for path in paths]
    for number in range(1, 1 << 62):
        lines = [next(stream, None) for stream in streams]
        ended = [path for path, line in zip(paths, lines, strict=True) if line is None]
        if len(ended) == len(paths):
            return
        if ended:
            other = next(path for path in paths if path not in ended)
            raise CorpusError(
                f"{ended[0]} has {number - 1:,} lines, and {other} has more; line N of one must belong to line N of the other"
            )
        yield tuple(line for line in lines if line is not None)
