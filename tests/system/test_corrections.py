"""Corrections through the real commands: bad ones are refused, good ones are used, and nothing else changes."""

import json
import shutil
import unicodedata
from pathlib import Path

import pytest
from random_models import SHAPES, SOURCES, random_model, random_tagger

from interlingua.checkpoints.manifest import check_manifest
from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.corpus.corrections import CORRECTIONS
from interlingua.kernels.search import precisions

ABOUT = {"corrected", "like-a-correction"}
Capture = pytest.CaptureFixture[str]
SOURCE, TARGET = "pisica doarme în grădina noastră", "our cat is asleep"


def save(folder: Path, seed: int = 0, source_lang: str = "ro") -> None:
    loaded = random_model(SHAPES["tied"], seed=seed)
    object.__setattr__(loaded, "source_lang", source_lang)
    save_model_folder(folder, loaded, parameters_of(loaded.model), "a card\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    save(place / "m")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, *words: str) -> str:
    capsys.readouterr()
    status = main(list(words))
    told = capsys.readouterr()
    assert status == 0, told.err
    return told.out


def refused(capsys: Capture, status: int, words: str, *arguments: str) -> None:
    capsys.readouterr()
    assert main(list(arguments)) == status
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert words in told


def correct(capsys: Capture, source: str = SOURCE, target: str = TARGET) -> str:
    return run(capsys, "correct", "m", "--source", source, "--target", target)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give a correction"),
        (["--source", SOURCE], "give a correction"),
        (["--source", SOURCE, "--target", TARGET, "--list"], "give a correction"),
        (["--source", SOURCE, "--target", TARGET, "--pairs", "a.tsv"], "give a correction"),
    ],
)
def test_half_a_correction_is_refused(
    place: Path, capsys: Capture, words: list[str], told: str
) -> None:
    refused(capsys, 2, told, "correct", "m", *words)
    assert not Path("m-corrections").exists()


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("", TARGET, "the source of a correction is empty"),
        ("  ", TARGET, "the source of a correction is empty"),
        (SOURCE, "\u2003", "the target of a correction is empty"),
        (SOURCE, "\u200b", "the target of a correction is empty"),
        (SOURCE, "a " * 300, "has 3"),
        ("a " * 300, TARGET, "correct it sentence by sentence"),
    ],
)
def test_what_the_model_cannot_read_or_write_is_refused(
    place: Path, capsys: Capture, source: str, target: str, told: str
) -> None:
    refused(capsys, 3, told, "correct", "m", "--source", source, "--target", target)
    assert not Path("m-corrections").exists()


def test_one_bad_line_refuses_a_file_whole(place: Path, capsys: Capture) -> None:
    Path("c.tsv").write_text(f"{SOURCE}\t{TARGET}\ncâinele\t \n")
    refused(capsys, 3, "c.tsv, line 2: the target", "correct", "m", "--pairs", "c.tsv")
    assert not Path("m-corrections").exists()


def test_a_folder_that_is_none_of_corrections_is_refused(place: Path, capsys: Capture) -> None:
    translate = ("translate", "m", SOURCE, "--corrections")
    refused(capsys, 3, "does not exist", *translate, "nowhere")
    refused(capsys, 3, f"holds no {CORRECTIONS}", *translate, "m")
    refused(capsys, 3, "does not exist", "correct", "m", "--list")
    refused(capsys, 3, "does not exist", "correct", "m", "--remove", SOURCE)
    correct(capsys)
    refused(capsys, 3, "holds no correction of this text", "correct", "m", "--remove", "x")
    refused(capsys, 2, "--ensemble goes without", *translate, "m-corrections", "--ensemble", "m")


def test_who_deletes_the_file_begins_anew(place: Path, capsys: Capture) -> None:
    correct(capsys)
    translate = ("translate", "m", SOURCE, SOURCES[1], "--corrections", "m-corrections")
    run(capsys, *translate)
    assert Path("m-corrections", "memory.ro-en.safetensors").exists()
    Path("m-corrections", "adapter").mkdir()  # as adapt leaves them
    Path("m-corrections", "adaptation").mkdir()
    Path("m-corrections", "adaptation.held-out.1.s.ro").touch()
    Path("m-corrections", CORRECTIONS).unlink()
    assert "1 new and 0 changed corrections, 1 in " in correct(capsys, SOURCES[1], "the dog!")
    plain = run(capsys, "translate", "m", SOURCE)
    assert run(capsys, *translate) == f"{plain}the dog!\n"


