"""The command line without any model: help, speed, plain words for every mistake, honest exit statuses."""

import inspect
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import interlingua
from interlingua.cli import commands, streams
from interlingua.cli.back_flags import BackFlags
from interlingua.cli.flags import RunFlags, SearchFlags, spell_out
from interlingua.cli.marks import note_marks
from interlingua.cli.streams import (
    note,
    open_output,
    read_aligned,
    read_input,
    report_failure,
)
from interlingua.errors import ConfigError, CorpusError, InterlinguaError, ModelError, OutputError

Capture = pytest.CaptureFixture[str]

COMMANDS = [command.__name__ for command in commands.COMMAND_LINE.commands]
HELP = [[name, "--help"] for name in COMMANDS] + [
    ["config", "--help"],
    ["config", "schema", "--help"],
    ["config", "explain", "--help"],
]


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "interlingua", *arguments]
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


USUAL = ("-c", "import argparse, asyncio, dataclasses, inspect, json, typing")
"""What the Python of this machine takes to begin with some of its own modules."""


def fastest(limit: float, *arguments: str) -> float:
    """Processor seconds of the fastest of several runs, which is what an idle machine takes.

    Wall time would measure whatever else this machine is doing; help waits for nothing, so the two are the same.
    """
    best = float("inf")
    for _ in range(12):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used)
        if best < limit:
            break
    return best


def test_the_root_help_takes_less_than_a_quarter_of_a_second() -> None:
    """A sixth on a Zen 5 core; a Zen 3 core with another busy beside it takes 0.19 s. A slow machine is held to its own pace: on that core
    it is 1.5 times the usual."""
    taken = fastest(0.25, "-m", "interlingua", "--help")
    assert taken < 0.25 or taken < 2.5 * fastest(0.0, *USUAL)


@pytest.mark.parametrize("name", ["train", "evaluate", "config"])
def test_the_help_of_a_command_takes_less_than_three_quarters_of_a_second(name: str) -> None:
    """Less than half on a Zen 5 core; a Zen 3 core with another busy beside it takes 0.52 s, 4.3 times the usual when it is alone."""
    taken = fastest(0.75, "-m", "interlingua", name, "--help")
    assert taken < 0.75 or taken < 6.5 * fastest(0.0, *USUAL)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *HELP], ids=" ".join)
def test_help_never_imports_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from interlingua.cli import main; status = main(sys.argv[1:]); "
        "heavy = {'torch', 'numpy', 'tokenizers', 'pydantic', 'matplotlib'} & set(sys.modules); "
        "sys.exit(status or ', '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "interlingua" in done.stdout.lower()


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--training.sed", "7"],
        ["train", "missing.toml"],
        ["translate"],
        ["config", "schema"],
        ["config", "explain"],
    ],
    ids=" ".join,
)
def test_configuration_and_its_mistakes_never_import_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from interlingua.cli import main; main(sys.argv[1:]); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, check=False
    )
    assert done.returncode == 0


def test_the_root_help_names_every_command_and_the_rooms_in_order(capsys: Capture) -> None:
    assert commands.main([]) == 0
    plain = capsys.readouterr().out
    assert commands.main(["--help"]) == 0
    assert capsys.readouterr().out == plain
    assert re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", plain, re.MULTILINE) == [
        *COMMANDS,
        "tokenizer",
        "config",
    ]
    documented = re.findall(r"^\* ``(\w+)``", interlingua.__doc__ or "", re.MULTILINE)
    assert re.findall(r"^  (\w+): ", plain, re.MULTILINE) == documented
    assert max(map(len, plain.splitlines())) <= 110


@pytest.mark.parametrize(
    "command", commands.COMMAND_LINE.commands, ids=lambda command: command.__name__
)
def test_every_command_and_every_flag_is_explained(command: object, capsys: Capture) -> None:
    name = getattr(command, "__name__", "")
    assert commands.main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert (inspect.getdoc(command) or "").partition("\n")[0][:40] in text
    for line in re.findall(r"^│ [* ]? {0,3}(?:[A-Z]+ )?--[\w-]+.*│$", text, re.MULTILINE):
        assert re.search(r"  +\w", line[6:].rstrip("│ ")), line
    assert commands.main(["help", name]) == 0
    assert capsys.readouterr().out == text


