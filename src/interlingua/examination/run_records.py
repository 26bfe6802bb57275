"""What the records of a run tell: overfitting, divergence, damaged checkpoints, a corpus or tokenizer that changed."""

import json
import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from interlingua.batching.shards import open_shards, read_manifest
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import read_tensors
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.findings import Finding
from interlingua.corpus.lines import read_lines
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import InterlinguaError, ModelError
from interlingua.examination.corpus_size import Choice, examine_size
from interlingua.examination.model_files import examine_manifest, examine_weights
from interlingua.training.run_folder import RunFolder

__all__ = ["examine_run_records", "text_of_run"]

Record = dict[str, Any]

_OVERFITTED = 1.03
"""Last validation loss over the best one."""
_DIVERGED = 1.5
"""Last training loss over the best one."""
_GREW = 50.0
"""Last norms of the gradient over those of its first half."""


def examine_run_records(folder: RunFolder) -> list[Finding]:
    """Return what is wrong with the records and checkpoints of a run."""
    found: list[Finding] = []
    try:
        if folder.config.exists():
            found += _examine_sizes(load_config(folder.config), folder)
    except InterlinguaError as error:
        found.append(
            Finding(
                "corrupt-file",
                "error",
                (),
                f"The configuration of the run cannot be read: {error}",
                "restore it from a copy, or train in a new folder",
            )
        )
    found += _examine_metrics(folder.metrics)
    found += _examine_checkpoints(folder)
    found += _compare_tokenizers(folder)
    found += _compare_corpus(folder)
    found += _examine_shards(folder.shards)
    return found


