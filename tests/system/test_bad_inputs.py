"""Bad input never gives a traceback: what each gets instead, through the real command.

Each case makes its bad input in an empty folder that also holds a good corpus, a good model, and an older
``out.txt``. Afterwards the exit status and the words are as promised, ``out.txt`` is untouched, and no temporary
file is left.
"""

import fcntl
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.weights import parameters_of, read_tensors, write_tensors
from interlingua.cli import main
from interlingua.config import DecodingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

SENTENCES = [f"the number {number} is good" for number in range(60)]
SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, dropout=0.0)

Make = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One bad input, and what the user is told."""

    name: str
    command: str
    """What is typed after ``interlingua``; words are split at spaces."""
    status: int
    words: tuple[str, ...]
    make: Make = lambda: None
    """Makes the bad input in the current folder."""
    stdin: bytes = b""


def write(name: str, content: str | bytes) -> Make:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda: Path(name).write_bytes(data)


def edit(name: str, change: Callable[[dict[str, object]], object]) -> Make:
    """Change a JSON file of the model, with a manifest that calls the result whole."""

    def make() -> None:
        path = Path("model") / name
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        if name != "manifest.json":
            write_manifest(Path("model"))

    return make


def reweigh(change: Callable[[dict[str, torch.Tensor]], object]) -> Make:
    """Change the weights of the model, with a manifest that calls the result whole."""

    def make() -> None:
        path = Path("model/model.safetensors")
        tensors = read_tensors(path)
        change(tensors)
        write_tensors(path, tensors)
        write_manifest(Path("model"))

    return make


def cut(name: str, size: int) -> Make:
    return lambda: os.truncate(name, size)


def flip_a_byte() -> None:
    with Path("model/model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))


def swap_the_tokenizer() -> None:
    other = train_tokenizer(["αβγδ"], kind="char", vocabulary_size=270)
    other.save(Path("model/tokenizer.json"))
    write_manifest(Path("model"))


def start_a_run() -> None:
    Path("runs/x").mkdir(parents=True)
    Path("runs/x/config.toml").write_text("")


TRAIN = "train --source good.ro --target good.en --run-dir runs/x"
SMALL = (
    "--model.preset tiny --model.encoder-layers 1 --model.decoder-layers 1 --model.d-ff 16 "
    "--training.threads 1 --training.dtype float32"
)
TRANSLATE = "translate model --input good.ro --output out.txt"

CONFIGURATIONS = [
    Case("no such file", "train no.toml", 2, ("no.toml: no such configuration file",)),
    Case("a folder", "train model", 2, ("model: is a folder, not a configuration file",)),
    Case(
        "broken TOML",
        "train c.toml",
        2,
        ("c.toml:2: not valid TOML",),
        write("c.toml", "[corpus]\nsource = \n"),
    ),
    Case(
        "a corpus instead of a configuration",
        "train good.ro",
        2,
        ("good.ro:1: not valid TOML",),
    ),
    Case("not UTF-8", "plan c.toml", 2, ("c.toml:1: not UTF-8",), write("c.toml", b"\xff\xfe")),
    Case(
        "an unknown key",
        "prepare c.toml",
        2,
        ("c.toml:2: unknown key training.sed; did you mean training.seed?",),
        write("c.toml", "[training]\nsed = 7\n"),
    ),
    Case(
        "a wrong type",
        "train c.toml",
        2,
        ('c.toml:2: training.seed = "7" is wrong: it takes a whole number at least 0',),
        write("c.toml", '[training]\nseed = "7"\n'),
    ),
    Case(
        "a value out of range",
        "train c.toml",
        2,
        ("c.toml:2: model.dropout = 1.5 is wrong: it takes a number at least 0.0 and below 1.0",),
        write("c.toml", "[model]\ndropout = 1.5\n"),
    ),
    Case(
        "an unset variable",
        "train c.toml",
        2,
        ("c.toml:2: corpus.source needs the environment variable NOT_SET", "export NOT_SET="),
        write("c.toml", '[corpus]\nsource = "${NOT_SET}/a"\n'),
    ),
    Case("no corpus", "train", 2, ("no corpus is given", "interlingua demo")),
    Case(
        "one side", "train --source good.ro", 2, ("corpus.source is given without corpus.target",)
    ),
    Case("no such device", f"{TRAIN} --training.device cuda:77", 2, ("cuda:77", "cpu")),
    Case(
        "sizes that do not fit",
        f"{TRAIN} --model.d-model 10 --model.heads 3",
        2,
        ("model.heads = 3 does not divide model.d_model = 10",),
    ),
]

FLAGS = [
    Case("an unknown command", "trian", 2, ("unknown command trian; did you mean train?",)),
    Case("an unknown flag", "train --sourc x", 2, ("--sourc", "Did you mean --source?")),
    Case("an unknown setting", "train --training.sed 7", 2, ("did you mean training.seed?",)),
    Case("a wrong setting", "train --training.seed x", 2, ('training.seed = "x" is wrong',)),
    Case("a setting without value", "train --training.seed", 2, ("needs a value",)),
    Case("no model", "translate", 2, ("MODEL is missing",)),
    Case("letters for a number", "translate model a --beam-size x", 2, ('convert "x" into int',)),
    Case("no beam", f"{TRANSLATE} --beam-size 0", 2, ("beam_size is 0",)),
    Case("more outputs than beams", f"{TRANSLATE} --beam-size 2 --n-best 3", 2, ("n_best is 3",)),
    Case("a huge penalty", f"{TRANSLATE} --length-penalty 1e9", 2, ("length_penalty",)),
    Case("no threads", f"{TRANSLATE} --threads 0", 2, ("threads must be at least 1",)),
    Case("a language that is a path", f"{TRAIN} --source-lang ../evil", 2, ("corpus.source_lang",)),
    Case(
        "threads that no machine has",
        f"{TRANSLATE} --threads 99999999999999",
        2,
        ("threads must be at least 1 and at most 1024",),
    ),
    Case("a device of yesterday", f"{TRANSLATE} --device tpu", 2, ("'tpu'", "take auto or cpu")),
    Case("text twice", "translate model a --input good.ro", 2, ("both given",)),
    Case(
        "the input as output",
        "translate model --input good.ro --output ./good.ro",
        6,
        ("good.ro: is read from as well, and would be lost; write elsewhere",),
    ),
    Case(
        "a scored text as output",
        "score model --source good.ro --target good.en --output good.en",
        6,
        ("good.en: is read from as well",),
    ),
    Case(
        "an aligned text as output",
        "align model --source good.ro --target good.en --output good.ro",
        6,
        ("good.ro: is read from as well",),
    ),
    Case(
        "an unknown metric",
        "evaluate model --source good.ro --reference good.en --metrics bleurgh",
        2,
        ("'bleurgh' is none of bleu, chrf",),
    ),
    Case("nothing to inspect", "inspect model \u3000 --output figures", 2, ("the text is empty",)),
    Case("no such key", "config explain training.sed", 2, ("did you mean training.seed?",)),
    Case("nothing to average", "average model --last 0", 2, ("at least one checkpoint",)),
    Case("no run to average", "average nowhere --last 1", 5, ("nowhere: there is no such run",)),
    Case("no checkpoints to average", "average model --last 1", 5, ("model: has no checkpoints",)),
]

CORPORA = [
    Case("no such file", "train --source no.ro --target good.en", 3, ("no.ro: no such file",)),
    Case(
        "unequal sides",
        "train --source a.ro --target good.en",
        3,
        ("a.ro has 2 lines but good.en has 60", "line 3 of good.en has no translation"),
        write("a.ro", "a\nb\n"),
    ),
    Case(
        "a wrong byte",
        "train --source a.ro --target a.en",
        3,
        ("a.ro, line 2, byte 3", "0xe2 is not UTF-8", "iconv"),
        lambda: (write("a.ro", b"a\nro\xe2n\n")(), write("a.en", "a\nb\n")()),
    ),
    Case(
        "an empty file",
        "train --source a.ro --target a.en",
        3,
        ("a.ro: is empty",),
        lambda: (write("a.ro", "")(), write("a.en", "")()),
    ),
    Case(
        "blank lines only",
        "train --source a.ro --target good.en",
        3,
        ("all 60 pairs have a blank side",),
        write("a.ro", "\n" * 60),
    ),
    Case(
        "a compressed file that was cut off",
        "train --source a.ro --target a.ro",
        3,
        ("a.ro",),
        write("a.ro", gzip.compress(b"a\nb\n" * 100)[:-9]),
    ),
    Case("a folder", "train --source model --target good.en", 3, ("model: is a folder",)),
    Case(
        "two sources, one target",
        "train --source good.ro good.ro --target good.en",
        3,
        ("2 source files but 1 target files",),
    ),
    Case("no text to translate", "translate model --input no.ro", 3, ("no.ro: no such file",)),
    Case(
        "a wrong byte to translate",
        "translate model --input a.ro --output out.txt",
        3,
        ("a.ro, line 61, byte 1",),
        write("a.ro", "\n".join(SENTENCES).encode() + b"\n\xff\n"),
    ),
    Case(
        "a wrong byte piped in",
        "translate model --output out.txt",
        3,
        ("standard input, line 2, byte 2: 0xff is not UTF-8",),
        stdin=b"good\nb\xff\n",
    ),
    Case(
        "a short reference",
        "evaluate model --source good.ro --reference a.en --output out.txt",
        3,
        ("good.ro has 60 lines but a.en has 1",),
        write("a.en", "a\n"),
    ),
]

TOKENIZERS = [
    Case("no such file", "tokenize no.json a", 4, ("no.json",)),
    Case("damaged JSON", "tokenize t.json a", 4, ("t.json",), write("t.json", '{"model": ')),
    Case("other JSON", "tokenize t.json a", 4, ("t.json",), write("t.json", '{"a": 1}')),
    Case("an empty file", "tokenize t.model a", 4, ("t.model",), write("t.model", "")),
    Case("noise", "tokenize t.model a", 4, ("t.model",), write("t.model", bytes(range(256)) * 9)),
    Case("a folder without one", "tokenize runs a", 4, ("runs",), lambda: Path("runs").mkdir()),
    Case(
        "a vocabulary too small for bytes",
        f"{TRAIN} --tokenization.vocabulary-size 4",
        2,
        ("vocabulary_size", "262"),
    ),
    Case(
        "a damaged tokenizer in a model",
        TRANSLATE,
        4,
        ("tokenizer.json",),
        lambda: (cut("model/tokenizer.json", 100)(), write_manifest(Path("model"))),
    ),
]

MODELS = [
    Case("no such folder", "translate no a", 5, ("no: does not exist",)),
    Case("a file", "translate good.ro a", 5, ("good.ro: is a file, not a folder",)),
    Case(
        "another folder",
        "translate . a",
        5,
        ("is not a model folder",),
        lambda: shutil.rmtree("model"),
    ),
    Case(
        "a run without a model",
        "translate runs/x a",
        5,
        ("this run has no model yet",),
        start_a_run,
    ),
    Case(
        "truncated weights",
        TRANSLATE,
        5,
        ("model.safetensors: has 1000 bytes instead of",),
        cut("model/model.safetensors", 1000),
    ),
    Case("one wrong bit", TRANSLATE, 5, ("model.safetensors: was changed",), flip_a_byte),
    Case(
        "a missing file",
        TRANSLATE,
        5,
        ("config.json: is missing",),
        lambda: Path("model/config.json").unlink(),
    ),
    Case(
        "a version of tomorrow",
        TRANSLATE,
        5,
        ("has format version 99; this program reads version 1",),
        edit("manifest.json", lambda manifest: manifest.update(format_version=99)),
    ),
    Case(
        "a broken manifest",
        TRANSLATE,
        5,
        ("manifest.json: cannot be read",),
        cut("model/manifest.json", 9),
    ),
    Case(
        "weights that are no safetensors",
        TRANSLATE,
        5,
        ("is not a readable safetensors file",),
        lambda: (write("model/model.safetensors", "pickle")(), write_manifest(Path("model"))),
    ),
    Case(
        "NaN weights",
        TRANSLATE,
        5,
        ("holds NaN or infinity",),
        reweigh(lambda tensors: next(iter(tensors.values())).fill_(float("nan"))),
    ),
    Case(
        "a missing tensor",
        TRANSLATE,
        5,
        ("lacks the tensor",),
        reweigh(lambda tensors: tensors.pop(next(iter(tensors)))),
    ),
    Case(
        "a tensor too many",
        TRANSLATE,
        5,
        ("holds the tensor 'other'",),
        reweigh(lambda tensors: tensors.update(other=torch.zeros(1))),
    ),
    Case("another vocabulary", TRANSLATE, 5, ("instead of", "another model"), swap_the_tokenizer),
    Case(
        "sizes of another model",
        TRANSLATE,
        5,
        ("has shape",),
        edit("config.json", lambda config: config["architecture"].update(d_ff=16)),  # type: ignore[attr-defined]
    ),
    Case(
        "sizes of no model",
        TRANSLATE,
        5,
        ("d_model is 1000000000, which no model has",),
        edit("config.json", lambda config: config["architecture"].update(d_model=10**9)),  # type: ignore[attr-defined]
    ),
    Case(
        "a million layers",
        TRANSLATE,
        5,
        ("encoder_layers is 999999, which no model has",),
        edit("config.json", lambda config: config["architecture"].update(encoder_layers=999_999)),  # type: ignore[attr-defined]
    ),
    Case(
        "a file of another folder",
        TRANSLATE,
        5,
        ("lists '../good.ro', which is not a file of this folder",),
        edit("manifest.json", lambda manifest: manifest["files"].update({"../good.ro": {}})),  # type: ignore[attr-defined]
    ),
    Case(
        "heads that do not divide",
        TRANSLATE,
        5,
        ("config.json",),
        edit("config.json", lambda config: config["architecture"].update(heads=3)),  # type: ignore[attr-defined]
    ),
    Case(
        "languages left out",
        TRANSLATE,
        5,
        ("source_lang",),
        edit("config.json", lambda config: config.pop("source_lang")),
    ),
    Case(
        "an impossible search",
        TRANSLATE,
        5,
        ("beam_size",),
        edit("generation_config.json", lambda generation: generation.update(beam_size=0)),
    ),
    Case("average of no run", "average no --last 2", 5, ("no",)),
    Case(
        "evaluate against no model",
        "evaluate model --source good.ro --reference good.en --against no --output out.txt",
        5,
        ("no: does not exist",),
    ),
]

OUTPUTS = [
    Case("a folder", "translate model a --output model", 6, ("model: is a folder",)),
    Case("a file as folder", "translate model a --output good.ro/x", 6, ("cannot be written",)),
    Case("a run in a file", f"{TRAIN}".replace("runs/x", "good.ro/x"), 6, ("good.ro",)),
    Case("figures in a file", "inspect model the --output good.ro/x", 6, ("good.ro",)),
]


@pytest.fixture(scope="session")
def good_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with random weights: it translates badly, and correctly by every other measure."""
    torch.manual_seed(1)
    tokenizer = train_tokenizer(SENTENCES, kind="char", vocabulary_size=320)
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    size = tokenizer.vocabulary_size
    model = Transformer(
        SIZES,
        source_vocabulary=size,
        target_vocabulary=size,
        source_pad=tokenizer.pad_id,
        target_pad=tokenizer.pad_id,
    )
    loaded = LoadedModel(model, tokenizers, "ro", "en", DecodingConfig(max_length_offset=2), 32)
    folder = tmp_path_factory.mktemp("good") / "model"
    save_model_folder(folder, loaded, parameters_of(model), "A model for tests.\n")
    return folder