def test_the_version_is_that_of_the_package(capsys: Capture) -> None:
    assert commands.main(["--version"]) == 0
    assert capsys.readouterr().out == f"interlingua {interlingua.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], "unknown command trian; did you mean train?"),
        (["--trian"], "unknown command --trian"),
        (["config", "explian"], 'Unknown command "explian". Did you mean "explain"?'),
        (["train", "--sourc", "a"], "Unknown option: --sourc. Did you mean --source?"),
        (["translate"], "MODEL is missing"),
        (["translate", "m", "--beam-size"], "--beam-size is missing, or its value is"),
        (["translate", "m", "--beam-size", "x"], 'unable to convert "x" into int'),
        (["translate", "m", "- Da."], "text that begins with a hyphen goes after --"),
        (["translate", "m", "--training.seed", "7"], "Unknown option: --training.seed"),
        (["evaluate", "m", "--source"], "--source is missing, or its value is"),
        (["evaluate", "m", "--source", "s", "--reference", "r", "--format", "x"], '"markdown"'),
        (["tokenize", "m", "--side", "left"], 'Invalid value "left" for --side'),
        (["average", "r"], "--last is missing"),
        (["train", "a.toml", "b.toml"], "b.toml: is more than this command takes"),
        (["correct", "m", "--source", "- Da."], "hyphen is written --source='- ...'"),
        (
            ["distill", "m", "--source", "\udcff.ro", "--output", "o"],
            "is not UTF-8; rename that file",
        ),
        (
            ["back-translate", "m", "--mono", "\udcff.ro", "--output", "o"],
            "is not UTF-8; rename that",
        ),
        (["train"], "no corpus is given"),
        (["train", "--run-dir", ""], 'run_dir = "" is wrong'),
        (["train", "--training.seed"], "flag --training.seed: needs a value"),
        (["train", "--training.seed", "--json"], "flag --training.seed: needs a value"),
        (["train", "--training.sed", "7"], "did you mean training.seed?"),
        (["train", "--set", "training.seed"], "write SECTION.KEY=VALUE"),
        (["config", "explain", "training.sed"], "did you mean training.seed?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_on_the_command_line_is_told_in_one_plain_line(
    arguments: list[str], words: str, capsys: Capture
) -> None:
    assert commands.main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert words in output.err
    assert output.err.count("\n") == 1


def test_settings_are_spelled_out_wherever_they_stand() -> None:
    assert spell_out(["train", "--training.seed", "7", "c.toml", "--model.d-k=8"]) == [
        "train",
        "c.toml",
        "--set",
        "training.seed=7",
        "--set",
        "model.d-k=8",
    ]
    assert spell_out(["plan", "--a.b", "-1", "--", "--c.d", "e"]) == [
        "plan",
        "--set",
        "a.b=-1",
        "--",
        "--c.d",
        "e",
    ]
    assert spell_out(["train", "--a.b="]) == ["train", "--set", "a.b="]
    assert spell_out(["translate", "--a.b", "7"]) == ["translate", "--a.b", "7"]


@pytest.mark.parametrize("typed", [["--input", "-"], ["--input=-"], ["-"]])
def test_a_hyphen_by_itself_is_standard_input_or_output(typed: list[str]) -> None:
    assert spell_out(["translate", "m", *typed]) == ["translate", "m", "--input=-"]
    assert spell_out(["translate", "m", *typed, "--output", "-"])[-1] == "--output=-"
    assert spell_out(["translate", "m", "--", *typed]) == ["translate", "m", "--", *typed]


def test_a_switch_takes_no_hyphen_and_other_commands_no_input() -> None:
    assert spell_out(["tokenize", "m", "--ids", "-"]) == ["tokenize", "m", "--ids", "--input=-"]
    assert spell_out(["inspect", "m", "-"]) == ["inspect", "m", "-"]
    assert spell_out(["evaluate", "m", "--output", "-"]) == ["evaluate", "m", "--output=-"]


