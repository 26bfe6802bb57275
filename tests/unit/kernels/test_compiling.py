"""What happens around the compilers that make the kernels."""

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
import torch

from interlingua import files
from interlingua.kernels import compiling, gpu, native


class Told(Exception):
    """Stands for what a signal raises in the main thread."""


def test_whoever_is_told_to_stop_does_not_wait_for_the_compilers(tmp_path: Path) -> None:
    def tell(number: int, frame: FrameType | None) -> None:
        raise Told

    alive = tmp_path / "alive"  # what a compiler has started must end with it
    child = f"import pathlib, time; time.sleep(8); pathlib.Path({str(alive)!r}).touch()"
    slow = ["sh", "-c", f'{sys.executable} -c "{child}" & wait']
    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    started = time.monotonic()
    try:
        with pytest.raises(Told):
            compiling._run_together([slow, ["sleep", "60"]])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 30
    time.sleep(10)
    assert not alive.exists()


def test_a_compiler_that_fails_says_why() -> None:
    with pytest.raises(subprocess.CalledProcessError) as told:
        compiling._run_together([["true"], ["sh", "-c", "echo no room >&2; exit 3"]])
    assert (told.value.returncode, told.value.stderr) == (3, b"no room\n")


@pytest.mark.parametrize(("result", "works"), [(2.0, True), (1.0, False)])
def test_a_card_whose_kernels_compute_something_else_is_left_to_torch(
    result: float, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones = torch.ones

    def kernel(rows: int, width: int, hidden: torch.Tensor, *_: object) -> None:
        hidden.fill_(result)

    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__="9.9"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch, "ones", lambda size, device: ones(size))
    monkeypatch.setattr(gpu, "function", lambda _: kernel)
    monkeypatch.setattr(gpu, "_found", gpu._found.__wrapped__)
    assert gpu.is_available() == works
    assert gpu.describe() == ("Triton 9.9" if works else "torch alone (Triton: a wrong result)")


def test_a_compiler_behind_another_program_is_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "first"
    before.write_text('#!/bin/sh\n[ "$1" = c++ ] || exit 9\nexec "$@"\n')
    before.chmod(0o755)
    monkeypatch.setenv("CXX", f"{before} c++")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "OPTIMISE", ["-O0", "-std=c++17", "-fPIC"])
    found, words = native._loaded.__wrapped__()
    assert found is not None, words


def test_a_cache_that_cannot_be_written_leaves_all_to_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], path: Path) -> None:
        raise OSError(f"{path}: cannot be written (no space left on device)")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "compile_library", fail)
    found, words = native._loaded.__wrapped__()
    assert found is None
    assert "no space left" in words


def test_another_machine_with_the_same_home_clears_nothing_away_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kernels-1.so"
    old, young = tmp_path / "compiling-old", tmp_path / "compiling-young"
    for left_over in (old, young):
        left_over.mkdir()
    os.utime(old, (0, 0))

    def link(command: list[str]) -> bytes:
        Path(command[-1]).write_bytes(b"library")
        files.clear_left_overs(tmp_path)
        return b""

    monkeypatch.setattr(files, "_is_alive", lambda _: False)  # as there: the number means nothing
    monkeypatch.setattr(compiling, "_run_together", lambda *_: None)
    monkeypatch.setattr(compiling, "run_compiler", link)
    compiling.compile_library(["c++"], path)
    assert path.read_bytes().startswith(b"library")
    assert compiling.is_whole(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == [young.name, path.name]


def test_a_library_that_somebody_else_made_while_a_compiler_failed_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], path: Path) -> None:
        path.write_bytes(b"library")
        raise subprocess.TimeoutExpired(command, 120.0)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "_fingerprint", lambda *_: "1")
    monkeypatch.setattr(native, "compile_library", fail)
    opened, library = [], ctypes.CDLL(None)
    monkeypatch.setattr(ctypes, "CDLL", lambda path: opened.append(path) or library)
    assert native._load(["c++"], []) == (library, "kernels-1")
    assert opened == [str(tmp_path / "interlingua/kernels-1.so")]


