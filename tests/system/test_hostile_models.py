"""Broken and hostile model folders: one line that says what is wrong, nothing executed, little memory, nothing written.

Each case takes a good folder of one kind and does one thing to it.
"""

import io
import json
import os
import pickle
import resource
import shutil
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from marian_folders import make_marian_folder, train_spm
from marian_npz_folders import make_npz_folder
from random_models import SHAPES, random_model
from safetensors.torch import load_file, save_file

from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.interop.ctranslate2_file import read_variables

MEGABYTES = 300
"""What a refusal may add to the largest memory of this process."""


class Runs:
    """Pickled, asks whoever loads it to make a file."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a place with one good folder of every kind."""
    from interlingua.interop import ctranslate2_export

    place = tmp_path_factory.mktemp("good")
    make_marian_folder(place / "marian")
    make_marian_folder(place / "other", seed=5, separate=True)
    make_npz_folder(place / "npz")
    loaded = random_model(SHAPES["tied"])
    save_model_folder(place / "ours", loaded, parameters_of(loaded.model), "# A card\n")
    (place / "ct2").mkdir()
    ctranslate2_export.write(loaded, place / "ct2", "float32")
    return place


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    found = load_file(folder / "model.safetensors")
    change(found)
    save_file(found, folder / "model.safetensors")


def cut(path: Path, keep: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])


def header(path: Path, text: bytes, rest: bytes = b"") -> None:
    path.write_bytes(struct.pack("<Q", len(text)) + text + rest)


def only_bin(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)


