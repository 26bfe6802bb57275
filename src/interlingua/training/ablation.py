"""One configuration trained again and again, each time with one thing different: what each part, or each choice, is worth.

The table of Vaswani et al. 2017 (Table 3) asks the same of sizes. Here all runs make the same number of updates on the same
pairs; only one thing differs, and the seed.
"""

import itertools
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console

from interlingua.checkpoints.manifest import check_manifest
from interlingua.checkpoints.model_folder import BuildModel
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import read_tensors
from interlingua.config import RunConfig
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.formats import UNNAMED, open_pairs
from interlingua.errors import ConfigError, ModelError, OutputError, TrainingError
from interlingua.files import write_text
from interlingua.hardware import choose_device, num_cores
from interlingua.model import removed_parts
from interlingua.model.architecture import PRESETS
from interlingua.model.building import build_encoder_decoder
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.automatic import WARMUP_OF_PEAK
from interlingua.training.run import train
from interlingua.training.run_folder import RunFolder
from interlingua.training.schedule import paper_peak
from interlingua.training.stopping import listen_for_stop
from interlingua.training.validation import Validation, read_validation

__all__ = [
    "AS_IT_IS",
    "PARTS",
    "Outcome",
    "Variant",
    "choose_parts",
    "train_variants",
    "without_parts",
]

AS_IT_IS = "as it is"
"""The name of what all others are compared with."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration that differs in one thing, and the part of ``PARTS`` that its model lacks, if it lacks one."""

    name: str
    config: RunConfig
    part: str | None = None


_TO_SAVE = 15.0
"""Seconds that a run has to save and leave, of which it takes eight at most."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One run of those that are compared."""

    variant: Variant
    seed: int
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class Part:
    """How a model is made, or trained, that lacks one thing."""

    build_model: BuildModel = build_encoder_decoder
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of the configuration, by section."""
    label: str | None = None
    """What a table calls it (None: "without" and its name)."""


PARTS = {
    "positions": Part(removed_parts.without_positions),
    "large-positions": Part(
        removed_parts.with_large_positions, label="positions ten times as large"
    ),
    "scaling": Part(removed_parts.without_scaling),
    "look-ahead-mask": Part(removed_parts.without_look_ahead_mask),
    "padding-mask": Part(removed_parts.without_padding_mask),
    "residuals": Part(removed_parts.without_residuals),
    "normalization": Part(removed_parts.without_normalization),
    "feed-forward": Part(removed_parts.without_feed_forward),
    "encoder-self-attention": Part(removed_parts.without_encoder_self_attention),
    "decoder-self-attention": Part(removed_parts.without_decoder_self_attention),
    "cross-attention": Part(removed_parts.without_cross_attention),
    "heads": Part(changes={"model": {"heads": 1, "d_k": None, "d_v": None}}),
    "tying": Part(changes={"model": {"tie": "none"}}),
    "dropout": Part(
        changes={"model": {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}}
    ),
    "label-smoothing": Part(changes={"training": {"label_smoothing": 0.0}}),
    "warm-up": Part(changes={"training": {"warmup_steps": 1}}),
}
"""Without "heads" one is left."""
SETTINGS = "settings.json"
"""What all runs of a folder have alike, so that they can be compared."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to."""

    variant: str
    seed: int
    validation: Validation
    parameters: int
    vocabulary: int
    """Entries of the source's and the target's together; a shared one counts once."""
    seconds: float
    """Of training up to its last record, validation left out."""
    curve: tuple[tuple[int, float], ...]
    """Step, and the training loss of the updates up to it, in nats a token."""