def text_of_run(folder: RunFolder, most: int) -> list[SentencePair]:
    """Return some of the validation text of a run, of its training text, or of its samples, whichever there is."""
    try:
        config = load_config(folder.config)
    except InterlinguaError:
        return _samples(folder, most)
    for source, target in _texts(config, folder):
        try:
            sides = read_lines(source), read_lines(target)
        except InterlinguaError:
            continue
        number = min(map(len, sides))
        step = max(1, number // most)
        pairs = [
            SentencePair(sides[0][at], sides[1][at], at + 1)
            for at in range(0, number, step)
            if sides[0][at].strip() and sides[1][at].strip()
        ]
        if pairs:
            return pairs[:most]
    return _samples(folder, most)


def _texts(config: RunConfig, folder: RunFolder) -> list[tuple[Path, Path]]:
    corpus = config.corpus
    texts = list(zip(corpus.valid_source, corpus.valid_target, strict=False))
    if corpus.embedded and folder.corpus.is_dir():
        sides = sorted(folder.corpus.glob("valid.*"))
        if len(sides) == 2:
            ordered = sorted(sides, key=lambda side: side.suffix != f".{corpus.source_lang}")
            texts.append((ordered[0], ordered[1]))
    return [*texts, *zip(corpus.source, corpus.target, strict=False)]


def _samples(folder: RunFolder, most: int) -> list[SentencePair]:
    pairs = {
        (str(record["source"]), str(record["reference"])): None
        for record in _read_records(folder.samples)[0]
        if "source" in record and "reference" in record
    }
    return [SentencePair(a, b, number) for number, (a, b) in enumerate(islice(pairs, most), 1)]


def _read_records(path: Path) -> tuple[list[Record], list[int]]:
    """Return the records of a file, and the lines that are none."""
    if not path.is_file():
        return [], []
    records, damaged = [], []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line else None
        except ValueError:
            damaged.append(number)
            continue
        if isinstance(record, dict):
            records.append(record)
        elif line:
            damaged.append(number)
    return records, damaged


def _examine_metrics(path: Path) -> list[Finding]:
    records, damaged = _read_records(path)
    found = []
    if damaged:
        found.append(
            Finding(
                "corrupt-file",
                "warning",
                tuple(damaged),
                f"{path}: {len(damaged)} lines are no records; curves and choices that follow from them have gaps.",
                "run the same interlingua train command again: it drops them",
            )
        )
    validations = [r for r in records if r.get("kind") == "validation" and "loss" in r]
    training = [r for r in records if r.get("kind") == "training" and "loss" in r]
    diverged = _divergence(training, validations)
    return [*found, *(diverged or _overfitting(validations, training))]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _overfitting(validations: list[Record], training: list[Record]) -> list[Finding]:
    """Find a validation loss that grows while the training loss falls."""
    if len(validations) < 3:
        return []
    losses = [record["loss"] for record in validations]
    best = min(range(len(losses)), key=losses.__getitem__)
    after = losses[best + 1 :]
    if not after or losses[-1] <= max(_OVERFITTED * losses[best], losses[best] + 0.02):
        return []
    step = validations[best].get("step", 0)
    trained = [r["loss"] for r in training if _is_number(r["loss"])]
    before = [r["loss"] for r in training if _is_number(r["loss"]) and r.get("step", 0) <= step]
    if before and trained and trained[-1] > 1.02 * before[-1]:
        return []  # the training loss grew too: that is divergence
    return [
        Finding(
            "overfitting",
            "warning",
            (),
            f"The validation loss was best at step {step:,} ({losses[best]:.3f}) and is {losses[-1]:.3f} at step "
            f"{validations[-1].get('step', 0):,}: since then the model learns the training pairs by heart. The model "
            "folder keeps the weights of the best validations.",
            "train with a higher model.dropout, training.r_drop or tokenization.sampling, a smaller model, or more text",
        )
    ]


def _divergence(training: list[Record], validations: list[Record]) -> list[Finding]:
    bad = [r.get("step", 0) for r in [*training, *validations] if not _is_number(r.get("loss"))]
    if bad:
        return [_diverged(f"The loss is not a number at step {bad[0]:,}.")]
    losses = [record["loss"] for record in training]
    if len(losses) >= 6:
        last = sum(losses[-3:]) / 3
        if last > _DIVERGED * min(losses) and last > min(losses) + 0.5:
            return [_diverged(f"The training loss was {min(losses):.3f} and is {last:.3f} now.")]
    norms = [r["gradient_norm"] for r in training if _is_number(r.get("gradient_norm"))]
    if len(norms) >= 6:
        usual = sorted(norms[: len(norms) // 2])[len(norms) // 4]
        if norms[-1] > _GREW * max(usual, 1e-6):
            return [_diverged(f"The gradient has a norm of {norms[-1]:.3g}; it was {usual:.3g}.")]
    return []


def _diverged(what: str) -> Finding:
    return Finding(
        "diverged",
        "error",
        (),
        f"{what} Training diverged: what comes after is not worth keeping.",
        "train again with a lower training.peak_learning_rate, a longer training.warmup_steps, or clip_norm 1",
    )


def _examine_checkpoints(folder: RunFolder) -> list[Finding]:
    store = CheckpointStore(folder.checkpoints, keep=2)
    damaged = {step: examine_manifest(store.path(step)) for step in store.steps()}
    whole = [step for step, found in damaged.items() if not found]
    sick = _examine_newest(store.path(whole[-1])) if whole else []
    return sick + [
        Finding(
            "corrupt-checkpoint",
            "error" if all(damaged.values()) else "warning",
            (),
            f"The checkpoint of step {step:,} is damaged: {found[0].message} A resume takes the newest whole one.",
            f"remove it: rm -r {store.path(step)}",
        )
        for step, found in damaged.items()
        if found
    ]


def _examine_newest(checkpoint: Path) -> list[Finding]:
    """Look at the weights that a resume would go on with."""
    try:
        weights = read_tensors(checkpoint / "model.safetensors")
    except ModelError:
        return []
    return [
        replace(finding, message=f"{checkpoint}: {finding.message}")
        for finding in examine_weights(weights)
    ]


def _examine_sizes(config: RunConfig, folder: RunFolder) -> list[Finding]:
    """Compare the sizes of the model with the pairs it learns from; those of another model are no choice of this run."""
    if config.start.begins_with_a_model or config.corpus.embedded is not None:
        return []
    try:
        pairs = read_manifest(folder.shards / "training").pairs
    except InterlinguaError:
        return []  # which is told elsewhere
    return examine_size(Choice(config, folder.config, folder.path), pairs)


def _examine_shards(folder: Path) -> list[Finding]:
    """Open the tokens that the run trains on, as a resume does."""
    found = []
    for part in sorted(folder.glob("*/manifest.json")):
        try:
            open_shards(part.parent)
        except InterlinguaError as error:
            found.append(
                Finding(
                    "corrupt-file",
                    "error",
                    (),
                    f"The tokens of the corpus are damaged: {error}",
                    "interlingua prepare with the flags of the run writes them again",
                )
            )
    return found


def _compare_tokenizers(folder: RunFolder) -> list[Finding]:
    """Compare the tokenizers of the model with those of its run, byte by byte."""
    if not (folder.tokenizer.is_dir() and folder.model.is_dir()):
        return []
    found = []
    for file in sorted(folder.tokenizer.glob("*tokenizer.json")):
        copy = folder.model / file.name
        if copy.is_file() and copy.read_bytes() != file.read_bytes():
            found.append(
                Finding(
                    "wrong-tokenizer",
                    "error",
                    (),
                    f"{copy} is not the tokenizer of this run, {file}: its ids mean other pieces than the model learnt.",
                    "train again, or restore both from a copy; a run keeps its tokenizer from its first step",
                )
            )
    return found


def _compare_corpus(folder: RunFolder) -> list[Finding]:
    """Compare the files that the run was prepared from with what they are now, by their size."""
    try:
        locked = json.loads(folder.corpus_lock.read_text(encoding="utf-8"))
        sizes = {Path(name): int(entry["size"]) for name, entry in locked.items()}
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [
            Finding(
                "corrupt-file",
                "warning",
                (),
                f"{folder.corpus_lock} cannot be read ({error}); nobody can tell whether the corpus is still the same.",
                "restore it from a copy, or train in a new folder",
            )
        ]
    changed = [str(p) for p, size in sizes.items() if p.is_file() and p.stat().st_size != size]
    if not changed:
        return []
    return [
        Finding(
            "changed-corpus",
            "warning",
            (),
            f"{', '.join(changed)} changed since the run was prepared; its tokens are those of the older text.",
            "train in a new folder: interlingua train --fresh ...",
        )
    ]
