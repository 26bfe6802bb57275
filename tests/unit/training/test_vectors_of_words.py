"""Embeddings that begin as vectors of words that others have trained."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from interlingua.checkpoints.weights import read_tensors
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.errors import ConfigError, CorpusError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.replay import replay
from interlingua.training.run import train

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
D = 8


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Vectors of the ten words but the last, in lower case, ten times as large as embeddings are drawn."""
    drawn = np.random.default_rng(1).standard_normal((9, D)) * 3
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip(NUMBERS, drawn, strict=False)]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(rows) + "\n")
    return path


def config(folder: Path, **start: str) -> RunConfig:
    lines = [" ".join(NUMBERS[int(digit)] for digit in str(7919 * i)) for i in range(130)]
    for suffix, text in (("aa", [line.title() for line in lines]), ("bb", lines)):
        (folder / f"train.{suffix}").write_text("".join(f"{line}\n" for line in text))
    flags = {
        "corpus.source": str(folder / "train.aa"), "corpus.target": str(folder / "train.bb"), "run_dir": str(folder / "run"),
        "tokenization.kind": "word", "tokenization.vocabulary_size": "290", "tokenization.shared": "false",
        "model.d_model": str(D), "model.heads": "2", "model.d_ff": "8", "model.encoder_layers": "1", "model.decoder_layers": "1",
        "training.steps": "30", "training.validate_every": "20", "training.threads": "1", "training.validate_sentences": "2",
    }  # fmt: skip
    return load_config(None, flags | {f"start.{name}": value for name, value in start.items()})


def embeddings(run: Path, side: str) -> dict[str, torch.Tensor]:
    tokenizer = getattr(TokenizerPair.load(run / "tokenizer"), side)
    table = read_tensors(run / "model/model.safetensors")[f"{side}_embedding.table.weight"]
    return {word: table[tokenizer.encode(word).ids[0]] for word in map(str.title, NUMBERS)}


def test_words_begin_as_they_are_in_the_file_and_a_frozen_table_stays_so(
    tmp_path: Path, vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = config(
        tmp_path,
        source_vectors=str(vectors),
        freeze="source_embedding.*",
        target_vectors=str(vectors),
    )
    train(asked)
    told = capsys.readouterr().err
    assert "9 of " in told
    assert f"tokens of the source begin with vectors of {vectors} (9 words)" in " ".join(
        told.split()
    )
    rows = embeddings(tmp_path / "run", "source")
    given = {
        line.split()[0]: torch.tensor([*map(float, line.split()[1:])])
        for line in vectors.read_text().splitlines()
    }
    factors = torch.stack([rows[word.title()] / vector for word, vector in given.items()])
    torch.testing.assert_close(factors, factors[0, 0].expand_as(factors), rtol=1e-4, atol=0)
    assert 0 < factors[0, 0] < 0.2


def test_the_run_keeps_what_it_began_with(tmp_path: Path, vectors: Path) -> None:
    asked = config(tmp_path, source_vectors=str(vectors))
    train(asked)
    losses = (tmp_path / "run/metrics.jsonl").read_text()
    vectors.unlink()
    again = replay(tmp_path / "run", steps=20)
    assert (again.differs, again.reasons) == (None, ())
    more = asked.model_copy(update={"training": asked.training.model_copy(update={"steps": 40})})
    train(more)
    records = (tmp_path / "run/metrics.jsonl").read_text()
    assert json.loads(records.splitlines()[-1])["step"] == 40
    assert losses.splitlines()[0] == records.splitlines()[0]


def test_without_vectors_the_same_run_begins_elsewhere(tmp_path: Path, vectors: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    train(config(tmp_path / "one", source_vectors=str(vectors)))
    train(config(tmp_path / "two"))
    first = [
        json.loads((tmp_path / each / "run/metrics.jsonl").read_text().splitlines()[0])["loss"]
        for each in ("one", "two")
    ]
    assert first[0] != first[1]


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (
            "one 1 2 3\n",
            "its vectors have 3 numbers and model.d_model is 8; give --model.d-model 3",
        ),
        (f"haus {'1 ' * D}\n", "holds none of the "),
        (f"one {'1 ' * D}\ntwo 1\n", f"glove.txt, line 2: has 1 numbers where {D} are expected"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    tmp_path: Path, vectors: Path, held: str, told: str
) -> None:
    vectors.write_text(held)
    with pytest.raises((ConfigError, CorpusError)) as refused:
        train(config(tmp_path, source_vectors=str(vectors)))
    assert told in str(refused.value)
    assert not (tmp_path / "run/checkpoints").exists()


def test_a_missing_file_is_named_before_a_vocabulary_is_learnt(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nowhere\.txt"):
        train(config(tmp_path, source_vectors=str(tmp_path / "nowhere.txt")))
    assert not (tmp_path / "run").exists()


def test_a_run_that_has_begun_goes_on_without_the_file(tmp_path: Path, vectors: Path) -> None:
    asked = config(tmp_path, source_vectors=str(vectors))
    before = train(asked).steps
    vectors.unlink()
    assert train(asked).steps == before


def test_a_model_to_begin_with_has_embeddings_of_its_own(tmp_path: Path, vectors: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"start\.target_vectors does not go with start\.init_from"
    ):
        config(tmp_path, target_vectors=str(vectors), init_from=str(tmp_path))
    with pytest.raises(ConfigError, match=r"start\.freeze is about a model to begin with"):
        config(tmp_path, freeze="encoder.*")
