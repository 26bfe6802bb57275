"""The configuration: TOML < flags, every mistake named with its place, saved complete."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from interlingua.config import LANGUAGE_CODE, CorpusConfig, RunConfig, Section, list_settings
from interlingua.config_files import find_settings, load_config, save_config
from interlingua.errors import ConfigError
from interlingua.tokenization.train import SMALLEST_VOCABULARY


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "run.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path | None, **flags: str) -> str:
    """The message that this configuration is refused with; a double underscore stands for a dot."""
    with pytest.raises(ConfigError) as caught:
        load_config(path, {name.replace("__", "."): value for name, value in flags.items()})
    return str(caught.value)


def test_without_file_and_flags_every_value_is_the_default() -> None:
    assert load_config(None) == RunConfig()


def test_a_file_wins_over_the_default_and_a_flag_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "[training]\nseed = 2\nsteps = 10\n[model]\npreset = 'tiny'\n")
    config = load_config(path, {"training.seed": "3"})
    assert config.training.seed == 3
    assert config.training.steps == 10
    assert config.model.preset == "tiny"
    assert config.training.accumulate == 1


def test_flags_take_hyphens_numbers_truth_values_none_and_lists() -> None:
    config = load_config(
        None,
        {
            "training.warmup-steps": "400",
            "training.peak_learning_rate": "3e-4",
            "training.clip_norm": "none",
            "tokenization.lowercase": "true",
            "tokenization.shared": "no",
            "model.tie": "none",
            "corpus.source": ("a.en", "b.en"),
            "corpus.target": "a.de",
            "run-dir": "runs/x",
        },
    )
    assert config.training.warmup_steps == 400
    assert config.training.peak_learning_rate == 3e-4
    assert config.training.clip_norm is None
    assert config.tokenization.lowercase is True
    assert config.tokenization.shared is False
    assert config.model.tie == "none"
    assert config.corpus.source == (Path("a.en"), Path("b.en"))
    assert config.corpus.target == (Path("a.de"),)
    assert config.run_dir == Path("runs/x")


def test_names_in_a_file_stay_relative_to_the_current_folder(tmp_path: Path) -> None:
    path = write(tmp_path, '[corpus]\nsource = "a.en"\ntarget = ["a.de", "b.de"]\n')
    assert load_config(path).corpus.source == (Path("a.en"),)
    assert load_config(path).corpus.target == (Path("a.de"), Path("b.de"))


def test_variables_are_expanded_in_files_and_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_DATA", "/somewhere")
    path = write(
        tmp_path, 'run_dir = "$${SOME_DATA}/$x"\n[corpus]\nsource = ["${SOME_DATA}/a.en"]\n'
    )
    config = load_config(path, {"corpus.target": "${SOME_DATA}/a.de"})
    assert config.corpus.source == (Path("/somewhere/a.en"),)
    assert config.corpus.target == (Path("/somewhere/a.de"),)
    assert config.run_dir == Path("${SOME_DATA}/$x")


def test_an_unset_variable_is_named_with_file_line_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERLINGUA_DATA", raising=False)
    path = write(
        tmp_path, '\n[corpus]\n# text\nsource = [\n  "x",\n  "${INTERLINGUA_DATA}/a.en",\n]\n'
    )
    message = refusal(path)
    assert f"{path}:4: corpus.source needs the environment variable INTERLINGUA_DATA" in message
    assert "export INTERLINGUA_DATA=" in message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[training]\n\nsed = 7\n", 3, "unknown key training.sed; did you mean training.seed?"),
        ("seed = 7\n", 1, "unknown key seed; did you mean training.seed?"),
        ("[modle]\nd_model = 8\n", 1, "unknown key modle; did you mean model?"),
        ("# a\nmodel = { headz = 2 }\n", 2, "unknown key model.headz; did you mean model.heads?"),
        ("[model]\ndropuot = 0.1\n", 2, "unknown key model.dropuot; did you mean model.dropout?"),
        ("a.b.c = 1\n", 1, "unknown key a; `interlingua config explain` lists all keys"),
        (
            "[training]\nseed = -1\n",
            2,
            "training.seed = -1 is wrong: it takes a whole number at least 0",
        ),
        ('[training]\nseed = "7"\n', 2, 'training.seed = "7" is wrong: it takes a whole number'),
        ("[training]\nseed = 7.5\n", 2, "training.seed = 7.5 is wrong: it takes a whole number"),
        ("[training]\nseed = true\n", 2, "training.seed = true is wrong: it takes a whole number"),
        ("[model]\ndropout = 1.0\n", 2, "it takes a number at least 0.0 and below 1.0"),
        (
            "[training]\nminutes = nan\n",
            2,
            "training.minutes = nan is wrong: it takes a number above 0",
        ),
        (
            "[training]\nminutes = inf\n",
            2,
            "training.minutes = inf is wrong: it takes a number above 0",
        ),
        (
            '[model]\nnorm = "middle"\n',
            2,
            'model.norm = "middle" is wrong: it takes one of post, pre',
        ),
        ('[training]\ndevice = "gpu"\n', 2, "it takes one of auto, cpu, cuda, cuda:1, mps"),
        ('[tokenization]\nlowercase = "yes"\n', 2, "it takes true or false"),
        ("[corpus]\nsource = 3\n", 2, "it takes the name of a file, or a list of them"),
        ("[corpus]\nsource = ['a', 3]\n", 2, "it takes the name of a file, or a list of them"),
        ("run_dir = 3\n", 1, "it takes the name of a file or folder"),
        (
            "[corpus]\nsource_lang = 1979-05-27\nvalid_size = 0\n",
            3,
            "it takes a whole number at least 1",
        ),
        ("\nmodel = 5\n", 2, "model is a section, not a value: write [model]"),
        ("[[model]]\nheads = 5\n", 1, "model is a section, not a value: write [model]"),
        ("[training]\nseed = \n", 2, "not valid TOML: Invalid value"),
        ("[training]\nschedule = cosine\n", 2, "text values stand in quotes"),
        ("[training]\nseed = 1\nseed = 2\n", 3, "not valid TOML: Cannot overwrite a value"),
        ("[training\nseed = 1\n", 1, "not valid TOML"),
        ('[corpus]\nsource = """a', 2, "not valid TOML"),
        (b"[corpus]\n\nsource = '\xff'\n", 3, "not UTF-8 at byte 20"),
        ("[corpus]\nsource = 'a'\n", 2, "corpus.source is given without corpus.target"),
        (
            "[corpus]\nvalid_target = 'a'\n",
            2,
            "corpus.valid_target is given without corpus.valid_source",
        ),
        ("[tokenization]\nkind='word'\nbyte_level=true\n", 3, "works with kind bpe, not word"),
        (
            "[tokenization]\nkind='char'\nsampling=0.1\n",
            3,
            "works with kind bpe, unigram or wordpiece, not char",
        ),
        (
            "[tokenization]\nlowercase=true\nbyte_level=true\n",
            2,
            "tokenization.byte_level keeps it as it is; choose one",
        ),
        (
            "[tokenization]\nshared=false\n[model]\ntie='three-way'\n",
            4,
            "model.tie = three-way needs one vocabulary",
        ),
        (
            "[batching]\nmax_length = 1025\n",
            2,
            "batching.max_length = 1025 is more than model.max_positions = 1024",
        ),
        (
            "[model]\nmax_positions = 255\n",
            2,
            "batching.max_length = 256 is more than model.max_positions = 255",
        ),
        ("[tokenization]\nvocabulary_size = 261\n", 2, "a whole number at least 262"),
        ("[training]\nseed = 9223372036854775808\n", 2, "at most 9,223,372,036,854,775,807"),
        ('run_dir = ""\n', 1, 'run_dir = "" is wrong: it takes the name of a file or folder'),
        (
            "[decoding]\nlength_penalty = 11\n",
            2,
            "length_penalty = 11 is wrong: it takes a number at least -10.0 and at most 10.0",
        ),
        ("[decoding]\nn_best = 2\n", 2, "unknown key decoding.n_best"),
        ("[training]\nema = 0.9\nshard = true\n", 3, "training.shard divides the weights"),
        ("[model]\nd_model=10\nheads=3\n", 3, "model.heads = 3 does not divide model.d_model = 10"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    path = write(tmp_path, text)
    message = refusal(path)
    assert f"{path}:{line}: " in message
    assert words in message


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "[training]\nseed = -1\n[model]\nheads = 0\nnrom = 'pre'\n")
    places = [message.split(": ")[0] for message in refusal(path).splitlines()]
    assert sorted(places) == [f"{path}:2", f"{path}:4", f"{path}:5"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (
            "training.sed",
            "7",
            "flag --training.sed: no such key in the configuration; did you mean training.seed?",
        ),
        ("sed", "7", "did you mean training.seed?"),
        ("corpus.source.x", "7", "no such key"),
        ("training.seed", "seven", 'flag --training.seed: training.seed = "seven" is wrong'),
        ("training.seed", "7.0", "it takes a whole number at least 0"),
        ("training.minutes", "0", "it takes a number above 0"),
        ("tokenization.lowercase", "7", "it takes true or false"),
        ("model.heads", "0", "it takes a whole number at least 1 and at most 128"),
        (
            "corpus.source",
            "x",
            "flag --source: corpus.source is given without corpus.target",
        ),
        ("corpus.source", "\udcff", "is not UTF-8"),
        (
            "run_dir",
            "${NOT_SET_ANYWHERE}/x",
            "flag --run-dir: run_dir needs the environment variable",
        ),
    ],
)
def test_a_mistake_in_a_flag_is_named_with_the_flag(key: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, {key: value})
    assert words in str(caught.value)