def test_flags_win_over_the_file_and_name_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('[corpus]\nsource = "a.ro"\ntarget = "a.en"\n[training]\nseed = 3\nsteps = 9\n')
    flags = RunFlags(source=(Path("x.ro"), Path("y.ro")), run_dir="r", set=("training.seed=4",))
    config = flags.load(path)
    assert config.corpus.source == (Path("x.ro"), Path("y.ro"))
    assert config.corpus.target == (Path("a.en"),)
    assert config.run_dir == Path("r")
    assert (config.training.seed, config.training.steps) == (4, 9)


def test_explain_tells_what_a_key_takes_as_text_and_as_json(capsys: Capture) -> None:
    assert commands.main(["config", "explain", "training.seed"]) == 0
    text = capsys.readouterr().out
    assert "Seed of initialisation" in text
    assert (
        "takes a whole number at least 0 and at most 9,223,372,036,854,775,807; default 1" in text
    )
    assert commands.main(["config", "explain", "training.seed", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["key"] == "training.seed"
    assert found["default"] == 1
    assert commands.main(["config", "explain"]) == 0
    assert capsys.readouterr().out.count("    takes ") > 50


def test_the_schema_is_json_that_knows_every_section(capsys: Capture) -> None:
    assert commands.main(["config", "schema"]) == 0
    text = capsys.readouterr().out
    assert commands.main(["config", "schema", "--json"]) == 0
    assert capsys.readouterr().out == text
    schema = json.loads(text)
    assert {"corpus", "tokenization", "model", "training", "decoding"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> BytesIO:
    """Standard input that is no terminal and holds what the test writes."""
    data = BytesIO()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(data))
    return data


def test_lines_of_standard_input_end_at_line_feeds_only(piped: BytesIO) -> None:
    piped.write("\ufeffa\r\n\u2028b\x85\n\nc".encode())
    piped.seek(0)
    assert read_input((), None) == ["a\r", "\u2028b\x85", "", "c"]


def test_text_from_windows_is_remarked_on_wherever_it_comes_from(
    piped: BytesIO, tmp_path: Path, capsys: Capture
) -> None:
    piped.write(b"a\r\nb\r\nc")
    piped.seek(0)
    assert read_input((), "-") == ["a\r", "b\r", "c"]
    assert "standard input: 2 of 3 lines end in CR" in capsys.readouterr().err
    windows, unix = tmp_path / "w", tmp_path / "u"
    windows.write_bytes(b"a\r\nb\r\n")
    unix.write_bytes(b"a\nb\n")
    read_input((), str(windows))
    assert f"{windows}: every line ends in CR" in capsys.readouterr().err
    read_aligned(unix, [windows])
    remark = capsys.readouterr().err
    assert remark.count("\n") == 1
    assert remark.startswith(f"{windows}: ")
    assert "remove it first: sed" in remark
    read_aligned(unix, [unix])
    assert capsys.readouterr().err == ""


def test_what_was_cut_is_told_with_its_number(capsys: Capture) -> None:
    note_marks(Counter({"truncated-source": 1, "max-length": 2000, "empty": 3}), 256)
    source, target = capsys.readouterr().err.splitlines()
    assert source.startswith("1 source is longer than the 256 tokens")
    assert target.startswith("2,000 translations were cut off")
    note_marks(Counter({"empty-output": 2}), 256)
    assert capsys.readouterr().err.startswith("2 translations are empty, although")
    note_marks(Counter({"empty": 3}), 256)
    assert capsys.readouterr().err == ""


def test_a_wrong_byte_on_standard_input_is_named_with_its_place(piped: BytesIO) -> None:
    piped.write(b"good\nb\xffd\n")
    piped.seek(0)
    with pytest.raises(CorpusError, match="standard input, line 2, byte 2: 0xff is not UTF-8"):
        read_input((), "-")


def test_text_and_input_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="both given"):
        read_input(("text",), str(tmp_path / "x"))


def test_a_terminal_is_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(BytesIO(b"never read")))
    with pytest.raises(ConfigError, match="no text is given"):
        read_input((), None)


def test_a_reference_of_another_length_is_named_with_both_counts(tmp_path: Path) -> None:
    source, reference = tmp_path / "s", tmp_path / "r"
    source.write_text("a\nb\n")
    reference.write_text("a\n")
    with pytest.raises(CorpusError, match=r"has 2 lines but .* has 1"):
        read_aligned(source, [reference])
    assert read_aligned(source, [source, source]) == (["a", "b"], [["a", "b"]] * 2)
    source.write_text("")
    with pytest.raises(CorpusError, match="is empty"):
        read_aligned(source, [])


