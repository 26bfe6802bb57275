"""A command that is printed to be pasted is read by a shell, wherever a folder lies."""

import re
import shlex
from pathlib import Path

import pytest

from interlingua.cli.demo import DemoResult
from interlingua.cli.flags import RunFlags
from interlingua.cli.interop import _describe_import
from interlingua.cli.results import describe_training
from interlingua.cli.synthetic_folder import save_run
from interlingua.config import RunConfig
from interlingua.errors import ConfigError
from interlingua.interop.import_model import ImportedModel
from interlingua.training import rounds as in_turn
from interlingua.training.run import TrainResult

SPACED = "the runs/ro en"


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainResult:
    """A run whose model folder can be asked for its languages."""
    monkeypatch.chdir(tmp_path)
    model = Path(SPACED, "model")
    model.mkdir(parents=True)
    model.joinpath("config.json").write_text("{}")
    return TrainResult(Path(SPACED), model, 1, 1.0, None, "the end", (), None, signal=None)


def pasted(told: str) -> list[list[str]]:
    """Return the words of each command that is told, as a shell reads them."""
    return [shlex.split(line) for line in re.findall(r"interlingua (.* .*)", told)]


def test_what_ends_a_command_can_be_pasted(
    result: TrainResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(describe_training(result)) == [["translate", SPACED, "..."]]
    imported = ImportedModel(Path(SPACED), "Marian", "ro", "en", 1, ())
    assert pasted(_describe_import(imported)) == [["translate", SPACED, "..."]]
    save_run(RunConfig(), Path(f"{SPACED}/train.toml"))
    assert pasted(capsys.readouterr().err) == [["train", f"{SPACED}/train.toml"]]
    side = in_turn.Side(Path("mono"), Path("a"), Path("b"), Path("c"), Path("d"))
    done = {"round": 1, "model": "forward", "run": SPACED, "validation": {"bleu": 3.0}}
    rounds = in_turn.Rounds(1, Path("more"), Path("model"), side, None)
    assert pasted(in_turn.describe_rounds(rounds, [done])) == [["translate", SPACED, "..."]]


def test_the_commands_of_the_demo_can_be_pasted(result: TrainResult) -> None:
    demo = DemoResult(result, 1, 1.0, 1.0, (("unu", "one", "one"),), Path("map.svg"))
    told = demo.to_text().replace(", then open", " ")
    assert ["translate", SPACED, "unu"] in pasted(told)
    assert ["serve", SPACED] in [words[:2] for words in pasted(told)]


def test_the_flag_that_goes_on_with_a_moved_run_can_be_pasted(result: TrainResult) -> None:
    path = result.run_dir / "config.toml"
    path.write_text('run_dir = "elsewhere"\n')
    (result.run_dir / "corpus.lock").write_text("{}")
    with pytest.raises(ConfigError) as refused:
        RunFlags().load(path)
    words = shlex.split(str(refused.value))
    assert words[words.index("--run-dir") + 1] == SPACED
