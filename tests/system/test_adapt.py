"""Corrections learnt for good: what is refused at once, what is kept, and what is not kept because something was lost."""

import contextlib
import gzip
import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlingua.cli import main
from interlingua.config import RunConfig
from interlingua.config_files import load_config, save_config
from interlingua.corpus.corrections import Correction
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.lines import read_lines
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError
from interlingua.training import lasting
from interlingua.training.comparison import Difference
from interlingua.training.corpus_of_run import lock_corpus
from interlingua.training.lasting import _draw, _passes, _weights, _write_corrections
from interlingua.training.old_text import OldText, find_old_text
from interlingua.training.run_folder import RunFolder

Capture = pytest.CaptureFixture[str]
NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
SIZES = (
    "--model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 32 --model.d-ff 64 --model.heads 2 "
    "--model.dropout 0 --tokenization.kind word --training.threads 1 --training.device cpu --training.dtype float32 "
    "--batching.batch-tokens 256 --training.validate-every 200 --training.steps 600 --training.warmup-steps 50 "
    "--training.peak-learning-rate 0.01 --training.validate-sentences 4"
)


def write(name: str, pairs: list[tuple[str, str]]) -> None:
    for side, index in (("ro", 0), ("en", 1)):
        Path(f"{name}.{side}").write_text("".join(f"{pair[index]}\n" for pair in pairs))