@pytest.mark.parametrize("damage", ["cut off", "empty", "one bit"])
def test_a_library_that_is_damaged_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    content = b"library" + hashlib.sha256(b"library").digest()
    spoilt = {"cut off": content[:20], "empty": b"", "one bit": b"m" + content[1:]}[damage]
    path = tmp_path / "interlingua/kernels-1.so"
    path.parent.mkdir(mode=0o700)

    def make(command: list[str], place: Path) -> None:
        assert not place.exists()
        place.write_bytes(content)

    def load(name: str) -> ctypes.CDLL:
        assert Path(name).read_bytes() == content
        return library

    library = ctypes.CDLL(None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "_fingerprint", lambda *_: "1")
    monkeypatch.setattr(native, "compile_library", make)
    monkeypatch.setattr(ctypes, "CDLL", load)
    path.write_bytes(spoilt)
    assert native._load(["c++"], []) == (library, "kernels-1")
    monkeypatch.setattr(native, "compile_library", lambda *_: pytest.fail("made again"))
    assert native._load(["c++"], []) == (library, "kernels-1")


def test_a_compiler_that_no_shell_would_understand_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ '")
    assert native._loaded.__wrapped__() == (None, "no C++ compiler g++ ', which CXX names")


LIBRARY = ctypes.CDLL(None)
HAS = {kind.name: {*kind.needs} for kind in compiling.CLASSES}


@pytest.mark.parametrize(
    ("capability", "has", "name"),
    [
        ("AVX512", HAS["avx512-amx"], "avx512-amx"),
        ("AVX512", HAS["avx512-bf16"] | {"avx_vnni"}, "avx512-bf16"),
        ("AVX512", HAS["avx512-vnni"], "avx512-vnni"),
        ("AVX512", HAS["avx512"], "avx512"),  # the first of that kind, Skylake's
        ("AVX512", HAS["avx2"] | {"avx512f"}, "avx2"),
        ("AVX2", HAS["avx512-bf16"] | {"avx_vnni"}, "avx2-vnni"),
        ("AVX2", HAS["avx2"], "avx2"),
        ("AVX2", {"avx2", "fma"}, None),
        ("DEFAULT", HAS["avx512-bf16"], None),
        ("AVX512", set(), None),
    ],
)
def test_a_wheel_has_a_library_for_every_processor_that_torch_has_kernels_for(
    capability: str, has: set[str], name: str | None
) -> None:
    suiting = [kind.name for kind in compiling.CLASSES if kind.suits(capability, has)]
    assert next(iter(suiting), None) == name


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put files into the place of a wheel's libraries; return what is opened of them."""
    for kind in compiling.CLASSES:
        (tmp_path / f"{kind.name}.so").write_bytes(kind.name.encode())
    opened: list[str] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda path: opened.append(Path(path).name) or LIBRARY)
    monkeypatch.setattr(native, "BUILT", tmp_path)
    monkeypatch.setattr(native, "compilers", list)
    monkeypatch.setattr(native, "processor", lambda: f"flags : {' '.join(HAS['avx2-vnni'])}")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    return opened


def test_what_came_with_the_package_needs_no_compiler(brought: list[str]) -> None:
    found, words = native._loaded.__wrapped__()
    assert found is not None
    assert brought == ["avx2-vnni.so"]
    assert words.startswith("kernels-avx2-vnni-")


def test_who_holds_a_processor_to_avx2_gets_the_library_of_it(
    brought: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert native._loaded.__wrapped__()[0] is not None
    assert brought == ["avx2.so"]


def test_who_names_a_compiler_or_none_gets_nothing_that_came_along(
    brought: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "none")
    assert native._loaded.__wrapped__()[0] is None
    assert brought == []


def test_a_library_that_cannot_be_loaded_leaves_it_to_the_next(
    brought: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_only_the_plain_one(path: str) -> object:
        if not path.endswith("avx2.so"):
            raise OSError("invalid ELF header")
        return LIBRARY

    monkeypatch.setattr(ctypes, "CDLL", open_only_the_plain_one)
    found, words = native._loaded.__wrapped__()
    assert found is LIBRARY
    assert words.startswith("kernels-avx2-")


def test_a_library_that_cannot_be_loaded_is_told_where_there_is_no_other(
    brought: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_none(path: str) -> object:
        raise OSError("failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", open_none)
    assert native._loaded.__wrapped__() == (None, "failed to map segment from shared object")


def test_a_compiler_that_is_not_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "clang++-77 -m64")
    told = "no C++ compiler clang++-77 -m64, which CXX names"
    assert native._loaded.__wrapped__() == (None, told)
