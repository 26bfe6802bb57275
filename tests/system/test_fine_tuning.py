"""Fine-tuning through the real command: what is kept, what is learnt, what is refused, and that nothing is lost."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small_runs import REPEATABLE, refused, run, weights_of, write_numbers

from interlingua.checkpoints.adapter_folder import load_with_adapter
from interlingua.checkpoints.model_folder import load_model_folder, save_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
OTHERS = {"șase": "six", "șapte": "seven", "opt": "eight"}
SMALL = f"{REPEATABLE} --batching.batch-tokens 128 --training.validate-every 8 --training.validate-sentences 8"
SIZES = (
    "--model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 16 --model.d-ff 32 --model.heads 2 "
    "--model.dropout 0.1 --tokenization.kind bpe --tokenization.vocabulary-size 320"
)
CORPUS = "--source new.ro --target new.en --valid-source new-valid.ro --valid-target new-valid.en"
TUNE = f"train --init-from base/model {CORPUS} --run-dir tuned {SMALL} --training.steps 16"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model and two corpora: the one it learnt, and another with new words."""
    place = tmp_path_factory.mktemp("base")
    write_numbers(place, "old", NUMBERS, "en", length=3, held_back=10)
    write_numbers(place, "new", NUMBERS | OTHERS, "en", length=3, held_back=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        held_back = "--valid-source old-valid.ro --valid-target old-valid.en"
        command = (
            f"train --source old.ro --target old.en {held_back} --run-dir base {SIZES} {SMALL}"
        )
        command += " --training.steps 24"
        run(command)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_begins_with_the_model_keeps_its_tokenizer_and_compares_at_its_end(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{TUNE} --keep-source old-valid.ro --keep-target old-valid.en")
    told = capsys.readouterr()
    assert (place / "tuned/tokenizer/tokenizer.json").read_bytes() == (
        place / "base/model/tokenizer.json"
    ).read_bytes()
    assert "against the starting model (paired bootstrap):" in told.out
    assert "validation, 26 sentences: BLEU" in told.out
    assert "text to keep, 13 sentences: BLEU" in told.out
    assert "chosen: training.peak_learning_rate" in told.err
    compared = json.loads((place / "tuned/comparison.json").read_text())["differences"]
    assert [each["text"] for each in compared] == ["validation"] * 2 + ["kept"] * 2
    environment = json.loads((place / "tuned/environment.json").read_text())
    manifest = json.loads((place / "base/model/manifest.json").read_text())
    digest = manifest["files"]["model.safetensors"]["sha256"]
    assert environment["started_from"] == {"model": "base/model", "sha256": digest}
    assert digest in (place / "tuned/model/README.md").read_text()
    first = json.loads((place / "tuned/metrics.jsonl").read_text().splitlines()[0])
    assert (first["kind"], first["step"]) == ("validation", 0)


def test_a_pair_that_the_model_unlearns_is_told_before_training_and_left_out_of_the_comparison(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    german = {"unu": "eins", "doi": "zwei", "trei": "drei"}
    write_numbers(place, "other", german, "de", length=3, held_back=5)
    command = (
        "train --init-from base/model --start.new-language true --start.new-pieces 20 --source other.ro --target other.de "
        "--valid-source other-valid.ro --valid-target other-valid.de --corpus.directions ro-de "
        f"--keep-source old-valid.ro --keep-target old-valid.en --run-dir tuned {SMALL} --training.steps 4"
    )
    run(command)
    told = capsys.readouterr()
    assert "old-valid.en: will not be compared" in told.err
    assert "against the starting model" not in told.out


def test_the_first_checkpoint_holds_the_weights_of_the_starting_model(place: Path) -> None:
    run(TUNE + " --training.keep-checkpoints 9 --training.ema 0.9")
    at_start = CheckpointStore(place / "tuned/checkpoints", 9).load(0)
    for name, tensor in weights_of("base").items():
        assert torch.equal(at_start.weights[name], tensor), name
        assert torch.equal(at_start.moments[f"mean/{name}"], tensor), name


def test_a_run_that_never_beat_its_start_is_mended_and_ends_without_its_comparison(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    still = f"{TUNE} --training.peak-learning-rate 1e-12"
    run(still)
    shutil.rmtree("tuned/model")
    (place / "tuned/comparison.json").unlink()
    (place / "tuned/start/outputs.json").write_text("{")
    capsys.readouterr()
    run(still)
    assert "outputs.json" in capsys.readouterr().err
    for name, tensor in weights_of("base").items():
        assert torch.equal(weights_of("tuned")[name], tensor), name


def test_a_run_is_compared_with_the_model_that_it_begins_with_and_no_other(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(TUNE)
    compared = json.loads(Path("tuned/comparison.json").read_text())["differences"]
    shutil.rmtree("tuned/checkpoints")  # as if it had ended before its first checkpoint
    shutil.rmtree("tuned/model")
    kept = json.loads(Path("tuned/start/outputs.json").read_text())
    for text in kept["texts"]:
        text["outputs"] = [""] * len(text["outputs"])
    Path("tuned/start/outputs.json").write_text(json.dumps(kept))
    Path("tuned/comparison.json").unlink()
    run(TUNE)
    assert json.loads(Path("tuned/comparison.json").read_text())["differences"] == compared
    Path("tuned/start/outputs.json").unlink()  # told to stop while the starting model translated
    Path("tuned/comparison.json").unlink()
    weights = weights_of("base")
    loaded = load_model_folder(Path("base/model"))
    other = {name: tensor + 1 for name, tensor in weights.items()}
    save_model_folder(Path("base/model"), loaded, other, "a card\n")
    capsys.readouterr()
    run(TUNE)
    assert (
        "no comparison with the starting model will be made: base/model: is not the model"
        in capsys.readouterr().err
    )
    assert not Path("tuned/comparison.json").exists()


def test_frozen_parameters_are_bit_identical_after_training(place: Path) -> None:
    run(f"{TUNE} --start.freeze encoder.*,*around_self.norm.*")
    before, after = weights_of("base"), weights_of("tuned")
    for name, tensor in before.items():
        is_frozen = name.startswith("encoder.") or "around_self.norm" in name
        assert torch.equal(after[name], tensor) == is_frozen, name


def test_an_adapter_is_small_and_gives_what_the_merged_model_gives(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{TUNE} --start.lora-rank 2 --training.peak-learning-rate 0.05")
    run("inspect tuned unu --output figures")  # at each checkpoint too
    assert Path("figures/look.html").is_file()
    merged = weights_of("tuned")
    adapted = parameters_of(load_with_adapter(Path("base"), Path("tuned")).model)
    changed = 0
    for name, tensor in merged.items():
        torch.testing.assert_close(adapted[name], tensor, rtol=0, atol=1e-6)
        changed += not torch.equal(tensor, weights_of("base")[name])
    assert changed == 4 + 2 + 8 + 2
    adapter = place / "tuned/adapter/adapter.safetensors"
    assert adapter.stat().st_size < (place / "base/model/model.safetensors").stat().st_size / 2
    capsys.readouterr()
    run("translate base --adapter tuned unu")
    run("merge base tuned --output merged")
    run("translate merged unu")
    run("translate tuned unu")
    one, *_, two, three = capsys.readouterr().out.splitlines()
    assert one == two == three


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--start.lora-rank 2 --training.ema 0.9",
        "--start.freeze encoder.* --training.r-drop 1",
        "--start.new-pieces 12",
    ],
)
def test_a_run_in_two_parts_without_its_starting_model_is_bit_identical_to_a_whole_one(
    place: Path, flags: str
) -> None:
    command = f"{TUNE} {flags} --training.schedule inverse-sqrt"
    run(command.replace("--run-dir tuned", "--run-dir whole"))
    half = command.replace("--run-dir tuned", "--run-dir half")
    run(half.replace("--training.steps 16", "--training.steps 8"))
    shutil.rmtree("base")
    run(half)
    store = {name: CheckpointStore(Path(name) / "checkpoints", 5) for name in ("whole", "half")}
    one, other = store["whole"].load(16), store["half"].load(16)
    for name, tensor in one.weights.items():
        assert torch.equal(other.weights[name], tensor), name
    for name, tensor in one.moments.items():
        assert torch.equal(other.moments[name], tensor), name
    for name in ("model/model.safetensors", "comparison.json"):
        assert Path("whole", name).read_bytes() == Path("half", name).read_bytes(), name


def test_new_pieces_leave_the_logits_of_the_old_ones_as_they_were(place: Path) -> None:
    once = TUNE.replace("--training.steps 16", "--training.steps 1")
    run(f"{once} --start.new-pieces 12 --training.peak-learning-rate 1e-30")
    old, new = load_model_folder(Path("base")), load_model_folder(Path("tuned"))
    size = old.tokenizers.source.vocabulary_size
    assert size < new.tokenizers.source.vocabulary_size <= size + 12
    for line in (place / "old-valid.ro").read_text().splitlines():
        ids = torch.tensor([[*old.tokenizers.source.encode(line).ids, 3]])
        assert new.tokenizers.source.encode(line).ids == ids[0, :-1].tolist()
        logits = new.model(ids, ids)
        expected = old.model(ids, ids)
        torch.testing.assert_close(logits[..., :size], expected, rtol=0, atol=1e-6)
        assert torch.equal(logits.argmax(-1), expected.argmax(-1))


def test_prepare_and_plan_know_the_starting_model(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(TUNE.replace("train", "plan", 1) + " --start.lora-rank 2 --json")
    planned = json.loads(capsys.readouterr().out)
    assert planned["steps"] == 16
    assert any("model.* as in base/model" in each for each in planned["chosen"])
    run(TUNE.replace("train", "prepare", 1) + " --json")
    prepared = json.loads(capsys.readouterr().out)
    assert (prepared["source_lang"], prepared["target_lang"]) == ("ro", "en")
    shutil.rmtree("tuned/model", ignore_errors=True)
    run(TUNE)


def test_another_language_is_refused_unless_it_is_wanted(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("new", "new-valid"):
        shutil.copy(f"{part}.ro", f"{part}.it")
    italian = TUNE.replace(".ro ", ".it ")
    status, words = refused(italian, capsys)
    assert status == 2
    assert "translates ro into en, and the corpus has it and en" in words
    run(f"{italian} --start.new-language true --start.new-pieces 12")
    assert json.loads((place / "tuned/model/config.json").read_text())["source_lang"] == "it"


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (TUNE.replace("base/model", "nowhere"), 5, "nowhere: does not exist"),
        (TUNE.replace("base/model", "new.ro"), 5, "new.ro: is a file, not a folder"),
        (TUNE.replace("base/model", "empty"), 5, "empty: is not a model folder"),
        (f"{TUNE} --tokenization.kind unigram", 2, "base/model has bpe, and its tokenizer is kept"),
        (f"{TUNE} --model.d-model 32", 2, "model.d_model = 32: base/model has 16"),
        (f"{TUNE} --batching.max-length 5000 --model.max-positions 5000", 2, "base/model has 1024"),
        (f"{TUNE} --start.freeze encodr.*", 2, "did you mean encoder"),
        (f"{TUNE} --start.freeze *", 2, "nothing can be learnt"),
        (f"{TUNE} --start.lora-rank 99", 2, "has a rank of 16 at most"),
        (f"{TUNE} --start.lora-rank 2 --start.freeze encoder.*", 2, "does not go with"),
        (f"{TUNE} --start.lora-rank 2 --start.new-pieces 5", 2, "no room for new pieces"),
        (f"{TUNE} --start.lora-alpha 2", 2, "start.lora_alpha needs start.lora_rank"),
        (
            f"{TUNE} --corpus.directions ro-en --keep-source new.ro --keep-target NUMBERS.txt",
            2,
            "NUMBERS.txt: their names do not tell a pair of languages of base/model, which translates ro-en",
        ),
        (f"{TUNE} --keep-source old.ro", 2, "start.keep_source is given without start.keep_target"),
        (f"{TUNE} --keep-source no.ro --keep-target no.en", 3, "no.ro"),
        (TUNE.replace("--run-dir tuned", "--run-dir base"), 2, "another --run-dir"),
        (TUNE.replace("--run-dir tuned", "--run-dir base --fresh"), 2, "another --run-dir"),
        (TUNE.replace("--init-from base/model", "--start.freeze a"), 2, "give --init-from MODEL"),
        ("translate base --adapter base unu", 5, "base: is not an adapter"),
        ("translate base --adapter nowhere unu", 5, "nowhere: does not exist"),
        ("merge base base --output merged", 5, "base: is not an adapter"),
    ],
)
def test_bad_input_is_told_in_one_line_and_leaves_nothing_behind(
    command: str, status: int, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty").mkdir()
    before = sorted(path.name for path in place.rglob("*") if path.name != ".lock")
    found, line = refused(command, capsys)
    assert (found, words in line) == (status, True), line
    after = sorted(path.name for path in place.rglob("*") if path.name != ".lock")
    assert after == before


def test_a_run_that_has_begun_refuses_another_start_and_takes_the_same_one_elsewhere(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(TUNE.replace("--training.steps 16", "--training.steps 8"))
    shutil.copytree("tuned/model", "other")
    status, words = refused(TUNE.replace("base/model", "other"), capsys)
    assert (status, "was started with start.init_from = base/model, not other" in words) == (
        2,
        True,
    )
    status, words = refused(f"{TUNE} --start.freeze encoder.*", capsys)
    assert (status, "start.freeze" in words) == (2, True)
    status, words = refused(f"{TUNE} --keep-source a.ro --keep-target a.en", capsys)
    assert (status, "start.keep_source = nothing, not a.ro" in words) == (2, True), words
    Path("base").rename("moved")
    run(TUNE.replace("base/model", "moved"))


def test_an_adapter_of_another_model_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{TUNE} --start.lora-rank 2")
    status, words = refused("translate tuned --adapter tuned unu", capsys)
    assert (status, "was trained on another model" in words) == (5, True)
    status, words = refused("average tuned --last 2", capsys)
    assert (status, "trained an adapter" in words) == (5, True)
    run("merge base tuned --output merged")
    status, words = refused("merge base tuned --output merged", capsys)
    assert (status, "is there already" in words) == (6, True)