def pairs_of(length: int) -> list[tuple[str, str]]:
    words = itertools.product(NUMBERS, repeat=length)
    return [(" ".join(each), " ".join(NUMBERS[word] for word in each)) for each in words]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that translates numbers, and what it learnt from."""
    place = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        every = pairs_of(3) + pairs_of(2)
        write("train", [pair for n, pair in enumerate(every) if n % 4])
        write("valid", every[::4])
        command = "train --source train.ro --target train.en --valid-source valid.ro --valid-target valid.en"
        assert main([*command.split(), "--run-dir", "base", *SIZES.split()]) == 0
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def correct(pairs: list[tuple[str, str]]) -> None:
    Path("c.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
    assert main(["correct", "base", "--pairs", "c.tsv"]) == 0


@pytest.mark.slow
def test_what_cannot_be_adapted_is_refused_at_once(place: Path, capsys: Capture) -> None:
    def refused(status: int, words: str, *flags: str) -> None:
        capsys.readouterr()
        assert main(["adapt", *flags]) == status
        told = capsys.readouterr().err
        assert told.startswith("error: ")
        assert words in told

    refused(3, "does not exist", "base")
    refused(5, "does not exist", "nothing")
    correct([("unu doi", "one two two")])
    refused(2, "--source names 1 and --target 0 files", "base", "--source", "train.ro")
    shutil.copytree("base/model", "alone")
    refused(2, "is not a run", "alone", "--corrections", "base/corrections")
    # What is no adapter is never replaced by one: a run and all that is in it would be lost.
    for output in ("base", ".", "train.ro"):
        refused(6, f"error: {output}: ", "base", "--output", output)
    Path("valid.en").unlink()
    refused(2, "valid.en: the run learnt from it, and it is not there; run this where", "base")
    assert main(["correct", "base", "--remove", "unu doi"]) == 0
    refused(3, "holds no correction of ro-en", "base")
    assert not Path("base/corrections/adapter").exists()


def test_the_text_of_a_run_is_found_whatever_it_was_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    every = pairs_of(2) + pairs_of(1)
    for side, index in (("ro", 0), ("en", 1)):
        with gzip.open(f"packed.{side}.gz", "wt") as file:
            file.writelines(f"{pair[index]}\n" for pair in every)
    write("synthetic", pairs_of(2))
    command = (
        "train --source packed.ro.gz --source synthetic.ro --target packed.en.gz --target synthetic.en "
        "--corpus.tags ,<bt> --corpus.weights 1,0.5 --corpus.valid-size 6 --run-dir base --training.steps 2"
    )
    sizes = [flag for flag in SIZES.split("--") if flag and not flag.startswith("training.steps")]
    assert main([*command.split(), *" ".join(f"--{flag}" for flag in sizes).split()]) == 0
    Path("told").mkdir()
    old = find_old_text(Path("base"), OldText(), Path("told"))
    held = [tuple(read_lines(path)) for path in (*old.held_sources, *old.held_targets)]
    texts = [read_lines(path) for path in (*old.sources, *old.targets)]
    assert len(old.sources) == 2
    assert 0 < sum(map(len, held)) < 30
    assert len(texts[0]) < len(every)
    assert not set(texts[0]) & set(held[0])
    assert all(
        (source, target) in every
        for source, target in zip(texts[0] + texts[1], texts[2] + texts[3], strict=True)
    )
    assert old.tags == ("", "<bt>")
    weights = _weights(10, (1_000, 2_000), (1.0, 0.5))
    assert weights == (10.0, 0.5, 0.25)  # a thousand old pairs, and one of eleven is a correction
    given = OldText((Path("synthetic.ro"),), (Path("synthetic.en"),), (), ())
    assert find_old_text(Path("base"), given, Path("told")).held_sources == old.held_sources
    correct([("unu doi", "one two two")])
    written: list[list[str]] = []

    def stop_before_training(config: RunConfig) -> None:
        folder = config.corpus.source[0].parent
        written.append(sorted(each.name for each in folder.iterdir()))
        raise KeyboardInterrupt

    monkeypatch.setattr(lasting, "train", stop_before_training)
    for _ in range(2):  # what was written for it is gone, and made again
        assert main(["adapt", "base"]) == 130
        assert not list(Path("base/corrections").glob("adaptation*"))
    assert written[0] == written[1]
    assert {"old.1.s.ro", "held-out.1.t.en", "corrections.1.s.ro"} <= set(written[0])
    shutil.copy("packed.ro.gz", "packed.en.gz")
    with pytest.raises(CorpusError, match=r"packed\.en\.gz: is not the text that base was trained"):
        find_old_text(Path("base"), OldText(), Path("told"))


@pytest.mark.parametrize("changed", ["train.en", "valid.ro"])
def test_another_text_by_the_name_of_what_a_run_learnt_from_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write("train", pairs_of(2))
    write("valid", pairs_of(1))
    files = [Path(f"{part}.{side}") for part in ("train", "valid") for side in ("ro", "en")]
    keys = ("source", "target", "valid_source", "valid_target")
    named = {f"corpus.{key}": str(file) for key, file in zip(keys, files, strict=True)}
    named["corpus.noise"] = "0.3"
    run, nothing = RunFolder(Path("run")), OldText()
    run.path.mkdir()
    save_config(load_config(None, named), run.config)
    lock_corpus(run, files, fingerprint(files))
    assert find_old_text(run.path, nothing, tmp_path).sources == (Path("train.ro"),)
    run.model.mkdir()
    with contextlib.chdir(run.model):  # which is a run's from inside, too
        given = OldText((Path("x"),), (Path("y"),), (Path("x"),), (Path("y"),))
        assert find_old_text(Path(), given, tmp_path).noise == 0.3
    Path(changed).write_text(Path(changed).read_text() + "\n")
    with pytest.raises(CorpusError, match=f"{changed}: is not the text that run was trained on"):
        find_old_text(run.path, nothing, tmp_path)
    # Nobody asks for text that is replaced by other.
    sides = (Path("x.ro"),), (Path("x.en"),)
    given = OldText((), (), *sides) if "valid" in changed else OldText(*sides, (), ())
    find_old_text(run.path, given, tmp_path)
    Path(changed).unlink()
    with pytest.raises(
        ConfigError, match=f"{changed}: the run learnt from it, and it is not there"
    ):
        find_old_text(run.path, nothing, tmp_path)


def test_corrections_of_a_pair_of_languages_that_nothing_tests_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_before_training(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lasting, "_settings", stop_before_training)
    loaded: Any = SimpleNamespace(directions=(Direction("ro", "en"), Direction("en", "ro")))
    write(str(tmp_path / "b"), pairs_of(1)[1:])
    held = (tmp_path / "b.ro",), (tmp_path / "b.en",)
    given = OldText((Path("a.ro"),), (Path("a.en"),), *held)
    said: list[str] = []

    def adapt(source_lang: str, target_lang: str) -> None:
        corrections = [Correction("unu", "one", source_lang, target_lang)]
        lasting.adapt(
            Path("nothing"),
            loaded,
            corrections,
            given,
            tmp_path / "adapter",
            place=tmp_path,
            device="cpu",
            threads=1,
            say=said.append,
        )

    with pytest.raises(ConfigError, match="there are corrections of en-ro, and no such text is"):
        adapt("en", "ro")
    assert not said
    with pytest.raises(KeyboardInterrupt):
        adapt("ro", "en")
    [told] = said
    assert told.startswith("no text of en-ro is held out, ")


def test_sentences_that_were_corrected_do_not_decide_that_nothing_is_lost(tmp_path: Path) -> None:
    held = pairs_of(2)
    write(str(tmp_path / "valid"), held)
    write(str(tmp_path / "more"), [("șase", "six")])
    names = [tmp_path / "valid", tmp_path / "more"]
    old = OldText(
        held_sources=tuple(each.with_suffix(".ro") for each in names),
        held_targets=tuple(each.with_suffix(".en") for each in names),
    )
    said: list[str] = []

    def left(*sources: str) -> OldText:
        corrections = [Correction(source, "x", "ro", "en") for source in sources]
        return lasting._without_corrected(old, corrections, tmp_path / "text", said.append)

    assert left("unu trei doi") == old
    assert not said
    found = left("Unu, doi!", "trei trei")
    assert [path.suffix for path in found.held_sources] == [".ro", ".ro"]
    kept = [each for each in held if each[0] not in ("unu doi", "trei trei")]
    sides = [read_lines(path) for path in (found.held_sources[0], found.held_targets[0])]
    assert list(zip(*sides, strict=True)) == kept
    assert found.held_sources[1] == old.held_sources[1]
    assert said == [
        "2 of 26 sentences that are held out were corrected themselves and would hide what others lose; they do not decide"
    ]
    assert left("ȘASE").held_sources == old.held_sources[:1]
    with pytest.raises(ConfigError, match="all 26 sentences that are held out were corrected"):
        left("șase", *(source for source, _ in held))


def test_of_a_large_text_a_part_is_replayed_as_often_as_the_whole_would_be(tmp_path: Path) -> None:
    sides = tmp_path / "old.ro", tmp_path / "old.en"
    for side in sides:
        side.write_text("".join(f"{n}\n" for n in range(1_000)))
    drawn = _draw(sides, 1_000, 0.005, tmp_path / "drawn.1")  # five in an epoch
    lines = [read_lines(file) for file in (drawn.source, drawn.target)]
    assert lines[0] == lines[1] == [str(n) for n in range(9, 1_000, 10)]
    assert drawn.weight * len(lines[0]) == pytest.approx(5.0)
    whole = _draw(sides, 1_000, 0.5, tmp_path / "drawn.2")
    assert (whole.source, whole.target, whole.weight) == (*sides, 0.5)


def test_of_few_corrections_an_adapter_sees_enough() -> None:
    assert _passes(100 + 1_000) == {"training.epochs": "40"}
    assert _passes(200 + 2_000) == {"training.epochs": "20"}
    assert _passes(500 + 5_000) == {}  # ten passes, as always


@pytest.mark.slow
def test_corrections_within_one_language_keep_their_sources(tmp_path: Path) -> None:
    corrections = [Correction("a cat sleep", "a cat sleeps", "en", "en")]
    ((source, target),) = _write_corrections(corrections, tmp_path).values()
    assert (read_lines(source), read_lines(target)) == (["a cat sleep"], ["a cat sleeps"])


def test_corrections_are_learnt_and_nothing_is_lost(place: Path, capsys: Capture) -> None:
    right = [(f"{one} {one} {one} {one}", f"{other} one one") for one, other in NUMBERS.items()]
    correct(right)
    capsys.readouterr()
    assert main(["adapt", "base", "--threads", "1", "--device", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["refused"] is None
    by_text = {(e["text"], e["metric"]): e for e in told["differences"]}
    learnt = by_text["corrections", "chrF2"]
    assert learnt["after"] > learnt["before"]
    assert all(e["verdict"] != "worse" for e in told["differences"] if e["text"] != "corrections")
    assert main(["translate", "base", right[0][0], "--adapter", told["adapter"]]) == 0
    assert capsys.readouterr().out == f"{right[0][1]}\n"


@pytest.mark.slow
def test_an_adapter_that_loses_something_is_not_kept(place: Path, capsys: Capture) -> None:
    correct([(source, "five five") for source, _ in pairs_of(2)])
    write("wrong", [(source, "five five five") for source, _ in pairs_of(3)])
    words = ("--source", "wrong.ro", "--target", "wrong.en", "--threads", "1", "--device", "cpu")
    capsys.readouterr()
    assert main(["adapt", "base", *words]) == 7
    told = capsys.readouterr()
    assert "held-out text, 32 sentences: BLEU" in told.out
    last = told.err.splitlines()[-1]
    assert last.startswith("error: base/corrections/adapter: the adapter is not kept, and nothing")
    assert "of the text that was held out went from 100.00" in last
    assert not Path("base/corrections/adapter").exists()


@pytest.mark.parametrize(
    ("p_values", "gains", "share"),
    [
        ([0.9], [3], 1.0),
        ([0.01, 0.1, 0.3], [3, 2, 1], 0.5),  # none that seems to forget, though not surely
        ([0.01, 0.1, 0.3], [3, 2, 0], 0.75),  # but it has to have learnt something
        ([0.01, 0.01, 0.01, 0.01], [3, 2, 1, 1], 0.25),  # and is refused then
    ],
)
def test_so_much_of_an_adapter_is_kept_as_forgets_nothing(
    monkeypatch: pytest.MonkeyPatch, p_values: list[float], gains: list[int], share: float
) -> None:
    every = [
        (
            Difference("validation", 200, "BLEU", 10.0, 10.0 + gain, 0.001, ""),
            Difference("kept", 1_000, "BLEU", 30.0, 29.0, p_value, ""),
        )
        for p_value, gain in zip(p_values, gains, strict=True)
    ]
    shares: list[float] = []

    def compare_share(work: object, share: float) -> tuple[Difference, ...]:
        shares.append(share)
        return every[len(shares)]

    monkeypatch.setattr(lasting, "_compare_share", compare_share)
    work = SimpleNamespace(say=lambda _: None)
    assert lasting._choose_share(work, every[0]) == (share, every[[1.0, *shares].index(share)])
    assert shares == [0.75, 0.5, 0.25][: len(every) - 1]


@pytest.mark.parametrize(
    ("sentences", "gains", "p_value", "told"),
    [
        (60, (0.0, 0.0), 1.0, "it learnt nothing of the corrections"),
        (60, (0.0, 0.06), 0.222, "what it learnt of the corrections is no more than chance"),
        (60, (-0.5, 2.0), 0.01, None),
        (20, (0.0, 0.06), 1.0, None),  # too few to tell
    ],
)
def test_what_was_learnt_is_more_than_chance(
    sentences: int, gains: tuple[float, float], p_value: float, told: str | None
) -> None:
    differences = [
        Difference("validation", sentences, metric, 67.0, 67.0 + gain, p_value, "")
        for metric, gain in zip(("BLEU", "chrF2"), gains, strict=True)
    ]
    kept = Difference("kept", 1_000, "BLEU", 30.0, 30.0, 1.0, "")
    found = lasting._fault_of([*differences, kept])
    assert found is None if told is None else found is not None and found.startswith(told)


def test_what_one_pair_of_languages_learns_is_not_less_than_what_another_unlearns() -> None:
    def found(gained: float, lost: float) -> str | None:
        texts = (("validation en-it", gained), ("validation en-de", -lost))
        return lasting._fault_of(
            [Difference(text, 6, "chrF2", 38.0, 38.0 + gain, 0.2, "") for text, gain in texts]
        )

    assert found(0.5, 17.5) == "it learnt nothing of the corrections"
    assert found(17.5, 0.5) is None


@pytest.mark.parametrize(
    "others",
    [
        Difference("validation it-en", 5, "chrF2", 56.0, 55.5, 0.2, ""),  # too few to tell
        Difference("validation en-de", 40, "BLEU", 30.0, 25.0, 0.001, ""),  # worse
    ],
)
def test_what_another_text_or_metric_came_to_is_no_gain(others: Difference) -> None:
    chance = Difference("validation en-de", 40, "chrF2", 57.0, 58.0, 0.1, "")
    told = "what it learnt of the corrections is no more than chance explains"
    assert lasting._fault_of([chance, others]) == told
    assert lasting._fault_of([replace(chance, p_value=0.01), others]) is None


@pytest.mark.slow
def test_what_made_a_run_robust_is_not_unlearnt(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Path("base/config.toml").read_text(encoding="utf-8")
    assert "\nnoise = 0.0\n" in settings
    Path("base/config.toml").write_text(settings.replace("\nnoise = 0.0\n", "\nnoise = 0.3\n"))
    for model in ("base", "base/model"):
        old = find_old_text(Path(model), OldText(), place)
        assert (old.noise, old.sampling) == (0.3, 0.0)
        assert [path.name for path in old.held_targets] == ["valid.en"]
    correct([("unu doi", "one two two")])
    asked: list[RunConfig] = []

    def stop_before_training(config: RunConfig) -> None:
        asked.append(config)
        assert main(["adapt", "base"]) == 6  # another one, meanwhile
        raise KeyboardInterrupt

    monkeypatch.setattr(lasting, "train", stop_before_training)
    assert main(["adapt", "base"]) == 130
    assert (asked[0].corpus.noise, asked[0].tokenization.sampling) == (0.3, 0.0)
    # A run that drew its files by a temperature is replayed in that mixture.
    settings = Path("base/config.toml").read_text(encoding="utf-8")
    mixed = settings.replace('# temperature = "none"', "temperature = 2.0")
    Path("base/config.toml").write_text(mixed, encoding="utf-8")
    assert find_old_text(Path("base"), OldText(), place).temperature == 2.0
    assert "another interlingua adapt works here" in capsys.readouterr().err
