"""What decoding promises, at full size on trained models: fast ways equal the plain one, invariance, glossary,
placeholders, confidence.

The models are ``runs/multi30k-en-de`` and ``runs/ro-en``, or those that --model and --romanian name; one that is not there is trained
by its recipe first.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from prove_commands import corpora, describe_machine, run
from prove_ro_en import clean

from interlingua.corpus.placeholders import keeps_placeholders
from interlingua.corpus.words import holds_phrase
from interlingua.evaluation.calibration import calibrate
from interlingua.evaluation.metrics import corpus_bleu
from interlingua.requests.glossary import Glossary, Term
from interlingua.requests.translation import Translation
from interlingua.translator import Translator

SEED = 20261122
PLACEHOLDERS = (
    "https://example.org/a?b={n}&c=%20", "www.example.org/{n}", "name.{n}@mail.example.org", "{{{{user_{n}}}}}",
    "${{total_{n}}}", "{{{n}}}", "%s", "%(name)d", "%{n}$s", "<b>", "</b>", '<a href="x{n}">', "\U0001f600",
    "\U0001f1f7\U0001f1f4", "{n}", "{n}.5", "{n},000", "{n}%", "2026-11-{n}",
)  # fmt: skip


def main() -> None:
    """Prove everything, and end with 1 if anything does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/multi30k-en-de"))
    parser.add_argument("--romanian", type=Path, default=Path("runs/ro-en"))
    parser.add_argument(
        "--only", default="precision,romanian,invariance,fixed,glossary,placeholders,confidence"
    )
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--placeholders", type=int, default=10_000)
    asked = parser.parse_args()
    print(describe_machine())
    data = corpora() / "multi30k_en_de"
    captions, references = both_tests(data)
    some = captions[: asked.sentences]
    train_if_absent("multi30k_en_de", asked.model)
    translator = Translator.load(asked.model, device="cpu")
    tests = {
        "precision": lambda: prove_precision(asked.model, some, references[: asked.sentences]),
        "romanian": lambda: prove_romanian(asked.romanian, asked.sentences),
        "invariance": lambda: prove_invariance(translator, some, fixed=False),
        "fixed": lambda: prove_invariance(translator, some, fixed=True),
        "glossary": lambda: prove_glossary(
            translator, data, list(zip(captions, references, strict=True)), asked.requests
        ),
        "placeholders": lambda: prove_placeholders(translator, captions, asked.placeholders),
        "confidence": lambda: prove_confidence(translator, data),
    }
    wrong = [name for name in asked.only.split(",") if not tests[name]()]
    print(f"not as promised: {', '.join(wrong)}" if wrong else "all as promised")
    sys.exit(1 if wrong else 0)


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def is_there(model: Path) -> bool:
    return (model / "model").is_dir() or (model / "config.json").is_file()


def train_if_absent(recipe: str, model: Path) -> None:
    if not is_there(model):
        print(run("train", f"recipes/{recipe}.toml", "--run-dir", str(model)).output)


def both_tests(data: Path) -> tuple[list[str], list[str]]:
    """Return both sides of Multi30k's two test sets, one after the other."""
    tests = ("test_2016_flickr", "test_2017_flickr")
    texts = [line for name in tests for line in read(data / f"{name}.en")]
    references = [line for name in tests for line in read(data / f"{name}.de")]
    return texts, references


def prove_romanian(model: Path, number: int) -> bool:
    """The same with the Romanian model, on the test sentences of STS."""
    if not is_there(model):
        clean()
    train_if_absent("ro_en", model)
    test = corpora() / "ro_en/sts"
    return prove_precision(model, read(test / "test.ro")[:number], read(test / "test.en")[:number])


def prove_precision(model: Path, texts: list[str], references: list[str]) -> bool:
    """Each fast way to compute against the readable float32 search: the same tokens, and how far BLEU moves."""
    plain = Translator.load(model, device="cpu", plain=True).translate(texts)
    expected = corpus_bleu([each.text for each in plain], [references])
    print(f"plain float32: {len(texts):,} sentences, BLEU {expected:.2f}")
    holds = True
    for dtype, allowed in (("float32", 0.0), ("bfloat16", 0.1), ("int8", 0.3)):
        found = Translator.load(model, device="cpu", dtype=dtype).translate(texts)
        pairs = list(zip(plain, found, strict=True))
        gaps = [abs(a.score - b.score) for a, b in pairs if a.tokens != b.tokens]
        bleu = corpus_bleu([each.text for each in found], [references])
        print(
            f"{dtype}: {1 - len(gaps) / len(texts):.2%} of the sentences are the same ({len(gaps)} are not, greatest gap of "
            f"their scores {max(gaps, default=0.0):.2e}), BLEU {bleu:.2f} ({bleu - expected:+.2f})"
        )
        is_equal = all(gap <= 1e-5 for gap in gaps)
        holds &= is_equal if dtype == "float32" else abs(bleu - expected) <= allowed
    return holds


