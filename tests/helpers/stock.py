"""What a reader of the book has: corpora, and models that were trained from them, small but made by the real commands.

Each item is made once for all processes of a run of tests, when the first page needs it.
"""

import bz2
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from ready_commands import folder_of_commands

from interlingua.corpus.embedded import write_embedded

Fill = Callable[[Path], None]
"""Makes one file or folder that a page talks about."""

SHORT = "--training.threads 1 --training.validate-sentences 4"
DATA = os.environ.get("INTERLINGUA_DATA", "")
CUT = {
    "multi30k_en_de": 600,
    "tatoeba_en_de": 6000,
    "align/ro_en": 60,
    "flores200": 530,
    "phonemes": 1000,
}
"""Lines that are left of each file of the real corpora."""


def environment(**more: str) -> dict[str, str]:
    """Commands are those of this Python, with one thread; ``interlingua`` begins at once."""
    places = [folder_of_commands(), Path(sys.executable).parent, os.environ["PATH"]]
    told = {"OMP_NUM_THREADS": "1", "NO_COLOR": "1", "PATH": os.pathsep.join(map(str, places))}
    return {**os.environ, **told, **more}


def typed(command: str, folder: Path) -> str:
    """Run a command that must succeed, and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def head(source: Path, path: Path, start: int, stop: int) -> None:
    """Write some lines of a file; the suffix .gz or .bz2 compresses them."""
    lines = source.read_bytes().split(b"\n")[start:stop]
    packers = {".gz": gzip.compress, ".bz2": bz2.compress}
    data = b"".join(line + b"\n" for line in lines if line)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packers.get(path.suffix, bytes)(data))


def _corpora(folder: Path) -> None:
    """Cut the real corpora small, in the layout that recipes know."""
    if not DATA:
        pytest.skip("INTERLINGUA_DATA is not set: no English-German text")
    for name, lines in CUT.items():
        for source in sorted((Path(DATA) / name).iterdir()):
            if source.is_file():
                head(source, folder / name / source.name, 0, lines)


def _demo(folder: Path) -> None:
    """Train the demo on one thread, as other tests have the other core, and let the demo tell what came of it."""
    folder.mkdir()
    recipe = Path(__file__).parents[2] / "recipes" / "demo_ro_en.toml"
    typed(f"interlingua train {recipe} --training.threads 1", folder)
    (folder / "printed.txt").write_text(typed("interlingua demo", folder), encoding="utf-8")


def _romanian(folder: Path) -> None:
    write_embedded("demo-ro-en", folder, 1)


@dataclass(frozen=True)
class Stock:
    """Where each item is, made on the way."""

    made_once: Callable[[str, Fill], Path]

    def folder(self, name: str) -> Path:
        makers: dict[str, Fill] = {
            "corpora": _corpora,
            "demo": _demo,
            "romanian": _romanian,
            "en-de": self._english_german,
            "en-ro": self._reverse,
        }
        return self.made_once(f"stock-{name}", makers[name])

    def _english_german(self, folder: Path) -> None:
        """Train for half a minute, so that a model says something, if little of it right."""
        text = self.folder("corpora") / "tatoeba_en_de"
        for name, lines in (("train", 6000), ("valid", 150)):
            for side in ("en", "de"):
                head(text / f"{name}.{side}", folder / f"{name}.{side}", 0, lines)
        typed(
            "interlingua train --source train.en --target train.de --valid-source valid.en "
            "--valid-target valid.de --tokenization.vocabulary-size 1000 --batching.batch-tokens 1024 "
            "--model.encoder-layers 2 --model.decoder-layers 2 --model.dropout 0 --training.steps 500 "
            "--training.schedule linear --training.warmup-steps 100 --training.validate-every 250 "
            f"--training.peak-learning-rate 0.003 {SHORT}",
            folder,
        )

    def _reverse(self, folder: Path) -> None:
        for side in ("ro", "en"):
            head(self.folder("romanian") / f"train.{side}", folder / f"train.{side}", 0, 3000)
        typed(
            "interlingua train --source train.en --target train.ro --training.steps 60 "
            f"--training.validate-every 60 {SHORT}",
            folder,
        )

    def copy(self, name: str, path: Path, lines: tuple[int, int] | None) -> None:
        """Put a file or folder of the stock at ``path``; of a file only some lines, if told so."""
        item, _, inside = name.partition("/")
        source = self.folder(item) / inside
        if lines is not None:
            head(source, path, *lines)
        elif source.is_dir():
            shutil.copytree(source, path, symlinks=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)

    def pairs(self, source: str, target: str, number: int) -> list[tuple[str, str]]:
        """Return the first pairs of two files of the stock."""
        sides = []
        for name in (source, target):
            item, _, inside = name.partition("/")
            sides.append((self.folder(item) / inside).read_text(encoding="utf-8").split("\n"))
        return list(zip(*sides, strict=False))[:number]


def tmx(pairs: Iterable[tuple[str, str]], languages: tuple[str, str]) -> str:
    """Return a translation memory of some pairs."""
    units = "".join(
        "<tu>"
        + "".join(
            f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>'
            for language, text in zip(languages, pair, strict=True)
        )
        + "</tu>\n"
        for pair in pairs
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header segtype="sentence" '
        f'srclang="{languages[0]}" adminlang="en" datatype="plaintext" o-tmf="none" '
        f'creationtool="tests" creationtoolversion="1"/><body>\n{units}</body></tmx>\n'
    )


def corrections(pairs: Iterable[tuple[str, str]], languages: tuple[str, str]) -> str:
    """Return the file that keeps corrections."""
    return "".join(
        json.dumps({"q": q, "s": s, "source": languages[0], "target": languages[1]}) + "\n"
        for q, s in pairs
    )
