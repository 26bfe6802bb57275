"""Which device computes, and what is said where it is not to be had."""

import pytest
import torch

from interlingua.decoding.held_model import pack
from interlingua.errors import ConfigError
from interlingua.hardware import choose_device, is_lack_of_memory
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")


@without_gpu
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_card_that_is_not_there_is_said_to_every_process(
    monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", processes)
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(ConfigError, match="device is 'cuda', which is not to be had here"):
        choose_device("cuda")


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_each_process_computes_on_the_card_of_its_number(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ones, tried, set_to = torch.ones, [], []

    def on_gpu(size: int, *, device: torch.device) -> torch.Tensor:
        tried.append(device)
        return ones(size)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", set_to.append)
    monkeypatch.setattr(torch, "ones", on_gpu)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    cards = []
    for rank in range(3):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        cards.append(choose_device(name))
    assert cards == tried == set_to == [torch.device("cuda", rank) for rank in range(3)]
    assert choose_device("cuda:2") == torch.device("cuda", 2)
    with pytest.raises(ConfigError, match="one device, but torchrun started 3 processes"):
        choose_device("cuda:1")


@without_gpu
def test_auto_is_the_cpu_where_there_is_no_card() -> None:
    assert choose_device("auto").type in ("cpu", "mps")


def test_precisions_of_the_cpu_are_refused_elsewhere_with_what_to_do() -> None:
    sizes = Architecture(d_model=8, d_ff=8, heads=2, encoder_layers=1, decoder_layers=1)
    model = Transformer(sizes, source_vocabulary=9, target_vocabulary=9, source_pad=0, target_pad=0)
    with pytest.raises(ConfigError, match="compute on a CPU, and the device is meta; give the dev"):
        pack(model.to("meta"), torch.device("meta"), "int8", plain=False)


def test_lack_of_memory_is_known_by_its_words_and_behind_what_it_led_to() -> None:
    for words in (
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried",
        "could not create a primitive",
        "std::bad_alloc",
        "CUDA error: out of memory",
        "Triton Error [CUDA]: out of memory",
    ):
        assert is_lack_of_memory(RuntimeError(words))
    assert is_lack_of_memory(torch.OutOfMemoryError("no more"))
    assert not is_lack_of_memory(RuntimeError("sizes do not match"))
    with pytest.raises(RuntimeError) as hidden:
        _hide_lack_of_memory()
    assert is_lack_of_memory(hidden.value)


def _hide_lack_of_memory() -> None:
    try:
        raise torch.OutOfMemoryError("no more")
    finally:
        raise RuntimeError("the capture was invalidated")
