"""An adapter that learns corrections for good, and is kept only if nothing is lost: what exists, put together.

The corrections and a replay of old text are one corpus of two parts; ``train`` puts an adapter on the model and learns it, with the
corrections as validation text; its comparison at the end, a paired bootstrap on text that was held out, decides.

Source of the replay: Robins 1995, "Catastrophic forgetting, rehearsal and pseudorehearsal".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.checkpoints.adapter_folder import load_adapter, save_adapter
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.corrections import Correction
from interlingua.corpus.lines import count_lines, write_lines
from interlingua.errors import ConfigError
from interlingua.files import remove_folder
from interlingua.training.comparison import KEPT, VALIDATION, Difference
from interlingua.training.run import TrainResult, train

__all__ = ["Adapted", "OldText", "adapt", "find_old_text"]

RANK = 8
_REPLAYED = 10
"""Old pairs in an epoch to each correction."""
_FEWEST_REPLAYED = 1_000
_SHARE = 4
"""Old pairs to each repeat of a correction: one pair in five is a correction."""
_MOST_REPEATS = 100.0


@dataclass(frozen=True, slots=True)
class OldText:
    """What a model learnt from, and text that it was not trained on."""

    sources: tuple[Path, ...]
    targets: tuple[Path, ...]
    held_sources: tuple[Path, ...]
    held_targets: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Adapted:
    """What came of it."""

    adapter: Path
    """Where the adapter is, if it was kept."""
    refused: str | None
    """Why it was not."""
    result: TrainResult


def find_old_text(model: Path, given: OldText) -> OldText:
    """Fill in from the run of ``model`` what is not ``given``.

    Raises:
        ConfigError: it is a model folder without its run, or the text of the run is gone.
    """
    if given.sources and given.held_sources:
        return given
    path = model / "config.toml"
    if not path.is_file():
        raise ConfigError(
            f"{model}: is not a run, so that its text is not known; give some to replay, --source and --target, and some "
            "to test on, --keep-source and --keep-target"
        )
    found = _text_of(load_config(path), model)
    old = OldText(
        given.sources or found.sources,
        given.targets or found.targets,
        given.held_sources or found.held_sources,
        given.held_targets or found.held_targets,
    )
    for flag, files in (("--source", old.sources), ("--keep-source", old.held_sources)):
        if not files:
            raise ConfigError(
                f"{path}: names no two files of such text; give it: {flag} and {flag.replace('source', 'target')}"
            )
    for file in (*old.sources, *old.targets, *old.held_sources, *old.held_targets):
        if not file.is_file():
            raise ConfigError(
                f"{file}: the run learnt from it, and it is gone; give text: --source, --target, --keep-source, "
                "--keep-target"
            )
    return old


def _text_of(config: RunConfig, run: Path) -> OldText:
    corpus = config.corpus
    if corpus.embedded:
        one, other = corpus.source_lang, corpus.target_lang
        parts = [
            (run / "corpus" / f"{part}.{side}",)
            for part in ("train", "valid")
            for side in (one, other)
        ]
        return OldText(*parts)
    return OldText(corpus.source, corpus.target, corpus.valid_source, corpus.valid_target)


def adapt(
    model: Path,
    corrections: Sequence[Correction],
    old: OldText,
    output: Path,
    *,
    place: Path,
    device: str,
    threads: int | None,
) -> Adapted:
    """Train an adapter on ``corrections`` and on old text, and keep it in ``output`` if nothing is lost.

    Args:
        model: run folder or model folder.
        corrections: of its languages.
        old: what is replayed, and what decides.
        output: the adapter folder; what was there stays, unless the new one is kept.
        place: folder for the run, which begins anew each time.
        device: where to compute.
        threads: CPU threads.

    Raises:
        CorpusError: text that cannot be used.
        OutputError: a folder that cannot be written.
        TrainingError: a loss that is not a number.
    """
    run = place / "adaptation"
    remove_folder(run)
    first = corrections[0]
    sides = (
        place / f"adaptation.{first.source_lang}.txt",
        place / f"adaptation.{first.target_lang}.txt",
    )
    write_lines(sides[0], [_one_line(each.source) for each in corrections])
    write_lines(sides[1], [_one_line(each.target) for each in corrections])
    weights = _weights(len(corrections), sum(map(count_lines, old.sources)), len(old.sources))
    overrides: dict[str, str | tuple[str, ...]] = {
        "start.init_from": str(model),
        "start.lora_rank": str(RANK),
        "start.keep_source": tuple(map(str, old.held_sources)),
        "start.keep_target": tuple(map(str, old.held_targets)),
        "corpus.source": tuple(map(str, (sides[0], *old.sources))),
        "corpus.target": tuple(map(str, (sides[1], *old.targets))),
        "corpus.valid_source": (str(sides[0]),),
        "corpus.valid_target": (str(sides[1]),),
        "corpus.source_lang": first.source_lang,
        "corpus.target_lang": first.target_lang,
        "corpus.weights": ",".join(f"{weight:.6g}" for weight in weights),
        "run_dir": str(run),
        "training.device": device,
    }
    if threads is not None:
        overrides["training.threads"] = str(threads)
    result = train(load_config(None, overrides))
    refused = _why_not(result)
    if refused is None:
        card = (run / "adapter" / "README.md").read_text(encoding="utf-8")
        save_adapter(output, load_adapter(run), card)
    return Adapted(output, refused, result)


def _weights(corrections: int, old: int, files: int) -> list[float]:
    """Return how often an epoch has each correction, and each pair of each old file."""
    replayed = min(old, max(_FEWEST_REPLAYED, _REPLAYED * corrections))
    repeats = min(_MOST_REPEATS, max(1.0, replayed / (_SHARE * corrections)))
    return [repeats, *[replayed / max(1, old)] * files]


def _why_not(result: TrainResult) -> str | None:
    """Say why the adapter is not kept; None if it is."""
    if result.signal is not None:
        return "it was stopped before it was trained; the same command begins again"
    by_text: dict[str, list[Difference]] = {KEPT: [], VALIDATION: []}
    for each in result.differences:
        by_text[each.text].append(each)
    for each in by_text[KEPT]:
        if each.verdict == "worse":
            return (
                f"{each.metric} of the text that was held out went from {each.before:.2f} to {each.after:.2f} "
                f"(p = {each.p_value:.3f})"
            )
    if not any(each.change > 0 for each in by_text[VALIDATION]):
        return "it learnt nothing of the corrections"
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())