def choose_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of these names in the order of ``PARTS``; all without names.

    Raises:
        ConfigError: a name that is none.
    """
    for name in names:
        if name not in PARTS:
            raise ConfigError(f"--parts: there is no part {name}; take of {', '.join(PARTS)}")
    return tuple(name for name in PARTS if not names or name in names)


def without_parts(config: RunConfig, parts: Sequence[str]) -> tuple[Variant, ...]:
    """Return a configuration without each of ``parts`` in turn, but for those that it does not have.

    Raises:
        ConfigError: a model that is no Transformer.
    """
    if config.model.kind != "transformer":
        raise ConfigError(
            f"model.kind: parts are taken out of a transformer, not out of {config.model.kind}"
        )
    variants = []
    for name in parts:
        part, whole = PARTS[name], config.model_dump()
        if part.changes and all(
            (whole[section] | values) == whole[section] for section, values in part.changes.items()
        ):
            continue
        label = part.label or f"without {name.replace('-', ' ')}"
        variants.append(Variant(label, _changed(config, part.changes), name))
    return tuple(variants)


def train_variants(
    config: RunConfig,
    variants: Sequence[Variant],
    output: Path,
    *,
    seeds: int,
    steps: int,
    say: Callable[[str], None],
) -> tuple[list[Outcome], int | None]:
    """Train ``config`` and each of ``variants`` with seeds 1 to ``seeds``; what was trained before is not trained again.

    On a CPU as many runs go side by side as there are cores, each in a process with one thread: small models use cores better so
    than one after the other with all of them. With ``training.threads`` each has so many, and fewer go at once.

    Returns:
        What the runs came to, seed by seed, and the signal that stopped them, if one did.

    Raises:
        ConfigError: also for a folder whose runs had other settings or other text.
        CorpusError, OutputError, TrainingError: see :func:`train`.
    """
    _hold_to(output, config, steps)
    config = _with_peak(config)
    variants = [_with_peak_of(config, each) for each in {e.name: e for e in variants}.values()]
    runs = [
        _Job(variant, seed, RunFolder(output / "runs" / f"{_file_name(variant.name)}-{seed}"))
        for seed in range(1, seeds + 1)
        for variant in (Variant(AS_IT_IS, config), *variants)
    ]
    at_once, threads = 1, config.training.threads
    if choose_device(config.training.device).type == "cpu":
        at_once = max(1, min(len(runs), num_cores() // (threads or 1)))
        threads = threads or (1 if at_once > 1 else None)
    waiting = deque(
        (f"run {place} of {len(runs)}: {run.variant.name}, seed {run.seed}", run)
        for place, run in enumerate(runs, 1)
        if not _is_done(run.folder, steps)
    )
    context = multiprocessing.get_context("spawn")
    # They hear its other end close. An event would be waited for in vain once one of them is killed.
    listening, telling = context.Pipe(duplex=False)
    with (
        listen_for_stop() as stop,
        ProcessPoolExecutor(at_once, context, initializer=_obey, initargs=(listening,)) as pool,
    ):

        def start_next() -> Future[int | None]:
            name, run = waiting.popleft()
            say(name)
            return pool.submit(_train, _for_updates(run, steps, threads), run.variant.part)

        running: set[Future[int | None]] = set()
        try:
            while (running or waiting) and not stop():
                while waiting and len(running) < at_once:
                    running.add(start_next())
                done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()
        except BrokenProcessPool as error:
            telling.close()
            for (
                process
            ) in multiprocessing.active_children():  # a broken pool waits for them for ever
                process.join(_TO_SAVE)
                process.kill()
            raise TrainingError(
                f"{output}: the system ended a run, mostly for want of memory; the same command goes on, and --training.threads "
                f"{num_cores()} has one run at a time"
            ) from error
        finally:
            telling.close()  # whoever still trains, as a run failed or all are to stop, saves and leaves
    with suppress(BrokenProcessPool):  # one that took too long to stop has saved, and was ended
        for each in running:
            each.result()  # a run that could not save as it stopped says so
    if stop():
        return [], stop.number
    return [_read(run, steps) for run in runs], None


def _is_done(folder: RunFolder, steps: int) -> bool:
    """Tell whether a run is validated and saved: it may have been killed between the two."""
    if read_validation(folder.metrics, steps) is None:
        return False
    try:
        state = CheckpointStore(folder.checkpoints, keep=1).load(steps).state
        check_manifest(folder.model)
    except ModelError:
        return False
    return bool(state["validated"] == steps)


def _hold_to(output: Path, config: RunConfig, steps: int) -> None:
    """Keep what all runs of a folder have alike, and refuse one that was begun with something else.

    Raises:
        ConfigError: the folder's runs have another setting, or learnt from other text of the same name.
        CorpusError: text is missing.
        OutputError: what was kept cannot be read, or cannot be written.
    """
    tree = config.model_dump(mode="json", exclude={"run_dir"})
    for of_the_machine in ("threads", "device", "worker_timeout"):
        tree["training"].pop(of_the_machine)
    told = {f"{part}.{name}": value for part, some in tree.items() for name, value in some.items()}
    corpus = config.corpus
    named = (corpus.source, corpus.target, corpus.pairs, corpus.text, corpus.valid_source)
    texts = [*itertools.chain(*named, corpus.valid_target, corpus.valid_pairs, corpus.valid_text)]
    languages = corpus.source_lang or UNNAMED[0], corpus.target_lang or UNNAMED[1]
    files = [path for path in map(Path, texts) if path.is_file()]
    for prefix in map(Path, (*corpus.pairs, *corpus.valid_pairs)):
        if str(prefix) != "-" and (prefix.is_dir() or not prefix.exists()):
            files += open_pairs(prefix, languages).paths
    prints = fingerprint(files)
    told |= {"steps": steps, **{f"text of {name}": each["sha256"] for name, each in prints.items()}}
    path = output / SETTINGS
    has_begun = any(output.glob("runs/*/checkpoints/step-*"))
    if has_begun and not path.exists():
        raise ConfigError(
            f"{output}: has runs and no {SETTINGS} that tells what they have alike; give another --output"
        )
    if has_begun:
        try:
            before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise OutputError(
                f"{path}: cannot be read ({error}); give another --output, or remove it"
            ) from error
        for name in sorted(told.keys() | before.keys()):
            if before.get(name) != told.get(name):
                raise ConfigError(
                    f"{output}: its runs have {name} = {before.get(name)}, not {told.get(name)}, and could not be compared; "
                    "give another --output"
                )
        return
    output.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _with_peak(config: RunConfig) -> RunConfig:
    """Return a configuration that names its highest learning rate, where the paper's rule is for its model.

    Else a run without a warm-up would have the highest of all.
    """
    if not _follows_the_paper(config):
        return config
    width = config.model.d_model or PRESETS[config.model.preset or "small"].d_model
    peak = float(f"{paper_peak(width, config.training.warmup_steps or WARMUP_OF_PEAK):.2g}")
    training = config.training.model_copy(update={"peak_learning_rate": peak})
    return config.model_copy(update={"training": training})


def _with_peak_of(config: RunConfig, variant: Variant) -> Variant:
    """Give a variant the highest learning rate of ``config``, unless that is what it varies."""
    if not _follows_the_paper(variant.config) or not config.training.peak_learning_rate:
        return variant
    peak = {"peak_learning_rate": config.training.peak_learning_rate}
    training = variant.config.training.model_copy(update=peak)
    return replace(variant, config=variant.config.model_copy(update={"training": training}))


def _follows_the_paper(config: RunConfig) -> bool:
    """Whether the paper's rule would choose the learning rate: of a Transformer or half of one, with fresh weights."""
    is_ours = config.model.kind in ("transformer", "encoder", "decoder")
    return is_ours and not config.start.init_from and config.training.peak_learning_rate is None


