"""How much a server answers: one client after another, 32 at a time, and LibreTranslate's way with the same model.

    python benchmarks/serving.py RUN SENTENCES [--libretranslate PYTHON]

RUN is a run or model folder, SENTENCES a file with one source sentence a line. The clients keep their connections and live
in a process of their own. LibreTranslate's way is one text after another through CTranslate2, with the model that
``interlingua export`` writes; without HTTP around it, which is in its favour. With PYTHON, the interpreter of an environment
that has LibreTranslate in it, its server is asked too, by as many clients. Of the others the faster is told of one thread
a text and of as many as there are cores: on short texts a second thread can cost far more than it brings.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/helpers"))

import prove_argos
from prove_commands import describe_machine, record
from running_server import serving

from interlingua.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--dtypes", default="float32,bfloat16,int8", help="of our server")
    parser.add_argument("--libretranslate", help="interpreter that has LibreTranslate")
    asked = parser.parse_args()
    print(describe_machine(), flush=True)
    lines = asked.sentences.read_text(encoding="utf-8").splitlines()
    texts = (lines * (asked.requests // len(lines) + 1))[: asked.requests]
    translator = Translator.load(asked.run, threads=asked.threads)
    codes = translator.source_lang, translator.target_lang
    rows = []
    for dtype in asked.dtypes.split(","):
        with serving(asked.run, threads=asked.threads, flags=("--dtype", dtype)) as server:
            for clients in (1, asked.clients):
                some = texts if clients > 1 else texts[: max(200, len(texts) // 10)]
                with get_context("spawn").Pool(1) as pool:
                    seconds, took = pool.apply(ask_all, (server.port, some, codes, clients))
                rows.append((f"ours, {clients} clients, {dtype}", len(some) / seconds, took))
    some = texts[: max(200, len(texts) // 10)]
    counts = sorted({1, asked.threads})
    for kind in ("float32", "int8"):
        ways = [one_by_one(asked.run, translator, some, count, kind) for count in counts]
        rows.append(fastest(ways))
    if asked.libretranslate:
        rows.append(fastest([through_libretranslate(asked, translator, some, n) for n in counts]))
    first = rows[0][1]
    lines = ["| who | texts a second | beside the first row | p50 | p99 |", "|---|---|---|---|---|"]
    for name, rate, took in rows:
        ordered = sorted(took)
        p50, p99 = (1000 * ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
        lines.append(
            f"| {name} | {rate:,.0f} | {rate / first:.2f} x | {p50:.1f} ms | {p99:.1f} ms |"
        )
    print("\n".join(lines))
    record("The server", f"make bench-serving, {len(texts):,} requests", "\n".join(lines))


Row = tuple[str, float, list[float]]


def fastest(rows: list[Row]) -> Row:
    return max(rows, key=lambda row: row[1])


def ask_all(
    port: int, texts: list[str], codes: tuple[str, str], clients: int
) -> tuple[float, list[float]]:
    """Send every text; return the seconds of all, and of each."""
    return asyncio.run(_ask_all(port, texts, codes, clients))


async def _ask_all(
    port: int, texts: list[str], codes: tuple[str, str], clients: int
) -> tuple[float, list[float]]:
    waiting = iter(texts)
    took: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for text in waiting:
            body = json.dumps({"q": text, "source": codes[0], "target": codes[1]}).encode()
            head = (
                "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            start = time.perf_counter()
            writer.write(head.encode() + body)
            answered = await reader.readuntil(b"\r\n\r\n")
            assert answered.startswith(b"HTTP/1.1 200"), answered
            length = int(answered.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            took.append(time.perf_counter() - start)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - start, took


def one_by_one(run: Path, translator: Translator, texts: list[str], threads: int, kind: str) -> Row:
    """Translate text after text with CTranslate2, as LibreTranslate does."""
    import ctranslate2

    from interlingua.interop.export import export_model

    read = translator.tokenizers.source
    beam = translator.decoding.beam_size
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "ct2"
        export_model(run, folder, format_name="ctranslate2", is_proved=False)
        model = ctranslate2.Translator(
            str(folder), inter_threads=1, intra_threads=threads, compute_type=kind
        )
        took = []
        for text in texts:
            start = time.perf_counter()
            tokens = [*read.tokens(read.encode(text).ids), read.tokens([read.end_id])[0]]
            found = model.translate_batch([tokens], beam_size=beam)[0].hypotheses[0]
            assert found is not None
            took.append(time.perf_counter() - start)
    name = f"one by one through CTranslate2 without HTTP, {kind}, {threads} threads"
    return name, len(texts) / sum(took), took


def through_libretranslate(
    asked: argparse.Namespace, translator: Translator, texts: list[str], threads: int
) -> Row:
    """Ask a LibreTranslate server with the same model, exported as its package."""
    from interlingua.interop.export import export_model

    codes = translator.source_lang, translator.target_lang
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        export_model(asked.run, folder / "out", format_name="argos", is_proved=False)
        (package,) = (folder / "out").glob("*.argosmodel")
        environment = prove_argos.surroundings(folder, translator.decoding.beam_size, threads)
        prove_argos.argos(asked.libretranslate, package, codes, texts[:1], environment)
        with (
            prove_argos.serving(asked.libretranslate, environment, codes, asked.clients) as address,
            get_context("spawn").Pool(1) as pool,
        ):
            port = int(address.rpartition(":")[2])
            seconds, took = pool.apply(ask_all, (port, texts, codes, asked.clients))
    return f"LibreTranslate, {asked.clients} clients, {threads} threads", len(texts) / seconds, took


if __name__ == "__main__":
    main()