@pytest.fixture
def place(tmp_path: Path, good_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a case: a good corpus, a good model, an older output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTERLINGUA_TRACEBACK", raising=False)
    shutil.copytree(good_model, "model")
    text = "".join(f"{line}\n" for line in SENTENCES)
    for name in ("good.ro", "good.en"):
        Path(name).write_text(text)
    Path("out.txt").write_text("older output\n")
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)


def check(place: Path, status: int, out: str, err: str, case: Case) -> None:
    assert "Traceback" not in out + err
    assert status == case.status, err
    message = err[err.rindex("error: ") :]
    for words in case.words:
        assert words in message
    assert "a bug in this program" not in message
    assert len(message) < 700
    assert (place / "out.txt").read_text() == "older output\n"
    assert not [path for path in place.rglob("*") if ".tmp-" in path.name]


def identify(case: Case) -> str:
    return case.name


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=f"configuration: {case.name}") for case in CONFIGURATIONS),
        *(pytest.param(case, id=f"flag: {case.name}") for case in FLAGS),
        *(pytest.param(case, id=f"corpus: {case.name}") for case in CORPORA),
        *(pytest.param(case, id=f"tokenizer: {case.name}") for case in TOKENIZERS),
        *(pytest.param(case, id=f"model: {case.name}") for case in MODELS),
        *(pytest.param(case, id=f"output: {case.name}") for case in OUTPUTS),
    ],
)
def test_bad_input_is_refused_in_plain_words(
    case: Case,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case.make()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(case.stdin)))
    status = main(case.command.split(" "))
    output = capsys.readouterr()
    check(place, status, output.out, output.err, case)


