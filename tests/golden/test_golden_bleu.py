"""Legacy BLEU against figures that other tools published for the same files."""

import os
from pathlib import Path

import pytest

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.legacy import legacy_scores, tokenized_bleu


def find(name: str) -> Path:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no golden files")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def test_the_legacy_scorer_gives_the_figure_of_tensorflow_nmt() -> None:
    # tensorflow/nmt at commit 0be8642, nmt/utils/evaluation_utils_test.py, on its own test data.
    hypotheses = read_lines(find("golden_bleu/deen_output"))
    references = [line.replace("@@ ", "") for line in read_lines(find("golden_bleu/deen_ref_bpe"))]
    result = tokenized_bleu(hypotheses, [references])
    assert result.value == pytest.approx(22.5855084573, abs=1e-10)
    assert result.reference_length == 64807


def test_the_tokenized_multi30k_reference_has_the_length_that_papers_print() -> None:
    # "syslen 12096 reflen 12103" with BLEU 41.02 on test2016: Wu et al. 2021, authors' README-baseline.md.
    references = read_lines(find("multi30k_en_de/tok/test_2016_flickr.de"))
    shortened = [line.rsplit(" ", 2)[0] for line in references]
    result = tokenized_bleu(shortened, [references], lowercase=True)
    assert result.reference_length == 12103
    assert result.hypothesis_length == 12103 - 2 * len(references)
    assert result.precisions == (1.0, 1.0, 1.0, 1.0)
    assert result.value == pytest.approx(82.14, abs=0.5)


def test_raw_german_scores_nearly_full_against_its_tokenized_lower_cased_form() -> None:
    # 13a stands in for the tokenizer of Moses: 1.3 % of the lines differ, in quotes and abbreviations.
    raw = read_lines(find("multi30k_en_de/test_2016_flickr.de"))
    tokenized = read_lines(find("multi30k_en_de/tok/test_2016_flickr.de"))
    lowered, _ = legacy_scores(tokenized, [tokenized], tokenize="none")
    assert lowered.value == pytest.approx(100)
    assert 98 < legacy_scores(raw, [tokenized])[0].value < 100
