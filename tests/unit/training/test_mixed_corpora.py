"""Several corpora in one run: weights, temperature, tags."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlingua.batching.mixing import draw_pairs
from interlingua.config import CorpusConfig, RunConfig, TokenizationConfig, TrainingConfig
from interlingua.config_files import load_config
from interlingua.errors import ConfigError, CorpusError
from interlingua.tokenization.vocabulary import SPECIAL_PIECES
from interlingua.training import data
from interlingua.training.data import Cursor
from interlingua.training.prepare import Prepared, prepare

CLEAN = [f"casa {i} are {i % 7} uși" for i in range(60)]
BACK = [f"o grădină {i} cu <bt> flori" for i in range(30)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, tuple[Path, ...]]:
    sides: dict[str, tuple[Path, ...]] = {}
    for side, suffix in (("source", "ro"), ("target", "en")):
        for name, lines in (("clean", CLEAN), ("back", BACK), ("valid", CLEAN[:9])):
            (tmp_path / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines))
        sides[side] = (tmp_path / f"clean.{suffix}", tmp_path / f"back.{suffix}")
        sides[f"valid_{side}"] = (tmp_path / f"valid.{suffix}",)
    return sides


def prepared_with(
    files: dict[str, tuple[Path, ...]],
    tokens: TokenizationConfig | None = None,
    **corpus: object,
) -> Prepared:
    config = RunConfig(
        run_dir=files["source"][0].parent / "run",
        corpus=CorpusConfig.model_validate({**files, **corpus}),
        tokenization=tokens or TokenizationConfig(kind="bpe"),
        training=TrainingConfig(device="cpu", threads=1),
    )
    return prepare(config)


def times(prepared: Prepared, epoch: int = 0) -> Counter[int]:
    return Counter(pair for batch in prepared.training.order(epoch) for pair in batch.tolist())


def test_without_weights_every_pair_of_every_file_comes_once(
    files: dict[str, tuple[Path, ...]],
) -> None:
    prepared = prepared_with(files)
    assert prepared.training.shards.parts == (60, 30)
    assert times(prepared) == dict.fromkeys(range(90), 1)


def test_weights_say_how_often_the_pairs_of_a_file_come(
    files: dict[str, tuple[Path, ...]],
) -> None:
    prepared = prepared_with(files, weights=[0.5, 2])
    first, second = times(prepared, 0), times(prepared, 1)
    assert all(first[pair] == 2 for pair in range(60, 90))
    assert {pair for pair in first if pair < 60} | {pair for pair in second if pair < 60} == {
        *range(60)
    }
    assert first.total() == second.total() == 90
    whole = prepared_with(files)
    assert prepared.training.target_tokens != whole.training.target_tokens
    assert prepared.training.shards.manifest == whole.training.shards.manifest


def test_the_pairs_of_an_epoch_are_drawn_once(
    files: dict[str, tuple[Path, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = prepared_with(files, weights=[0.5, 2]).training
    drawn: list[int] = []

    def counted(*arguments: Any, **named: Any) -> Any:
        drawn.append(named["epoch"])
        return draw_pairs(*arguments, **named)

    monkeypatch.setattr(data, "draw_pairs", counted)
    training.order(3)
    assert drawn == [3]


def test_a_temperature_becomes_weights_and_says_which(
    files: dict[str, tuple[Path, ...]],
) -> None:
    prepared = prepared_with(files, temperature=1000)
    assert prepared.training.weights == pytest.approx((1, 1.9986), abs=1e-4)
    assert any(reason.startswith("corpus.weights = 1, 1.9986") for reason in prepared.reasons)


def test_what_is_chosen_follows_from_the_pairs_of_an_epoch_as_its_length_does(
    files: dict[str, tuple[Path, ...]],
) -> None:
    for path in (files["source"][1], files["target"][1]):
        path.write_text("".join(f"o grădină {i} cu {i * i} flori\n" for i in range(3_000)))

    def size_and_steps(**corpus: object) -> tuple[int | None, int | None]:
        config = prepared_with(files, TokenizationConfig(), **corpus).config
        return config.tokenization.vocabulary_size, config.training.steps

    alone = size_and_steps(source=files["source"][:1], target=files["target"][:1])
    assert size_and_steps(weights=[1, 0.1]) == alone  # 360 pairs: as many as make no other choice
    assert size_and_steps(weights=[1, 0.1]) == alone  # and from what the run keeps of them
    assert (
        size_and_steps(weights=[0.5, 1])[0]
        == size_and_steps()[0]
        == size_and_steps(weights=[2, 1])[0]
    )
    assert size_and_steps()[0] > alone[0]  # type: ignore[operator]


@pytest.mark.parametrize(
    "tokens",
    [
        TokenizationConfig(kind="bpe"),
        TokenizationConfig(kind="unigram"),
        TokenizationConfig(kind="word"),
        TokenizationConfig(kind="bpe", byte_level=True),
        TokenizationConfig(kind="bpe", sampling=0.3),
        TokenizationConfig(kind="bpe", shared=False),
    ],
)
def test_a_tag_is_one_id_before_the_sources_of_its_file_and_no_text_becomes_it(
    files: dict[str, tuple[Path, ...]], tokens: TokenizationConfig
) -> None:
    prepared = prepared_with(files, tokens, tags=["", "<bt>"])
    tokenizer = prepared.tokenizers.source
    for epoch in (0, 1):
        for indices in prepared.training.order(epoch):
            batch = prepared.training.batch(indices, epoch)
            for pair, row in zip(batch.pair_ids, batch.source.tolist(), strict=True):
                assert (tokenizer.tokens(row)[0] == "<bt>") == (pair >= 60)
                assert tokenizer.tokens(row).count("<bt>") == (pair >= 60)
                text = tokenizer.decode(row)
                assert text == (CLEAN + BACK)[pair]
            assert not any(
                "<bt>" in prepared.tokenizers.target.tokens(row)[:1]
                for row in batch.target_in.tolist()
            )
    assert "<bt>" not in tokenizer.tokens(tokenizer.encode("<bt> flori").ids)
    assert not any(
        "<bt>" in tokenizer.tokens(row)
        for batch in prepared.validation.once()
        for row in batch.source.tolist()
    )


def test_another_tag_makes_another_vocabulary(files: dict[str, tuple[Path, ...]]) -> None:
    assert "<bt>" in prepared_with(files, tags=["", "<bt>"]).tokenizers.source.vocabulary.pieces  # type: ignore[attr-defined]
    pieces = prepared_with(files, tags=["<a>", "<b>"]).tokenizers.source.vocabulary.pieces  # type: ignore[attr-defined]
    assert {"<a>", "<b>"} <= set(pieces)
    assert "<bt>" not in pieces


def test_a_file_of_blank_lines_is_a_part_without_pairs(
    files: dict[str, tuple[Path, ...]],
) -> None:
    for side in ("source", "target"):
        files[side][1].write_text("\n" * 30)
    prepared = prepared_with(files, weights=[1, 2], tags=["", "<bt>"])
    assert prepared.training.shards.parts == (60, 0)
    assert times(prepared) == dict.fromkeys(range(60), 1)


def test_an_epoch_may_be_empty_but_not_every_one(files: dict[str, tuple[Path, ...]]) -> None:
    for side in ("source", "target"):
        files[side][0].write_text("casa\n")
        files[side][1].write_text("\n")
    training = prepared_with(files, weights=[0.25, 1]).training
    batch, cursor = next(training.batches(Cursor()))
    assert (batch.pair_ids, cursor) == ((0,), Cursor(4, 0))
    for weights in ((4e-7, 1.0), (0.0, 0.0)):
        with pytest.raises(CorpusError, match="no epoch has a pair: the files have 1, 0 usable"):
            next(replace(training, weights=weights).batches(Cursor()))


@pytest.mark.parametrize("change", [{"weights": [1, 3]}, {"tags": ["", "<x>"]}, {"noise": 0.3}])
def test_a_run_that_has_begun_keeps_its_mixture(
    files: dict[str, tuple[Path, ...]], change: dict[str, object]
) -> None:
    mixture = {"weights": [1, 2], "tags": ["", "<bt>"]}
    folder = prepared_with(files, **mixture).folder
    (folder.checkpoints / "step-1").mkdir(parents=True)
    assert prepared_with(files, **mixture).training.weights == (1.0, 2.0)
    with pytest.raises(ConfigError, match=f"was started with corpus.{next(iter(change))} = "):
        prepared_with(files, **(mixture | change))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("weights = [1, 2, 3]", "corpus.weights has 3 numbers and corpus.source 2 files; give one"),
        ("weights = 0.5", "corpus.weights has 1 number and corpus.source 2 files"),
        ("tags = ['<bt>']", "corpus.tags has 1 symbol and corpus.source 2 files"),
        ("tags = ['bt', '']", 'it takes a symbol such as "<bt>", or a list of them'),
        ("tags = ['<b t>', '']", 'it takes a symbol such as "<bt>", or a list of them'),
        ("tags = ['<s>', '']", "corpus.tags holds <s>, which means something else"),
        ("tags = ['<0x41>', '']", "corpus.tags holds <0x41>, which means something else"),
        ("weights = [0, 1]", "a number from 0.000001 to 1,000, or a list of them"),
        ("weights = [4e-7, 1]", "a number from 0.000001 to 1,000, or a list of them"),
        ("weights = ['a', 1]", "a number from 0.000001 to 1,000, or a list of them"),
        ("temperature = 0.5", "it takes a number at least 1.0"),
        ("temperature = 2\nweights = [1, 2]", "both say how often a file comes; take one"),
    ],
)
def test_weights_and_tags_that_do_not_fit_are_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f"[corpus]\nsource = ['a', 'b']\ntarget = ['c', 'd']\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert f"{path}:4: " in str(caught.value)


@pytest.mark.parametrize("symbol", SPECIAL_PIECES)
def test_no_tag_can_be_a_symbol_of_every_vocabulary(symbol: str) -> None:
    files = {"corpus.source": ("a",), "corpus.target": ("c",)}
    with pytest.raises(ConfigError, match=f"corpus.tags holds {symbol}, which means something"):
        load_config(None, {**files, "corpus.tags": symbol})


def test_weights_and_tags_can_be_typed_with_commas() -> None:
    files = {"corpus.source": ("a", "b"), "corpus.target": ("c", "d")}
    config = load_config(None, {**files, "corpus.weights": "1,0.5", "corpus.tags": ",<bt>"})
    assert config.corpus.weights == (1.0, 0.5)
    assert config.corpus.tags == ("", "<bt>")
    with pytest.raises(ConfigError, match=r"flag --corpus\.weights: corpus\.weights"):
        load_config(None, {**files, "corpus.weights": "1,half"})
