"""Flags that several commands share, and how ``--section.key VALUE`` reaches the configuration."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlingua.errors import ConfigError
from interlingua.files import is_there

if TYPE_CHECKING:
    from interlingua.config import RunConfig

__all__ = [
    "SHARED_FLAGS",
    "AlignFlags",
    "AskedTranslation",
    "DecodeFlags",
    "MachineFlags",
    "PairFlags",
    "PartsFlags",
    "RuleFlags",
    "RunFlags",
    "ScoreFlags",
    "SearchFlags",
    "ShowFlags",
    "SyntheticFlags",
    "TextFlags",
    "ValidFlags",
    "spell_out",
]

_SETTING = re.compile(r"--([A-Za-z][\w-]*\.[\w.-]+)(?:=(.*))?", re.DOTALL)
_WITH_SETTINGS = ("ablate", "back-translate", "train", "prepare", "plan")
_WITH_TEXT = ("translate", "tokenize")
_SECTIONS = {
    "run_dir": "",
    "init_from": "start.",
    "encoder_from": "start.",
    "keep_source": "start.",
    "keep_target": "start.",
}
_SWITCHES = {
    "--json",
    "--ids",
    "--fresh",
    "--sample",
    "--lock",
    "--check",
    "--split",
    "--confidence",
    "--batch-invariant",
    "--stream",
    "--align",
}


@dataclass(frozen=True, slots=True)
class RunFlags:
    """What decides a run, beside its configuration file."""

    source: tuple[Path, ...] = ()
    """Source text, one sentence a line, UTF-8; several files are read one after the other."""
    target: tuple[Path, ...] = ()
    """Target text, line by line the translation of the source."""
    pairs: tuple[Path, ...] = ()
    """Files with both sides instead: TSV, JSON Lines, TMX, compressed or not; PREFIX of PREFIX.en and PREFIX.de; -."""
    text: tuple[Path, ...] = ()
    """Text of one language instead of source and target: each line is both."""
    source_lang: str | None = None
    """Language of the source; by default the suffix of its file name."""
    target_lang: str | None = None
    """Language of the target; by default the suffix of its file name."""
    valid_source: tuple[Path, ...] = ()
    """Validation source; by default some of the training pairs are split off."""
    valid_target: tuple[Path, ...] = ()
    """Validation target."""
    valid_pairs: tuple[Path, ...] = ()
    """Validation pairs, in any form that --pairs takes."""
    valid_text: tuple[Path, ...] = ()
    """Validation text of --text."""
    init_from: str | None = None
    """Model folder or run to begin with, instead of fresh weights: its tokenizer, sizes and languages are kept."""
    encoder_from: str | None = None
    """Model folder or run whose encoder and source tokenizer to begin with, instead; the decoder is new."""
    keep_source: tuple[Path, ...] = ()
    """With --init-from: text that the model should still translate as well as before."""
    keep_target: tuple[Path, ...] = ()
    """Its translation."""
    run_dir: str | None = None
    """Folder of the run; by default runs/SOURCE-TARGET, by language, with -tuned behind it after --init-from."""
    set: tuple[str, ...] = ()
    """SECTION.KEY=VALUE, any value of the configuration; --section.key VALUE is the same."""

    def load(self, path: Path | None) -> "RunConfig":
        """Read the configuration that ``path`` and these flags give together.

        Raises:
            ConfigError: a wrong key or value, or nothing to read text from.
        """
        from interlingua.config_files import load_config

        config = load_config(path, self.to_overrides())
        if path and "run_dir" not in self.to_overrides():
            _refuse_a_moved_run(path, config.run_dir)
        if path:
            corpus = config.corpus
            _refuse_moved_text(path, (*corpus.source, *corpus.target, *corpus.pairs))
        if not (config.corpus.source or config.corpus.pairs or config.corpus.embedded):
            raise ConfigError(
                "no corpus is given; name a configuration file, or the two sides of one: "
                "--source train.ro --target train.en, or one file with both: --pairs train.tsv, or --text news.en "
                "(or try: interlingua demo)"
            )
        return config

    def to_overrides(self) -> dict[str, str | tuple[str, ...]]:
        """Give what was typed, by the full name of its key."""
        overrides: dict[str, str | tuple[str, ...]] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value not in (None, ()) and field.name != "set":
                key = _SECTIONS.get(field.name, "corpus.") + field.name
                many = isinstance(value, tuple)
                overrides[key] = tuple(map(str, value)) if many else str(value)
        for setting in self.set:
            key, equals, value = setting.partition("=")
            if not equals:
                raise ConfigError(f"flag --set {setting}: write SECTION.KEY=VALUE")
            overrides[key.replace("-", "_")] = value
        return overrides


@dataclass(frozen=True, slots=True)
class PartsFlags:
    """The files of a corpus, two by two."""

    source: Path | None = None
    """Source text, one sentence a line, UTF-8, compressed or not."""
    target: Path | None = None
    """Target text, line by line the translation of the source."""
    pairs: Path | None = None
    """A file with both sides instead: TSV, JSON Lines, TMX, or PREFIX of PREFIX.en and PREFIX.de; - is standard input."""
    source_lang: str | None = None
    """Language of the source; by default the suffix of its file name."""
    target_lang: str | None = None
    """Language of the target; by default the suffix of its file name."""
    columns: str | None = None
    """Which columns of TSV or keys of JSON Lines hold source and target: 1,2 or ro,en."""
    valid_source: Path | None = None
    """Validation source: what of it is also in training leaks."""
    valid_target: Path | None = None
    """Validation target."""
    valid_pairs: Path | None = None
    """Validation pairs, in any form that --pairs takes."""
    test_source: Path | None = None
    """Test source: what of it is also in training leaks."""
    test_target: Path | None = None
    """Test target."""
    test_pairs: Path | None = None
    """Test pairs, in any form that --pairs takes."""


@dataclass(frozen=True, slots=True)
class PairFlags:
    """One corpus, in any form."""

    source: Path | None = None
    """Source text, one sentence a line."""
    target: Path | None = None
    """Its translation, line by line."""
    pairs: Path | None = None
    """A file with both sides instead: TSV, JSON Lines, TMX, or PREFIX of PREFIX.en and PREFIX.de."""
    source_lang: str | None = None
    """Language of the source; by default the suffix of its file name."""
    target_lang: str | None = None
    """Language of the target; by default the suffix of its file name."""
    columns: str | None = None
    """Which columns of TSV or keys of JSON Lines hold source and target: 1,2 or ro,en."""


@dataclass(frozen=True, slots=True)
class RuleFlags:
    """By which rules pairs are repaired or dropped; all but number-mismatch apply."""

    rules: str | None = None
    """The only rules that apply, with commas between."""
    without: str | None = None
    """Rules that do not apply, with commas between."""
    max_ratio: float = 3.0
    """length-ratio: how many times longer than usual one side may be."""
    max_characters: int = 2000
    """long-line: characters of the longest line that stays."""
    max_words: int = 250
    """long-line: words of the longest line that stays."""
    identify_languages: bool = False
    """wrong-language, swapped-sides: look at the language of lines, not only at their script; takes longer."""
    no_repair: bool = False
    """encoding: repair nothing, and drop every damaged pair."""


@dataclass(frozen=True, slots=True)
class TextFlags:
    """Where text comes from and goes to."""

    input: str | None = None
    """File with one sentence a line, UTF-8, or a folder of such files for the folder --output; - is standard input,
    and the default without TEXT."""
    output: str = "-"
    """File to write, which appears whole or not at all; - is standard output."""
    json: bool = False
    """One JSON object a line."""


@dataclass(frozen=True, slots=True)
class MachineFlags:
    """What computes."""

    device: str = "auto"
    """cpu, cuda, cuda:1, mps, or auto: a graphics card when there is one."""
    threads: int | None = None
    """CPU threads; by default all cores."""


@dataclass(frozen=True, slots=True)
class SearchFlags:
    """How translations are searched; what is left out is as the model was trained to be used."""

    beam_size: int | None = None
    """Hypotheses kept; 1 is greedy search. Usually 4."""
    length_penalty: float | None = None
    """Alpha in ((5 + length) / 6)^alpha: higher gives longer translations. Usually 0.6."""
    batch_tokens: int | None = None
    """Tokens in one batch: higher is faster and takes more memory. Usually 4096."""
    dtype: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    """Of matrix products on a CPU: bfloat16 and int8 are faster, and round. By default float32."""


@dataclass(frozen=True, slots=True)
class DecodeFlags:
    """What ``translate`` can be asked for besides; docs/guides/decoding.md shows each."""

    prefix: str | None = None
    """What every translation begins with."""
    force: str | None = None
    """Word or phrase that every translation holds; several with semicolons between."""
    ban: str | None = None
    """Word or phrase that no translation holds, whatever its case; several with semicolons between."""
    glossary: Path | None = None
    """File of terms, one a line: source term, tab, target term, which has to be used."""
    lock: bool = False
    """Numbers, addresses, {{variables}}, %s, tags and emoji come through unchanged."""
    check: bool = False
    """Flag loops, copies, and sources that were hardly looked at."""
    mbr: int | None = None
    """Of N candidates take the one most like the others by chrF; with --sample of N samples."""
    split: bool = False
    """Translate each line sentence by sentence and keep its white space."""
    confidence: bool = False
    """Tell how sure one may be of each translation, 0 to 1; needs interlingua calibrate once."""
    batch_invariant: bool = False
    """The same to the last bit whatever else is translated; slower."""
    min_length: int | None = None
    """Tokens that a translation has at least."""
    max_length: int | None = None
    """Tokens that a translation has at most, its end counted; by default twice the source and fifty."""
    no_repeat_ngram: int | None = None
    """Write no N tokens in a row twice."""
    max_repeats: int | None = None
    """Stop a translation that writes one phrase N times in a row."""
    coverage_penalty: float | None = None
    """Beta: higher prefers translations that look at every source token. Usually 0.2."""
    groups: int | None = None
    """Cut the beam into N groups that avoid each other's words (diverse beam)."""
    diversity: float | None = None
    """How much they avoid them. Usually 0.5."""
    sample: bool = False
    """Draw translations by their probability instead of searching for the likeliest."""
    temperature: float | None = None
    """Of samples: below 1 safer, above 1 more varied."""
    top_k: int | None = None
    """Draw among the N likeliest tokens only."""
    top_p: float | None = None
    """Draw among the fewest likeliest tokens that have this probability together."""
    seed: int | None = None
    """Of samples: the same number gives the same samples."""


