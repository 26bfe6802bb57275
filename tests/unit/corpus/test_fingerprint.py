import hashlib
import json
from pathlib import Path

import pytest

from interlingua.corpus.fingerprint import fingerprint
from interlingua.errors import CorpusError


def test_a_file_is_known_by_size_checksum_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.ro"
    path.write_bytes(b"unu\ndoi")
    record = fingerprint([path])
    assert record == {
        path.as_posix(): {
            "size": 7,
            "sha256": hashlib.sha256(b"unu\ndoi").hexdigest(),
            "lines": 2,
        }
    }
    assert json.loads(json.dumps(record)) == record


def test_a_missing_file_has_no_fingerprint(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        fingerprint([tmp_path / "absent"])