def _train(config: RunConfig, part: str | None) -> int | None:
    """Train in a process of its own; return the signal that stopped it, if one did."""
    build_model = PARTS[part].build_model if part else build_encoder_decoder
    return train(config, build_model=build_model, console=Console(quiet=True)).signal


def _obey(listening: Connection) -> None:
    """Prepare a process that trains: it stops when the first one says so or is gone, whoever got the signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # between two runs; a run listens for itself
    threading.Thread(target=_pass_on, args=(listening,), daemon=True).start()


def _pass_on(listening: Connection) -> None:
    listening.poll(None)
    while True:  # a run that is just about to listen hears it the next time
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.5)


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)


def _for_updates(run: _Job, steps: int, threads: int | None) -> RunConfig:
    """Return the configuration of one run: one validation, at its end, and a warm-up of a quarter at most."""
    config = run.variant.config
    warmup = min(config.training.warmup_steps or steps, max(1, steps // 4))
    training = {
        "seed": run.seed, "steps": steps, "epochs": None, "minutes": None, "patience": None,
        "validate_every": steps, "warmup_steps": warmup, "average_last": 1, "threads": threads,
    }  # fmt: skip
    return _changed(config.model_copy(update={"run_dir": run.folder.path}), {"training": training})


def _changed(config: RunConfig, changes: Mapping[str, Mapping[str, Any]]) -> RunConfig:
    """Return ``config`` with other values; what nobody set counts as unset still, so that a starting model may decide it."""
    tree = config.model_dump(exclude_unset=True)
    for section, values in changes.items():
        tree[section] = tree.get(section, {}) | values
    return RunConfig.model_validate(tree)


def _read(run: _Job, steps: int) -> Outcome:
    folder = run.folder
    validation = read_validation(folder.metrics, steps)
    assert validation is not None
    records = map(json.loads, folder.metrics.read_text(encoding="utf-8").splitlines())
    training = [each for each in records if each["kind"] == "training"]
    tokenizers = TokenizerPair.load(folder.tokenizer)
    weights = read_tensors(folder.model / "model.safetensors")
    sides = {id(each): each.vocabulary_size for each in (tokenizers.source, tokenizers.target)}
    return Outcome(
        run.variant.name,
        run.seed,
        validation,
        parameters=sum(each.numel() for each in weights.values()),
        vocabulary=sum(sides.values()),
        seconds=CheckpointStore(folder.checkpoints, keep=1).load(steps).state["seconds"],
        curve=tuple((each["step"], each["loss"]) for each in training),
    )