def test_a_key_that_is_missing_beside_flags_has_no_place() -> None:
    both = {"corpus.source": ("a.en", "a.de"), "corpus.target": ("a.de", "a.en")}
    with pytest.raises(ConfigError, match=r"^corpus\.valid_source is missing"):
        load_config(None, both | {"corpus.directions": "en-de,de-en"})


def test_a_flag_into_a_section_that_the_file_made_a_value_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "training = 3\n")
    assert f"{path}:1: training is a section" in refusal(path, training__seed="1")


def test_the_smallest_vocabulary_is_the_one_that_can_be_trained() -> None:
    size = str(SMALLEST_VOCABULARY)
    assert load_config(None, {"tokenization.vocabulary_size": size}).tokenization.vocabulary_size
    message = refusal(None, tokenization__vocabulary_size=str(SMALLEST_VOCABULARY - 1))
    assert f"at least {SMALLEST_VOCABULARY}" in message


def test_what_goes_together_is_taken() -> None:
    config = load_config(
        None,
        {
            "tokenization.kind": "wordpiece",
            "tokenization.sampling": "0.1",
            "tokenization.shared": "true",
            "model.tie": "three-way",
            "model.max_positions": "256",
            "training.seed": str(2**63 - 1),
        },
    )
    assert config.tokenization.sampling == 0.1
    assert config.training.seed == 2**63 - 1
    imported = {"model.tie": "three-way", "tokenization.shared": "false"}
    assert load_config(None, {**imported, "start.init_from": "model"}).model.tie == "three-way"


