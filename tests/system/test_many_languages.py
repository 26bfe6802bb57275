"""One model, several pairs of languages: trained, translated, evaluated, served and exported by the commands that a user types.

The languages are the names of numbers, word by word, so that a few hundred updates are enough to see that the tag before a source
decides what it becomes.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from running_server import serving

from interlingua.cli import main
from interlingua.evaluation.metrics import corpus_chrf

Told = tuple[int, str, str]
Run = Callable[[str], Told]

WORDS = {
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    "de": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"],
    "it": ["uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci"],
}
PAIRS = ("en-de", "en-it", "de-en")
SIZES = (
    "--model.preset tiny --model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 64 --model.d-ff 128 --model.dropout 0 "
    "--tokenization.kind word --batching.batch-tokens 512 --training.steps 400 --training.validate-every 200 "
    "--training.warmup-steps 100 --training.peak-learning-rate 0.004 --training.schedule linear --training.threads 1"
)


def write(folder: Path) -> None:
    """Write sentences of two to five numbers in each language, line by line the same."""
    draw = random.Random(1)
    for name, number in (("train", 500), ("valid", 60), ("test", 60)):
        lines = [draw.choices(range(10), k=draw.randint(2, 5)) for _ in range(number)]
        for code, words in WORDS.items():
            text = "".join(" ".join(words[n] for n in line) + "\n" for line in lines)
            (folder / f"{name}.{code}").write_text(text, encoding="utf-8")


def flags_of(folder: Path) -> str:
    sides = [pair.split("-") for pair in PAIRS]
    named = {
        "source": [folder / f"train.{source}" for source, _ in sides],
        "target": [folder / f"train.{target}" for _, target in sides],
        "valid-source": [folder / f"valid.{source}" for source, _ in sides],
        "valid-target": [folder / f"valid.{target}" for _, target in sides],
    }
    flags = [f"--{flag} {path}" for flag, paths in named.items() for path in paths]
    return " ".join([*flags, f"--corpus.directions {','.join(PAIRS)}"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three pairs of languages, in a folder with the text."""
    folder = tmp_path_factory.mktemp("many")
    write(folder)
    run_dir = folder / "run"
    assert main(f"train {flags_of(folder)} {SIZES} --run-dir {run_dir}".split()) == 0
    return run_dir


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(command: str) -> Told:
        capsys.readouterr()
        status = main(command.split())
        return (status, *capsys.readouterr())

    return run_command


def test_the_tag_decides_the_language(trained: Path, run: Run) -> None:
    text = trained.parent / "test.en"
    for code in ("de", "it"):
        status, out, _ = run(f"translate {trained} --to {code} --input {text}")
        assert status == 0
        expected = (trained.parent / f"test.{code}").read_text("utf-8")
        right = sum(a == b for a, b in zip(out.splitlines(), expected.splitlines(), strict=True))
        assert right > 50
    status, out, _ = run(f"translate {trained} --to en --input {trained.parent / 'test.de'}")
    assert (
        sum(a == b for a, b in zip(out.splitlines(), text.read_text().splitlines(), strict=True))
        > 50
    )


def test_a_language_must_be_told_and_known(trained: Path, run: Run) -> None:
    status, _, err = run(f"translate {trained} one")
    assert status == 2
    assert (
        f"{trained}: translates en-de, en-it, de-en; say into which language: --to de or it or en"
        in err
    )
    status, _, err = run(f"translate {trained} --to fr one")
    assert status == 2
    assert "does not know fr: it reads en, de and writes de, it, en" in err
    files = " ".join(f"--{side} {trained.parent}/test.en" for side in ("source", "reference"))
    status, _, err = run(f"calibrate {trained} {files}")
    assert status == 2
    assert "a calibration is of one" in err


def test_each_pair_is_evaluated_and_one_that_was_never_seen_is_called_so(
    trained: Path, run: Run
) -> None:
    folder = trained.parent

    def report(to: str, source: str, target: str) -> dict[str, object]:
        files = f"--source {folder}/test.{source} --reference {folder}/test.{target}"
        status, out, err = run(f"evaluate {trained} --to {to} {files} --json")
        assert status == 0, err
        assert ("zero-shot" in err) == (to == "de-it")
        found: dict[str, object] = json.loads(out)
        return found

    seen, unseen = report("en-it", "en", "it"), report("de-it", "de", "it")
    assert (seen["direction"], seen["zero_shot"]) == ("en-it", False)
    assert (unseen["direction"], unseen["zero_shot"]) == ("de-it", True)
    _, out, _ = run(
        f"evaluate {trained} --to de-it --source {folder}/test.de --reference {folder}/test.it"
    )
    assert out.startswith("de-it (zero-shot: never trained on): 60 sentences, 1 reference")


