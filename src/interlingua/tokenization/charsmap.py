"""SentencePiece's table of replacements: the longest match in a double-array trie decides."""

import struct
from array import array

from interlingua.errors import TokenizerError

__all__ = ["Charsmap"]


class Charsmap:
    """A compiled normalisation table.

    The bytes are: the size of the trie (u32), the trie (u32 units of the darts-clone double array), and the
    replacements, each ended by NUL, to which the values of the trie are byte offsets. Little-endian throughout.

    Source: the format that SentencePiece writes into ``precompiled_charsmap`` (its ``normalizer.cc``).
    """

    def __init__(self, compiled: bytes) -> None:
        self.compiled = compiled
        self._units = array("I")
        self._replacements = b""
        if not compiled:
            return
        try:
            (size,) = struct.unpack_from("<I", compiled)
            self._units = array("I", struct.unpack_from(f"<{size // 4}I", compiled, 4))
        except struct.error:
            raise TokenizerError(
                "the table of replacements is truncated; fetch the model again"
            ) from None
        self._replacements = compiled[4 + size :]
        if not self._units:
            raise TokenizerError("the table of replacements is empty; fetch the model again")

    def apply(self, text: str) -> str:
        """Return ``text`` with every longest match replaced, from the left."""
        if not self._units or not text:
            return text
        data = text.encode("utf-8")
        out = bytearray()
        position = 0
        while position < len(data):
            length, offset = self._longest_match(data, position)
            if length:
                out += self._replacements[offset : self._replacements.index(b"\0", offset)]
                position += length
            else:
                width = _width(data[position])
                out += data[position : position + width]
                position += width
        return out.decode("utf-8")

    def _longest_match(self, data: bytes, start: int) -> tuple[int, int]:
        """Return the length in bytes and the value of the longest key at ``start``; (0, 0) for none."""
        units = self._units
        found = (0, 0)
        node = _offset(units[0])
        for position in range(start, len(data)):
            byte = data[position]
            node ^= byte
            if node >= len(units):
                break
            unit = units[node]
            if unit & 0x800000FF != byte:
                break
            node ^= _offset(unit)
            if unit >> 8 & 1:
                found = (position + 1 - start, units[node] & 0x7FFFFFFF)
        return found


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def _width(lead: int) -> int:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