def torch_file(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def zipped(entries: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def arrays(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], object]:
    """Change the numbers in a file of Marian."""

    def run(folder: Path) -> None:
        found = dict(np.load(folder / "model.npz"))
        change(found)
        np.savez(folder / "model.npz", **found)

    return run


def entry(name: str, content: bytes) -> Callable[[Path], object]:
    """Put one more entry into an archive, whatever is in it."""

    def run(folder: Path) -> None:
        with zipfile.ZipFile(folder / "model.npz", "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a name that is there twice
            archive.writestr(name, content)

    return run


def npy(text: str, rest: bytes = b"", length: int | None = None) -> bytes:
    """Write an array whose header says anything."""
    header = text.encode()
    size = len(header) if length is None else length
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", size) + header + rest


def pickled_array(folder: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.array([Runs(f"touch {folder.parent}/canary")], object), allow_pickle=True)
    entry("Wemb2.npy", file.getvalue())(folder)


def replace_by(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def patch(path: Path, find: bytes, put: bytes) -> None:
    content = path.read_bytes()
    assert find in content
    path.write_bytes(content.replace(find, put, 1))


def variables(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], object]:
    """Change the numbers in a file of CTranslate2."""
    kinds = [torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16]

    def string(text: str) -> bytes:
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    def run(folder: Path) -> None:
        found = read_variables(folder / "model.bin")
        change(found)
        parts = [struct.pack("<I", 6), string("TransformerSpec"), struct.pack("<II", 7, len(found))]
        for name, tensor in found.items():
            shape = struct.pack(f"<B{tensor.dim()}I", tensor.dim(), *tensor.shape)
            content = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            kind = struct.pack("<BI", kinds.index(tensor.dtype), len(content))
            parts += [string(name), shape, kind, content]
        (folder / "model.bin").write_bytes(b"".join(parts) + struct.pack("<I", 0))

    return run


def directory_of(size: int) -> bytes:
    """Write the end of an archive that says how large its directory is."""
    return b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, size, 0, 0)


def ours(change: Callable[[Path], object]) -> Callable[[Path], object]:
    """Change a folder of ours and make its manifest fit again: whoever means harm does that too."""

    def run(folder: Path) -> None:
        change(folder)
        (folder / "manifest.json").unlink()
        write_manifest(folder)

    return run


def architecture(**changes: object) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        sizes = json.loads((folder / "config.json").read_text())["architecture"]
        edit(folder / "config.json", architecture=sizes | changes)

    return ours(run)


@dataclass(frozen=True)
class Case:
    kind: str
    what: str
    harm: Callable[[Path], object]
    words: str


DEEP = "[" * 200_000
CASES = [
    Case("marian", "config is cut", lambda f: cut(f / "config.json"), "whole JSON"),
    Case(
        "marian",
        "config is latin-1",
        lambda f: (f / "config.json").write_bytes(b'{"a": "\xe9"}'),
        "whole JSON",
    ),
    Case(
        "marian",
        "config is deep",
        lambda f: (f / "config.json").write_text(DEEP),
        "nested too deeply",
    ),
    Case(
        "marian",
        "config is a list",
        lambda f: (f / "config.json").write_text("[]"),
        "not a JSON object",
    ),
    Case(
        "marian",
        "a key twice",
        lambda f: patch(f / "config.json", b"{", b'{"d_model": 32,'),
        "twice",
    ),
    Case(
        "marian",
        "another kind of model",
        lambda f: edit(f / "config.json", model_type="bert"),
        "type 'bert'",
    ),
    Case(
        "marian",
        "a width of billions",
        lambda f: edit(f / "config.json", d_model=10**9),
        "d_model is 1000000000",
    ),
    Case(
        "marian",
        "a billion layers",
        lambda f: edit(f / "config.json", encoder_layers=10**9),
        "encoder_layers is",
    ),
    Case(
        "marian",
        "a thousand layers",
        lambda f: edit(f / "config.json", decoder_layers=1000),
        "lacks the tensor",
    ),
    Case(
        "marian",
        "a number of 5,000 digits",
        lambda f: patch(f / "config.json", b"{", b'{"x": ' + b"9" * 5000 + b","),
        "whole JSON",
    ),
    Case(
        "marian",
        "a vocabulary of trillions",
        lambda f: edit(f / "config.json", vocab_size=10**12),
        "vocab_size is",
    ),
    Case(
        "marian",
        "positions without end",
        lambda f: edit(f / "config.json", max_position_embeddings=10**6, d_model=512),
        "positions of width 512",
    ),
    Case("marian", "not a number", lambda f: edit(f / "config.json", dropout=float("nan")), "NaN"),
    Case(
        "marian",
        "a header of exabytes",
        lambda f: (f / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}"),
        "safetensors file",
    ),
    Case(
        "marian",
        "a header of 64 MB",
        lambda f: header(f / "model.safetensors", b" " * (64 << 20)),
        "safetensors file",
    ),
    Case("marian", "weights are cut", lambda f: cut(f / "model.safetensors"), "safetensors file"),
    Case(
        "marian",
        "weights are empty",
        lambda f: (f / "model.safetensors").write_bytes(b""),
        "safetensors file",
    ),
    Case(
        "marian",
        "a tensor beyond the end",
        lambda f: header(
            f / "model.safetensors",
            json.dumps(
                {"a": {"dtype": "F32", "shape": [10**6], "data_offsets": [0, 4 * 10**6]}}
            ).encode(),
        ),
        "safetensors file",
    ),
    Case(
        "marian",
        "a tensor of another shape",
        lambda f: tensors(
            f, lambda t: t.update({"model.encoder.layers.0.fc1.weight": torch.zeros(3, 3)})
        ),
        "has shape (3, 3)",
    ),
    Case(
        "marian",
        "a tensor that is not finite",
        lambda f: tensors(f, lambda t: t["model.encoder.layers.0.fc1.bias"].fill_(float("nan"))),
        "NaN or infinity",
    ),
    Case(
        "marian",
        "a tensor too many",
        lambda f: tensors(f, lambda t: t.update({"evil": torch.zeros(1)})),
        "holds the tensor 'evil'",
    ),
    Case(
        "marian",
        "a tensor too few",
        lambda f: tensors(f, lambda t: t.pop("model.encoder.layers.0.fc1.bias")),
        "lacks the tensor",
    ),
    Case(
        "marian",
        "positions that are no fractions",
        lambda f: tensors(
            f,
            lambda t: t.update(
                {"model.encoder.embed_positions.weight": torch.ones(64, 32, dtype=torch.int64)}
            ),
        ),
        "which no weights are",
    ),
    Case(
        "marian",
        "a device for weights",
        lambda f: replace_by(f / "model.safetensors", lambda p: p.symlink_to("/dev/zero")),
        "is not a file",
    ),
    Case(
        "marian",
        "a pipe for the vocabulary",
        lambda f: replace_by(f / "vocab.json", os.mkfifo),
        "is not a file",
    ),
    Case(
        "marian",
        "a link in a circle",
        lambda f: replace_by(f / "source.spm", lambda p: p.symlink_to(p.name)),
        "source.spm",
    ),
    Case(
        "marian",
        "a pickle that runs a command",
        lambda f: only_bin(f, torch_file({"a": Runs(f"touch {f.parent}/canary")})),
        "not a file of weights alone",
    ),
    Case(
        "marian",
        "an old pickle that runs a command",
        lambda f: only_bin(f, pickle.dumps(Runs(f"touch {f.parent}/canary"))),
        "not an archive of torch",
    ),
    Case(
        "marian",
        "a pickle of something else",
        lambda f: only_bin(f, torch_file([1, 2, 3])),
        "not a file of weights alone",
    ),
    Case(
        "marian",
        "a zip bomb",
        lambda f: only_bin(f, zipped({"a/data.pkl": b"\0" * (1 << 28)}, zipfile.ZIP_DEFLATED)),
        "grows when it is unpacked",
    ),
    Case(
        "marian",
        "a way out of the zip",
        lambda f: only_bin(f, zipped({"../../canary": b"x", "a/data.pkl": b"x"})),
        "outside itself",
    ),
    Case(
        "marian",
        "a vocabulary of another model",
        lambda f: shutil.copy(f.parent / "other" / "target_vocab.json", f / "vocab.json"),
        "vocab.json",
    ),
    Case("marian", "an id twice", lambda f: edit(f / "vocab.json", again=3), "gives the id 3"),
    Case(
        "marian",
        "ids beyond the end",
        lambda f: edit(f / "vocab.json", again=10**9),
        "the id 1000000000",
    ),
    Case(
        "marian",
        "a piece of a megabyte",
        lambda f: edit(f / "vocab.json", **{"x" * 10**6: 3}),
        "no piece of a vocabulary",
    ),
    Case(
        "marian",
        "the end symbol elsewhere",
        lambda f: edit(f / "config.json", eos_token_id=5),
        "different models",
    ),
    Case(
        "marian",
        "the cutter of another model",
        lambda f: (f / "source.spm").write_bytes(train_spm(["ΑΒΓ ΔΕΖ ΗΘΙ"], "char", 20)),
        "different models",
    ),
    Case(
        "marian",
        "a cutter of noise",
        lambda f: (f / "source.spm").write_bytes(bytes(range(256)) * 40),
        "source.spm",
    ),
    Case("marian", "no cutter", lambda f: (f / "target.spm").unlink(), "target.spm: is missing"),
    Case(
        "npz",
        "the archive is noise",
        lambda f: (f / "model.npz").write_bytes(b"\xff" * 4096),
        "not a whole .npz file",
    ),
    Case("npz", "the archive is cut", lambda f: cut(f / "model.npz"), "not a whole .npz file"),
    Case("npz", "a pickle that runs a command", pickled_array, "pickles are never read"),
    Case(
        "npz",
        "a bare pickle that runs a command",
        lambda f: entry("x", pickle.dumps(Runs(f"touch {f.parent}/canary")))(f),
        "not an array of numpy",
    ),
    Case(
        "npz",
        "a zip bomb",
        lambda f: (f / "model.npz").write_bytes(
            zipped({"Wemb.npy": b"\0" * (1 << 28)}, zipfile.ZIP_DEFLATED)
        ),
        "grows when it is unpacked",
    ),
    Case("npz", "a way out of the archive", entry("../../canary.npy", npy("")), "outside itself"),
    Case("npz", "a name twice", entry("Wemb.npy", npy("")), "twice"),
    Case("npz", "a header of gigabytes", entry("x.npy", npy("{}", length=2**32 - 1)), "header of"),
    Case("npz", "a deep header", entry("x.npy", npy("(" * 9000)), "damaged header"),
    Case(
        "npz",
        "a header that calls",
        entry("x.npy", npy("__import__('os').system('touch canary')")),
        "damaged header",
    ),
    Case(
        "npz",
        "an array of terabytes",
        entry(
            "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}")
        ),
        "other bytes than its shape",
    ),
    Case(
        "npz",
        "a negative shape",
        entry("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1)}", b"1234")),
        "has no shape",
    ),
    Case(
        "npz",
        "a table of another shape",
        arrays(lambda a: a.update(encoder_l1_self_Wq=np.zeros((3, 3), "float32"))),
        "has shape (3, 3)",
    ),
    Case(
        "npz",
        "a table that is not finite",
        arrays(lambda a: a["encoder_l1_ffn_b1"].fill(np.nan)),
        "NaN or infinity",
    ),
    Case(
        "npz", "an array too few", arrays(lambda a: a.pop("decoder_l2_ffn_W2")), "lacks the tensor"
    ),
    Case("npz", "an array too many", arrays(lambda a: a.update(evil=np.zeros(1))), "holds 'evil'"),
    Case(
        "npz",
        "whole numbers for weights",
        arrays(lambda a: a.update(Wemb=a["Wemb"].astype("int8"))),
        "before it was quantised",
    ),
    Case("npz", "no options", arrays(lambda a: a.pop("special:model.yml")), "has no special:model"),
    Case(
        "npz",
        "options that are noise",
        arrays(lambda a: a.update({"special:model.yml": np.full(999, -1, np.int8)})),
        "not a list of settings",
    ),
    Case(
        "npz",
        "options of megabytes",
        arrays(lambda a: a.update({"special:model.yml": np.zeros(2 << 20, np.int8)})),
        "2,097,152 bytes",
    ),
    Case(
        "npz",
        "options that refer to themselves",
        arrays(
            lambda a: a.update(
                {"special:model.yml": np.frombuffer(b"a: &a\nb: *a\n\0", np.int8).copy()}
            )
        ),
        "YAML that Marian does not write",
    ),
    Case(
        "npz",
        "a device for weights",
        lambda f: replace_by(f / "model.npz", lambda p: p.symlink_to("/dev/zero")),
        "is not a file",
    ),
    Case(
        "npz",
        "the vocabulary of another model",
        lambda f: (f / "vocab.spm").write_bytes(train_spm(["ΑΒΓ ΔΕΖ ΗΘΙ"], "char", 20)),
        "different models",
    ),
    Case("npz", "no vocabulary", lambda f: (f / "vocab.spm").unlink(), "has no vocabulary"),
    Case(
        "npz",
        "a vocabulary that does not cut",
        lambda f: (f / "vocab.spm").unlink() or (f / "vocab.yml").write_text("</s>: 0\n<unk>: 1\n"),
        "says nothing of how text is cut",
    ),
    Case(
        "npz",
        "a vocabulary of factors",
        lambda f: (f / "vocab.spm").rename(f / "vocab.fsv"),
        "factored",
    ),
    Case(
        "npz",
        "a vocabulary outside",
        lambda f: (
            (f / "vocab.spm").unlink()
            or (f / "decoder.yml").write_text("vocabs:\n  - ../ours/x.spm\n  - /etc/passwd\n")
        ),
        "has no vocabulary",
    ),
    Case("ct2", "model.bin is cut", lambda f: cut(f / "model.bin"), "not a whole model.bin"),
    Case(
        "ct2",
        "model.bin is noise",
        lambda f: (f / "model.bin").write_bytes(b"\xff" * 4096),
        "not a whole model.bin",
    ),
    Case(
        "ct2",
        "another program",
        lambda f: patch(f / "model.bin", b"TransformerSpec", b"WhisperrrrrSpec"),
        "WhisperrrrrSpec",
    ),
    Case(
        "ct2",
        "a variable of gigabytes",
        lambda f: (f / "model.bin").write_bytes(
            struct.pack("<I", 6)
            + struct.pack("<H", 16)
            + b"TransformerSpec\0"
            + struct.pack("<II", 7, 1)
            + struct.pack("<H", 2)
            + b"a\0"
            + struct.pack("<BIIBI", 2, 65536, 16384, 0, 2**32 - 1)
        ),
        "other bytes than its shape",
    ),
    Case(
        "ct2",
        "more variables than bytes",
        lambda f: (f / "model.bin").write_bytes(
            struct.pack("<I", 6)
            + struct.pack("<H", 16)
            + b"TransformerSpec\0"
            + struct.pack("<II", 7, 2**32 - 1)
        ),
        "variables",
    ),
    Case(
        "ct2",
        "a name that is not known",
        lambda f: patch(
            f / "model.bin",
            b"encoder/layer_0/ffn/linear_0/bias",
            b"encoder/layer_0/ffn/linear_0/evil",
        ),
        "architecture has not",
    ),
    Case(
        "ct2",
        "a vocabulary that is no list",
        lambda f: (f / "shared_vocabulary.json").write_text('{"a": 1}'),
        "not a list of pieces",
    ),
    Case(
        "ct2",
        "a vocabulary too short",
        lambda f: (f / "shared_vocabulary.json").write_text('["a"]'),
        "vocabulary has 1 pieces",
    ),
    Case(
        "ct2",
        "swapped pieces",
        lambda f: (f / "shared_vocabulary.json").write_text(
            json.dumps(json.loads((f / "shared_vocabulary.json").read_text())[::-1])
        ),
        "different models",
    ),
    Case(
        "ct2",
        "a scale that would make a cube of a table",
        variables(
            lambda v: v.update(
                {
                    "encoder/embeddings_0/weight": torch.zeros(8000, 5, dtype=torch.int8),
                    "encoder/embeddings_0/weight_scale": torch.ones(8000, 1),
                }
            )
        ),
        "one of another shape",
    ),
    Case(
        "ct2",
        "a number for a matrix",
        variables(lambda v: v.update({"encoder/layer_0/ffn/linear_0/weight": torch.tensor(1.0)})),
        "is no matrix",
    ),
    Case(
        "ct2",
        "infinitely many heads",
        variables(
            lambda v: v.update(
                {f"{side}/num_heads": torch.tensor(torch.inf) for side in ("encoder", "decoder")}
            )
        ),
        "is inf, which is no whole number",
    ),
    Case(
        "ct2",
        "half a head",
        variables(
            lambda v: v.update(
                {f"{side}/num_heads": torch.tensor(2.5) for side in ("encoder", "decoder")}
            )
        ),
        "is 2.5, which is no whole number",
    ),
    Case(
        "ct2",
        "a large shape of nothing",
        lambda f: (f / "model.bin").write_bytes(
            struct.pack("<I", 6)
            + struct.pack("<H", 16)
            + b"TransformerSpec\0"
            + struct.pack("<II", 7, 1)
            + struct.pack("<H", 2)
            + b"a\0"
            + struct.pack("<BIIIIBI", 4, *[2**32 - 1] * 3, 0, 0, 0)
        ),
        "is empty",
    ),
    Case(
        "marian",
        "a list for the activation",
        lambda f: edit(f / "config.json", activation_function=[]),
        "activation_function is '[]'",
    ),
    Case(
        "marian",
        "half a character in the vocabulary",
        lambda f: edit(f / "vocab.json", **{"\ud800x": 99}),
        "no piece of a vocabulary",
    ),
    Case(
        "marian",
        "a vocabulary of brackets",
        lambda f: (f / "vocab.json").write_text('{"a": [' + "[]," * 3_800_000 + "[]]}"),
        "gives 'a' the id",
    ),
    Case(
        "marian",
        "a vocabulary of many megabytes",
        lambda f: (f / "vocab.json").write_text('{"a": [' + "[]," * 4_500_000 + "[]]}"),
        "no such file of a model has more than",
    ),
    Case(
        "marian",
        "millions of empty pieces",
        lambda f: (f / "source.spm").write_bytes(b"\x0a\x00" * 5_000_000),
        "more than 1,000,000 pieces",
    ),
    Case(
        "marian",
        "whole numbers for weights",
        lambda f: tensors(f, lambda t: t.update({name: t[name].long() for name in list(t)[:1]})),
        "which no weights are",
    ),
    Case(
        "marian",
        "an archive with a directory of megabytes",
        lambda f: only_bin(f, directory_of(5 << 20)),
        "directory is larger",
    ),
    Case(
        "npz",
        "a directory of megabytes",
        lambda f: (f / "model.npz").write_bytes(directory_of(5 << 20)),
        "directory is larger",
    ),
    Case(
        "ours",
        "a manifest that leads outside",
        lambda f: (f / "manifest.json").write_text(
            json.dumps(
                {"format_version": 1, "files": {"../../etc/passwd": {"bytes": 1, "sha256": "0"}}}
            )
        ),
        "not a file of this folder",
    ),
    Case(
        "ours",
        "a deep manifest",
        lambda f: (f / "manifest.json").write_text(DEEP),
        "cannot be read",
    ),
    Case(
        "ours",
        "a manifest of megabytes",
        lambda f: (f / "manifest.json").write_text(" " * (2 << 20)),
        "manifest.json",
    ),
    Case(
        "ours",
        "a pipe for weights",
        lambda f: replace_by(f / "model.safetensors", os.mkfifo),
        "model.safetensors",
    ),
    Case("ours", "a width of a million", architecture(d_model=10**6, heads=1), "config.json"),
    Case(
        "ours",
        "a terabyte of parameters",
        architecture(d_ff=10**6, encoder_layers=999, decoder_layers=999),
        "do not belong together",
    ),
    Case(
        "ours", "a million positions", architecture(max_positions=10**6, d_model=512), "config.json"
    ),
    Case("ours", "more layers than weights", architecture(encoder_layers=3), "lacks the tensor"),
    Case(
        "ours",
        "a key twice",
        ours(lambda f: patch(f / "config.json", b"{", b'{"max_length": 4,')),
        "twice",
    ),
    Case(
        "ours",
        "deep generation settings",
        ours(lambda f: (f / "generation_config.json").write_text(DEEP)),
        "nested too deeply",
    ),
    Case(
        "ours",
        "a beam of billions",
        ours(lambda f: edit(f / "generation_config.json", beam_size=10**9)),
        "beam_size",
    ),
    Case(
        "ours",
        "weights that are not finite",
        ours(
            lambda f: tensors(
                f, lambda t: t["encoder.layers.0.feed_forward.inner.bias"].fill_(float("inf"))
            )
        ),
        "NaN or infinity",
    ),
    Case(
        "ours",
        "a tokenizer too small",
        ours(lambda f: patch(f / "tokenizer.json", b'"kind":"bpe"', b'"kind":"evil"')),
        "tokenizer.json",
    ),
    Case(
        "ours",
        "a deep tokenizer",
        ours(lambda f: (f / "tokenizer.json").write_text('{"model":' + DEEP)),
        "tokenizer.json",
    ),
    Case(
        "ours",
        "sentences that are none",
        ours(lambda f: (f / "validation.jsonl").write_text('{"source": 1}\n')),
        "damaged at sentence 1",
    ),
    Case(
        "ours",
        "a pickle for weights",
        ours(
            lambda f: (f / "model.safetensors").write_bytes(
                torch_file({"a": Runs(f"touch {f.parent}/canary")})
            )
        ),
        "safetensors file",
    ),
]