@dataclass(frozen=True, slots=True)
class ShowFlags:
    """How ``translate`` works and what it shows besides the text."""

    ensemble: tuple[Path, ...] = ()
    """A further model with the same vocabulary and languages, once for each: the mean of all probabilities writes."""
    corrections: Path | None = None
    """Folder of corrections, made by interlingua correct: what was corrected is translated as it was told."""
    stream: bool = False
    """Print each translation as it grows."""
    align: bool = False
    """After each text the links of its words, "0-0 1-2", found by attention; see interlingua align."""
    ray: bool = False
    """Translate --input, a file or a folder of them, into the folder --output by workers of Ray Data."""
    ray_address: str | None = None
    """A running Ray cluster, "auto" or ray://HOST:PORT; by default one is started on this machine."""
    ray_workers: int | None = None
    """Workers, each with a model of its own; by default one a core."""
    part_lines: int = 5_000
    """Of files and folders: lines that are translated and kept at a time."""


@dataclass(frozen=True, slots=True)
class AskedTranslation:
    """All that ``translate`` was asked, but for the text."""

    model: Path
    io: TextFlags
    n_best: int
    adapter: Path | None
    to: str | None
    search: SearchFlags
    decode: DecodeFlags
    show: ShowFlags
    machine: MachineFlags


