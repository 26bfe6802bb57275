"""More text from a model: back-translated sources, and what a teacher writes for a student; through the commands."""

import gzip
import itertools
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlingua.bulk.parts import Part
from interlingua.bulk.worker import Recipe, Worker
from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import LoadedModel, build, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import back_translation, iterations, main, synthetic
from interlingua.cli.bulk import Cost
from interlingua.cli.synthetic import check_languages
from interlingua.config import DecodingConfig, RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.lines import read_lines
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError, TrainingError
from interlingua.model.architecture import Architecture
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training import rounds as in_turn
from interlingua.training.loop import WAY_OUT
from interlingua.training.synthetic import WAY_ON, SyntheticCorpus
from interlingua.translator import Translator

Capture = pytest.CaptureFixture[str]

GOLDEN = Path(__file__).parents[1] / "golden" / "models" / "v1"
"""Reverses a few digits: it reads the language "digits" and writes "reverse"."""
LINES = [f"{a} {b} 9 7" for a in range(10) for b in range(1, 9)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the golden model, text for it, and some genuine pairs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(GOLDEN, "model")
    Path("mono.digits").write_text("".join(f"{line}\n" for line in LINES))
    for name in ("train", "valid"):
        digits = [f"{a} {b}" for a in range(10) for b in range(6)]
        Path(f"{name}.digits").write_text("".join(f"{line}\n" for line in digits))
        Path(f"{name}.reverse").write_text("".join(f"{line[::-1]}\n" for line in digits))
    return tmp_path


def run(command: str, capsys: Capture) -> tuple[str, str]:
    """Run a command that must succeed, and return what it prints."""
    capsys.readouterr()
    status = main(command.split())
    told = capsys.readouterr()
    assert status == 0, told.err
    return told.out, told.err


BACK = (
    "back-translate model --mono mono.digits --output more --threads 1 --part-lines 30 "
    "--source train.reverse --target train.digits --valid-source valid.reverse --valid-target valid.digits"
)
DISTILL = "distill model --source mono.digits --output small --threads 1"


def test_text_becomes_a_corpus_that_is_mixed_in(capsys: Capture) -> None:
    out, err = run(BACK, capsys)
    assert "80 lines to translate, about" in err
    pairs = list(
        zip(
            read_lines(Path("more/back-translated.reverse")),
            read_lines(Path("more/back-translated.digits")),
            strict=True,
        )
    )
    assert f"{len(pairs)} pairs of 80 lines" in out
    assert 60 <= len(pairs) <= 76  # the surest 95 of a hundred, less what breaks a rule
    assert {target for _, target in pairs} <= set(LINES)
    assert sum(source == target[::-1] for source, target in pairs) > 0.8 * len(pairs)
    corpus = load_config(Path("more/train.toml")).corpus
    assert corpus.tags == ("", "<bt>")
    assert corpus.weights == (1.0, 1.0)
    assert corpus.source == (Path("train.reverse"), Path("more/back-translated.reverse"))
    run("prepare more/train.toml --training.threads 1", capsys)
    tokens = (Path("more/run/tokenizer").glob("*.json"),)
    assert any("<bt>" in path.read_text() for paths in tokens for path in paths)
    assert run(BACK, capsys)[1].count("80 of 80 lines were translated before") == 1


def test_it_goes_on_where_it_was_stopped_and_filters_anew(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate, done = Worker.translate, []

    def stop_at_the_second(self: Worker, part: object) -> object:
        if done:
            raise KeyboardInterrupt
        done.append(part)
        return translate(self, part)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "translate", stop_at_the_second)
    assert main(BACK.split()) == 130
    assert not Path("more/back-translated.digits").exists()
    monkeypatch.setattr(Worker, "translate", translate)
    err = run(BACK, capsys)[1]
    assert "50 lines to translate" in err
    assert "30 of 80 lines were translated before" in err
    translated = Path("more/translated/mono.digits")
    before, pairs = translated.stat().st_mtime_ns, Path("more/back-translated.digits").read_text()
    run(f"{BACK} --keep 0.5", capsys)
    assert translated.stat().st_mtime_ns == before
    fewer = set(read_lines(Path("more/back-translated.digits")))
    assert len(fewer) <= 40
    assert fewer < set(pairs.splitlines())
    assert main([*BACK.split(), "--method", "sample"]) == 2
    assert "was begun with another text, model, option or corrections" in capsys.readouterr().err


def test_a_text_in_another_language_than_its_name_says_is_told(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "language_of_lines", lambda *_: "en")
    assert "looks like" not in run(f"{BACK} --dry-run", capsys)[1]  # digits are no language
    text = Path("mono.de")
    text.write_text("1 2 3\n")
    synthetic._note_another_language(text, [Part(str(text), 0, 0, 6, 0, 1)], "de")
    told = capsys.readouterr().err
    assert told == "mono.de: looks like en, and the model reads de; is it the right text?\n"


@pytest.mark.parametrize("command", [BACK, DISTILL])
def test_a_folder_is_of_one_text(capsys: Capture, command: str) -> None:
    run(command, capsys)
    Path("other.digits").write_text("1 2 3\n3 2 1\n")
    place = Path("more" if command == BACK else "small")
    before = {path: path.read_bytes() for path in place.rglob("*.*") if path.is_file()}
    assert main(command.replace("mono.digits", "other.digits").split()) == 2
    assert f"{place}: is of another text, mono.digits," in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in place.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "models"),
    [
        (BACK, ["model"]),
        (DISTILL, ["model"]),
        (DISTILL.replace("model", "model second"), ["model", "second"]),
    ],
)
def test_each_model_is_opened_once(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, command: str, models: list[str]
) -> None:
    shutil.copytree("model", "second")
    opened: list[str] = []
    load = Translator.load

    def count(path: Path, **options: Any) -> Translator:
        opened.append(str(path))
        return load(path, **options)

    monkeypatch.setattr(Translator, "load", count)
    run(command, capsys)
    assert opened == models