@pytest.mark.parametrize(
    "typed",
    [
        "score no-model --source text --target text --output nodir/x",
        "doctor no-model --html nodir/x",
        "probe no-model --input text --output nodir/x.png",
        "probe no-model --input text --output x.pdf",
        "calibrate no-model --source text --reference text --diagram nodir/x.svg",
        "calibrate no-model --source text --reference text --diagram x.pdf",
    ],
)
def test_a_result_that_could_not_be_written_is_refused_before_work_is_done(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("a\n")
    assert commands.main(typed.split()) == OutputError.exit_status
    assert re.search(r"error: (nodir/x|x\.pdf)", capsys.readouterr().err)


def test_an_output_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def break_off() -> None:
        with open_output(str(path)) as write:
            write("half")
            raise ModelError("the model broke")

    with pytest.raises(ModelError):
        break_off()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with open_output(str(path)) as write:
        write("ă\n")
    assert path.read_bytes() == "ă\n".encode()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no memory to write to")
def test_a_file_in_memory_is_replaced_like_any_other() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for text in ("one", "two"):
            with open_output(f"{folder}/out") as write:
                write(text)
        assert Path(folder, "out").read_text() == "two"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ModelError("m: broken"), 5, "error: m: broken"),
        (OutputError("o: full"), 6, "error: o: full"),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C"),
        (MemoryError(), 71, "error: out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 71, "error: out of memory"),
        (FileNotFoundError(2, "No such file", "x"), 1, "error: x: No such file"),
        (ZeroDivisionError("a\nb"), 70, "error: ZeroDivisionError: a b (a bug in this program"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_failure_has_its_status_and_one_line(
    error: BaseException, status: int, words: str, capsys: Capture
) -> None:
    assert report_failure(error) == status
    message = capsys.readouterr().err
    assert message.startswith(words)
    assert message.count("\n") == 1


def test_out_of_memory_advises_a_flag_only_where_there_is_one(capsys: Capture) -> None:
    for command in commands.COMMAND_LINE.commands:
        taken = {each.annotation for each in inspect.signature(command).parameters.values()}
        report_failure(MemoryError(), command.__name__)
        told = capsys.readouterr().err
        assert ("(--batch-tokens)" in told) == (SearchFlags in taken), command.__name__
        trains = bool(taken & {RunFlags, BackFlags})
        assert ("--batching.batch-tokens" in told) == trains, command.__name__


def test_a_traceback_is_shown_when_it_is_asked_for(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert report_failure(caught.value) == 70
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_message_in_any_script_reaches_a_terminal_of_any_encoding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = BytesIO()
    monkeypatch.setattr(sys, "stderr", TextIOWrapper(data, encoding="ascii"))
    note("fișier \udcff")
    assert data.getvalue() == rb"fi\u0219ier \udcff" + b"\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m interlingua config explain | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"for i in 1 2 3; do {command}; done"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) <= {"run_dir", "0", "141"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full (Linux)")
@pytest.mark.parametrize("arguments", [["--help"], ["config", "explain"], ["train", "--help"]])
def test_a_full_disk_behind_standard_output_is_told(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "interlingua", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 6
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_output_is_utf8_in_every_locale() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "interlingua", "--help"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"->" in done.stdout


def test_module_and_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("interlingua")
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == run("--version").stdout


def test_the_guide_tells_every_command_and_every_exit_status() -> None:
    guide = Path(__file__).parents[3] / "docs" / "guides" / "command-line.md"
    text = guide.read_text(encoding="utf-8")
    told = re.findall(r"^\| `interlingua ([\w-]+)", text, re.MULTILINE)
    assert list(dict.fromkeys(told)) == [*COMMANDS, "tokenizer", "config"]
    table = text.partition("## Exit status")[2]
    statuses = {
        int(n) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.M) for n in row.split(",")
    }
    own = {kind.exit_status for kind in [InterlinguaError, *InterlinguaError.__subclasses__()]}
    assert statuses == own | {0, 129, 143} | {
        streams.BUG,
        streams.OUT_OF_MEMORY,
        streams.INTERRUPTED,
        streams.PIPE_CLOSED,
    }
