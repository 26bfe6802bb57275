"""The command line: one short function a command; it reads what was typed, asks a room, and prints.

Nothing heavy is imported before a command needs it: ``--help`` and mistakes in flags never wait for torch.
The exit status is told in ``errors`` and ``streams``.
"""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from interlingua.cli.ablate import ablate
from interlingua.cli.adapt import adapt
from interlingua.cli.back_flags import BackFlags
from interlingua.cli.back_translate import back_translate
from interlingua.cli.calibrate import calibrate
from interlingua.cli.clean import clean
from interlingua.cli.compare import MeasureFlags, compare
from interlingua.cli.correct import ToldFlags, correct
from interlingua.cli.dispatch import CommandLine
from interlingua.cli.distill import DistillFlags, distill
from interlingua.cli.doctor import doctor
from interlingua.cli.download import download
from interlingua.cli.flags import (
    SHARED_FLAGS,
    AlignFlags,
    AskedTranslation,
    DecodeFlags,
    MachineFlags,
    RunFlags,
    ScoreFlags,
    SearchFlags,
    ShowFlags,
    TextFlags,
)
from interlingua.cli.interop import export, import_
from interlingua.cli.interrupts import Told, leaving_when_told
from interlingua.cli.probe import probe
from interlingua.cli.replay import replay
from interlingua.cli.score import score
from interlingua.cli.serve import serve
from interlingua.cli.split import split
from interlingua.cli.streams import (
    is_folder,
    note,
    open_closed_streams,
    open_output,
    print_json,
    read_aligned,
    read_input,
    report_failure,
    say,
)
from interlingua.cli.tokenizer import TOKENIZER_COMMANDS, TOKENIZER_HELP
from interlingua.server.settings import ServerSettings

__all__ = ["main"]

_RUN, _TEXT, _SCORE = RunFlags(), TextFlags(), ScoreFlags()
_SEARCH, _DECODE, _SHOW = SearchFlags(), DecodeFlags(), ShowFlags()
_MACHINE, _ALIGN = MachineFlags(), AlignFlags()


def demo(
    *, output: Path = Path("runs/demo-ro-en"), fresh: bool = False, json: bool = False
) -> None:
    """Train a Romanian-to-English translator on an embedded corpus, and show what it can do.

    Args:
        output: folder of the run.
        fresh: rename an earlier demo to NAME.1 and start again.
        json: print the results as JSON.
    """
    from interlingua.cli.demo import run_demo

    shown = run_demo(output, fresh=fresh)
    say(shown.to_json() if json else shown.to_text())


def train(
    config: Path | None = None, *, run: RunFlags = _RUN, fresh: bool = False, json: bool = False
) -> int:
    """Train a translator from a parallel corpus; the same command again resumes.

    Needs CONFIG, or --source and --target. What is left out is chosen from the corpus, and it says why.
    Any value of the configuration is also a flag, --section.key VALUE: see interlingua config explain.

    Args:
        config: configuration file (TOML); flags win over it.
        fresh: rename an earlier run to NAME.1 and start again.
        json: print the result as JSON.
    """
    settings = run.load(config)
    from interlingua.cli.results import describe_training, exit_status_of, list_training
    from interlingua.training.run import train as train_run

    result = train_run(settings, fresh=fresh)
    if result.worker == 0:
        print_json(list_training(result)) if json else say(describe_training(result))
    return exit_status_of(result)