def test_a_model_that_training_begins_with_keeps_its_own_settings(capsys: Capture) -> None:
    run("translate model --input mono.digits --output written.reverse", capsys)
    run(f"{BACK} --keep 1 --start.init-from forward --start.new-language true", capsys)
    config = load_config(Path("more/train.toml"))
    assert config.start.init_from == Path("forward")
    assert "beam_size" not in config.decoding.model_fields_set
    assert not config.model.model_fields_set
    run(f"{BACK} --keep 1", capsys)
    assert "beam_size" in load_config(Path("more/train.toml")).decoding.model_fields_set


def name_languages(source: str, target: str) -> None:
    """Have the golden model say that it reads and writes these."""
    config = json.loads(Path("model/config.json").read_text())
    config |= {"source_lang": source, "target_lang": target}
    Path("model/config.json").write_text(json.dumps(config))
    write_manifest(Path("model"))


def test_a_model_that_names_no_languages_takes_those_of_the_genuine_pairs(capsys: Capture) -> None:
    name_languages("source", "target")
    names = {"reverse": "ro", "digits": "en"}
    for name in ("train", "valid"):
        for before, after in names.items():
            Path(f"{name}.{before}").rename(f"{name}.{after}")
    command = BACK.replace(".reverse", ".ro").replace(".digits", ".en")
    Path("mono.digits").rename("mono.en")
    run(command, capsys)
    assert all(
        line.split()[2:] == ["9", "7"] for line in read_lines(Path("more/back-translated.en"))
    )
    corpus = load_config(Path("more/train.toml")).corpus
    assert (corpus.source_lang, corpus.target_lang) == ("ro", "en")
    run(
        "back-translate model --mono mono.en --output other --threads 1 --part-lines 30",
        capsys,
    )
    assert Path("other/back-translated.target").read_text().splitlines()[0] in LINES
    run(command.replace("--output more", "--output other"), capsys)  # whose pairs name them
    assert Path("other/back-translated.en").is_file()
    Path("mono.ro").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    run(f"{DISTILL} --target mono.ro".replace(".digits", ".en"), capsys)
    corpus = load_config(Path("small/student.toml")).corpus
    assert (corpus.source_lang, corpus.target_lang) == ("en", "ro")
    assert Path("small/distilled.ro").is_file()


def test_codes_of_languages_may_hold_dots(capsys: Capture) -> None:
    name_languages("zh.Hant", "yue.Hant")
    run(BACK, capsys)
    run(DISTILL, capsys)
    for config, names in (
        ("more/train.toml", ("yue.Hant", "zh.Hant")),
        ("small/student.toml", ("zh.Hant", "yue.Hant")),
    ):
        corpus = load_config(Path(config)).corpus
        assert (corpus.source_lang, corpus.target_lang) == names


@pytest.mark.parametrize(("command", "folder"), [(BACK, "more"), (DISTILL, "small")])
def test_a_folder_may_hold_runs_that_were_set_aside(
    command: str, folder: str, capsys: Capture
) -> None:
    for name in ("run", "run.1", "run.12"):
        Path(folder, name).mkdir(parents=True)
    run(command, capsys)
    Path(folder, "run.old").mkdir()
    assert main(command.split()) == 6
    assert "holds run.old, which this command did not write" in capsys.readouterr().err


def test_samples_and_noise_are_the_same_again(capsys: Capture) -> None:
    for method in ("sample", "noised-beam"):
        texts = []
        for output in (f"{method}-1", f"{method}-2"):
            flags = f"--method {method} --seed 3 --tag= --output {output} --keep 1"
            run(f"back-translate model --mono mono.digits --threads 1 {flags}", capsys)
            texts.append(Path(output, "back-translated.reverse").read_text())
            assert json.loads(Path(output, "report.json").read_text())["seed"] == 3
        assert texts[0] == texts[1]
    clean = run(BACK, capsys) and Path("more/back-translated.reverse").read_text()
    assert "_" in texts[0]
    assert "_" not in clean


def test_a_dry_run_tells_the_cost_and_writes_nothing(capsys: Capture) -> None:
    for command in (BACK, DISTILL):
        assert "80 lines to translate, about" in run(f"{command} --dry-run", capsys)[1]
        assert json.loads(run(f"{command} --dry-run --json", capsys)[0])["lines"] == 80
    assert not Path("more").exists()
    assert not Path("small").exists()


TINY = (
    "--training.minutes 1 --training.steps 3 --training.validate-every 3 --training.validate-sentences 4 --model.encoder-layers 1 "
    "--model.decoder-layers 1 --model.d-model 8 --model.d-ff 16 --model.heads 2 --training.average-last 1"
)
TURNS = f"{BACK} --iterations 2 --mono-source mono.reverse --keep 1 {TINY}"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--part-lines 0", "--part-lines must be at least 1"),
        ("--keep 0", "--keep must be above 0"),
        ("--start.init-from model", "leave start.* out"),
    ],
)
def test_rounds_that_cannot_be_meant_are_refused_before_anything_is_tried(
    capsys: Capture, flags: str, told: str
) -> None:
    Path("mono.reverse").write_text("12\n")
    name = flags.split()[0]
    turns = re.sub(rf"{name} \S+", "", TURNS)
    assert main(f"{turns} {flags} --dry-run".split()) == 2
    assert told in capsys.readouterr().err
    assert not Path("more").exists()


@pytest.mark.parametrize(
    ("name", "content", "status", "told"),
    [
        ("mono.reverse", gzip.compress(b"12\n"), 3, "is compressed by gzip"),
        ("mono.reverse", b"12\n\xff\n", 3, "line 2"),
        ("other.digits", b"12\n", 2, "give a model of the other direction"),
    ],
)
def test_the_text_of_the_second_training_is_read_before_the_first(
    capsys: Capture, name: str, content: bytes, status: int, told: str
) -> None:
    Path(name).write_bytes(content)
    assert main(TURNS.replace("mono.reverse", name).split()) == status
    assert told in capsys.readouterr().err
    assert not Path("more").exists()


