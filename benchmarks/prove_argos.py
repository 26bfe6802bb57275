"""Argos Translate and a LibreTranslate server translate with an exported package, and write what Interlingua writes.

    python benchmarks/prove_argos.py [RUN [SENTENCES]] --python PYTHON

PYTHON is the interpreter of an environment of its own, with LibreTranslate in it (`make prove-argos` makes one; LibreTranslate
pins older versions of what is used here). RUN is a run or model folder (without one the demo is trained first, two
minutes), SENTENCES a file with one source sentence a line, of which the first hundred are taken (without one, the test set
of the demo). Nothing is fetched: the package brings its splitter of sentences, and the index of packages
is an empty one on the disk.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from prove_commands import describe_machine
from prove_exports import train_demo

from interlingua.interop.export import export_model
from interlingua.translator import Translator

CHILD = """
import json, sys
from pathlib import Path
from argostranslate import package, translate
package.install_from_path(Path(sys.argv[1]))
(source, target), texts = sys.argv[2:4], json.load(sys.stdin)
translation = translate.get_translation_from_codes(source, target)
print("\\n" + json.dumps([translation.translate(text) for text in texts]))
"""
AT_LEAST = 0.98
"""Of a beam: Argos Translate divides by length^0.2, ours by the penalty of its model, and near-ties fall either way."""
SERVER = "from libretranslate import main; main()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("sentences", type=Path, nargs="?")
    parser.add_argument("--python", required=True)
    asked = parser.parse_args()
    print(describe_machine(), flush=True)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = asked.run or Path(train_demo(temporary))
        sentences = asked.sentences or run / "corpus/test.ro"
        texts = sentences.read_text(encoding="utf-8").splitlines()[:100]
        (folder / "texts").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        translator = Translator.load(run)
        codes = translator.source_lang, translator.target_lang
        export_model(
            run,
            folder / "out",
            format_name="argos",
            verify=(folder / "texts",),
            is_proved=True,
        )
        (package,) = (folder / "out").glob("*.argosmodel")
        agreed = True
        for beam_size in (1, 4):
            ours = [each.text for each in translator.translate(texts, beam_size=beam_size)]
            environment = surroundings(folder, beam_size)
            theirs = argos(asked.python, package, codes, texts, environment)
            least = len(texts) if beam_size == 1 else AT_LEAST * len(texts)
            agreed &= tell(f"Argos Translate, beam {beam_size}", texts, ours, theirs) >= least
        with serving(asked.python, environment, codes) as address:
            theirs = ask(address, texts, codes)
        agreed &= tell("LibreTranslate, beam 4", texts, ours, theirs) >= AT_LEAST * len(texts)
    sys.exit(0 if agreed else 1)


def surroundings(folder: Path, beam_size: int, threads: int = 1) -> dict[str, str]:
    """Return an environment whose every folder is a temporary one; each text is searched by so many threads."""
    (folder / "index.json").write_text("[]")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "ARGOS_BEAM_SIZE": str(beam_size),
        "ARGOS_COMPUTE_TYPE": "float32",
        "ARGOS_PACKAGE_INDEX": f"{folder.as_uri()}/",
        "ARGOS_INTRA_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
    }


def argos(
    python: str,
    package: Path,
    codes: tuple[str, str],
    texts: list[str],
    environment: dict[str, str],
) -> list[str]:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", CHILD, str(package), *codes],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def serving(
    python: str, environment: dict[str, str], codes: tuple[str, str], threads: int = 1
) -> Iterator[str]:
    """Start a LibreTranslate server, which answers so many requests at a time, and yield its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--host", "127.0.0.1", "--port", str(port), "--load-only", ",".join(codes)]
    command = [
        python,
        "-W",
        "ignore",
        "-c",
        SERVER,
        *flags,
        "--disable-web-ui",
        "--threads",
        str(threads),
    ]
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            wait_for(address, server)
            yield address
        finally:
            server.terminate()


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if server.poll() is not None:
            sys.exit(f"the server ended with status {server.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/languages") as answer:
                print(f"LibreTranslate serves {answer.read().decode()}")
                return
        except urllib.error.URLError:
            time.sleep(1)
    sys.exit("the server does not answer")


def ask(address: str, texts: list[str], codes: tuple[str, str]) -> list[str]:
    content = json.dumps({"q": texts, "source": codes[0], "target": codes[1]}).encode()
    request = urllib.request.Request(
        f"{address}/translate", content, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["translatedText"]


def tell(who: str, texts: list[str], ours: list[str], theirs: list[str]) -> int:
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    print(f"{who}: {same} of {len(ours)} the same text")
    for text, one, other in zip(texts, ours, theirs, strict=True):
        if one != other:
            print(f"  {text!r}\n    here  {one!r}\n    there {other!r}")
    return same


if __name__ == "__main__":
    main()
