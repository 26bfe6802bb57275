"""Several pairs of languages in one run: the tag of each source, the vocabulary, and validation pair by pair."""

import json
from pathlib import Path

import pytest

from interlingua.config import (
    CorpusConfig,
    ModelConfig,
    RunConfig,
    StartConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training import corpus_of_run
from interlingua.training.directions_of_run import (
    direction_of_files,
    doubts_about_directions,
    pairs_by_direction,
    tag_ids,
)
from interlingua.training.prepare import Prepared, prepare, reopen, run_dir_of
from interlingua.training.run import train
from interlingua.translator import Translator

EN = [f"the house {n} has {n % 7} doors" for n in range(60)]
DE = [f"das haus {n} hat {n % 7} türen" for n in range(60)]
RO = [f"casa {n} are {n % 7} uși" for n in range(60)]
TEXTS = {"train.en": EN, "train.de": DE, "few.en": EN[:12], "few.ro": RO[:12], "valid.en": EN[:5]}
TEXTS |= {"valid.de": DE[:5], "valid.ro": RO[:5]}
DIRECTIONS = ("en-de", "en-ro")


def test_a_direction_that_the_names_of_files_deny_is_said() -> None:
    corpus = CorpusConfig(
        source=(Path("a.eng"), Path("few.en.gz"), Path("x.txt")),
        target=(Path("a.de"), Path("few.ro"), Path("y.txt")),
        directions=("en-de", "en-fr", "fr-en"),
        valid_source=(Path("v.en"), Path("w.en")),
        valid_target=(Path("v.de"), Path("w.ro")),
        valid_directions=("en-de", "en-ro"),
    )
    assert [each.partition(",")[0] for each in doubts_about_directions(corpus)] == [
        "few.ro: is in ro",
        "corpus.valid_directions has en-ro",
        "corpus.directions has en-fr",
        "corpus.directions has fr-en",
    ]
    assert not doubts_about_directions(CorpusConfig(source=(Path("a.en"),), target=(Path("a.ro"),)))


def test_names_of_files_tell_a_direction_by_any_code_of_its_languages() -> None:
    known = [Direction("en", "de"), Direction("en", "zh_Hans"), Direction("en", "zh_Hant")]

    def told(source: str, target: str) -> Direction | None:
        return direction_of_files(Path(source), Path(target), known)

    assert told("a.en", "a.de") == told("a.eng", "a.deu.gz") == known[0]
    assert told("a.en", "a.zh_Hant") == known[2]
    assert told("a.en", "a.zho") is None  # either
    assert told("a.txt", "a.de") is told("a", "b") is told("a.de", "a.en") is None


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in TEXTS.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def config_with(**corpus: object) -> RunConfig:
    files: dict[str, object] = {
        "source": ("train.en", "few.en"),
        "target": ("train.de", "few.ro"),
        "valid_source": ("valid.en", "valid.en"),
        "valid_target": ("valid.de", "valid.ro"),
        "directions": DIRECTIONS,
    }
    return RunConfig(
        corpus=CorpusConfig.model_validate(files | corpus),
        tokenization=TokenizationConfig(kind="bpe", vocabulary_size=400, shared=True),
        model=ModelConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=16, heads=2),
        training=TrainingConfig(device="cpu", threads=1, steps=2, validate_sentences=4),
    )


def write_unequal(many: int, few: int) -> None:
    """Write two corpora of which the small one has sources of the large one."""
    for name, line, number in (
        ("train.en", "the house {} has {} doors", many),
        ("train.de", "das haus {} hat {} türen", many),
        ("few.en", "the house {} has {} doors", few),
        ("few.ro", "casa {} are {} uși", few),
    ):
        Path(name).write_text("".join(line.format(n, n % 7) + "\n" for n in range(number)))


def first_ids(prepared: Prepared, part: str = "training") -> list[str]:
    shards = getattr(prepared, part).shards
    pieces = prepared.tokenizers.source.all_tokens()
    return [pieces[int(shards.source(index)[0])] for index in range(len(shards))]


def test_every_source_begins_with_the_tag_of_its_target(place: Path) -> None:
    prepared = prepare(config_with())
    assert first_ids(prepared) == ["<2de>"] * 60 + ["<2ro>"] * 12
    assert first_ids(prepared, "validation") == ["<2de>"] * 5 + ["<2ro>"] * 5
    assert prepared.folder.path == Path("runs/en-de-ro")
    assert (prepared.source_lang, prepared.target_lang) == ("en", "de")


