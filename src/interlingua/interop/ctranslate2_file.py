"""The ``model.bin`` of CTranslate2, read without the package, which would believe every number in it.

The file is: version (u32), name of the specification, its revision (u32), the number of variables (u32), the variables,
the number of aliases (u32), the aliases. A string is its length with the NUL (u16), the bytes, NUL; a variable is its
name, rank (u8), dimensions (u32 each), type (u8), bytes (u32) and the numbers; an alias is two names. Little-endian.

Source: ``ctranslate2/specs/model_spec.py`` of CTranslate2 4.8, binary version 6.
"""

import math
import struct
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from interlingua.checkpoints.untrusted import refuse_special_file
from interlingua.errors import ModelError

__all__ = ["read_variables"]

_VERSIONS = range(4, 7)
_TYPES = (
    torch.float32,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.float16,
    torch.bfloat16,
)
_MOST_VARIABLES = 20_000


def read_variables(path: Path) -> dict[str, Tensor]:
    """Return every variable by its name, aliases included; a quantised weight stands beside its scale.

    Raises:
        ModelError: the file is damaged, of another version, or of another kind of model.
    """
    size = refuse_special_file(path)
    try:
        with path.open("rb") as file:
            return _read(file, size)
    except (struct.error, EOFError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{path}: is not a whole model.bin of CTranslate2 ({error}); convert the model again"
        ) from None
    except (ValueError, KeyError) as error:
        raise ModelError(f"{path}: {error}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None


def _read(file: BinaryIO, size: int) -> dict[str, Tensor]:
    version = _number(file, "<I")
    if version not in _VERSIONS:
        raise EOFError(f"binary version {version}, not 4 to 6")
    name = _string(file)
    if name != "TransformerSpec":
        raise ValueError(f"holds a {name[:40]!r}; TransformerSpec, the paper's model, is read")
    _number(file, "<I")  # its revision: what is in the file is checked by name
    variables: dict[str, Tensor] = {}
    for _ in range(_count(file)):
        key = _string(file)
        if key in variables:
            raise EOFError(f"{key[:60]!r} stands in it twice")
        variables[key] = _variable(file, key, size)
    for _ in range(_count(file)):
        alias, key = _string(file), _string(file)
        if alias in variables or key not in variables:
            raise EOFError(f"the alias {alias[:60]!r} leads nowhere")
        variables[alias] = variables[key]
        if f"{key}_scale" in variables:  # which goes without saying there
            variables[f"{alias}_scale"] = variables[f"{key}_scale"]
    if file.read(1):
        raise EOFError("bytes are left at its end")
    return variables


def _variable(file: BinaryIO, key: str, size: int) -> Tensor:
    rank = _number(file, "<B")
    if rank > 4:
        raise EOFError(f"{key[:60]!r} has {rank} dimensions")
    shape = tuple(_number(file, "<I") for _ in range(rank))
    kind, length = _number(file, "<B"), _number(file, "<I")
    if kind >= len(_TYPES):
        raise EOFError(f"{key[:60]!r} has the unknown type {kind}")
    dtype = _TYPES[kind]
    if length != math.prod(shape) * dtype.itemsize or file.tell() + length > size:
        raise EOFError(f"{key[:60]!r} has other bytes than its shape says")
    if not length:
        raise EOFError(f"{key[:60]!r} is empty")
    return torch.frombuffer(bytearray(_bytes(file, length)), dtype=dtype).view(shape)


def _count(file: BinaryIO) -> int:
    number = _number(file, "<I")
    if number > _MOST_VARIABLES:
        raise EOFError(f"{number:,} variables")
    return number


def _number(file: BinaryIO, form: str) -> int:
    return int(struct.unpack(form, file.read(struct.calcsize(form)))[0])


def _string(file: BinaryIO) -> str:
    return _bytes(file, _number(file, "<H"))[:-1].decode("utf-8")


def _bytes(file: BinaryIO, length: int) -> bytes:
    found = file.read(length)
    if len(found) != length:
        raise EOFError("it was cut off")
    return found
