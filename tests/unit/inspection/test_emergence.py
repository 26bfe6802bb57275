"""The samples of a run become one picture a sentence."""

import json
from pathlib import Path

import numpy as np
import pytest

from interlingua.errors import ModelError
from interlingua.inspection.emergence import NUM_PANELS, draw_emergence, read_samples


def record(step: int, sample: int, tokens: int = 2) -> dict[str, object]:
    random = np.random.default_rng([step, sample])
    return {
        "step": step,
        "sample": sample,
        "source": f"source {sample}",
        "reference": "a reference",
        "output": f"output at {step}",
        "source_tokens": ["▁a", "▁b", "</s>"],
        "target_tokens": [*(f"▁{place}" for place in range(tokens - 1)), "</s>"],
        "attention": random.dirichlet(np.ones(3), tokens).round(3).tolist(),
    }


def write_samples(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def test_samples_are_grouped_by_sentence_and_ordered_by_step(tmp_path: Path) -> None:
    records = [record(step, sample) for step in (200, 100) for sample in (2, 1)]
    sentences = read_samples(write_samples(tmp_path / "samples.jsonl", records))
    assert [[each.step for each in sentence] for sentence in sentences] == [[100, 200]] * 2
    assert [sentence[0].number for sentence in sentences] == [1, 2]
    assert sentences[0][0].output == "output at 100"
    np.testing.assert_array_equal(sentences[0][0].attention, record(100, 1)["attention"])


def test_at_most_eight_steps_are_drawn_with_the_first_and_the_last(tmp_path: Path) -> None:
    records = [record(step, 1, 3) for step in range(0, 2100, 100)]
    (sentence,) = read_samples(write_samples(tmp_path / "samples.jsonl", records))
    panels = [axes for axes in draw_emergence(sentence).axes if axes.images]
    assert len(panels) == NUM_PANELS
    assert [panels[0].get_title(), panels[-1].get_title()] == ["step 0", "step 2,000"]
    np.testing.assert_array_equal(
        np.asarray(panels[-1].images[0].get_array()), record(2000, 1, 3)["attention"]
    )
    assert {(panel.images[0].norm.vmin, panel.images[0].norm.vmax) for panel in panels} == {(0, 1)}


def test_an_endless_early_output_is_cut_and_says_so(tmp_path: Path) -> None:
    records = [record(1, 1, 100), record(2, 1, 5)]
    (sentence,) = read_samples(write_samples(tmp_path / "samples.jsonl", records))
    first, second = draw_emergence(sentence).axes[:2]
    assert first.get_title() == "step 1 (+ 91 tokens)"
    assert np.asarray(first.images[0].get_array()).shape == (9, 3)
    assert second.get_title() == "step 2"
    assert np.asarray(second.images[0].get_array()).shape == (5, 3)


def test_every_token_of_every_panel_is_named(tmp_path: Path) -> None:
    records = [record(1, 1, 3), record(2, 1, 5)]
    (sentence,) = read_samples(write_samples(tmp_path / "samples.jsonl", records))
    figure = draw_emergence(sentence, source_name="source: xx")
    for axes, tokens in zip(figure.axes[:2], (3, 5), strict=True):
        named = {text.get_text() for text in axes.texts}
        assert {"▁a", "▁b", "</s>"} | {f"▁{place}" for place in range(tokens - 1)} <= named
    assert "source: xx" in named


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        json.dumps(record(1, 1) | {"attention": [[1.0]]}),
        json.dumps(record(1, 1) | {"attention": "x"}),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(record(1, 1)) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"samples\.jsonl: line 2 is damaged"):
        read_samples(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match="cannot be read"):
        read_samples(path)