def test_a_model_that_answers_each_word_by_itself_is_not_corrected(
    place: Path, capsys: Capture
) -> None:
    tagger = random_tagger()
    save_model_folder(place / "tags", tagger, parameters_of(tagger.model), "a card\n")
    told = "a model that answers each word by itself follows no corrections"
    refused(capsys, 2, told, "correct", "tags", "--source", SOURCE, "--target", TARGET)
    assert not Path("tags-corrections").exists()
    Path("told").mkdir()
    refused(capsys, 2, told, "translate", "tags", SOURCE, "--corrections", "told")


def test_corrections_of_other_languages_are_refused(place: Path, capsys: Capture) -> None:
    correct(capsys)
    save(place / "french", source_lang="fr")
    words = ("translate", "french", SOURCE, "--corrections", "m-corrections")
    refused(capsys, 3, "are from ro to en, and the model translates from fr to en", *words)


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"q": "a", "s": "b"}', '{"q": 1, "s": "b", "source": "ro", "target": "en"}'],
)
def test_a_damaged_line_is_named(place: Path, capsys: Capture, line: str) -> None:
    correct(capsys)
    with Path("m-corrections", CORRECTIONS).open("a") as file:
        file.write(line + "\n")
    words = ("translate", "m", SOURCE, "--corrections", "m-corrections")
    refused(capsys, 3, f"{CORRECTIONS}, line 2: is not a correction", *words)


def test_a_correction_is_used_at_once_and_nothing_else_changes(
    place: Path, capsys: Capture
) -> None:
    others = [source for source in SOURCES if source != SOURCE]
    before = run(capsys, "translate", "m", *others)
    assert "1 new" in correct(capsys)
    after = run(capsys, "translate", "m", *others, SOURCE, "--corrections", "m-corrections")
    assert after == f"{before}{TARGET}\n"
    assert run(capsys, "correct", "m", "--list") == f"{SOURCE}\t{TARGET}\n"
    check_manifest(Path("m"))


@pytest.mark.parametrize(
    "flags",
    [
        "--beam-size 1",
        "--beam-size 7 --length-penalty 1.5",
        "--batch-invariant",
        "--beam-size 4 --groups 2",
        "--beam-size 4 --mbr 4",
        "--sample --temperature 2 --seed 3",
        "--coverage-penalty 1",
        "--stream",
        "--dtype bfloat16",
        "--check",
    ],
)
def test_a_repeat_is_right_however_it_is_searched(place: Path, capsys: Capture, flags: str) -> None:
    if "bfloat16" in flags and "bfloat16" not in precisions():
        pytest.skip("this processor has no instructions for bfloat16")
    correct(capsys)
    words = ("translate", "m", SOURCE, "--corrections", "m-corrections", *flags.split())
    assert run(capsys, *words) == f"{TARGET}\n"


@pytest.mark.parametrize("target", ["mal… 10\u00a0km² — ½™", "e\u0301", "two  spaces "])
@pytest.mark.parametrize("flags", ["", "--stream", "--beam-size 4 --mbr 4"])
def test_what_was_told_comes_back_letter_by_letter(
    place: Path, capsys: Capture, target: str, flags: str
) -> None:
    correct(capsys, SOURCE, target)
    words = ("translate", "m", SOURCE, "--corrections", "m-corrections", *flags.split())
    assert run(capsys, *words) == f"{target}\n"


@pytest.mark.parametrize(
    "told", [SOURCE, f" {SOURCE}", f"{SOURCE}\u00a0\t", f"\ufeff {SOURCE}\u200b"]
)
@pytest.mark.parametrize(
    "asked", [SOURCE, f"  {SOURCE}", f"{SOURCE} ", f"\t{SOURCE}\u3000", f"\ufeff{SOURCE} \u200b "]
)
def test_white_space_around_a_text_is_nothing(
    place: Path, capsys: Capture, told: str, asked: str
) -> None:
    Path("m-corrections").mkdir()
    line = {"q": told, "s": TARGET, "source": "ro", "target": "en"}  # as somebody wrote it
    Path("m-corrections", CORRECTIONS).write_text(json.dumps(line) + "\n", encoding="utf-8")
    words = ("translate", "m", asked, "--corrections", "m-corrections")
    assert run(capsys, *words) == f"{TARGET}\n"
    (shown,) = json.loads(run(capsys, *words, "--json"))["translations"]
    assert shown["flags"] == ["corrected"]
    assert run(capsys, *words, "--stream") == f"{TARGET}\n"
    assert correct(capsys, f"{SOURCE} ", "the cat").startswith("0 new and 1 changed corrections")
    assert run(capsys, *words) == "the cat\n"