def test_a_tag_of_a_file_stands_after_that_of_the_language_and_not_in_validation(
    place: Path,
) -> None:
    prepared = prepare(config_with(tags=("", "<bt>")))
    pieces = prepared.tokenizers.source.all_tokens()
    corpus = prepared.config.corpus
    assert tag_ids(corpus, prepared.tokenizers) == (
        (pieces.index("<2de>"),),
        (pieces.index("<2ro>"), pieces.index("<bt>")),
    )
    assert tag_ids(corpus, prepared.tokenizers, "validation") == (
        (pieces.index("<2de>"),),
        (pieces.index("<2ro>"),),
    )


def test_subword_sampling_keeps_the_tag(place: Path) -> None:
    config = config_with()
    sampled = config.tokenization.model_copy(update={"sampling": 0.5})
    prepared = prepare(config.model_copy(update={"tokenization": sampled}))
    pieces = prepared.tokenizers.source.all_tokens()
    ids = prepared.training._ids(65, epoch=3)[0]
    assert pieces[ids[0]] == "<2ro>"


def test_pairs_split_off_keep_their_direction(place: Path) -> None:
    prepared = prepare(config_with(valid_source=(), valid_target=(), valid_size=10))
    data = prepared.validation
    found = pairs_by_direction(data.shards, data.pairs, data.directions)
    assert sum(map(len, found.values())) == len(data.shards)
    for direction, pairs in found.items():
        assert all(
            pair.target.startswith("das" if direction.target == "de" else "casa") for pair in pairs
        )


def held_out(prepared: Prepared) -> dict[str, list[str]]:
    data = prepared.validation
    found = pairs_by_direction(data.shards, data.pairs, data.directions)
    return {str(direction): [pair.source for pair in pairs] for direction, pairs in found.items()}


def test_of_each_direction_its_own_share_is_held_out_and_of_all_the_same_sources(
    place: Path,
) -> None:
    write_unequal(3_000, 120)
    prepared = prepare(config_with(valid_source=(), valid_target=()))
    held = held_out(prepared)
    assert len(held["en-de"]) >= 150
    assert len(held["en-ro"]) >= 50
    every = {source for sources in held.values() for source in sources}
    number = {"en-de": 3_000, "en-ro": 120}
    for direction, sources in held.items():
        both = every & {f"the house {n} has {n % 7} doors" for n in range(number[direction])}
        assert set(sources) == both