def test_at_least_thirty_kinds_of_bad_input_are_refused() -> None:
    groups = (CONFIGURATIONS, FLAGS, CORPORA, TOKENIZERS, MODELS, OUTPUTS)
    assert sum(map(len, groups)) >= 60
    assert all(case.words for group in groups for case in group)


def run(
    command: str, limit: int | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, which may write files of ``limit`` bytes at most."""

    def narrow() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "interlingua", *command.split()],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        text=True,
        check=False,
        preexec_fn=narrow,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_a_process_says_the_same_as_the_function(place: Path) -> None:
    case = MODELS[0]
    done = run(case.command)
    check(place, done.returncode, done.stdout, done.stderr, case)


def test_a_disk_that_fills_up_under_the_output_leaves_the_old_file(place: Path) -> None:
    Path("a.ro").write_text("".join(f"{line}\n" for line in SENTENCES))
    done = run("tokenize model --input a.ro --output out.txt", limit=512)
    case = Case("", "", 6, ("out.txt: cannot be written (File too large)", "has room"))
    check(place, done.returncode, done.stdout, done.stderr, case)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full (Linux)")
def test_a_full_disk_behind_standard_output_is_told(place: Path) -> None:
    with open("/dev/full", "w") as full:
        done = run("translate model the", stdout=full)
    case = Case("", "", 6, ("standard output: cannot be written (No space left on device)",))
    check(place, done.returncode, "", done.stderr, case)


def test_a_disk_that_fills_up_in_training_is_told(place: Path) -> None:
    done = run(f"{TRAIN} {SMALL} --model.d-model 64 --training.steps 2", limit=200_000)
    case = Case("", "", 6, ("runs/x",))
    check(place, done.returncode, done.stdout, done.stderr, case)


def test_a_reader_that_goes_away_is_no_error(place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = run("translate model the", stdout=closed)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_run_folder_in_use_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs/x").mkdir(parents=True)
    with Path("runs/x/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = main(TRAIN.split())
    output = capsys.readouterr()
    case = Case("", "", 7, ("another process is training in this folder",))
    check(place, status, output.out, output.err, case)


def test_training_that_explodes_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = f"{SMALL} --training.peak-learning-rate 1e38 --training.warmup-steps 1"
    status = main(f"{TRAIN} {flags} --training.steps 20".split())
    output = capsys.readouterr()
    case = Case("", "", 7, ("the loss is", "Lower training.peak_learning_rate"))
    check(place, status, output.out, output.err, case)


def test_another_configuration_in_an_old_run_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"{TRAIN} {SMALL} --training.steps 1".split()) == 0
    capsys.readouterr()
    status = main(f"{TRAIN} {SMALL} --training.steps 1 --model.heads 2".split())
    output = capsys.readouterr()
    case = Case("", "", 2, ("model.heads", "--fresh", "--run-dir"))
    check(place, status, output.out, output.err, case)


def test_the_good_model_of_these_cases_does_translate(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(TRANSLATE.split()) == 0
    assert (place / "out.txt").read_text().count("\n") == len(SENTENCES)
    assert main(["translate", "model", "the", "", "--n-best", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "1"]
    assert main(["translate", "model", "the", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["source"] == "the"
    told = {"text", "score", "tokens", "log_probabilities", "stopped", "placeholders", "flags"}
    assert found["translations"][0].keys() == told
