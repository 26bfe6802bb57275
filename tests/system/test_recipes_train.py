"""Every recipe trains, on its own corpus cut short: a few updates, and then it is asked something."""

import os
import shutil
from pathlib import Path

import pytest
from stock import head

from interlingua.cli import main
from interlingua.translator import Translator

ROOT = Path(__file__).parents[2]
ELSEWHERE = (
    *("copy", "demo_ro_en", "multi30k_en_de", "multi30k_en_de_anchor", "multi30k_tiny"),
    *("phonemes", "reverse", "scan"),
    *("ro_en", "wmt14_en_de_base", "wmt14_en_de_big"),
)
"""Pages of the book, other tests or often run proofs train the first; the corpora or models of the last three are large: make prove-ro-en,
make prove-wmt14."""
FIRST = {
    "pair_classes": "hidden_words",
    "tatoeba_after_gaps": "gaps_en_de",
    "tanaka_en_ja_frozen": "tatoeba_en_de",
}
"""What a recipe begins with, which is trained before it."""
LINES = 400
FEW = (
    "--training.steps=2 --training.validate-every=2 --training.validate-sentences=2 --training.threads=1 "
    "--training.device=cpu --batching.batch-tokens=600 --training.average-last=1"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora of all recipes, cut short, and what `make prove-tasks` writes of them."""
    data = os.environ.get("INTERLINGUA_DATA")
    if not data:
        pytest.skip("INTERLINGUA_DATA is not set: no corpora")
    folder = tmp_path_factory.mktemp("recipes")
    names = ("multi30k_en_de", "multi30k_en_de/tok", "tatoeba_en_de", "tanaka_en_ja")
    names += ("scitldr", "scan_simple", "ro_en/sts", "ro_en/mlqe", "ro_en/tatoeba")
    for name in names:
        for path in sorted((Path(data) / name).iterdir()):
            if path.is_file():
                head(path, folder / "data" / name / path.name, 0, LINES)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        patch.chdir(folder)
        patch.setenv("INTERLINGUA_DATA", str(folder / "data"))
        from prove_tasks import write_marks, write_pair_classes

        write_pair_classes()
        write_marks()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    sorted({p.stem for p in (ROOT / "recipes").glob("*.toml")} - {*ELSEWHERE, *FIRST.values()}),
)
def test_a_recipe_trains_and_answers(
    recipe: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLINGUA_DATA", str(place / "data"))
    shutil.copytree(place / "runs", "runs")
    for name in (*([FIRST[recipe]] if recipe in FIRST else []), recipe):
        words = ["train", str(ROOT / "recipes" / f"{name}.toml"), *FEW.split()]
        assert main([*words, *(["--run-dir", "run"] if name == recipe else [])]) == 0
    Translator.load("run", device="cpu").translate(["a b"], beam_size=1)