def translate(
    model: Path,
    *text: str,
    io: TextFlags = _TEXT,
    n_best: int = 1,
    adapter: Path | None = None,
    to: str | None = None,
    search: SearchFlags = _SEARCH,
    decode: DecodeFlags = _DECODE,
    show: ShowFlags = _SHOW,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Translate TEXT, a file, a folder of files, or standard input: one line in, one line out.

    With --n-best above 1 each translation is a line "N ||| text ||| score", N counting the input from 0.

    Args:
        model: run folder or model folder.
        text: sentences, each in quotes; one that begins with a hyphen goes after --.
        n_best: translations of each sentence, best first.
        adapter: adapter folder, or a run that trained one on this model.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    asked = AskedTranslation(model, io, n_best, adapter, to, search, decode, show, machine)
    if show.ray or show.ray_address or is_folder(io.input):
        from interlingua.cli.translate import translate_folder

        translate_folder(text, asked)
        return
    lines = read_input(text, io.input, io.output)
    from interlingua.cli.translate import translate_lines

    translate_lines(lines, asked)


def evaluate(
    *model: Path,
    source: Path,
    reference: tuple[Path, ...],
    to: str | None = None,
    corrections: Path | None = None,
    score: ScoreFlags = _SCORE,
    search: SearchFlags = _SEARCH,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Translate a test set and score it; several models (seeds) give mean and spread.

    Args:
        model: run folder or model folder.
        source: text to translate, one sentence a line.
        reference: its translation, line by line; several files are several references.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
        corrections: folder of corrections, which the translations follow.
    """
    from interlingua.cli.evaluate import evaluate_models

    sources, references = read_aligned(source, reference, score.output or "-")
    evaluate_models(
        model, sources, references, score, search, machine, to, (source, *reference), corrections
    )


def inspect(
    model: Path,
    text: str,
    *,
    output: Path,
    json: bool = False,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Draw what the model does with one sentence, as pictures and as one page (look.html).

    Args:
        model: run folder or model folder.
        text: the sentence, in quotes.
        output: folder for the figures.
        json: print the names of the files as JSON.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    from interlingua.inspection.looker import Looker
    from interlingua.inspection.report import inspect as draw
    from interlingua.model.transformer import Transformer
    from interlingua.server.one_file import write_page
    from interlingua.translator import Translator

    translator = Translator.load(model, device=machine.device, threads=machine.threads, to=to)
    is_run = (model / "samples.jsonl").is_file()
    files = draw(translator, text, output, run=model if is_run else None)
    if isinstance(translator.model, Transformer):
        write_page(Looker([translator], [model]), text, output / "look.html")
        files.append(output / "look.html")
    else:
        note("look.html goes through the layers of a Transformer: not written for this model")
    if json:
        print_json({"files": files})
    else:
        say("".join(f"{file}\n" for file in files))


def align(
    model: Path,
    *,
    source: Path,
    target: Path,
    flags: AlignFlags = _ALIGN,
    to: str | None = None,
    machine: MachineFlags = _MACHINE,
) -> None:
    """Link the words of a text with those of its translation, by the model's attention (0-0 1-2).

    Args:
        model: run folder or model folder, which translates the source into the target.
        source: text, one sentence a line, its words between spaces.
        target: its translation, line by line.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    from interlingua.cli.align import align_text

    align_text(model, source, target, flags, machine, to)


def prepare(config: Path | None = None, *, run: RunFlags = _RUN, json: bool = False) -> None:
    """Train the tokenizer and write the shards, without training a model.

    Args:
        config: configuration file (TOML); flags win over it.
        json: print the result as JSON.
    """
    settings = run.load(config)
    from interlingua.cli.results import describe_prepared, list_prepared
    from interlingua.training.prepare import prepare as prepare_run

    prepared = prepare_run(settings, say=note)
    print_json(list_prepared(prepared)) if json else say(describe_prepared(prepared))


def tokenize(
    model: Path,
    *text: str,
    io: TextFlags = _TEXT,
    ids: bool = False,
    side: Literal["source", "target"] = "source",
) -> None:
    """Show how a model, or any tokenizer file, cuts text into tokens.

    Args:
        model: run folder, model folder, or tokenizer file of any known kind.
        text: sentences, each in quotes.
        ids: numbers instead of pieces.
        side: whose tokenizer, when the two sides have one each.
    """
    lines = read_input(text, io.input, io.output)
    from interlingua.cli.tokenize import find_tokenizer, write_tokens

    tokenizer = find_tokenizer(model, side)
    with open_output(io.output) as write:
        write_tokens(write, lines, tokenizer, ids=ids, as_json=io.json)


def average(run: Path, *, last: int, json: bool = False) -> None:
    """Replace a run's model by the mean of its last checkpoints.

    Args:
        run: run folder.
        last: how many checkpoints.
        json: print the model folder as JSON.
    """
    from interlingua.checkpoints.average import average_run
    from interlingua.training.run_folder import RunFolder

    with RunFolder(run).held():
        folder = average_run(run, last)
    if json:
        print_json({"model": folder, "averaged": last})
    else:
        say(f"{folder} is now the mean of the last {last} checkpoints\n")


def merge(model: Path, adapter: Path, *, output: Path, json: bool = False) -> None:
    """Put an adapter into the weights of the model that it was trained on, as a new model folder.

    Args:
        model: run folder or model folder that the adapter's run began with.
        adapter: adapter folder, or the run that trained it.
        output: the new model folder.
        json: print the model folder as JSON.
    """
    from interlingua.checkpoints.adapter_folder import write_merged

    write_merged(model, adapter, output)
    if json:
        print_json({"model": output, "base": model, "adapter": adapter})
    else:
        say(f"{output} is {model} with {adapter}\n")


def plan(config: Path | None = None, *, run: RunFlags = _RUN, json: bool = False) -> None:
    """Say how large a run would be: steps, time, memory, disk. Tries some updates to find out.

    Args:
        config: configuration file (TOML); flags win over it.
        json: print the figures as JSON.
    """
    settings = run.load(config)
    from interlingua.training.plan import plan as plan_run

    planned = plan_run(settings, say=note)
    say((planned.to_json() if json else planned.to_text()).rstrip("\n") + "\n")


def schema(*, json: bool = False) -> None:
    """Print the JSON schema of a configuration, for editors that check TOML.

    Args:
        json: changes nothing, as the schema is JSON; every command takes it.
    """
    from interlingua.config import RunConfig

    print_json(RunConfig.model_json_schema(), indent=2)


def explain(key: str | None = None, *, json: bool = False) -> None:
    """Explain one key of the configuration, one section, or all.

    Args:
        key: training.seed, or training; all when left out.
        json: print JSON.
    """
    from interlingua.config_files import find_settings

    found = find_settings(key)
    if json:
        print_json([setting.to_dict() for setting in found])
    else:
        say("\n".join(setting.to_text() for setting in found))


COMMAND_LINE = CommandLine(
    commands=(
        demo,
        train,
        translate,
        evaluate,
        compare,
        score,
        calibrate,
        inspect,
        align,
        prepare,
        tokenize,
        average,
        merge,
        correct,
        adapt,
        plan,
        replay,
        ablate,
        probe,
        back_translate,
        distill,
        export,
        import_,
        serve,
        doctor,
        clean,
        download,
        split,
    ),
    groups={
        "tokenizer": (TOKENIZER_HELP, TOKENIZER_COMMANDS),
        "config": (
            "Describe the configuration: config schema, config explain [KEY].",
            (schema, explain),
        ),
    },
    flags=(*SHARED_FLAGS, BackFlags, DistillFlags, MeasureFlags, ServerSettings, ToldFlags),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; the errors that a user can mend are told in words."""
    if arguments is None:
        open_closed_streams()
        with leaving_when_told() as told:
            return _report(sys.argv[1:], told)
    return _report(arguments, Told())


def _report(arguments: Sequence[str], told: Told) -> int:
    try:
        status = COMMAND_LINE.run(list(arguments))
        say("")
    except SystemExit:
        raise
    except BaseException as error:
        if told.number in (signal.SIGTERM, signal.SIGHUP):
            return 128 + told.number
        command = arguments[0] if arguments else ""
        return report_failure(error if told.number is None else KeyboardInterrupt(), command)
    return status