def test_a_suggestion_of_two_lines_is_written_on_one(place: Path, capsys: Capture) -> None:
    Path("told").mkdir()
    line = {"q": SOURCE, "s": "the cat\r\nthe dog", "source": "ro", "target": "en"}
    Path("told", CORRECTIONS).write_text(json.dumps(line) + "\n")
    told = run(capsys, "translate", "m", SOURCE, "--corrections", "told")
    assert told == "the cat the dog\n"
    assert run(capsys, "correct", "m", "--list", "--corrections", "told") == f"{SOURCE}\t{told}"


def test_what_cannot_be_used_does_not_hide_what_could(place: Path, capsys: Capture) -> None:
    correct(capsys)
    with Path("m-corrections", CORRECTIONS).open("a") as file:
        file.write(json.dumps({"q": SOURCE, "s": " ", "source": "ro", "target": "en"}))
    words = ("translate", "m", SOURCE, "--corrections", "m-corrections")
    assert run(capsys, *words) == f"{TARGET}\n"
    correct(capsys, SOURCES[1], "the dog!")  # behind a line that has no end
    assert run(capsys, *words, SOURCES[1]) == f"{TARGET}\nthe dog!\n"


def test_a_folder_of_files_has_the_corrections_that_it_was_begun_with(
    place: Path, capsys: Capture
) -> None:
    Path("in").mkdir()
    Path("in/in.ro").write_text(f"{SOURCE}\n{SOURCES[1]}\n")
    Path("m-corrections").mkdir()
    words = ("translate", "m", "--input", "in", "--output", "out")
    run(capsys, *words)
    correct(capsys)
    refused(capsys, 2, "option or corrections than now", *words, "--corrections", "m-corrections")
    words = (*words[:-1], "other", "--corrections", "m-corrections")
    run(capsys, *words)
    assert Path("other/in.ro").read_text().splitlines()[0] == TARGET
    correct(capsys, SOURCES[1], "the dog!")
    refused(capsys, 2, "option or corrections than now", *words)


def test_many_come_from_a_file_the_later_counts_and_one_is_forgotten(
    place: Path, capsys: Capture
) -> None:
    Path("c.tsv").write_text(f"{SOURCE}\tfirst\n{SOURCES[1]}\tthe dog!\n{SOURCE}\t{TARGET}\n")
    told = json.loads(run(capsys, "correct", "m", "--pairs", "c.tsv", "--json"))
    assert (told["new"], told["replaced"], told["corrections"]) == (2, 0, 2)
    translate = ("translate", "m", SOURCE, SOURCES[1], "--corrections", "m-corrections")
    assert run(capsys, *translate) == f"{TARGET}\nthe dog!\n"
    run(capsys, "correct", "m", "--remove", SOURCE)
    plain = run(capsys, "translate", "m", SOURCE)
    assert run(capsys, *translate) == f"{plain}the dog!\n"


def test_a_file_of_more_columns_says_which_and_of_other_languages_which_are_meant(
    place: Path, capsys: Capture
) -> None:
    Path("three.tsv").write_text(f"1\t{TARGET}\t{SOURCE}\n")
    words = ("correct", "m", "--pairs", "three.tsv", "--json")
    assert json.loads(run(capsys, *words, "--columns", "3,2"))["new"] == 1
    refused(capsys, 3, "(the model reads ro and writes en)", *words)


def test_two_files_from_windows_give_what_was_meant(place: Path, capsys: Capture) -> None:
    Path("c.ro").write_bytes(f"{SOURCE}\r\n{SOURCES[1]}\n".encode())
    Path("c.en").write_bytes(f"{TARGET}\r\nthe dog!\n".encode())
    capsys.readouterr()
    assert main(["correct", "m", "--pairs", "c"]) == 0
    assert "1 pair ended in CR LF, as in Windows; the CR was left out" in capsys.readouterr().err
    translate = ("translate", "m", SOURCE, SOURCES[1], "--corrections", "m-corrections")
    assert run(capsys, *translate) == f"{TARGET}\nthe dog!\n"


