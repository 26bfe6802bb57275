"""``inspect`` writes everything about one translation into one folder."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float
from PIL import Image
from torch import Tensor

from interlingua.errors import ConfigError, ModelError, OutputError
from interlingua.inspection.attention import draw_attention
from interlingua.inspection.report import inspect
from interlingua.inspection.trace import Trace, trace_translation
from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.transformer import Transformer
from interlingua.translator import Translator

TEXT = "pisica vede fata mică."
ATTENTION = ["heat-map", "cross-attention", "encoder-self-attention", "decoder-self-attention"]
SMALL = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)


def names(files: list[Path]) -> list[str]:
    return [file.name for file in files]


def both(stems: list[str]) -> list[str]:
    return [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]


def test_all_figures_and_the_trace_are_there_and_valid(
    translator: Translator, tmp_path: Path
) -> None:
    files = inspect(translator, TEXT, tmp_path / "a" / "b")
    tables = ["source-embeddings", "target-embeddings"]
    expected = both([*ATTENTION, "positions", *tables, "softmax-jacobian"])
    assert names(files) == [*expected, "trace.json"]
    assert sorted(files) == sorted((tmp_path / "a" / "b").iterdir())
    for file in files:
        if file.suffix == ".png":
            with Image.open(file) as image:
                image.verify()
        elif file.suffix == ".svg":
            ElementTree.parse(file)
    trace = Trace.from_json(files[-1].read_text(encoding="utf-8"))
    assert trace.target == translator.translate([TEXT])[0].text


def test_shared_tables_are_drawn_once_learned_positions_a_side_and_a_run_adds_its_samples(
    pre_norm_translator: Translator, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    record = {
        "step": 10,
        "sample": 1,
        "source": "a",
        "output": "b",
        "source_tokens": ["▁a", "</s>"],
        "target_tokens": ["▁b", "</s>"],
        "attention": [[0.9, 0.1], [0.2, 0.8]],
    }
    (run / "samples.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    files = inspect(pre_norm_translator, TEXT, tmp_path / "out", run=run)
    rest = ["source-positions", "target-positions", "embeddings", "softmax-jacobian"]
    assert names(files) == [*both([*ATTENTION, "emergence-1", *rest]), "trace.json"]
    assert "▁b" in (tmp_path / "out" / "emergence-1.svg").read_text(encoding="utf-8")


class SigmoidAttention(MultiHeadAttention):
    """Weights that need not sum to 1."""

    def weigh(
        self,
        query: Float[Tensor, "B H T K"],
        key: Float[Tensor, "B H S K"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B H T S"]:
        weights = (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).sigmoid()
        return weights if mask is None else weights.masked_fill(~mask, 0.0)


def with_model(usual: Translator, model: Transformer) -> Translator:
    return Translator(
        model,
        usual.tokenizers,
        source_lang=usual.source_lang,
        target_lang=usual.target_lang,
        decoding=usual.decoding,
        device="cpu",
        max_source_length=usual.max_source_length,
    )


def test_a_users_own_attention_is_drawn(
    make_translator: Callable[..., Translator], tmp_path: Path
) -> None:
    usual = make_translator(SMALL, shared=True)
    size = usual.tokenizers.source.vocabulary_size
    build = partial(Transformer, attention=SigmoidAttention)
    model = build(SMALL, source_vocabulary=size, target_vocabulary=size).eval()
    translator = with_model(usual, model)
    trace = trace_translation(translator, TEXT)
    sums = trace.maps("cross")[0].weights.sum(-1)
    assert sums.max() > 1.5
    figure = draw_attention(trace, "cross")
    shown = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_array_equal(shown, trace.maps("cross")[0].weights[0])
    assert not any("each row sums" in text.get_text() for text in figure.texts)


class SilentAttention(MultiHeadAttention):
    """Attention whose weights pass through no hook."""

    def attend(
        self, queries: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Float[Tensor, "B T D"]:
        return torch.zeros_like(queries)


def test_attention_that_cannot_be_recorded_is_refused_with_advice(
    make_translator: Callable[..., Translator], tmp_path: Path
) -> None:
    usual = make_translator(SMALL, shared=True)
    size = usual.tokenizers.source.vocabulary_size
    model = Transformer(
        SMALL, source_vocabulary=size, target_vocabulary=size, attention=SilentAttention
    ).eval()
    translator = with_model(usual, model)
    with pytest.raises(ModelError, match=r"self\.dropout"):
        inspect(translator, TEXT, tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused_and_kept(
    translator: Translator, tmp_path: Path
) -> None:
    place = tmp_path / "taken"
    place.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="taken: is a file; give the name of a folder"):
        inspect(translator, TEXT, place)
    with pytest.raises(OutputError, match="cannot be below it; give the name"):
        inspect(translator, TEXT, place / "below")
    assert place.read_text(encoding="utf-8") == "mine"


def test_an_empty_text_leaves_no_folder_behind(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="empty"):
        inspect(translator, " ", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_same_sentence_gives_the_same_files(
    pre_norm_translator: Translator, tmp_path: Path
) -> None:
    first = inspect(pre_norm_translator, TEXT, tmp_path / "a")
    second = inspect(pre_norm_translator, TEXT, tmp_path / "b")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