def test_the_good_folders_are_good(good: Path, tmp_path: Path) -> None:
    assert main(["import", str(good / "marian"), "--output", str(tmp_path / "a")]) == 0
    languages = ["--source-lang", "ro", "--target-lang", "en"]
    assert main(["import", str(good / "ct2"), "--output", str(tmp_path / "b"), *languages]) == 0
    languages = ["--source-lang", "en", "--target-lang", "de"]
    assert main(["import", str(good / "npz"), "--output", str(tmp_path / "c"), *languages]) == 0
    for folder in (good / "ours", *(tmp_path / name for name in "abc")):
        assert main(["translate", str(folder), "a cat"]) == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.what}")
def test_a_hostile_folder_is_refused_in_one_line(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    folder = tmp_path / case.kind
    shutil.copytree(good / case.kind, folder)
    if case.kind == "marian":
        shutil.copytree(good / "other", tmp_path / "other")
    case.harm(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capsys.readouterr()
    output = tmp_path / "output"
    languages = ["--source-lang", "en", "--target-lang", "de"] if case.kind == "npz" else []
    if case.kind == "ours":
        status = main(["translate", str(folder), "a cat"])
    else:
        status = main(["import", str(folder), "--output", str(output), *languages])
    told = capsys.readouterr()
    assert status in (4, 5), told.err
    assert told.out == ""
    assert told.err.count("\n") == 1, told.err
    assert len(told.err) < 1000
    assert case.words in told.err
    assert not output.exists()
    assert not (tmp_path / "canary").exists()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < MEGABYTES * 1024, f"{grown / 1024:.0f} MB"


def test_a_path_is_no_language(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(good / "marian", folder := tmp_path / "marian")
    edit(folder / "tokenizer_config.json", source_lang="../../x")
    command = ["import", str(folder), "--output", str(tmp_path / "out")]
    assert main(command) == 2
    assert "give --source-lang CODE" in capsys.readouterr().err
    assert main([*command, "--source-lang", "../x"]) == 2
    assert "is no code of a language" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_pickle_of_the_same_kind_without_harm_is_read(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "marian"
    shutil.copytree(good / "marian", folder)
    only_bin(folder, torch_file(load_file(good / "marian" / "model.safetensors")))
    assert main(["import", str(folder), "--output", str(tmp_path / "out")]) == 0
    assert load_file(tmp_path / "out" / "model.safetensors")