@dataclass(frozen=True, slots=True)
class ScoreFlags:
    """What is scored, and how it is written."""

    metrics: str = "bleu,chrf,ter"
    """Any of bleu, chrf, chrf++, ter, rouge1, rouge2, rougel, wer, exact, comet (the installed comet-score), with commas between."""
    metric_command: tuple[str, ...] = ()
    """NAME=COMMAND that reads source, tab, output, tab, reference a line and writes a number a line."""
    comet: str = ""
    """Arguments for comet-score: --comet="--model Unbabel/wmt22-comet-da --gpus 0"."""
    against: Path | None = None
    """Another model, to compare one MODEL with by paired bootstrap."""
    format: Literal["text", "json", "markdown", "latex"] = "text"
    """How the scores are written."""
    json: bool = False
    """The same as --format json."""
    output: str | None = None
    """File for the translations, which appears whole or not at all."""


@dataclass(frozen=True, slots=True)
class SyntheticFlags:
    """What stays of a text that a model translated, and how the work is cut."""

    keep: float = 0.95
    """Share of the lines that stays: those with the highest mean log-probability a token."""
    min_score: float | None = None
    """Lines with a lower mean log-probability a token go in any case, such as -1.5."""
    held_out: tuple[Path, ...] = ()
    """Text in the language of what is translated that must not be learnt, such as a test set; the validation text is left out anyway."""
    part_lines: int = 1_000
    """Lines that are translated and kept at a time; a part that is done is never done again."""
    dry_run: bool = False
    """Tell what it would cost, and write nothing."""
    json: bool = False
    """Print the result as JSON."""


