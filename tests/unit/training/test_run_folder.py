"""A run folder is held by one trainer, and nothing else is ever overwritten."""

from pathlib import Path

import pytest

from interlingua.config import (
    CorpusConfig,
    RunConfig,
    StartConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.config_files import save_config
from interlingua.corpus.corrections import Correction, add_corrections, read_corrections
from interlingua.corpus.fingerprint import fingerprint
from interlingua.errors import ConfigError, OutputError, TrainingError
from interlingua.training import resuming
from interlingua.training.corpus_of_run import is_locked_to, languages_of, lock_corpus
from interlingua.training.resuming import resumed_config, set_aside
from interlingua.training.run_folder import RunFolder


def make_run(path: Path, config: RunConfig, *, begun: bool = True) -> RunFolder:
    folder = RunFolder(path)
    path.mkdir(parents=True)
    save_config(config, folder.config)
    folder.corpus_lock.write_text("{}")
    if begun:
        (folder.checkpoints / "step-1").mkdir(parents=True)
    return folder


def test_two_trainers_never_share_a_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with (
        folder.locked(),
        pytest.raises(TrainingError, match="another process"),
        RunFolder(tmp_path / "run").locked(),
    ):
        pass


@pytest.mark.parametrize("name", ["notes.txt", "model", "config.toml"])
def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match="--run-dir"), RunFolder(tmp_path).locked():
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_configuration_alone_is_no_run_and_what_is_missing_is_told(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(), begun=False)
    (folder.path / "metrics.jsonl").write_text("")
    folder.corpus_lock.unlink()
    with pytest.raises(OutputError, match=r"config\.toml is there, and no corpus\.lock"):
        set_aside(folder.path)
    (folder.checkpoints / "step-1").mkdir(parents=True)
    assert set_aside(folder.path) == tmp_path / "run.1"


@pytest.mark.parametrize(
    "left",
    [
        ["tokenizer/"],
        [".tokenizer.tmp-1/"],
        ["tokenizer/", "shards/", ".config.toml.tmp-1"],
        ["corpus/", "tokenizer/", "shards/", "config.toml", ".corpus.lock.tmp-1"],
        ["corrections/", "tokenizer/"],
    ],
    ids=" ".join,
)
def test_a_run_that_was_killed_while_it_was_prepared_can_be_run_again(
    tmp_path: Path, left: list[str]
) -> None:
    for name in left:
        path = tmp_path / name
        path.mkdir() if name.endswith("/") else path.write_text("")
    assert not RunFolder(tmp_path).is_run()
    (tmp_path / ".lock").write_text("")
    assert RunFolder(tmp_path).is_run()
    (tmp_path / "notes.txt").write_text("mine")
    assert not RunFolder(tmp_path).is_run()


def test_what_the_killed_left_is_cleared_away_before_a_run_goes_on(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig())
    for place in (folder.path, folder.checkpoints):
        (place / ".step-3.tmp-999999999").mkdir()
    with folder.locked():
        assert [path.name for path in folder.checkpoints.iterdir()] == ["step-1"]
        assert not (folder.path / ".step-3.tmp-999999999").exists()


def test_an_earlier_run_is_renamed_to_the_next_free_number(tmp_path: Path) -> None:
    for number in (1, 2):
        make_run(tmp_path / "run", RunConfig())
        assert set_aside(tmp_path / "run") == tmp_path / f"run.{number}"
    assert set_aside(tmp_path / "run") is None


def test_what_was_corrected_stays_where_it_is_when_a_run_is_begun_anew(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig())
    told = [Correction("unu", "one", "ro", "en")]
    add_corrections(folder.corrections, told)
    (folder.corrections / "adapter").mkdir()  # of the old weights
    assert set_aside(folder.path) == tmp_path / "run.1"
    assert read_corrections(folder.corrections) == told
    assert read_corrections(tmp_path / "run.1" / "corrections") == told
    assert not (folder.corrections / "adapter").exists()
    with folder.locked():
        assert read_corrections(folder.corrections) == told