@pytest.mark.parametrize("source", [SOURCE.replace(" ", "\n", 1), f" {SOURCE} \n", SOURCE])
def test_what_is_listed_can_be_removed(place: Path, capsys: Capture, source: str) -> None:
    correct(capsys, source)
    correct(capsys, SOURCES[1], "the dog!")
    listed, other = run(capsys, "correct", "m", "--list").splitlines()
    assert listed == f"{SOURCE}\t{TARGET}"
    told = run(capsys, "correct", "m", "--remove", listed.split("\t")[0])
    assert told == f"forgotten: {SOURCE}\n"
    assert run(capsys, "correct", "m", "--list") == f"{other}\n"


def test_a_source_in_another_spelling_is_the_same_for_the_model(
    place: Path, capsys: Capture
) -> None:
    unbroken, decomposed = SOURCE.replace(" ", "\u00a0"), unicodedata.normalize("NFD", SOURCE)
    assert correct(capsys).startswith("1 new and 0 changed corrections, 1 in ")
    assert correct(capsys, unbroken, "the cat").startswith("0 new and 1 changed corrections, 1 in ")
    with Path("m-corrections", CORRECTIONS).open("a") as file:  # as a server does
        for q in (decomposed, SOURCES[1]):
            file.write(json.dumps({"q": q, "s": TARGET, "source": "ro", "target": "en"}) + "\n")
    translate = ("translate", "m", SOURCE, SOURCES[1], "--corrections", "m-corrections")
    assert run(capsys, *translate) == f"{TARGET}\n{TARGET}\n"
    told = run(capsys, "correct", "m", "--remove", SOURCE)
    assert told == f"forgotten: {decomposed} (told in 2 spellings)\n"
    plain = run(capsys, "translate", "m", SOURCE)
    assert run(capsys, *translate) == f"{plain}{TARGET}\n"


@pytest.mark.parametrize("order", [1, -1])
def test_a_text_in_capitals_is_corrected_apart_from_one_in_small_letters(
    place: Path, capsys: Capture, order: int
) -> None:
    quiet, loud = "pisica doarme", "PISICA DOARME"
    for source, target in [(quiet, TARGET), (loud, "the dog!")][::order]:
        correct(capsys, source, target)
    translate = ("translate", "m", quiet, loud, "--corrections", "m-corrections")
    assert run(capsys, *translate) == f"{TARGET}\nthe dog!\n"
    run(capsys, "correct", "m", "--remove", loud)
    assert run(capsys, *translate) == f"{TARGET}\n{TARGET}\n"  # it is read as the other
    correct(capsys, loud, "the dog!")
    run(capsys, "correct", "m", "--remove", quiet)
    plain = run(capsys, "translate", "m", quiet)
    assert run(capsys, *translate) == f"{plain}the dog!\n"


def test_capitals_are_read_in_the_letters_that_were_corrected(place: Path, capsys: Capture) -> None:
    sources = ["Pisica doarme în grădina noastră.", "pisica DOARME în Grădina noastră!"]
    for number, source in enumerate(sources):
        correct(capsys, source, f"the cat {number}")
    typed = [*map(str.upper, sources), "Pisica Doarme În Grădina Noastră."]
    out = run(capsys, "translate", "m", *typed, "--corrections", "m-corrections")
    assert out == "the cat 0\nthe cat 1\nthe cat 0\n"
    run(capsys, "correct", "m", "--remove", sources[0])
    plain = run(capsys, "translate", "m", typed[0])
    assert run(capsys, "translate", "m", typed[0], "--corrections", "m-corrections") == plain


def test_who_appends_to_the_file_still_can_when_it_was_replaced(
    place: Path, capsys: Capture
) -> None:
    Path("elsewhere").touch(mode=0o600)
    Path("m-corrections").mkdir()
    Path("m-corrections", CORRECTIONS).symlink_to(place / "elsewhere")
    correct(capsys)
    assert Path("m-corrections", CORRECTIONS).is_symlink()
    assert json.loads(Path("elsewhere").read_text())["s"] == TARGET
    assert Path("elsewhere").stat().st_mode & 0o777 == 0o600


def test_a_memory_that_cannot_be_removed_stops_nothing(place: Path, capsys: Capture) -> None:
    correct(capsys)
    run(capsys, "correct", "m", "--remove", SOURCE)
    Path("m-corrections", "memory.ro-en.safetensors").mkdir()
    words = ("translate", "m", SOURCE)
    assert run(capsys, *words, "--corrections", "m-corrections") == run(capsys, *words)