def test_a_missing_file_and_a_folder_are_named_with_what_was_probably_meant(tmp_path: Path) -> None:
    write(tmp_path, "")
    assert f"did you mean {tmp_path / 'run.toml'}?" in refusal(tmp_path / "rum.toml")
    assert "is a folder" in refusal(tmp_path)
    (tmp_path / "config.toml").write_text("")
    assert f"did you mean {tmp_path / 'config.toml'}?" in refusal(tmp_path)
    assert "no such configuration file" in refusal(tmp_path / "no" / "x.toml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.chmod(0)
    assert "cannot be read" in refusal(path)


def test_a_file_nested_a_thousand_deep_is_refused_in_words(tmp_path: Path) -> None:
    assert "nested far too deeply" in refusal(write(tmp_path, "a = " + "[" * 5000))


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf[training]\r\nseed = 7\r\n")
    assert load_config(path).training.seed == 7


def test_sections_are_frozen_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        RunConfig().run_dir = Path("x")  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        CorpusConfig.model_validate({"sauce": "x"})


def test_every_setting_is_explained() -> None:
    sections = [f for f in RunConfig.model_fields.values() if f.annotation is not Path | None]
    assert all(
        issubclass(f.annotation, Section) for f in sections if isinstance(f.annotation, type)
    )
    settings = list_settings()
    assert len(settings) == len({s.key for s in settings}) > 50
    for setting in settings:
        assert len(setting.description) > 10, setting.key
        assert setting.values, setting.key


def test_explain_finds_a_key_a_section_and_the_nearest_name() -> None:
    assert [s.key for s in find_settings("training.seed")] == ["training.seed"]
    assert [s.key for s in find_settings("--training.warmup-steps")] == ["training.warmup_steps"]
    assert {s.section for s in find_settings("model")} == {"model"}
    assert find_settings(None) == list_settings()
    with pytest.raises(ConfigError, match=r"did you mean training\.seed\?"):
        find_settings("training.sed")


def test_a_saved_configuration_is_complete_and_loads_back_equal(tmp_path: Path) -> None:
    config = load_config(
        None,
        {
            "corpus.source": ('a "b".en', "ü\t\\.en"),
            "corpus.target": "$${HOME}.de",
            "training.clip_norm": "none",
            "training.steps": "5",
            "model.tie": "none",
        },
    )
    path = tmp_path / "config.toml"
    save_config(config, path)
    assert load_config(path) == config
    text = path.read_text(encoding="utf-8")
    for setting in list_settings():
        assert f"{setting.name} = " in text
        assert setting.description[:20] in text


def test_what_nobody_chose_can_be_left_to_a_model_that_training_begins_with(
    tmp_path: Path,
) -> None:
    config = load_config(None, {"start.init_from": "runs/other", "training.steps": "5"})
    path = tmp_path / "config.toml"
    save_config(config, path, whole=False)
    again = load_config(path)
    assert again == config
    assert again.training.model_fields_set == {"steps"}
    assert again.model.model_fields_set == set()


def strategy_of(key: str) -> st.SearchStrategy[object]:
    """Values that the setting ``key`` takes."""
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).map(Path)
    files = st.lists(names, max_size=2).map(tuple)
    return {
        "run_dir": names,
        "corpus.source": files,
        "corpus.source_lang": st.from_regex(LANGUAGE_CODE, fullmatch=True).filter(
            lambda code: code != "none"
        ),
        "training.seed": st.integers(0, 2**40),
        "training.minutes": st.floats(0, exclude_min=True, allow_infinity=False) | st.none(),
        "training.clip_norm": st.floats(1e-300, 1e300) | st.none(),
        "tokenization.shared": st.booleans() | st.none(),
        "model.tie": st.sampled_from(["three-way", "target", "none", None]),
        "decoding.length_penalty": st.floats(-10, 10),
    }[key]


KEYS = [
    "run_dir",
    "corpus.source",
    "corpus.source_lang",
    "training.seed",
    "training.minutes",
    "training.clip_norm",
    "tokenization.shared",
    "model.tie",
    "decoding.length_penalty",
]


@given(st.fixed_dictionaries({key: strategy_of(key) for key in KEYS}))
def test_writing_and_reading_is_the_identity(values: dict[str, object]) -> None:
    tree: dict[str, object] = {"run_dir": values.pop("run_dir")}
    for key, value in values.items():
        section, name = key.split(".")
        part = tree.setdefault(section, {})
        assert isinstance(part, dict)
        part[name] = value
    corpus = tree["corpus"]
    assert isinstance(corpus, dict)
    corpus["target"] = corpus["source"]
    config = RunConfig.model_validate(tree)
    assume(config.tokenization.shared is not False or config.model.tie != "three-way")
    with tempfile.TemporaryDirectory() as folder:
        save_config(config, Path(folder) / "config.toml")
        assert load_config(Path(folder) / "config.toml") == config


def test_reading_a_configuration_never_imports_torch() -> None:
    code = "import sys, interlingua.config_files; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