def test_systems_read_the_language_that_the_name_of_a_test_set_tells(
    trained: Path, run: Run
) -> None:
    folder = trained.parent
    files = f"--source {folder}/test.de --reference {folder}/test.it"
    told = f"{trained} --to it {files} --json"
    alone = json.loads(run(f"evaluate {told}")[1])
    status, out, err = run(f"compare a={folder}/test.it b={told}")
    assert status == 0, err
    assert "de into it is zero-shot" in err
    assert "is in de, by its name" not in err
    scores = {each["name"]: each["value"] for each in alone["scores"]}
    found = {
        each["metric"]: each["values"]
        for each in json.loads(out)["figures"]
        if each["system"] == "b"
    }
    assert found["BLEU"] == pytest.approx([scores["BLEU"]])


@pytest.mark.parametrize(
    ("to", "name", "direction", "zero_shot"),
    [
        ("it", "test.en", "en-it", False),
        ("it", "test.de", "de-it", True),
        ("it", "test.txt", "en-it", False),  # the only language that goes into Italian
        ("it", "test.fr", "into it", False),
        ("en-it", "test.fr", "en-it", False),
    ],
)
def test_the_name_of_a_test_set_tells_its_language(
    trained: Path, run: Run, tmp_path: Path, to: str, name: str, direction: str, zero_shot: bool
) -> None:
    text = tmp_path / name
    text.write_text("".join(f"{word}\n" for word in WORDS["en"]))
    command = f"evaluate {trained} --to {to} --source {text} --reference {text}"
    status, out, err = run(f"{command} --json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["direction"], found["zero_shot"]) == (direction, zero_shot)
    assert ("zero-shot" in err) == zero_shot


def test_a_file_is_translated_part_by_part_into_the_language_that_was_told(
    trained: Path, run: Run, tmp_path: Path
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.en").write_text("one two\nthree four\n")
    found = {}
    for code in ("de", "it"):
        assert (
            run(f"translate {trained} --to {code} --input {texts} --output {tmp_path / code}")[0]
            == 0
        )
        found[code] = (tmp_path / code / "a.en").read_text("utf-8")
    assert found == {"de": "eins zwei\ndrei vier\n", "it": "uno due\ntre quattro\n"}
    status, _, err = run(f"translate {trained} --to it --input {texts} --output {tmp_path / 'de'}")
    assert status == 2
    assert "another text, model, option or corrections" in err


def test_a_correction_is_of_one_pair(trained: Path, run: Run, tmp_path: Path) -> None:
    folder, text = tmp_path / "corrections", tmp_path / "one.txt"
    text.write_text("one two\n")
    pairs = tmp_path / "told.tsv"
    pairs.write_text("one two\tdue uno\n")
    told = f"--pairs {pairs} --corrections {folder}"
    status, out, _ = run(f"correct {trained} --to it {told}")
    assert status == 0
    assert f"next: interlingua translate {trained} --to it --corrections {folder} " in out
    rest = f"--corrections {folder} --input {text}"
    assert run(f"translate {trained} --to it {rest}")[1] == "due uno\n"
    plain = run(f"translate {trained} --to de --input {text}")[1]
    # Corrections of another pair of this model have no say.
    assert run(f"translate {trained} --to de {rest}")[1] == plain
    kept = folder / "corrections.jsonl"
    kept.write_text(kept.read_text().replace('"en"', '"fr"'))
    status, _, err = run(f"translate {trained} --to de {rest}")
    assert status == 3
    assert "its corrections are from fr to it" in err


@pytest.mark.slow
def test_corrections_of_several_pairs_are_learnt_for_good(
    trained: Path, run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "corrections"
    # Old text has five words at the most, so that these contradict nothing of it.
    odd = "ten ten nine nine ten"
    for code, words in (("it", "dieci"), ("de", "zehn")):
        lines = [
            f"{odd} {number}\t{words} {WORDS[code][n]}\n"
            for n, number in enumerate(WORDS["en"][:6])
        ]
        (tmp_path / code).write_text("".join(lines), encoding="utf-8")
        told = f"--pairs {tmp_path / code} --corrections {folder}"
        assert run(f"correct {trained} --to {code} {told}")[0] == 0
    command = f"adapt {trained} --corrections {folder} --threads 1 --json"
    status, out, err = run(command)
    assert status == 0, err
    found = json.loads(out)
    assert found["corrections"] == 12
    texts = {each["text"] for each in found["differences"]}
    assert texts == {
        *("corrections en-it", "corrections en-de"),
        *(f"held-out text {pair}" for pair in PAIRS),
    }
    learnt = {
        each["text"]: each
        for each in found["differences"]
        if "corrections" in each["text"] and each["metric"] == "chrF2"
    }
    assert sum(each["after"] - each["before"] for each in learnt.values()) > 0
    adapter, text = found["adapter"], tmp_path / "text"
    text.write_text("".join(f"{odd} {number}\n" for number in WORDS["en"][:6]), encoding="utf-8")
    for to in ("it", "de"):
        # How much of it is kept, and so how many come out right, is chance of the seed: that it is what was told is not.
        given = run(f"translate {trained} --to {to} --adapter {adapter} --input {text}")[1]
        right = [line.split("\t")[1] for line in (tmp_path / to).read_text("utf-8").splitlines()]
        told = learnt[f"corrections en-{to}"]["after"]
        assert corpus_chrf(given.splitlines(), [right]) == pytest.approx(told, abs=0.01)
    text = tmp_path / "odd"
    text.write_text("one two\n")
    given = f"--source {text} --target {text} --keep-source {text} --keep-target {text}"
    status, _, err = run(f"{command} {given}")
    assert status == 2
    assert "their names do not tell a pair of languages of the model" in err


def test_an_export_carries_the_tag_or_is_refused(trained: Path, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    status, _, err = run(
        f"export {trained} --format ctranslate2 --to it --output {tmp_path / 'it'}"
    )
    assert status == 0, err
    assert "The first token of every source is `<2it>`." in (tmp_path / "it/README.md").read_text(
        "utf-8"
    )
    for name in ("html", "marian", "argos"):
        status, _, err = run(f"export {trained} --format {name} --to it --output {tmp_path / name}")
        assert status != 0
        assert "has no place for <2it>" in err or "is not installed" in err or "needs" in err
        assert not (tmp_path / name).exists()
    assert run(f"export {trained} --format ctranslate2 --output {tmp_path / 'x'}")[0] == 2
    back = tmp_path / "back"
    status, _, err = run(f"import {tmp_path / 'it'} --output {back}")
    assert status == 0, err
    text = trained.parent / "test.en"
    assert (
        run(f"translate {back} --input {text}")[1]
        == run(f"translate {trained} --to it --input {text}")[1]
    )
    assert (
        "leave --target-tag out"
        in run(f"import {tmp_path / 'it'} --target-tag ita --output {tmp_path / 'y'}")[2]
    )


def test_doctor_and_inspect_open_such_a_model(trained: Path, run: Run, tmp_path: Path) -> None:
    _, out, err = run(f"doctor {trained}")
    assert "unusable-model" not in out + err
    assert run(f"inspect {trained} --to de one --output {tmp_path / 'figures'}")[0] == 0
    text = trained.parent
    own = run(f"doctor {trained} --source {text / 'test.en'} --target {text / 'test.it'}")
    assert "unknown" not in own[1]
    turned = run(f"doctor {trained} --source {text / 'test.it'} --target {text / 'test.de'}")
    assert turned[0] == 2
    assert "the text goes it-de, by its names" in turned[2]


def test_one_model_serves_all_of_its_pairs(trained: Path) -> None:
    with serving(trained) as server:
        languages = {each["code"]: set(each["targets"]) for each in server.get("/languages").json}
        assert languages == {"en": {"en", "de", "it"}, "de": {"de", "en", "it"}, "it": {"it"}}

        def translated(source: str, target: str, text: str) -> str:
            answer = server.post("/translate", q=text, source=source, target=target)
            assert answer.status == 200, answer.body
            found: str = answer.json["translatedText"]
            return found

        assert translated("en", "de", "one two") == "eins zwei"
        assert translated("en", "it", "one two") == "uno due"
        assert translated("de", "en", "drei vier") == "three four"
        assert translated("de", "it", "drei vier") == "tre quattro"  # through English
        assert server.post("/translate", q="x", source="en", target="fr").status == 400