def prove_invariance(translator: Translator, texts: list[str], *, fixed: bool) -> bool:
    """Each sentence alone against random batches of 2 to 64, in another order."""
    dice = random.Random(SEED)
    order = list(range(len(texts)))
    dice.shuffle(order)
    started = time.process_time()
    together: dict[int, Translation] = {}
    while order:
        batch, order = order[: (size := dice.randint(2, 64))], order[size:]
        found = translator.translate([texts[n] for n in batch], batch_invariant=fixed)
        together |= dict(zip(batch, found, strict=True))
    batches = time.process_time() - started
    alone = [translator.translate([text], batch_invariant=fixed)[0] for text in texts]
    different = [n for n, one in enumerate(alone) if one.tokens != together[n].tokens]
    exact = sum(alone[n] == together[n] for n in range(len(texts)))
    tokens = sum(len(one.tokens) for one in alone)
    changed = sum(len(alone[n].tokens) for n in different)
    gaps = [abs(alone[n].score - together[n].score) for n in different]
    drift = max(abs(one.score - together[n].score) for n, one in enumerate(alone))
    name = "--batch-invariant" if fixed else "as usual"
    print(
        f"{name}: {len(texts):,} sentences, {len(different)} differ in tokens ({changed} of {tokens:,} tokens, all of "
        f"those sentences counted), greatest gap of their scores {max(gaps, default=0.0):.2e}; {exact:,} equal to the "
        f"last bit, scores move by {drift:.2e} at most; in batches {batches:.1f} s of processor time"
    )
    if fixed:
        return exact == len(texts)
    return changed <= 0.0005 * tokens and all(gap < 1e-4 for gap in gaps)


def prove_glossary(
    translator: Translator, data: Path, tests: Sequence[tuple[str, str]], number: int
) -> bool:
    """One term a sentence, which its reference has: is it there, and what does that do to BLEU."""
    pairs = list(zip(read(data / "train.en"), read(data / "train.de"), strict=True))
    terms = choose_terms(pairs, tests)
    requests = [(s, t, term) for (s, t), term in zip(tests, terms, strict=True) if term][:number]
    sources = [source for source, _, _ in requests]
    references = [reference for _, reference, _ in requests]
    plain = translator.translate(sources)
    started = time.process_time()
    found = [translator.translate([s], glossary=Glossary([term]))[0] for s, _, term in requests]
    seconds = time.process_time() - started
    before = sum(holds_phrase(p.text, r[2].target) for p, r in zip(plain, requests, strict=True))
    held = sum(holds_phrase(f.text, r[2].target) for f, r in zip(found, requests, strict=True))
    bleu = [corpus_bleu([t.text for t in each], [references]) for each in (plain, found)]
    print(
        f"glossary: {len(requests):,} requests, {held / len(requests):.2%} honoured ({before / len(requests):.2%} "
        f"without it); BLEU {bleu[0]:.2f} without, {bleu[1]:.2f} with; {seconds:.1f} s of processor time"
    )
    return held >= 0.98 * len(requests) and bleu[1] >= bleu[0] - 0.2


def choose_terms(
    pairs: Sequence[tuple[str, str]], tests: Sequence[tuple[str, str]]
) -> list[Term | None]:
    """For each test pair take the two words that occur together most exclusively in training (Dice)."""
    words = [(set(words_of(s.casefold())), set(words_of(t))) for s, t in pairs]
    left = Counter(word for source, _ in words for word in source)
    right = Counter(word for _, target in words for word in target)
    both = Counter((a, b) for source, target in words for a in source for b in target)
    terms: list[Term | None] = []
    for source, target in tests:
        scored = [
            (2 * both[a, b] / (left[a] + right[b]), a, b)
            for a in set(words_of(source.casefold()))
            for b in set(words_of(target))
            if both[a, b] >= 5
        ]
        score, a, b = max(scored, default=(0.0, "", ""))
        terms.append(Term(a, b) if score >= 0.4 else None)
    return terms


def words_of(text: str) -> list[str]:
    stripped = (word.strip(".,;:!?\"'()") for word in text.split())
    return [word for word in stripped if len(word) >= 4 and word.isalpha()]


def prove_placeholders(translator: Translator, lines: list[str], number: int) -> bool:
    """One to three placeholders at random places of real sentences."""
    dice = random.Random(SEED)
    texts = []
    for n in range(number):
        words = lines[n % len(lines)].split()
        for _ in range(dice.randint(1, 3)):
            made = dice.choice(PLACEHOLDERS).format(n=dice.randint(10, 99))
            words.insert(dice.randint(0, len(words)), made)
        texts.append(" ".join(words))
    started = time.process_time()
    found = list(translator.translate_iter(texts, lock=True, beam_size=1))
    seconds = time.process_time() - started
    kept = sum(keeps_placeholders(each.placeholders, each.text) for each in found)
    reported = sum(bool(each.placeholders) for each in found)
    flags = Counter(flag for each in found for flag in each.flags)
    print(
        f"placeholders: {len(texts):,} texts, all kept in {kept:,}, reported in {reported:,}; searched again "
        f"{flags['constrained']:,}, of these or others translated in pieces {flags['placeholders-split']:,}, lost "
        f"{flags['placeholders-lost']:,}; {seconds:.1f} s of processor time, greedy"
    )
    return kept == len(texts)


def prove_confidence(translator: Translator, data: Path) -> bool:
    """Fit on four fifths of the validation pairs, judge on the fifth, five times."""
    calibration, held_back = calibrate(translator, read(data / "valid.en"), read(data / "valid.de"))
    print(
        f"confidence: {calibration.pairs:,} validation pairs, each judged by a fit that did not see it: expected "
        f"calibration error {held_back.error:.3f}, area under the curve {held_back.area:.3f} for chrF below the "
        f"median ({calibration.median_chrf:.2f})"
    )
    return held_back.error <= 0.05 and held_back.area >= 0.75


if __name__ == "__main__":
    main()
