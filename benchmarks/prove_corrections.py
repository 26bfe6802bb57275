"""What corrections promise: every repeat is right, everything else stays, and what is nearly the same profits.

On 200 sentences of a test set, corrected with their references. The model is the base of ``prove_finetune.py``, which is trained
first if it is not there (33 minutes), or the one that --model names.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from prove_commands import corpora, describe_machine, run
from prove_finetune import BASE, train

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.metrics import corpus_bleu, corpus_chrf
from interlingua.requests.translation import Translation
from interlingua.translator import Translator

USUAL = Path("runs/prove-finetune/base")
UNHEARD = "wahrhaftigst"
"""A word that no text of the corpus has."""
MOST_MOVED = 0.1
"""BLEU by which the sentences may move that were not corrected."""
WAYS = {
    "beam 4": {},
    "greedy": {"beam_size": 1},
    "beam 12, length penalty 1.5": {"beam_size": 12, "length_penalty": 1.5},
    "batch-invariant": {"batch_invariant": True},
    "batches of 256 tokens": {"batch_tokens": 256},
}


def main() -> None:
    """Prove everything, and end with status 1 if anything does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=USUAL, help="a trained model")
    parser.add_argument("--test", help="PREFIX of PREFIX.en and PREFIX.de")
    parser.add_argument("--corrections", type=int, default=200)
    parser.add_argument("--place", type=Path, default=Path("runs/prove-corrections"))
    asked = parser.parse_args()
    print(describe_machine())
    data = corpora() / "tatoeba_en_de"
    if asked.model == USUAL:  # to its end, if it was stopped
        train(asked.model, data / "train", data / "valid", BASE)
    test = asked.test or str(data / "test")
    sources, references = read_lines(Path(f"{test}.en")), read_lines(Path(f"{test}.de"))
    corrected = choose(sources, references, asked.corrections)
    folder = write(asked.model, asked.place, corrected)
    plain = Translator.load(asked.model, device="cpu", threads=1)
    before, seconds = timed(plain, sources)
    follows = Translator.load(asked.model, device="cpu", threads=1, corrections=folder)
    after, with_corrections = timed(follows, sources)
    print(
        f"{len(sources):,} sentences: {seconds:.1f} s of processor without corrections, {with_corrections:.1f} s with"
    )
    good = prove_repeats(follows, corrected)
    good &= prove_rest(sources, references, before, after, corrected)
    good &= prove_unheard(asked, sources, references, before, corrected)
    good &= prove_near(asked, data, sources, references, before)
    sys.exit(0 if good else 1)


def choose(sources: list[str], references: list[str], number: int) -> dict[str, str]:
    """Take sentences spread over the test set, each source once."""
    first: dict[str, str] = {}
    for source, reference in zip(sources, references, strict=True):
        first.setdefault(source, reference)
    names = list(first)
    step = max(1, len(names) // number)
    return {name: first[name] for name in names[::step][:number]}


def write(model: Path, place: Path, corrected: dict[str, str]) -> Path:
    """Keep the corrections by the command that a user types."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place / "corrections", ignore_errors=True)
    pairs = place / "corrections.tsv"
    pairs.write_text("".join(f"{one}\t{other}\n" for one, other in corrected.items()), "utf-8")
    folder = place / "corrections"
    print(run("correct", str(model), "--pairs", str(pairs), "--corrections", str(folder)).output)
    return folder


def timed(translator: Translator, sources: list[str]) -> tuple[list[Translation], float]:
    """Translate, and count the processor's time."""
    began = time.process_time()
    return translator.translate(sources), time.process_time() - began


def prove_repeats(translator: Translator, corrected: dict[str, str]) -> bool:
    """Every repeat is right, however it is searched."""
    good = True
    for name, options in WAYS.items():
        found = [each.text for each in translator.translate(list(corrected), **options)]
        right = sum(a == b for a, b in zip(found, corrected.values(), strict=True))
        print(f"repeats, {name}: {right} of {len(corrected)} right")
        good &= right == len(corrected)
    return good


def prove_rest(
    sources: list[str],
    references: list[str],
    before: list[Translation],
    after: list[Translation],
    corrected: dict[str, str],
) -> bool:
    """What was not corrected moves by no more than it may."""
    rest = [place for place, source in enumerate(sources) if source not in corrected]
    wanted = [[references[place] for place in rest]]
    bleu = [corpus_bleu([found[place].text for place in rest], wanted) for found in (before, after)]
    changed = sum(before[place].text != after[place].text for place in rest)
    print(
        f"the other {len(rest):,}: BLEU {bleu[0]:.2f} -> {bleu[1]:.2f} ({bleu[1] - bleu[0]:+.2f}), {changed} changed"
    )
    return abs(bleu[1] - bleu[0]) <= MOST_MOVED


def prove_unheard(
    asked: argparse.Namespace,
    sources: list[str],
    references: list[str],
    before: list[Translation],
    corrected: dict[str, str],
) -> bool:
    """The same where the corrections end as the model never would: it must not take half of such an end for other sentences."""
    told = {source: f"{target.rstrip('.!?')} {UNHEARD}." for source, target in corrected.items()}
    folder = write(asked.model, asked.place, told)
    follows = Translator.load(asked.model, device="cpu", threads=1, corrections=folder)
    good = prove_repeats(follows, told)
    return good & prove_rest(sources, references, before, follows.translate(sources), told)


def prove_near(
    asked: argparse.Namespace,
    data: Path,
    sources: list[str],
    references: list[str],
    before: list[Translation],
) -> bool:
    """What is nearly like a correction becomes no worse, with all validation pairs as corrections."""
    pairs = zip(read_lines(data / "valid.en"), read_lines(data / "valid.de"), strict=True)
    folder = write(asked.model, asked.place, dict(pairs))
    after = Translator.load(asked.model, device="cpu", threads=1, corrections=folder).translate(
        sources
    )
    near = [place for place, each in enumerate(after) if "like-a-correction" in each.flags]
    if not near:
        print("no sentence is nearly like a correction")
        return True
    wanted = [[references[place] for place in near]]
    good = True
    for name, score in (("BLEU", corpus_bleu), ("chrF", corpus_chrf)):
        figures = [score([found[n].text for n in near], wanted) for found in (before, after)]
        print(f"the {len(near)} nearly like one: {name} {figures[0]:.2f} -> {figures[1]:.2f}")
        good &= figures[1] >= figures[0]
    whole = [corpus_bleu([each.text for each in found], [references]) for found in (before, after)]
    print(f"all {len(sources):,}: BLEU {whole[0]:.2f} -> {whole[1]:.2f}")
    return good


if __name__ == "__main__":
    main()
