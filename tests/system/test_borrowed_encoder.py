"""A new decoder behind the encoder of another model, through the real command: what is taken, what stays, what is refused."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small_runs import REPEATABLE, refused, run, weights_of, write_numbers

from interlingua.checkpoints.store import CheckpointStore
from interlingua.translator import Translator

ENGLISH = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
KANJI = dict(zip(ENGLISH, "一二三四五", strict=True))
SMALL = (
    f"{REPEATABLE} --batching.batch-tokens 128 --training.validate-every 8 --training.validate-sentences 8 "
    "--training.patience 1000"
)
SIZES = (
    "--model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 16 --model.d-ff 32 --model.heads 2 "
    "--model.dropout 0 --tokenization.kind bpe --tokenization.vocabulary-size 320"
)
BORROW = (
    "train --encoder-from base --source ja.ro --target ja.ja --valid-source ja-valid.ro --valid-target ja-valid.ja "
    f"--run-dir borrowed {SMALL} --tokenization.kind bpe --tokenization.vocabulary-size 300 --training.steps 16"
)
FREEZE = "--start.freeze encoder.*,source_embedding.*"
ENCODER = ("encoder.", "source_embedding.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose vocabulary both sides share, and a corpus of the same source in another language."""
    place = tmp_path_factory.mktemp("base")
    write_numbers(place, "en", ENGLISH, "en", length=4, held_back=20)
    write_numbers(place, "ja", KANJI, "ja", length=4, held_back=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        held_back = "--valid-source en-valid.ro --valid-target en-valid.en"
        command = f"train --source en.ro --target en.en {held_back} --run-dir base {SIZES} {SMALL}"
        run(f"{command} --training.steps 24")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_frozen_encoder_stays_to_the_bit_and_only_the_rest_is_trained(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{BORROW} {FREEZE}")
    told = capsys.readouterr().err
    before, after = weights_of("base"), weights_of("borrowed")
    taken = {name for name in after if name.startswith(ENCODER)}
    assert len(taken) > 10
    for name in taken:
        assert torch.equal(after[name], before[name]), name
    count = sum(tensor.numel() for name, tensor in after.items() if name not in taken)
    assert f"parameters, {count:,} trained" in told
    assert (place / "borrowed/model/source_tokenizer.json").read_bytes() == (
        place / "base/model/tokenizer.json"
    ).read_bytes()
    config = json.loads((place / "borrowed/model/config.json").read_text())
    assert (config["source_lang"], config["target_lang"]) == ("ro", "ja")
    assert (config["architecture"]["d_model"], config["architecture"]["tie"]) == (16, "target")
    environment = json.loads((place / "borrowed/environment.json").read_text())
    assert environment["started_from"]["part"] == "encoder"
    assert "Its encoder began as that of base" in (place / "borrowed/model/README.md").read_text()
    assert not (place / "borrowed/comparison.json").exists()


def test_it_learns_another_language(place: Path) -> None:
    longer = BORROW.replace("--training.steps 16", "--training.steps 220")
    run(f"{longer} {FREEZE} --training.peak-learning-rate 0.02 --training.warmup-steps 20")
    translator = Translator.load(place / "borrowed", device="cpu")
    sources = (place / "en-valid.ro").read_text().splitlines()
    wanted = [" ".join(KANJI[word] for word in line.split()) for line in sources]
    found = [each.text for each in translator.translate(sources)]
    assert sum(a == b for a, b in zip(found, wanted, strict=True)) >= len(wanted) // 2


def test_without_freezing_the_encoder_learns_on(place: Path) -> None:
    run(BORROW)
    before, after = weights_of("base"), weights_of("borrowed")
    assert any(
        not torch.equal(after[name], before[name]) for name in after if name.startswith(ENCODER)
    )
    at_start = CheckpointStore(place / "borrowed/checkpoints", 9).whole_steps()
    assert 0 not in at_start  # a decoder that knows nothing is not worth a validation


def test_a_run_in_two_parts_without_the_other_model_is_bit_identical_to_a_whole_one(
    place: Path,
) -> None:
    command = f"{BORROW} {FREEZE} --training.schedule inverse-sqrt"
    run(command.replace("--run-dir borrowed", "--run-dir whole"))
    half = command.replace("--run-dir borrowed", "--run-dir half")
    run(half.replace("--training.steps 16", "--training.steps 8"))
    shutil.rmtree("base")
    run(half)
    one, other = (
        CheckpointStore(Path(name) / "checkpoints", 5).load(16) for name in ("whole", "half")
    )
    for name, tensor in one.weights.items():
        assert torch.equal(other.weights[name], tensor), name
    assert Path("whole/model/model.safetensors").read_bytes() == (
        Path("half/model/model.safetensors").read_bytes()
    )


def test_plan_prepare_and_replay_know_the_borrowed_encoder(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(BORROW.replace("train", "plan", 1) + f" {FREEZE} --json")
    assert json.loads(capsys.readouterr().out)["steps"] == 16
    run(BORROW.replace("train", "prepare", 1) + f" {FREEZE}")
    run(f"{BORROW} {FREEZE} --training.validate-every 100 --training.steps 20")
    run("replay borrowed --steps 20")
    assert "to the last bit" in capsys.readouterr().out


def test_a_tokenizer_that_was_borrowed_is_not_kept_without_the_encoder(place: Path) -> None:
    prepare = BORROW.replace("train", "prepare", 1) + " --tokenization.shared false"
    prepare += " --tokenization.sampling 0"
    without = prepare.replace("--encoder-from base ", "")
    run(prepare)
    run(without)
    run(without.replace("--run-dir borrowed", "--run-dir other"))
    found, wanted = (
        Path(name, "tokenizer/source_tokenizer.json").read_bytes() for name in ("borrowed", "other")
    )
    assert found == wanted


def test_recurrent_encoders_are_borrowed_too(place: Path) -> None:
    held_back = "--valid-source en-valid.ro --valid-target en-valid.en"
    run(
        f"train --source en.ro --target en.en {held_back} --run-dir base --fresh {SMALL} --model.kind gru "
        "--model.preset tiny --model.d-model 16 --training.steps 8"
    )
    run(f"{BORROW} {FREEZE} --model.kind gru --model.attention additive")
    before, after = weights_of("base"), weights_of("borrowed")
    for name, tensor in after.items():
        if name.startswith(ENCODER):
            assert torch.equal(before[name], tensor), name


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (BORROW.replace("from base", "from nowhere"), 5, "nowhere: does not exist"),
        (f"{BORROW} --init-from base", 2, "both say what the encoder begins as"),
        (f"{BORROW} --model.d-model 32", 2, "model.d_model = 32: the encoder of base has 16"),
        (
            f"{BORROW} --model.kind lstm",
            2,
            "model.kind = lstm: the encoder of base has transformer",
        ),
        (f"{BORROW} --model.tie three-way", 2, "the target has a vocabulary of its own"),
        (f"{BORROW} --tokenization.shared true", 2, "brings the source tokenizer"),
        (
            f"{BORROW} --batching.max-length 5000 --model.max-positions 5000",
            2,
            "model.max_positions = 5000: the encoder of base has 1024",
        ),
        (f"{BORROW} --corpus.tags <x>", 2, "corpus.tags holds <x>"),
        (f"{BORROW} --start.freeze encodr.*", 2, "did you mean encoder"),
        (f"{BORROW} --start.new-pieces 5", 2, "give --init-from MODEL"),
        (
            BORROW.replace("ja.ro", "ja.it").replace("ja-valid.ro", "ja-valid.it"),
            2,
            "its encoder reads ro",
        ),
        (BORROW.replace("--run-dir borrowed", "--run-dir base"), 2, "another --run-dir"),
    ],
)
def test_bad_input_is_told_in_one_line_and_leaves_nothing_behind(
    command: str, status: int, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("ja", "ja-valid"):
        shutil.copy(f"{part}.ro", f"{part}.it")
    before = sorted(path.name for path in place.rglob("*") if path.name != ".lock")
    found, line = refused(command, capsys)
    assert (found, words in line) == (status, True), line
    after = sorted(path.name for path in place.rglob("*") if path.name != ".lock")
    assert after == before
