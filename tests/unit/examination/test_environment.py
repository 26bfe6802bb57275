"""What ``interlingua doctor`` says of a machine."""

from pathlib import Path

import pytest

from interlingua.examination import environment
from interlingua.examination.environment import examine_environment


def test_this_machine_is_described_without_an_error(tmp_path: Path) -> None:
    report = examine_environment(tmp_path)
    codes = {finding.code for finding in report.findings}
    assert {"torch", "threads", "instructions", "packages"} <= codes
    assert codes & {"compiler", "no-compiler"}
    assert codes & {"memory", "little-memory"}
    assert codes & {"disk", "little-disk"}
    assert report.exit_status == 0 or codes & {"little-memory", "little-disk"}


def test_more_threads_than_cores_are_told() -> None:
    (warning, _) = environment._examine_threads({"OMP_NUM_THREADS": "4096"})
    assert (warning.code, warning.severity) == ("too-many-threads", "warning")
    assert [each.code for each in environment._examine_threads({"OMP_NUM_THREADS": "1"})] == [
        "threads"
    ]


@pytest.mark.parametrize(
    ("free", "code", "severity"),
    [
        (8 << 30, "memory", "note"),
        (1 << 30, "little-memory", "warning"),
        (1 << 28, "little-memory", "error"),
        (None, "memory", "note"),
    ],
)
def test_memory_that_will_not_do_is_told(free: int | None, code: str, severity: str) -> None:
    (finding,) = environment._examine_memory(free)
    assert (finding.code, finding.severity) == (code, severity)


@pytest.mark.parametrize(
    ("free", "code", "severity"),
    [
        (1 << 40, "disk", "note"),
        (1 << 30, "little-disk", "warning"),
        (1 << 20, "little-disk", "error"),
    ],
)
def test_a_full_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, code: str, severity: str
) -> None:
    usage = environment.shutil._ntuple_diskusage(1 << 41, 0, free)  # type: ignore[attr-defined]
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: usage)
    finding = environment._examine_disk(tmp_path)[0]
    assert (finding.code, finding.severity) == (code, severity)


def test_instructions_are_told_by_what_the_processor_says() -> None:
    told = environment._describe_instructions({"avx2", "avx512f", "amx_bf16"}).message
    assert told.startswith("The processor has AVX2, AVX-512, AMX BF16 of")
    assert "float32" not in told
    assert "float32" in environment._describe_instructions({"avx2"}).message
    assert "does not say" in environment._describe_instructions(None).message


def test_a_missing_compiler_costs_speed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.native, "is_available", lambda: False)
    monkeypatch.setattr(environment.native, "describe", lambda: "no compiled kernels (none)")
    (finding,) = environment._examine_compiler()
    assert (finding.code, finding.severity) == ("no-compiler", "warning")


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_NEEDED", ("numpy", "no-such-package"))
    assert [each.code for each in environment._examine_packages()] == [
        "packages",
        "missing-package",
    ]