@dataclass(frozen=True, slots=True)
class ValidFlags:
    """Text to validate on, for the configuration that is written."""

    valid_source: Path | None = None
    """Validation source for the configuration that is written."""
    valid_target: Path | None = None
    """Validation target."""

    def to_overrides(self) -> dict[str, str]:
        """Give what was typed, by the full name of its key."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {f"corpus.{name}": str(path) for name, path in named.items() if path is not None}


@dataclass(frozen=True, slots=True)
class AlignFlags:
    """How words are aligned, and what is written."""

    reverse_model: Path | None = None
    """A model of the opposite direction; the links of both become one alignment."""
    gold: Path | None = None
    """Alignment by people, "1-1" sure and "1p2" possible, from 1; the error rate against it is told."""
    heuristic: str = "grow-diagonal"
    """How two become one: intersection, union, grow-diagonal, grow-diag (as Moses), each also with -final."""
    layer: int | None = None
    """Layer of the decoder, from 1, its heads averaged; by default what agrees best, found without gold."""
    output: str | None = None
    """File for the links; by default standard output, or with --gold none."""
    json: bool = False
    """Print views, links and scores as JSON."""


SHARED_FLAGS = (
    AlignFlags,
    RunFlags,
    TextFlags,
    ScoreFlags,
    SearchFlags,
    ShowFlags,
    DecodeFlags,
    MachineFlags,
    PairFlags,
    PartsFlags,
    RuleFlags,
    SyntheticFlags,
    ValidFlags,
)
"""All of the above; each field is a flag of its own."""


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Write what the parser does not know of by itself in a way that it does.

    ``--section.key VALUE`` becomes ``--set section.key=VALUE``, at the end of the flags, and a ``-`` by itself the
    value of the flag before it, or else of ``--input``.

    Raises:
        ConfigError: a key without a value.
    """
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    flags, rest = given[:end], given[end:]
    if given and given[0] in _WITH_SETTINGS:
        flags = _spell_out_settings(flags)
    return _join_hyphens(flags) + rest


def _spell_out_settings(arguments: Sequence[str]) -> list[str]:
    words = iter(arguments)
    kept: list[str] = []
    settings: list[str] = []
    for word in words:
        found = _SETTING.fullmatch(word)
        if not found:
            kept.append(word)
            continue
        value = found[2] if found[2] is not None else next(words, None)
        if value is None or (found[2] is None and value.startswith("--")):
            raise ConfigError(f"flag --{found[1]}: needs a value; see interlingua config explain")
        settings += ["--set", f"{found[1]}={value}"]
    return kept + settings


def _join_hyphens(arguments: Sequence[str]) -> list[str]:
    joined: list[str] = []
    for word in arguments:
        before = joined[-1] if joined else ""
        takes_value = before.startswith("--") and "=" not in before and before not in _SWITCHES
        if word == "-" and takes_value:
            joined[-1] += "=-"
        elif word == "-" and arguments[0] in _WITH_TEXT:
            joined.append("--input=-")
        else:
            joined.append(word)
    return joined


def _refuse_a_moved_run(path: Path, named: Path | None) -> None:
    """Raise a ConfigError for the configuration of a run that names another folder: training would begin anew there."""
    own = path.parent
    if named and (own / "corpus.lock").is_file() and own.resolve() != named.resolve():
        raise ConfigError(
            f"{path}: is of the run in {own} and names another folder, {named}; was it moved? "
            f"--run-dir {shlex.quote(str(own))} goes on with it, --run-dir NAME begins another one"
        )


def _refuse_moved_text(path: Path, text: Iterable[Path]) -> None:
    """Raise a ConfigError for a configuration that was moved with its text, and still names that by where it was."""
    for named in text:
        beside = path.parent / named.name
        if not is_there(named) and beside.is_file():
            raise ConfigError(
                f"{path}: names {named}, which is not to be found from this folder, and {beside} is there; was it moved? Names are read as "
                f"seen from the current folder: change those in {path}, run_dir too"
            )
