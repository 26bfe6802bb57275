"""The notebooks run from their first cell to their last, and their exercises know a right answer from a wrong one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebooks import BLANK, NOTEBOOKS, Exercise, content_of, run_code, steps_of
from stock import Stock


@pytest.fixture
def desk(made_once: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the demo was trained; a notebook is run where Jupyter starts it, in its own folder two below.

    The notebook that trains has the demo's configuration to the last number, so that its run is the demo's, and is done.
    """
    stock = Stock(made_once)
    for name in ("runs/demo-ro-en", "runs/notebook"):
        stock.copy("demo/runs/demo-ro-en", tmp_path / name, None)
    own = tmp_path / "docs" / "notebooks"
    own.mkdir(parents=True)
    monkeypatch.chdir(own)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_exercises_know_right_from_wrong(
    notebook: Path, desk: Path
) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for step in steps_of(notebook):
        if isinstance(step, str):
            run_code(step, names)
            continue
        for answer, told in ((BLANK, "the dots are still there"), *step.wrong):
            said = judged(step, answer, names)
            assert said.count("Not yet") == 1, f"{answer}: {said}"
            assert "Right" not in said, f"{answer}: {said}"
            assert told in said, f"{answer}: {said}"
        said = judged(step, step.solution, names)
        assert said.count("Right") == 1, said
        assert "Not yet" not in said, said
    assert not list((desk / "docs" / "notebooks").iterdir()), "written into the sources"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_whose_exercises_are_open_runs_to_its_end(notebook: Path, desk: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    said = ""
    for step in steps_of(notebook):
        codes = [step] if isinstance(step, str) else [step.answered(BLANK), step.check]
        for code in codes:
            said += run_code(code, names)
    assert "Not yet" in said
    assert "Right" not in said


def judged(exercise: Exercise, answer: str, names: dict[str, Any]) -> str:
    run_code(exercise.answered(answer), names)
    return run_code(exercise.check, names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_each_exercise_with_wrong_answers(
    notebook: Path,
) -> None:
    for cell in content_of(notebook)["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    exercises = [step for step in steps_of(notebook) if isinstance(step, Exercise)]
    assert len(exercises) >= 4
    for exercise in exercises:
        assert exercise.code.count(BLANK) == 1
        assert exercise.wrong


def test_the_beam_tree_says_what_to_do_where_no_demo_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (notebook,) = (path for path in NOTEBOOKS if path.stem == "beam-tree")
    first = next(steps_of(notebook))
    assert isinstance(first, str)
    with pytest.raises(AssertionError, match="run make demo first"):
        run_code(first, {"__name__": "__main__"})


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["attention", "beam-tree", "train"]
