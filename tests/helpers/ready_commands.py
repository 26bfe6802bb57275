"""``interlingua`` without the seconds that Python takes to import PyTorch: each command is a fork of a process that has.

A page of the book types dozens of commands. Each still is a process of its own with its own arguments, folder, environment, signals and
exit status; only what Python reads at its start is read once. Where that would matter, as a variable that libraries read when they are
loaded is another one, the real program takes over.
"""

import atexit
import gc
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

READ_AT_START = (
    "OMP_",
    "MKL_",
    "ATEN_",
    "ONEDNN_",
    "DNNL_",
    "TORCH_",
    "PYTHON",
    "LD_",
    "LC_",
    "LANG",
)
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def read_at_start(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that count only when a process starts."""
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


@cache
def folder_of_commands() -> Path:
    """Return a folder with such an ``interlingua``, whose process lives as long as this one."""
    place = Path(tempfile.mkdtemp(prefix="commands-"))
    path, real = place / "socket", Path(sys.executable).with_name("interlingua")
    server = subprocess.Popen(
        [sys.executable, __file__, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    asks = [sys.executable, "-S", "-I", __file__, str(path), str(real)]
    command = place / "interlingua"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(asks)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)

    @atexit.register
    def end() -> None:
        server.kill()
        shutil.rmtree(place)

    return place


def ask(path: str, real: str, *arguments: str) -> None:
    """Have the command run elsewhere, with the files of this process, and end as it ended."""
    environment = dict(os.environ)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        told = {"arguments": arguments, "folder": str(Path.cwd()), "environment": environment}
        socket.send_fds(server, [b"!"], [0, 1, 2])
        answers = server.makefile("rw", encoding="utf-8")
        print(json.dumps(told), file=answers, flush=True)
        pid = int(answers.readline())
        if pid == 0:
            os.execve(real, [real, *arguments], environment)
        for number in STOPS:
            signal.signal(number, lambda number, _: os.kill(pid, number))
        status = int(answers.readline())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def serve(path: str) -> dict[str, Any]:
    """Answer for ever; return only in a process that is to run a command, with what it was told."""
    import interlingua.evaluation.metrics
    import interlingua.training.run
    import interlingua.translator  # noqa: F401

    gc.freeze()  # or a child would touch, and so copy, all of it
    at_start = read_at_start(dict(os.environ))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            client, _ = listening.accept()
            if os.fork() == 0:
                break
            client.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(client, 1, 3)
    answers = client.makefile("rw", encoding="utf-8")
    told: dict[str, Any] = json.loads(answers.readline())
    if read_at_start(told["environment"]) != at_start:
        print(0, file=answers, flush=True)
        os._exit(0)
    pid = os.fork()
    if pid:
        for each in files:
            os.close(each)
        print(pid, file=answers, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
        os._exit(0)
    answers.close()
    client.close()
    for place, each in enumerate(files):
        os.dup2(each, place)
        os.close(each)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    return told


if __name__ == "__main__":
    if len(sys.argv) > 2:
        ask(*sys.argv[1:])
    sys.argv = ["interlingua", *serve(sys.argv[1])["arguments"]]
    from interlingua.cli import main

    sys.exit(main())
