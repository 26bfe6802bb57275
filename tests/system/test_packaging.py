"""What is built can be installed, and is what we meant to ship."""

import os
import platform
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import interlingua
from interlingua.kernels.compiling import BUILT, CLASSES, compilers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HAS_KERNELS = (sys.platform, platform.machine(), platform.libc_ver()[0]) == (
    *("linux", "x86_64", "glibc"),
)
"""Whether wheels that are built here have compiled kernels."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, built as ``make build`` does."""
    pytest.importorskip("build", reason="needs the build package")
    if HAS_KERNELS and not compilers():
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    with_kernels = os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"}
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=with_kernels)
    # The build fetches its backend into an environment of its own.
    if built.returncode and ("ConnectionError" in built.stdout or "NewConnection" in built.stdout):
        pytest.skip("the package index cannot be reached")
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    built = only(dist, "*.whl")
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
    info = f"interlingua-{interlingua.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"interlingua", info}
    package = Path(interlingua.__file__).parent
    source = {
        f"interlingua/{file.relative_to(package).as_posix()}"
        for file in package.rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    libraries = {f"interlingua/kernels/{BUILT.name}/{kind.name}.so" for kind in CLASSES}
    wanted = source | libraries if HAS_KERNELS else source
    assert {name for name in names if name.startswith("interlingua/")} == wanted
    assert ("manylinux" in built.name) == HAS_KERNELS
    assert "interlingua/py.typed" in names
    assert f"{info}/licenses/LICENSE" in names


def test_the_sdist_holds_what_a_packager_needs(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "Makefile",
        "hatch_build.py",
    } <= names
    assert {"src/interlingua/py.typed", "tests/conftest.py", "recipes/reverse.toml"} <= names
    assert "tests/golden/models/v1/model.safetensors" in names
    assert not {name for name in names if name.startswith(("runs/", ".venv/", ".git/"))}


@pytest.fixture(scope="module")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel, and with this one's other packages in sight."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    python = str(scripts / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(only(dist, "*.whl"))], check=True)
    # A plain path in a .pth file: what it leads to comes after the wheel, and its own .pth files (an editable
    # interlingua among them) are not read.
    (site / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return scripts


def output_of(environment: Path, *arguments: str) -> str:
    command = [str(environment / "interlingua"), *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=environment
    ).stdout


def test_the_installed_command_tells_its_version(environment: Path) -> None:
    assert interlingua.__version__ in output_of(environment, "--version")


def test_the_installed_command_explains_itself(environment: Path) -> None:
    assert "translate" in output_of(environment, "--help")
    assert "training.seed" in output_of(environment, "config", "explain", "training.seed")


def test_the_installed_package_translates_without_this_source_tree(environment: Path) -> None:
    script = "import interlingua; print(interlingua.__file__)"
    python = str(environment / "python")
    place = subprocess.run(
        [python, "-c", script], check=True, capture_output=True, text=True, cwd=environment
    ).stdout
    assert environment.parent in Path(place.strip()).parents
    model = ROOT / "tests" / "golden" / "models" / "v1"
    assert output_of(environment, "translate", str(model), "1 2 3").strip() == "3 2 1"


@pytest.mark.skipif(not HAS_KERNELS, reason="wheels have kernels for Linux on x86-64 only")
def test_the_installed_package_needs_no_compiler(environment: Path) -> None:
    script = "from interlingua.kernels import native; print(native.describe())"
    without = {name: value for name, value in os.environ.items() if name != "CXX"} | {"PATH": ""}
    command = [str(environment / "python"), "-c", script]
    told = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=environment, env=without
    ).stdout.strip()
    assert told.startswith(tuple(f"kernels-{kind.name}-" for kind in CLASSES))


@pytest.mark.skipif(not HAS_KERNELS, reason="wheels have kernels for Linux on x86-64 only")
def test_a_wheel_with_kernels_is_not_built_without_a_compiler(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="needs the build package")
    asked = os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", "CXX": "none"}
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=asked)
    if "ConnectionError" in done.stdout or "NewConnection" in done.stdout:
        pytest.skip("the package index cannot be reached")
    assert done.returncode != 0
    assert "No C++ compiler" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
