"""The processes that ``prove_scale.py`` measures: the commands themselves, with the tokenizer's cache on or off."""

import os
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

UNCACHED = "from interlingua.tokenization import piece_tokenizer; piece_tokenizer._CACHED_CHARACTERS = -1; "


def turn_cache_off() -> None:
    """Make every tokenizer of this process, and of its workers, forget each word at the next one."""
    from interlingua.batching import encoding
    from interlingua.tokenization import piece_tokenizer

    piece_tokenizer._CACHED_CHARACTERS = -1
    before, calls, after = encoding.WORKER_COMMAND.rpartition("serve()")
    encoding.WORKER_COMMAND = before + UNCACHED + calls + after


def encode(folder: Path, run: Path, first: int, every: int, sample: int) -> None:
    """Time the tokenizer on pairs that are in memory, when standard input says so."""
    from interlingua.tokenization.pair import TokenizerPair

    tokenizers = TokenizerPair.load(run / "tokenizer")
    sides = []
    for language in ("en", "de"):
        with (folder / f"train.{language}").open(encoding="utf-8", newline="\n") as file:
            lines = islice(file, first, first + every * sample, every)
            sides.append([line.removesuffix("\n") for line in lines])
    print("ready", flush=True)
    sys.stdin.readline()
    started, used = time.perf_counter(), time.process_time()
    for start in range(0, len(sides[0]), 20_000):
        tokenizers.source.encode_batch(sides[0][start : start + 20_000])
        tokenizers.target.encode_batch(sides[1][start : start + 20_000])
    print(time.perf_counter() - started, time.process_time() - used, len(sides[0]))


def start(began: float) -> None:
    """Make a training command tell when its first update begins and when it is done, and end there."""
    from interlingua.training.loop import Trainer

    update = Trainer.update

    def tell(self: Trainer, *arguments: Any, **named: Any) -> None:
        begins = time.time() - began
        update(self, *arguments, **named)
        print(begins, time.time() - began, flush=True)
        os._exit(0)

    Trainer.update = tell  # type: ignore[method-assign]


def main() -> None:
    """Do what the arguments say: CACHE encode ..., CACHE run COMMAND ..., CACHE start TIME COMMAND ..."""
    cache, what, *arguments = sys.argv[1:]
    if cache == "off":
        turn_cache_off()
    if what == "encode":
        encode(Path(arguments[0]), Path(arguments[1]), *map(int, arguments[2:]))
        return
    if what == "start":
        start(float(arguments.pop(0)))
    from interlingua.cli import main as run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