@pytest.mark.parametrize("inside", ["m", "run/model"])
def test_a_model_is_corrected_from_inside_its_folder(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    Path("run").mkdir()
    Path("run/config.toml").touch()
    shutil.copytree("m", "run/model")
    monkeypatch.chdir(inside)
    told = run(capsys, "correct", ".", "--source", SOURCE, "--target", TARGET)
    kept = {"m": "m-corrections", "run/model": "run/corrections"}[inside]
    assert f"--corrections {place.resolve() / kept} " in told
    assert Path(place, kept, CORRECTIONS).exists()


def test_when_the_weights_change_the_memory_is_made_again(place: Path, capsys: Capture) -> None:
    correct(capsys)
    translate = ("translate", "m", SOURCE, "--corrections", "m-corrections")
    run(capsys, *translate)
    memory = Path("m-corrections", "memory.ro-en.safetensors")
    before = memory.read_bytes()
    run(capsys, *translate)
    assert memory.read_bytes() == before
    save(place / "m", seed=9)
    assert run(capsys, *translate) == f"{TARGET}\n"
    assert memory.read_bytes() != before
    memory.write_bytes(b"damaged")
    assert run(capsys, *translate) == f"{TARGET}\n"


def test_what_a_server_was_told_is_what_correct_keeps(place: Path, capsys: Capture) -> None:
    Path("told").mkdir()
    told = [
        {"q": SOURCE, "s": TARGET, "source": "ro", "target": "en"},
        {"q": "x", "s": " ", "source": "ro", "target": "en"},
        {"q": SOURCE, "s": "notre chat dort", "source": "ro", "target": "fr"},
    ]
    Path("told", CORRECTIONS).write_text("".join(json.dumps(each) + "\n" for each in told))
    capsys.readouterr()
    assert main(["translate", "m", SOURCE, "--corrections", "told"]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{TARGET}\n"
    assert "1 correction is not used; the first: the target of a correction is empty" in shown.err


def test_the_flags_tell_where_a_correction_had_a_say(place: Path, capsys: Capture) -> None:
    correct(capsys)
    texts = (SOURCE, f"{SOURCE}.", "câinele aleargă")
    told = run(capsys, "translate", "m", *texts, "--corrections", "m-corrections", "--json")
    flags = [
        set(json.loads(line)["translations"][0]["flags"]) & ABOUT for line in told.splitlines()
    ]
    assert flags == [{"corrected"}, {"like-a-correction"}, set()]


def test_files_are_translated_with_corrections_too(place: Path, capsys: Capture) -> None:
    correct(capsys)
    with Path("m-corrections", CORRECTIONS).open("a") as file:
        file.write(json.dumps({"q": SOURCE, "s": " ", "source": "ro", "target": "en"}))
    Path("in").mkdir()
    Path("in/a.txt").write_text(f"{SOURCE}\ncâinele aleargă\n")
    words = ("--input", "in", "--output", "out", "--corrections", "m-corrections")
    assert main(["translate", "m", *words]) == 0
    assert "1 correction is not used; the first: " in capsys.readouterr().err
    assert Path("out/a.txt").read_text().splitlines()[0] == TARGET


def test_a_test_set_is_scored_with_corrections_against_without(
    place: Path, capsys: Capture
) -> None:
    correct(capsys)
    Path("t.ro").write_text(f"{SOURCE}\nun cal\n")
    Path("t.en").write_text(f"{TARGET}\n{TARGET}\n")
    test = ["evaluate", "m", "--source", "t.ro", "--reference", "t.en", "--json"]
    run(capsys, *test, "--output", "before")
    told = json.loads(run(capsys, *test, "--corrections", "m-corrections", "--output", "after"))
    before, after = (Path(name).read_text().splitlines() for name in ("before", "after"))
    assert before[0] != TARGET == after[0]
    assert before[1] == after[1]
    against = ("--corrections", "m-corrections", "--against", "m")
    assert json.loads(run(capsys, *test, *against))["scores"] == told["scores"]
    refused(capsys, 3, "none", *test, "--corrections", "none")


def test_of_a_vocabulary_of_whole_words_what_is_spelled_is_for_repeats_alone() -> None:
    from interlingua.requests.remembering import _letters_of
    from interlingua.tokenization.train import train_tokenizer

    words = train_tokenizer(["der Hund schläft l 7", "der Hund"], kind="word", vocabulary_size=300)
    letters = _letters_of(words)
    assert letters.isdisjoint(words.encode("der Hund schläft").ids)
    assert not letters.isdisjoint(words.encode("der hund").ids)
    pieces = train_tokenizer(["der Hund schläft"] * 3, kind="bpe", vocabulary_size=300)
    assert not _letters_of(pieces)