def test_what_was_corrected_is_copied_before_the_run_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "run", RunConfig())
    told = [Correction("unu", "one", "ro", "en")]
    add_corrections(folder.corrections, told)

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resuming, "replace_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            set_aside(folder.path)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert folder.has_checkpoints()
    with monkeypatch.context() as patch:
        patch.setattr(resuming, "earlier_config", interrupted)
        with pytest.raises(KeyboardInterrupt):
            set_aside(folder.path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run.1"]
    assert read_corrections(folder.corrections) == told


def test_a_run_that_is_being_trained_is_not_moved_away(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig())
    with folder.locked(), pytest.raises(TrainingError, match="another process"):
        set_aside(tmp_path / "run")
    assert (tmp_path / "run").is_dir()


def test_what_is_no_run_is_not_moved_away(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(OutputError):
            set_aside(path)


def test_a_resumed_run_keeps_its_choices_and_takes_what_may_change(tmp_path: Path) -> None:
    earlier = RunConfig(
        tokenization=TokenizationConfig(kind="bpe", vocabulary_size=777, shared=True),
        training=TrainingConfig(seed=4, steps=100, peak_learning_rate=0.01),
    )
    folder = make_run(tmp_path / "run", earlier)
    asked = RunConfig(training=TrainingConfig(steps=200, peak_learning_rate=0.001))
    config = resumed_config(asked, folder)
    assert config.tokenization == earlier.tokenization
    assert (config.training.seed, config.training.steps) == (4, 200)
    assert config.training.peak_learning_rate == 0.001


def test_more_passes_replace_the_steps_that_followed_from_fewer(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(training=TrainingConfig(epochs=2, steps=100)))
    more = resumed_config(RunConfig(training=TrainingConfig(epochs=4)), folder)
    assert (more.training.epochs, more.training.steps) == (4, None)
    both = resumed_config(RunConfig(training=TrainingConfig(epochs=4, steps=150)), folder)
    assert (both.training.epochs, both.training.steps) == (4, 150)


def test_a_link_to_a_run_is_renamed_and_the_run_stays(tmp_path: Path) -> None:
    make_run(tmp_path / "real", RunConfig())
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert set_aside(tmp_path / "link") == tmp_path / "link.1"
    assert (tmp_path / "real").is_dir()
    assert not (tmp_path / "link").exists()


def test_the_current_folder_is_not_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="choose another --run-dir"):
        set_aside(Path("."))


def test_a_resumed_run_refuses_another_model_or_seed(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(training=TrainingConfig(seed=4)))
    with pytest.raises(ConfigError, match=r"training\.seed = 4, not 5.*--fresh"):
        resumed_config(RunConfig(training=TrainingConfig(seed=5)), folder)


def test_what_may_change_must_go_with_what_stays(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(training=TrainingConfig(ema=0.9)))
    with pytest.raises(ConfigError, match=r"training\.shard divides the weights"):
        resumed_config(RunConfig(training=TrainingConfig(shard=True)), folder)


@pytest.mark.parametrize("begun_with", ["init_from", "encoder_from"])
def test_a_whole_model_is_not_its_encoder_although_it_is_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun_with: str
) -> None:
    monkeypatch.setattr(resuming, "is_same_start", lambda *_: True)
    moved = {"init_from": StartConfig(init_from=Path("b"))}
    moved["encoder_from"] = StartConfig(encoder_from=Path("b"))
    start = StartConfig.model_validate({begun_with: Path("a")})
    folder = make_run(tmp_path / "run", RunConfig(start=start))
    same = moved.pop(begun_with)
    assert resumed_config(RunConfig(start=same), folder).start == same
    (other,) = moved.values()
    with pytest.raises(ConfigError, match=r"was started with start\.\w+ = None, not b;"):
        resumed_config(RunConfig(start=other), folder)


def test_every_setting_that_differs_is_told(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(training=TrainingConfig(seed=4, accumulate=2)))
    asked = RunConfig(
        tokenization=TokenizationConfig(kind="word"),
        training=TrainingConfig(seed=5, accumulate=3, steps=7),
    )
    with pytest.raises(ConfigError) as error:
        resumed_config(asked, folder)
    words = "tokenization.kind = None, not word; training.seed = 4, not 5; training.accumulate = 2, not 3;"
    assert words in str(error.value).replace("\n", " ")


def test_a_run_without_checkpoints_is_whatever_is_asked_for(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunConfig(training=TrainingConfig(seed=4)), begun=False)
    asked = RunConfig(training=TrainingConfig(seed=5))
    assert resumed_config(asked, folder) is asked


def test_a_corpus_is_known_by_its_content_not_by_its_place(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    files = [tmp_path / "a.ro", tmp_path / "a.en"]
    for file in files:
        file.write_text(f"{file.suffix}\n")
    assert not is_locked_to(folder, files, fingerprint(files))
    folder.path.mkdir()
    lock_corpus(folder, files, fingerprint(files))
    moved = [file.rename(file.with_name(f"moved{file.suffix}")) for file in files]
    assert is_locked_to(folder, moved, fingerprint(moved))
    moved[0].write_text("something else\n")
    assert not is_locked_to(folder, moved, fingerprint(moved))


@pytest.mark.parametrize(
    ("corpus", "languages"),
    [
        (CorpusConfig(source="a.ro", target="a.en"), ("ro", "en")),
        (CorpusConfig(source="a.txt", target="b.txt"), ("source", "target")),
        (CorpusConfig(source="a", target="b"), ("source", "target")),
        (CorpusConfig(source="a.ro", target="a.en", target_lang="en-GB"), ("ro", "en-GB")),
        (CorpusConfig(embedded="demo-ro-en"), ("ro", "en")),
        (CorpusConfig(embedded="copy", source_lang="x"), ("x", "copy")),
    ],
)
def test_languages_come_from_the_flags_or_the_suffixes(
    corpus: CorpusConfig, languages: tuple[str, str]
) -> None:
    assert languages_of(corpus) == languages
