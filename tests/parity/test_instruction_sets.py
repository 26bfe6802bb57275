"""The kernels compiled for other processors than this one: what it computes there, as far as it can be run here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig
from interlingua.kernels import native
from interlingua.kernels.compiling import AVX2, CLASSES
from interlingua.kernels.search import precisions
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not precisions(), reason="needs a C++ compiler"),
]

SETS = {"none": ((), frozenset[str]())} | {kind.name: (kind.flags, kind.needs) for kind in CLASSES}
"""Flags of the compiler, and what a processor needs to run what comes out: each library of a wheel, and none of its instructions."""
TEXTS = ["abc", "the dog is here", "q", "a longer text than the others, by far", "x y z"]
PROGRAM = """
import json, sys
from interlingua.kernels import native
flags, model = json.loads(sys.argv[1]), sys.argv[2]
if flags is not None:
    native._instructions = lambda: [tuple(flags)]
from interlingua.kernels.search import precisions
from interlingua.translator import Translator
told = {}
for dtype in precisions():
    found = Translator.load(model, device="cpu", dtype=dtype, threads=1).translate(json.loads(sys.argv[3]))
    told[dtype] = [[each.tokens, each.score] for each in found]
print(json.dumps(told))
"""

TRAINING = """
import json, sys
import torch
from interlingua.kernels import native
native._instructions = lambda: [tuple(json.loads(sys.argv[1]))]
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[2])
import test_packed
assert native.is_available(), native.describe()
for case in range(6):
    test_packed.test_loss_and_gradients_are_those_of_the_plain_model(case)
for case in range(4):
    test_packed.test_with_dropout_too_when_the_plain_model_drops_the_same(case)
for norm in "post", "pre":
    test_packed.test_in_bfloat16_gradients_are_as_near_to_the_truth_as_those_of_autocast(norm)
print(native.describe())
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model whose widths are no multiple of anything."""
    tokenizer = train_tokenizer(
        ["abcdefghijklmnopqrstuvwxyz ABC.,!"], kind="char", vocabulary_size=300
    )
    torch.manual_seed(3)
    size = tokenizer.vocabulary_size
    sizes = Architecture(encoder_layers=2, decoder_layers=2, d_model=44, d_ff=90, heads=4)
    random = Transformer(sizes, source_vocabulary=size, target_vocabulary=size).eval()
    with torch.no_grad():
        random.output.weight.mul_(4.0)
    pair = TokenizerPair(tokenizer, tokenizer, shared=True)
    loaded = LoadedModel(random, pair, "en", "xx", DecodingConfig(max_length_offset=4), 60)
    folder = tmp_path_factory.mktemp("sets") / "model"
    save_model_folder(folder, loaded, parameters_of(random), "a card\n")
    return folder


def translated(
    model: Path, flags: tuple[str, ...] | None
) -> dict[str, list[tuple[list[str], float]]]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(flags), str(model), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[tuple[list[str], float]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", SETS)
def test_another_instruction_set_gives_the_same_translations(model: Path, name: str) -> None:
    flags, needed = SETS[name]
    if not needed <= {*native.processor().split()}:
        pytest.skip(f"this processor has not all of {sorted(needed)}")
    here, there = translated(model, None), translated(model, flags)
    assert ("int8" in there) == (name != "none")
    assert "float32" in there
    for dtype in here.keys() & there.keys():
        for mine, other in zip(here[dtype], there[dtype], strict=True):
            assert mine[0] == other[0], dtype
            assert mine[1] == pytest.approx(other[1], abs=1e-4 if dtype == "float32" else 2e-3)


@pytest.mark.parametrize("name", [name for name in SETS if name != "avx2-vnni"])
def test_another_instruction_set_gives_the_losses_and_gradients_of_the_plain_model(
    name: str,
) -> None:
    """What test_packed.py asks of the kernels that are compiled for this processor."""
    flags, needed = SETS[name]
    if not needed <= {*native.processor().split()}:
        pytest.skip(f"this processor has not all of {sorted(needed)}")
    command = [sys.executable, "-c", TRAINING, json.dumps(flags), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if flags not in native._instructions():
        assert done.stdout.strip() != native.describe()


def test_who_holds_a_processor_to_avx2_gets_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(native, "processor", lambda: "flags: avx2 avx_vnni")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert native._instructions() == [AVX2]
    monkeypatch.delenv("ATEN_CPU_CAPABILITY")
    assert native._instructions() == [(*AVX2, "-mavxvnni"), AVX2]
    monkeypatch.setattr(native, "processor", lambda: "flags: avx2")
    assert native._instructions() == [AVX2]