def test_a_run_that_has_begun_keeps_the_split_of_all_directions_together(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_unequal(1_000, 120)
    config = config_with(valid_source=(), valid_target=())

    def prepare_as_before() -> Prepared:
        with monkeypatch.context() as earlier:
            split = [None, 1, "letters, marks and digits"]
            earlier.setattr(corpus_of_run, "_split_before", lambda _: split)
            return prepare(config)

    folder = prepare_as_before().folder
    kept = json.loads((folder.shards / "corpus.json").read_text())
    assert len(kept["identity"]["split"]) == 3
    assert len(held_out(prepare(config))["en-ro"]) >= 50  # nothing was learnt yet
    before = held_out(prepare_as_before())
    assert len(before["en-ro"]) < 20
    (folder.checkpoints / "step-1").mkdir(parents=True)
    (folder.shards / "validation/manifest.json").unlink()
    assert held_out(prepare(config)) == before
    assert held_out(reopen(folder)) == before


@pytest.mark.parametrize(
    ("name", "columns", "serves_both"),
    [
        ("pairs.tsv", (), False),
        ("sides.jsonl", (), False),
        ("codes.jsonl", (), True),
        ("inside.jsonl", (), True),
        ("codes.jsonl", ("en", "de"), False),
    ],
)
def test_a_file_serves_both_directions_only_where_it_names_its_languages(
    place: Path, name: str, columns: tuple[str, ...], serves_both: bool
) -> None:
    pairs = list(zip(EN, DE, strict=True))
    forms = {
        "pairs.tsv": [f"{en}\t{de}" for en, de in pairs],
        "sides.jsonl": [json.dumps({"source": en, "target": de}) for en, de in pairs],
        "codes.jsonl": [json.dumps({"en": en, "de": de}) for en, de in pairs],
        "inside.jsonl": [json.dumps({"translation": {"de": de, "en": en}}) for en, de in pairs],
    }
    Path(name).write_text("".join(f"{line}\n" for line in forms[name]))
    Path("linked.data").symlink_to(name)
    both: dict[str, object] = {"source": (), "target": (), "pairs": (name, "linked.data")}
    both |= {"directions": ("en-de", "de-en"), "valid_directions": ("en-de", "en-ro")}
    config = config_with(**both, columns=columns)
    if not serves_both:
        with pytest.raises(CorpusError, match=r"is named for en-de and de-en, and is read alike"):
            prepare(config)
        return
    prepared = prepare(config)
    assert first_ids(prepared) == ["<2de>"] * 60 + ["<2en>"] * 60
    assert (
        prepared.tokenizers.source.decode(prepared.training.shards.source(60).tolist()[1:-1])[:3]
        == "das"
    )


def test_a_small_language_gets_pieces_by_its_weight_in_training(place: Path) -> None:
    def length(temperature: float | None) -> int:
        config = config_with(temperature=temperature)
        tokens = config.tokenization.model_copy(update={"vocabulary_size": 320})
        update = {"tokenization": tokens, "run_dir": Path(f"t{temperature}")}
        return len(prepare(config.model_copy(update=update)).tokenizers.source.encode(RO[1]).ids)

    assert length(1000.0) < length(None)


def test_gaps_in_a_validation_stand_behind_the_tag_of_its_language(place: Path) -> None:
    prepared = prepare(config_with(denoise=0.3))
    data = prepared.validation
    pieces = data.tokenizers.source.all_tokens()
    tags = {pieces.index(direction.tag) for direction in data.directions}
    order = data.order(0)
    first = {int(ids[0]) for pairs in order for ids in data.batch(pairs, 0).source}
    assert first == tags


def test_one_pair_of_languages_is_prepared_as_ever(place: Path) -> None:
    one: dict[str, object] = {"source": ("train.en",), "target": ("train.de",), "directions": ()}
    one |= {"valid_source": ("valid.en",), "valid_target": ("valid.de",)}
    prepared = prepare(config_with(**one))
    assert prepared.directions == ()
    assert not any("<2" in piece for piece in prepared.tokenizers.source.all_tokens())
    assert prepared.training.shards.manifest.made_from["prefixes"] == []
    assert run_dir_of(prepared.config).name == "en-de"


def test_the_model_knows_its_pairs_and_says_so(place: Path) -> None:
    result = train(config_with())
    assert result.validation is not None
    assert set(result.validation.directions) == set(DIRECTIONS)
    records = [
        json.loads(line) for line in (result.run_dir / "metrics.jsonl").read_text().splitlines()
    ]
    assert set(next(each["directions"] for each in records if each["kind"] == "validation")) == set(
        DIRECTIONS
    )
    told = json.loads((result.model_dir / "config.json").read_text())
    assert told["directions"] == [["en", "de"], ["en", "ro"]]
    card = (result.model_dir / "README.md").read_text()
    assert "- en to de\n- en to ro\n" in card
    assert "`<2de>`, `<2ro>`" in card
    kept = [
        json.loads(line)
        for line in (result.model_dir / "validation.jsonl").read_text().splitlines()
    ]
    assert [each["direction"] for each in kept] == ["en-de"] * 5 + ["en-ro"] * 5
    every = Translator.load_every(result.model_dir)
    assert [(each.source_lang, each.target_lang) for each in every] == [("en", "de"), ("en", "ro")]
    assert every[0].model is every[1].model
    with pytest.raises(ConfigError, match="say into which language: --to de or ro"):
        Translator.load(result.model_dir)
    again = Translator.load(result.model_dir, to="ro")
    assert again.translate(["the house 1"]) == every[1].translate(["the house 1"])
    assert not again.is_zero_shot


def test_a_mixture_of_languages_cannot_change_in_the_middle_of_a_run(place: Path) -> None:
    train(config_with().model_copy(update={"run_dir": Path("run")}))
    other = config_with(directions=("en-de", "en-it"))
    with pytest.raises(ConfigError, match=r"was started with corpus\.directions"):
        train(other.model_copy(update={"run_dir": Path("run")}))


def test_fine_tuning_keeps_what_was_known_and_adds_a_language(place: Path) -> None:
    start = train(config_with()).run_dir
    files: dict[str, object] = {"source": ("few.ro",), "target": ("few.en",)}
    files |= {"valid_source": ("valid.ro",), "valid_target": ("valid.en",)}
    tuned = RunConfig(
        run_dir=Path("tuned"),
        corpus=CorpusConfig.model_validate(files | {"directions": ("ro-en",)}),
        start=StartConfig(init_from=start, new_language=True),
        training=TrainingConfig(device="cpu", threads=1, steps=2, validate_sentences=4),
    )
    old = tuned.model_copy(update={"start": StartConfig(init_from=start)})
    with pytest.raises(ConfigError, match="and the corpus has ro-en; give --start"):
        train(old)
    with pytest.raises(ConfigError, match="say of every file which it is"):
        train(tuned.model_copy(update={"corpus": CorpusConfig.model_validate(files)}))
    model = train(tuned).model_dir
    known = Translator.load(model, to="ro-en").directions
    assert known == (Direction("ro", "en"), Direction("en", "de"), Direction("en", "ro"))


def test_a_borrowed_encoder_knows_its_tags_and_brings_no_pair_of_languages(place: Path) -> None:
    start = train(config_with()).run_dir
    files: dict[str, object] = {"source": ("few.en",), "target": ("few.ro",)}
    files |= {"valid_source": ("valid.en",), "valid_target": ("valid.ro",)}

    def borrowed(direction: str) -> RunConfig:
        return RunConfig(
            run_dir=Path("borrowed"),
            corpus=CorpusConfig.model_validate(files | {"directions": (direction,)}),
            start=StartConfig(encoder_from=start),
            training=TrainingConfig(device="cpu", threads=1, steps=2, validate_sentences=4),
        )

    with pytest.raises(ConfigError, match=r"corpus\.directions needs <2it>, which the"):
        prepare(borrowed("en-it"))
    assert prepare(borrowed("en-ro")).directions == (Direction("en", "ro"),)


def test_a_borrowed_encoder_of_several_languages_reads_each_of_them(place: Path) -> None:
    both: dict[str, object] = {
        "source": ("train.en", "train.de"),
        "target": ("train.de", "train.en"),
    }
    both |= {"valid_source": ("valid.en",), "valid_target": ("valid.de",)}
    both |= {"directions": ("en-de", "de-en"), "valid_directions": ("en-de",)}
    start = train(config_with(**both)).run_dir
    files: dict[str, object] = {"source": ("train.de",), "target": ("train.en",)}
    files |= {"valid_source": ("valid.de",), "valid_target": ("valid.en",)}
    twice = {name: paths * 2 for name, paths in files.items()}  # type: ignore[operator]

    def borrowed(name: str, corpus: dict[str, object]) -> RunConfig:
        return RunConfig(
            run_dir=Path(name),
            corpus=CorpusConfig.model_validate(corpus),
            start=StartConfig(encoder_from=start),
            training=TrainingConfig(device="cpu", threads=1, steps=2, validate_sentences=4),
        )

    assert prepare(borrowed("one", files)).source_lang == "de"
    with pytest.raises(ConfigError, match=r"reads en, de, and the corpus has ro as a source"):
        prepare(borrowed("two", twice | {"directions": ("de-en", "ro-en")}))


def test_a_model_of_one_pair_becomes_one_of_several(place: Path) -> None:
    one: dict[str, object] = {"source": ("train.en",), "target": ("train.de",), "directions": ()}
    one |= {"valid_source": ("valid.en",), "valid_target": ("valid.de",)}
    start = train(config_with(**one)).run_dir
    several = config_with().model_copy(
        update={
            "run_dir": Path("several"),
            "tokenization": TokenizationConfig(),
            "model": ModelConfig(),
        }
    )
    begin = StartConfig(init_from=start, new_language=True)
    result = train(several.model_copy(update={"start": begin}))
    assert {each.text for each in result.differences} == {"validation en-de"}
    assert Translator.load(result.model_dir, to="ro").directions == (
        Direction("en", "de"),
        Direction("en", "ro"),
    )


def test_new_pieces_are_of_the_new_language(place: Path) -> None:
    for name, lines in (
        ("more.en", EN * 3),
        ("more.de", [f"lange wortschlange {n}" for n in range(180)]),
    ):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    one: dict[str, object] = {"source": ("train.en",), "target": ("train.de",), "directions": ()}
    one |= {"valid_source": ("valid.en",), "valid_target": ("valid.de",)}
    start = train(config_with(**one)).run_dir
    several = config_with(source=("more.en", "few.en"), target=("more.de", "few.ro")).model_copy(
        update={
            "run_dir": Path("several"),
            "tokenization": TokenizationConfig(),
            "model": ModelConfig(),
        }
    )
    begin = StartConfig(init_from=start, new_language=True, new_pieces=5)
    before = set(TokenizerPair.load(start / "model").target.all_tokens())
    prepared = prepare(several.model_copy(update={"start": begin}))
    new = {*prepared.tokenizers.target.all_tokens()} - before - {"<2de>", "<2ro>"}
    few = " ".join((*EN[:12], *RO[:12]))
    assert len(new) == 5
    assert [piece for piece in new if piece.strip("▁") not in few] == []