def test_forward_and_reverse_models_are_trained_in_turn(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mono.reverse").write_text("".join(f"{line[::-1]}\n" for line in LINES[:20]))
    dry = run(f"{TURNS} --dry-run", capsys)[1]
    assert "2 rounds, 3 trainings to go of 60 s each at most, and" in dry
    told = json.loads(run(f"{TURNS} --dry-run --json", capsys)[0])
    assert (told["rounds"], told["finished"]) == ([], False)
    assert told["seconds"] >= 180
    assert "80 lines of mono.digits 2 times and 20 lines of mono.reverse once to translate" in dry
    assert not Path("more").exists()
    # The models of three updates write nothing that the filter would let through, so the text of each is told.
    written: list[tuple[str, str]] = []
    translate = Worker.translate

    def write_the_truth(self: Worker, part: Part) -> object:
        written.append((str(self._recipe.model), Path(part.source).name))
        _, marks = translate(self, part)
        lines = [json.dumps([[line[::-1], -0.1, []]]) for line in part.read()]
        return "".join(f"{line}\n" for line in lines), marks

    monkeypatch.setattr(Worker, "translate", write_the_truth)
    steps: list[str] = []
    train = in_turn.train

    def stop_at_the_third(config: RunConfig) -> object:
        steps.append(str(config.run_dir))
        if len(steps) in (2, 4):
            raise KeyboardInterrupt
        return train(config)

    monkeypatch.setattr(in_turn, "train", stop_at_the_third)
    first = TURNS.replace("mono.reverse", "first.reverse").replace("--keep 1", "--keep 0.9")
    Path("first.reverse").write_text("7 9 2 1\n7 9 3 1\n")
    assert main(first.split()) == 130
    # What an unfinished training reads is not filtered anew under it.
    Path("more/round-1/reverse/run").mkdir()
    assert main(TURNS.split()) == 2
    assert "was begun with --mono-source = first.reverse" in capsys.readouterr().err
    assert main(first.replace("--keep 0.9", "--keep 1").split()) == 2
    assert (
        "more/round-1/reverse/run: this training was begun with --keep 0.9"
        in capsys.readouterr().err
    )
    # What no training has read yet, and how the next text is filtered, may be changed.
    Path("more/round-1/reverse/run").rmdir()
    assert main(TURNS.split()) == 130
    monkeypatch.setattr(in_turn, "train", train)
    dry = run(f"{TURNS} --dry-run", capsys)[1]
    assert "2 rounds, 1 training to go of 60 s each at most; about 60 s in all" in dry
    other = TURNS.replace(
        "--source train.reverse --target train", "--source valid.reverse --target valid"
    )
    assert main(other.split()) == 2
    assert (
        "more: was begun with source = train.reverse, not valid.reverse" in capsys.readouterr().err
    )
    out, err = run(TURNS, capsys)
    assert "round 2 of 2: the forward model, training 3 of 3" in err
    assert "round 1 of 2" not in err
    assert steps == [
        f"more/round-{n}/{m}/run"
        for n, m in ((1, "forward"), (1, "reverse"), (1, "reverse"), (2, "forward"))
    ]
    assert list(dict.fromkeys(written)) == [
        ("model", "mono.digits"),
        ("more/round-1/forward/run", "first.reverse"),
        ("more/round-1/forward/run", "mono.reverse"),
        ("more/round-1/reverse/run", "mono.digits"),
    ]
    assert out.count("validation chrF") == 3  # references of two digits are too short for BLEU
    reverse = load_config(Path("more/round-1/reverse/train.toml"))
    assert reverse.corpus.source == (
        Path("train.digits"),
        Path("more/round-1/reverse/back-translated.digits"),
    )
    assert reverse.corpus.valid_source == (Path("valid.digits"),)
    assert reverse.training.steps == 3
    told = json.loads(Path("more/rounds.json").read_text())
    assert [(each["round"], each["model"], each["keep"]) for each in told["done"]] == [
        (1, "forward", 0.9),
        (1, "reverse", 1.0),
        (2, "forward", 1.0),
    ]
    Path("mono.digits").write_text("1 2 3\n")
    assert main(TURNS.replace("--iterations 2", "--iterations 3").split()) == 2
    assert "more: was begun with content of mono.digits = " in capsys.readouterr().err
    Path("mono.digits").write_text("".join(f"{line}\n" for line in LINES))
    assert main([*TURNS.split(), "--training.seed", "2"]) == 2
    assert "more: was begun with training.seed = 1, not 2" in capsys.readouterr().err


def test_what_decides_is_kept_before_the_first_training_learns_anything(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(config: RunConfig) -> object:
        config.run_dir.mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(in_turn, "train", stop)
    turns = f"{BACK} --iterations 1 --keep 1 {TINY}"
    assert main(turns.split()) == 130
    synthetic = Path("more/round-1/forward/back-translated.reverse")
    before = synthetic.stat().st_mtime_ns
    for flags, told in (
        ("--keep 0.5", "this training was begun with --keep 1.0"),
        ("--weight 2", "was begun with weight = None, not 2.0"),
        ("--training.peak-learning-rate 0.1", "was begun with training.peak_learning_rate"),
    ):
        again = turns.replace("--keep 1", flags) if "--keep" in flags else f"{turns} {flags}"
        assert main(again.split()) == 2
        assert told in capsys.readouterr().err
    run(f"{turns} --batch-tokens 500 --dry-run", capsys)  # of the machine, not of what comes out
    assert synthetic.stat().st_mtime_ns == before


def test_a_model_in_turn_that_has_not_learnt_enough_is_trained_on_and_writes_again(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus = back_translation.make_corpus

    def nothing(recipe: Recipe, *asked: Any) -> object:
        if recipe.model == Path("model"):
            return make_corpus(recipe, *asked)
        raise CorpusError(f"mono.reverse: no line is left; has it learnt enough? {WAY_ON}")

    shutil.copy("train.reverse", "mono.reverse")
    with monkeypatch.context() as patch:
        patch.setattr(back_translation, "make_corpus", nothing)
        assert main(TURNS.split()) == 3
    told = re.search(
        r"interlingua (train \S+ --run-dir \S+) --training.steps MORE\), remove .* \(rm -r (\S+)\), and run this",
        capsys.readouterr().err,
    )
    assert told is not None
    assert told[2] == "more/round-1/reverse/translated"
    run(f"{told[1]} --training.steps 5", capsys)

    def stop(job: SyntheticCorpus) -> object:
        assert job.text == Path("mono.reverse")
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic, "write_synthetic", stop)
    assert main(TURNS.split()) == 130
    assert "60 lines in 1 file of more/round-1/reverse/translated" in capsys.readouterr().err


def test_a_training_that_diverged_is_finished_by_hand(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(_: RunConfig) -> object:
        raise TrainingError(
            f"step 3: the loss is nan; the weights were left as they were. {WAY_OUT}"
        )

    turns = f"{BACK} --iterations 1 --keep 1 {TINY}"
    with monkeypatch.context() as patch:
        patch.setattr(in_turn, "train", diverge)
        assert main(turns.split()) == 7
    err = capsys.readouterr().err
    assert "same command again" not in err
    told = re.search(r"interlingua (train \S+ --training\.peak-learning-rate) RATE", err)
    assert told is not None
    run(f"{told[1]} 0.0001", capsys)
    out = run(turns, capsys)[0]
    assert "round 1, forward: validation chrF" in out
    settings = load_config(Path("more/round-1/forward/run/config.toml")).training
    assert settings.peak_learning_rate == 0.0001


def test_a_text_that_nothing_has_read_can_be_another_in_a_longer_chain(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(config: RunConfig) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(in_turn, "train", stop)
    for name in ("mono.reverse", "other.reverse"):
        Path(name).write_text(f"{name[0]} 2 1\n")
    turns = f"{BACK} --keep 1 {TINY} --iterations"
    assert main(f"{turns} 1 --mono-source mono.reverse".split()) == 130
    kept = Path("more/rounds.json")
    told = json.loads(kept.read_text())
    assert not [name for name in told["settings"] if "mono.reverse" in name or "of_source" in name]
    assert "content of train.reverse" in told["settings"]
    longer = f"{turns} 2 --mono-source other.reverse --dry-run"
    run(longer, capsys)
    told["settings"]["text_of_source"] = "mono.reverse"  # as before it was left out
    kept.write_text(json.dumps(told))
    run(longer, capsys)
    told["begun"] = {"round": 1, "model": "reverse", "run": "more/round-1/reverse/run"}
    kept.write_text(json.dumps(told))
    run(longer, capsys)  # which is not there any more
    Path("more/round-1/reverse/run").mkdir(parents=True)
    assert main(longer.split()) == 2
    assert "was begun with --mono-source = mono.reverse" in capsys.readouterr().err
    told["done"] = [{"round": 1, "model": model} for model in ("forward", "reverse")]
    kept.write_text(json.dumps(told))
    assert main(longer.split()) == 2
    assert (
        "more: was begun with --mono-source = mono.reverse, not other.reverse"
        in capsys.readouterr().err
    )


def test_the_cost_of_rounds_is_that_of_the_mixture(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[RunConfig] = []
    pairs: list[int] = []
    plan = in_turn.plan

    def see(config: RunConfig) -> object:
        planned.append(config)
        pairs.append(sum(len(read_lines(path)) for path in config.corpus.source))
        return plan(config)

    monkeypatch.setattr(in_turn, "plan", see)
    sizes = TINY.replace("--training.minutes 1", "")
    err = run(f"{BACK} --iterations 1 --weight 0.5 --keep 0.75 {sizes} --dry-run", capsys)[1]
    assert "1 round, 1 training to go of" in err
    assert pairs == [60 + 30]
    assert planned[0].corpus.weights == (1.0, 1.0)
    assert planned[0].corpus.tags == ("", "<bt>")
    assert not Path("more").exists()
    monkeypatch.setattr(in_turn, "plan", lambda _: SimpleNamespace(seconds=3_600))
    monkeypatch.setattr(iterations, "measure_cost", lambda *_: Cost(80, 0.0, 64, 0.0))
    Path("mono.reverse").write_text("".join(f"{line[::-1]}\n" for line in LINES * 100))
    # Of these 8,000 lines an epoch has three for each genuine pair, by a weight of two digits.
    turns = re.sub(r"--training.(minutes|steps) \S+", "", TURNS)
    told = json.loads(run(f"{turns} --dry-run --json", capsys)[0])
    hours = (60 + 80 + 60 + 0.022 * 8_000 + 60 + 80) / (60 + 80)
    assert told["seconds"] == pytest.approx(3_600 * hours)
    # Where a training is half done, the other half is to go.
    metrics = Path("more/round-1/forward/run/metrics.jsonl")
    metrics.parent.mkdir(parents=True)
    metrics.write_text('{"step": 1, "seconds": 900.0}\n{"step": 2}\n{"step": 3, "sec')
    left = json.loads(run(f"{turns} --dry-run --json", capsys)[0])
    assert left["seconds"] == pytest.approx(told["seconds"] - 900)


def test_few_genuine_pairs_are_not_drowned(capsys: Capture) -> None:
    for name in ("train.digits", "train.reverse"):
        Path(name).write_text("".join(f"{line}\n" for line in read_lines(Path(name))[:10]))
    _, err = run(BACK, capsys)
    config = load_config(Path("more/train.toml"))
    synthetic = len(read_lines(Path("more/back-translated.digits")))
    assert config.corpus.weights[0] == 1.0
    assert config.corpus.weights[1] * synthetic == pytest.approx(30, rel=0.05)
    assert f"--weight {config.corpus.weights[1]:g}: an epoch has three synthetic pairs" in err
    assert json.loads(Path("more/report.json").read_text())["weight"] == config.corpus.weights[1]
    run(f"{BACK} --weight 1", capsys)
    assert load_config(Path("more/train.toml")).corpus.weights == (1.0, 1.0)


def test_a_student_does_not_learn_a_test_set_from_people_either(capsys: Capture) -> None:
    Path("test.digits").write_text("".join(f"{line}\n" for line in LINES[:7]))
    Path("mono.reverse").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    command = f"{DISTILL} --target mono.reverse --held-out test.digits"
    said = run(command, capsys)[1]
    assert "the 73 pairs of mono.digits that are not held out" in said
    student = load_config(Path("small/student.toml")).corpus
    assert student.source == (Path("small/distilled.digits"), Path("small/genuine.digits"))
    assert student.target == (Path("small/distilled.reverse"), Path("small/genuine.reverse"))
    assert read_lines(Path("small/genuine.digits")) == LINES[7:]
    assert read_lines(Path("small/genuine.reverse")) == [line[::-1] for line in LINES[7:]]
    run(command, capsys)
    run(f"{command} --no-references", capsys)
    assert load_config(Path("small/student.toml")).corpus.source == student.source[:1]


def test_a_text_from_windows_is_translated_as_the_corpus_will_have_it(capsys: Capture) -> None:
    run(BACK, capsys)
    found = Path("more/translated/mono.digits").read_text()
    Path("mono.digits").write_text("".join(f"{line}  \r\n" for line in LINES))
    err = run(BACK.replace("more", "windows"), capsys)[1]
    assert Path("windows/translated/mono.digits").read_text() == found
    assert "end in CR" not in err


@pytest.mark.parametrize(
    "command", [BACK, f"{DISTILL} --valid-source valid.digits --valid-target valid.reverse"]
)
def test_a_test_set_is_not_learnt(command: str, capsys: Capture) -> None:
    test = Path("test.digits")
    test.write_text("".join(f"{line}\n" for line in LINES[:7]))
    run(f"{command} --keep 1 --held-out test.digits", capsys)
    place = Path("more" if "more" in command else "small")
    (learnt,) = place.glob("*.digits")
    assert not set(read_lines(learnt)) & set(LINES[:7])
    assert json.loads((place / "report.json").read_text())["dropped"]["held out"] == 7
    assert main(f"{command} --held-out none.digits".split()) == 3
    assert "none.digits" in capsys.readouterr().err
    for content, told in ((b"1 2\n\xff\n", "line 2"), (gzip.compress(b"1 2\n")[:-9], "cut off")):
        Path("damaged.digits").write_bytes(content)
        output = "--output fresh --held-out damaged.digits"
        assert main(re.sub(r"--output \S+", output, command).split()) == 3
        err = capsys.readouterr().err
        assert "damaged.digits" in err
        assert told in err
        assert "lines to translate" not in err
        assert not Path("fresh").exists()


@pytest.mark.parametrize("validated", [True, False])
def test_rounds_are_compared_by_one_text_or_not_at_all(validated: bool) -> None:
    valid = (Path("v.a"), Path("v.b")) if validated else (None, None)
    side = in_turn.Side(Path("mono.b"), Path("t.a"), Path("t.b"), *valid)
    rounds = in_turn.Rounds(2, Path("more"), Path("model"), side, None)
    done = [
        {"round": n, "model": "forward", "run": f"run-{n}", "validation": {"bleu": 30.0 - n}}
        for n in (1, 2)
    ]
    told = in_turn.describe_rounds(rounds, done)
    assert ("cannot be compared" in told) != validated
    assert f'next: interlingua translate run-{1 if validated else 2} "..."' in told


def judged(*validations: dict[str, object] | None) -> str:
    """Return what is told of forward models that one text validated so."""
    side = in_turn.Side(Path("mono.b"), Path("t.a"), Path("t.b"), Path("v.a"), Path("v.b"))
    rounds = in_turn.Rounds(len(validations), Path("more"), Path("model"), side, None)
    done = [
        {"round": n, "model": "forward", "run": f"run-{n}", "validation": each}
        for n, each in enumerate(validations, 1)
    ]
    return in_turn.describe_rounds(rounds, done)


def test_rounds_of_references_that_are_too_short_for_bleu_are_compared_by_chrf() -> None:
    told = judged(
        *({"bleu": 0.0, "chrf": chrf, "too_short_for_bleu": True} for chrf in (50.0, 62.5, 61.0))
    )
    assert "round 2, forward: validation chrF 62.50, run-2" in told
    assert "BLEU" not in told
    assert 'next: interlingua translate run-2 "..."' in told


def test_of_equal_rounds_the_latest_is_taken() -> None:
    assert 'next: interlingua translate run-2 "..."' in judged({"bleu": 3.0}, {"bleu": 3.0})


def test_a_round_whose_figures_are_unknown_is_not_taken_for_a_useless_one() -> None:
    told = judged(None, {"bleu": 0.0}, None)
    assert "round 1, forward: validation unknown, run-1" in told
    assert 'next: interlingua translate run-2 "..."' in told
    assert 'next: interlingua translate run-2 "..."' in judged(None, None)


def test_a_teacher_writes_for_a_student(capsys: Capture) -> None:
    # The reference is the teacher's second best.
    found = run("translate model --input mono.digits --beam-size 5 --n-best 2", capsys)[0]
    second = [line.split(" ||| ")[1] for line in found.splitlines()[1::2]]
    Path("mono.reverse").write_text("".join(f"{line}\n" for line in second))
    out, _ = run(f"{DISTILL} --target mono.reverse --n-best 4 --json --keep 1", capsys)
    told = json.loads(out)
    assert told["not_first"] == 80
    assert set(read_lines(Path("small/distilled.reverse"))) <= set(second)
    assert told["models"] == ["model"]
    student = load_config(Path("small/student.toml"))
    assert (student.model.encoder_layers, student.model.decoder_layers) == (6, 2)
    assert (student.model.d_model, student.model.d_ff, student.model.heads) == (8, 32, 1)
    assert student.decoding.beam_size == 1
    assert student.corpus.source == (Path("small/distilled.digits"), Path("mono.digits"))
    assert student.corpus.target == (Path("small/distilled.reverse"), Path("mono.reverse"))
    flags = "--training.threads 1 --training.steps 2 --valid-source valid.digits --valid-target valid.reverse"
    run(f"train small/student.toml {flags} --training.validate-sentences 2", capsys)
    assert Path("small/run/model/config.json").is_file()
    again = f"{DISTILL} --target mono.reverse --n-best 4"
    assert main(again.split()) == 2
    assert (
        "small/run: learns from pairs that were made with keep = 1.0, not 0.95"
        in capsys.readouterr().err
    )
    assert "80 of 80 lines" in run(f"{again} --keep 1", capsys)[1]
    assert main(f"{again} --keep 1 --no-references".split()) == 2
    assert "made with references = True, not False" in capsys.readouterr().err
    shutil.copy("mono.reverse", "other.reverse")
    other = again.replace("--target mono.reverse", "--target other.reverse")
    assert main(f"{other} --keep 1".split()) == 2
    told = "made with reference = mono.reverse, not other.reverse"
    assert told in capsys.readouterr().err
    alone = f"{again} --no-references --output alone".replace("--output small", "")
    run(alone, capsys)
    assert load_config(Path("alone/student.toml")).corpus.source == (
        Path("alone/distilled.digits"),
    )


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--keep 0.5", "keep = 0.95, not 0.5"),
        ("--min-score=-9", "min_score = None, not -9.0"),
        ("--held-out test.digits", "held_out = valid.digits, not valid.digits, test.digits"),
        ("--method noised-beam", "method = beam, not noised-beam"),
    ],
)
def test_pairs_are_not_made_anew_under_a_training_that_reads_them(
    flags: str, told: str, capsys: Capture
) -> None:
    Path("test.digits").write_text(f"{LINES[0]}\n")
    run(BACK, capsys)
    Path("more/run/checkpoints/step-3").mkdir(parents=True)
    before = {path: path.stat().st_mtime_ns for path in Path("more").iterdir()}
    assert main([*BACK.split(), *flags.split()]) == 2
    assert f"more/run: learns from pairs that were made with {told}" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in Path("more").iterdir()}
    run(BACK, capsys)


@pytest.mark.parametrize(
    ("command", "config", "other"),
    [
        (BACK, "more/train.toml", "--weight 2"),
        (DISTILL, "small/student.toml", "--student 12-1"),
    ],
)
def test_a_configuration_that_somebody_changed_stays(
    command: str, config: str, other: str, capsys: Capture
) -> None:
    path = Path(config)
    run(command, capsys)
    assert "stays" not in run(f"{command} {other}", capsys)[1]
    path.write_text(f"{path.read_text()}# mine\n")
    for _ in range(2):
        err = run(command, capsys)[1]
        assert f"{config}: is not as this command wrote it, and stays" in err
        assert path.read_text().endswith("# mine\n")
    path.unlink()
    assert "stays" not in run(command, capsys)[1]
    assert path.is_file()


def test_a_beam_is_wide_enough_for_its_candidates(capsys: Capture) -> None:
    Path("mono.reverse").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    out = run(f"{DISTILL} --target mono.reverse --beam-size 3 --json", capsys)[0]
    assert json.loads(out)["options"] == {"beam_size": 3, "n_best": 3}


SEVERAL = ("de-en", "fr-en", "en-de")


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of several pairs of languages, which has the truth written for it, and text in some languages."""
    tags = ("<2en>", "<2de>")
    tokenizer = train_tokenizer(LINES, kind="char", vocabulary_size=300, tags=tags)
    both = TokenizerPair(tokenizer, tokenizer, shared=True)
    sizes = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=16, heads=2)
    model = build(sizes, both)
    decoding = DecodingConfig(beam_size=1)
    directions = tuple(map(Direction.read, SEVERAL))
    loaded = LoadedModel(model, both, "de", "en", decoding, 16, directions=directions)
    save_model_folder(Path("several"), loaded, parameters_of(model), "a card\n")
    for name in ("mono.fr", "mono.it", "mono.txt", "train.en", "train.fr"):
        Path(name).write_text("".join(f"{line}\n" for line in LINES))

    def write_the_truth(_: Worker, part: Part) -> object:
        lines = [json.dumps([[line[::-1], -0.1, []]]) for line in part.read()]
        return "".join(f"{line}\n" for line in lines), {}

    monkeypatch.setattr(Worker, "translate", write_the_truth)
    return Path("several")


@pytest.mark.parametrize("to", ["en", "fr-en"])
def test_a_model_of_several_pairs_files_text_under_the_language_of_its_name(
    several: Path, to: str, capsys: Capture
) -> None:
    flags = f"--to {to} --threads 1 --keep 1"
    genuine = "--source train.en --target train.fr"
    run(f"back-translate {several} --mono mono.fr {genuine} --output more {flags}", capsys)
    corpus = load_config(Path("more/train.toml")).corpus
    assert (corpus.source_lang, corpus.target_lang) == ("en", "fr")
    assert read_lines(Path("more/back-translated.fr")) == LINES
    run(f"distill {several} --source mono.fr --output small {flags}", capsys)
    assert read_lines(Path("small/distilled.fr")) == LINES
    rounds = f"{genuine} --output rounds --iterations 1 {TINY} {flags} --dry-run"
    assert "1 training to go" in run(f"back-translate {several} --mono mono.fr {rounds}", capsys)[1]


@pytest.mark.parametrize(
    ("name", "to", "told"),
    [
        (
            "mono.fr",
            "de",
            "its name tells fr, and several was trained on de-en, fr-en, en-de; --to fr-de asks for fr-de all the same (zero-shot), or if the "
            "text is in another language, say both languages: --to en-de",
        ),
        (
            "mono.eng",
            "en",
            "its name tells en, the language to translate into; give another text, or say both languages: --to de-en or fr-en",
        ),
    ],
)
def test_a_name_that_tells_another_pair_than_the_model_knows_is_taken_at_its_word(
    several: Path, name: str, to: str, told: str, capsys: Capture
) -> None:
    shutil.copy("mono.txt", name)
    command = f"distill {several} --source {name} --output o --threads 1 --keep 1 --to"
    assert main(f"{command} {to}".split()) == 2
    assert f"{name}: {told}\n" in capsys.readouterr().err
    run(f"{command} fr-de", capsys)
    assert Path("o/distilled.de").is_file()


def test_a_name_may_tell_a_language_by_three_letters(several: Path, capsys: Capture) -> None:
    shutil.copy("mono.txt", "mono.fra")
    run(f"distill {several} --source mono.fra --output o --threads 1 --keep 1 --to en", capsys)
    assert Path("o/distilled.fr").is_file()


@pytest.mark.parametrize("name", ["mono.it", "mono.txt"])
def test_a_model_of_several_pairs_asks_where_a_name_tells_none_of_them(
    several: Path, name: str, capsys: Capture
) -> None:
    genuine = "--source train.en --target train.fr --iterations 1"
    for command in (
        f"distill {several} --source {name}",
        f"back-translate {several} --mono {name}",
        f"back-translate {several} --mono {name} {genuine} {TINY}",
    ):
        assert main(f"{command} --to en --output o --dry-run --threads 1".split()) == 2
        assert (
            f"{name}: its name does not tell which language several is to read; say both languages: --to de-en or fr-en"
            in capsys.readouterr().err
        )
    run(f"distill {several} --source {name} --to fr-en --output o --threads 1 --keep 1", capsys)
    assert Path("o/distilled.fr").is_file()


@pytest.mark.parametrize(
    ("languages", "text", "other", "advice"),
    [
        (("en", "de"), "mono.deu", "train.eng", "of the other direction"),
        (("en", "de"), "mono.deu", None, "of the other direction"),
        (("eng_Latn", "deu_Latn"), "mono.txt", "train.en", "of the other direction"),
        (("de", "en"), "mono.deu", "train.eng", None),
        (("en", "de"), "mono.txt", "train.src", None),
        (("zh-Hans", "zh-Hant"), "mono.zh-Hans", "train.zh-Hant", None),
        (("zh-Hans", "zh-Hant"), "mono.zh-Hant", None, "of the other direction"),
        (("source", "target"), "mono.fr", "train.ro", None),
        (("no", "en"), "mono.nb", "train.eng", None),
    ],
)
def test_a_model_of_other_languages_or_the_other_direction_is_refused(
    languages: tuple[str, str], text: str, other: str | None, advice: str | None
) -> None:
    asked = (Path("model"), *languages, Path(text), Path(other) if other else None)
    if advice is None:
        check_languages(*asked)
        return
    into = f" into {Path(other).suffix[1:]}" if other else ""
    told = (
        f"{' into '.join(languages)}, but {text} is to be translated{into}; give a model {advice}"
    )
    with pytest.raises(ConfigError, match=re.escape(told)):
        check_languages(*asked)


def test_a_model_of_one_language_writes_a_corpus_of_it(capsys: Capture) -> None:
    name_languages("digits", "digits")
    run(f"{DISTILL} --keep 1", capsys)
    back = "back-translate model --mono mono.digits --output more --threads 1 --keep 1"
    run(f"{back} --source train.digits --target train.reverse", capsys)
    for stem in ("small/distilled", "more/back-translated"):
        source, target = (
            read_lines(Path(f"{stem}.{side}.digits")) for side in ("source", "target")
        )
        assert len(source) == len(target) > 60
        assert sum(one == other[::-1] for one, other in zip(source, target, strict=True)) > 60
    corpus = load_config(Path("small/student.toml")).corpus
    assert (corpus.source_lang, corpus.target_lang) == ("digits", "digits")
    flags = "--training.threads 1 --training.steps 2 --valid-source valid.digits --valid-target valid.reverse"
    run(f"train small/student.toml {flags} --training.validate-sentences 2", capsys)


@pytest.mark.parametrize(
    ("text", "other", "genuine", "wrong"),
    [
        ("mono.fr", "train.de", None, "mono.fr: is in fr, by its name, and model translates en"),
        ("mono.fr", "train.ro", "train.en", "mono.fr: is in fr"),
        ("mono.txt", "train.ron", None, "train.ron: is in ron"),
        ("mono.en", "train.de", "train.fr", "train.fr: is in fr"),
    ],
)
def test_text_of_another_language_is_refused(
    text: str, other: str, genuine: str | None, wrong: str
) -> None:
    files = (Path(text), Path(other), Path(genuine) if genuine else None)
    with pytest.raises(ConfigError, match=re.escape(wrong)):
        check_languages(Path("model"), "en", "de", *files)


def test_several_teachers_write_together(capsys: Capture) -> None:
    shutil.copytree("model", "second")
    flags = "--source mono.digits --output both --threads 1 --student 12-1 --width 64"
    run(f"distill model second {flags}", capsys)
    student = load_config(Path("both/student.toml")).model
    assert (student.encoder_layers, student.decoder_layers, student.heads) == (12, 1, 2)
    assert json.loads(Path("both/report.json").read_text())["models"] == ["model", "second"]


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("back-translate model --mono none.digits --output o", 3, "none.digits: no such file"),
        ("back-translate none --mono mono.digits --output o", 5, "none: does not exist"),
        ("back-translate model --mono mono.reverse --output o", 2, "of the other direction"),
        ("back-translate model --mono empty.digits --output o", 3, "empty.digits: holds no text"),
        ("back-translate model --mono blank.digits --output o", 3, "blank.digits: holds no text"),
        ("back-translate model --mono mono.digits --output .", 6, "holds mono.digits"),
        ("back-translate model --mono mono.digits --output full", 6, "full: holds other.txt"),
        ("back-translate model --mono mono.digits --output mono.reverse", 6, "is a file"),
        ("back-translate model --mono mono.digits --output o --keep 0", 2, "--keep must be above"),
        ("back-translate model --mono mono.digits --output o --min-score 1", 2, "--min-score is a"),
        ("back-translate model --mono mono.digits --output o --part-lines 0", 2, "--part-lines"),
        (
            "back-translate model --mono mono.digits --output o --top-k 5",
            2,
            "--top-k is of samples",
        ),
        ("back-translate model --mono mono.digits --output o --tag bt", 2, "--tag"),
        ("back-translate model --mono mono.digits --output o --weight 0", 2, "--weight"),
        ("back-translate model --mono mono.digits --output o --source mono.digits", 2, "give both"),
        (
            "back-translate model --mono mono.digits --output o --weight 3",
            2,
            "--weight is for the configuration that trains on both corpora; give --source",
        ),
        (
            "back-translate model --mono mono.digits --output o --config o.toml --training.steps 5",
            2,
            "--config, --training.steps are for the configuration",
        ),
        (
            "back-translate model --mono mono.digits --output o --source train.reverse --target train.digits --corpus.valid-size 9",
            2,
            "--corpus.valid_size: what is trained on",
        ),
        (
            "back-translate model --mono mono.digits --output o --source train.digits --target train.reverse",
            2,
            "of the other direction",
        ),
        ("back-translate model --mono mono.digits --output o --iterations 2", 2, "give --source"),
        (
            "back-translate model --mono mono.digits --output o --mono-source mono.digits",
            2,
            "goes with --iterations",
        ),
        (
            "back-translate model --mono mono.digits --output o --iterations 2 --source train.reverse --target train.digits",
            2,
            "give --mono-source",
        ),
        (
            "back-translate model --mono mono.digits --output full --iterations 1 --source train.reverse --target train.digits",
            6,
            "full: holds other.txt",
        ),
        (
            "back-translate model --mono empty.digits --output o --iterations 1 --source train.reverse --target train.digits",
            3,
            "empty.digits: holds no text",
        ),
        ("distill --source mono.digits --output o", 2, "no teacher is given"),
        ("distill model ./model --source mono.digits --output o", 2, "one teacher only"),
        ("back-translate model --mono mono.digits --output o a.txt", 2, "has it already"),
        ("distill model --source none.digits --output o", 3, "none.digits: no such file"),
        ("distill model --source mono.digits --target none --output o", 3, "none: no such file"),
        ("distill model --source mono.reverse --output o", 2, "of the other direction"),
        ("distill model --source mono.digits --target mono.digits --output o", 2, "other direct"),
        ("distill model --source mono.digits --output o --n-best 3", 2, "--n-best needs --target"),
        (
            "distill model --source mono.digits --output o --n-best 0",
            2,
            "--n-best must be at least",
        ),
        (
            "distill model --source mono.digits --target mono.long --output o --n-best 4 --beam-size 3",
            2,
            "--n-best 4 needs as many hypotheses, and --beam-size keeps 3",
        ),
        (
            "back-translate model --mono mono.digits --output o --source short.reverse --target train.digits",
            3,
            "train.digits has 60 lines but short.reverse has 2",
        ),
        (
            "back-translate model --mono mono.digits --output o --valid-source short.reverse --valid-target valid.digits",
            3,
            "valid.digits has 60 lines but short.reverse has 2",
        ),
        (
            "distill model --source mono.digits --output o --valid-source valid.digits --valid-target short.reverse",
            3,
            "has 2; line 3",
        ),
        ("distill model --source mono.digits --output o --width 7", 2, "--width must be even"),
        ("distill model --source mono.digits --output full", 6, "full: holds other.txt"),
        (
            "distill model --source mono.digits --target short.reverse --output o",
            3,
            "has 2; line 3",
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    capsys: Capture, command: str, status: int, message: str
) -> None:
    Path("mono.reverse").write_text("1 2\n")
    Path("short.reverse").write_text("1 2\n2 1\n")
    Path("mono.long").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    Path("empty.digits").write_text("")
    Path("blank.digits").write_text("\n \n")
    Path("o.toml").write_text("")
    Path("full").mkdir()
    Path("full/other.txt").write_text("precious")
    assert main([*command.split(), "--threads", "1"]) == status
    told = capsys.readouterr()
    error = [line for line in told.err.splitlines() if line.startswith("error")]
    assert message in error[0]
    assert "lines to translate" not in told.err or "blank" in command
    assert told.out == ""
    assert Path("full/other.txt").read_text() == "precious"
    assert Path("mono.digits").read_text().count("\n") == 80


# Who, what and whom have words of their own, so that a small model learns their order in seconds.
PARTS = (
    {
        "Ana": "Ann",
        "omul": "the man",
        "vecinul": "the neighbour",
        "copilul": "the child",
        "un câine": "a dog",
    },
    {"vede": "sees", "cheamă": "calls", "caută": "looks for", "găsește": "finds", "știe": "knows"},
    {
        "o pisică": "a cat",
        "un prieten": "a friend",
        "casa": "the house",
        "un drum": "a way",
        "muntele": "the mountain",
    },
)
SMALL = (
    "--model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 64 --model.d-ff 64 --model.heads 2 --model.dropout 0 "
    "--model.norm pre --tokenization.kind word --training.schedule linear --training.threads 1 --training.steps 500 "
    "--training.warmup-steps 20 --training.validate-every 100 --training.validate-sentences 10 --batching.batch-tokens 400"
)


@pytest.mark.slow
def test_the_configuration_that_is_written_trains_a_model_that_translates_the_rest(
    capsys: Capture,
) -> None:
    words = list(itertools.product(*(part.items() for part in PARTS)))
    sources, targets = (
        [" ".join(pair[side] for pair in line) for line in words] for side in (0, 1)
    )
    # Every third sentence has no translation.
    for lang, lines in (("ro", sources), ("en", targets)):
        known = [line for n, line in enumerate(lines) if n % 3]
        Path(f"few.{lang}").write_text("".join(f"{line}\n" for line in known))
        Path(f"rest.{lang}").write_text("".join(f"{line}\n" for line in lines[::3]))
    run(
        "train --source few.en --target few.ro --valid-source few.en --valid-target few.ro "
        f"--run-dir reverse {SMALL}",
        capsys,
    )
    run(
        "back-translate reverse --mono rest.en --source few.ro --target few.en --keep 1 "
        "--valid-source few.ro --valid-target few.en --output more --threads 1",
        capsys,
    )
    written = Path("more/back-translated.ro").read_text().splitlines()
    right = sum(a == b for a, b in zip(written, sources[::3], strict=True))
    assert right >= 0.9 * len(sources[::3])
    run(f"train more/train.toml {SMALL}", capsys)
    out, _ = run("translate more/run --input rest.ro --threads 1", capsys)
    right = sum(a == b for a, b in zip(out.splitlines(), targets[::3], strict=True))
    assert right >= 0.9 * len(targets[::3])
