"""The card of an export as the Hub's own library reads it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.cli import main

hub = pytest.importorskip("huggingface_hub", reason="needs the export extra: transformers")


@pytest.mark.parametrize(
    ("licence", "identifier", "name"),
    [
        ("cc-by-4.0", "cc-by-4.0", None),
        ("CC BY 2.0 FR", "other", "cc-by-2.0-fr"),
        (None, "unknown", None),
    ],
)
def test_the_hub_reads_languages_licence_and_metrics_with_their_signature(
    make_folder: Callable[..., Path],
    tmp_path: Path,
    licence: str | None,
    identifier: str,
    name: str | None,
) -> None:
    pytest.importorskip("ctranslate2", reason="needs the export extra: ctranslate2")
    command = ["export", str(make_folder("tied")), "--format", "ctranslate2"]
    command += ["--output", str(tmp_path / "out")] + (["--licence", licence] if licence else [])
    assert main(command) == 0
    card = hub.ModelCard.load(tmp_path / "out" / "README.md")
    found = card.data.to_dict()
    assert found["language"] == ["ro", "en"]
    assert (found["license"], found.get("license_name")) == (identifier, name)
    assert (found["library_name"], found["pipeline_tag"]) == ("ctranslate2", "translation")
    results = hub.repocard_data.model_index_to_eval_results(found["model-index"])[1]
    assert [each.metric_type for each in results] == ["bleu", "bleu"]
    for beam_size, each in zip((1, 4), results, strict=True):
        assert each.metric_name is not None
        assert each.metric_name.startswith(f"BLEU, beam {beam_size}, nrefs:1|case:mixed|")
        assert each.task_type == "translation"
        assert 0 <= each.metric_value <= 100
