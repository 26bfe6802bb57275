"""Archives that want to do harm are refused whole; what is asked for comes out of good ones."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from interlingua.corpus.archives import list_members, take_members
from interlingua.errors import CorpusError


def zipped(path: Path, members: dict[str, bytes], **how: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tarred(path: Path, members: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(data), kind, "/etc/passwd"
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("make", [zipped, tarred])
def test_members_come_out_under_names_of_ours(tmp_path: Path, make: object) -> None:
    archive = make(tmp_path / "a", {"x/a.ro": b"unu\n", "README": b"read"})  # type: ignore[operator]
    assert list_members(archive) == ["x/a.ro", "README"]
    take_members(archive, {"x/a.ro": tmp_path / "ours"})
    assert (tmp_path / "ours").read_bytes() == b"unu\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "ours"]


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("name", ["../a", "/etc/a", "x/../../a", "..\\a", "C:a", "x/.."])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, make: object, name: str) -> None:
    archive = make(tmp_path / "a", {"good": b"x", name: b"x"})  # type: ignore[operator]
    with pytest.raises(CorpusError, match=r"is refused, because .* leaves the folder"):
        take_members(archive, {"good": tmp_path / "ours"})
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(CorpusError, match="is a link or device"):
        list_members(tarred(tmp_path / "a", {"x": b""}, kind))
    info = zipfile.ZipInfo("x")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(CorpusError, match="is a link or device"):
        list_members(tmp_path / "b")


@pytest.mark.parametrize("make", [zipped, tarred])
def test_what_would_unpack_to_far_more_than_text_is_refused(tmp_path: Path, make: object) -> None:
    archive = make(tmp_path / "bomb", {"a.ro": bytes(20_000_000)})  # type: ignore[operator]
    with pytest.raises(CorpusError, match="bytes would become 20,000,000, which text does not"):
        take_members(archive, {"a.ro": tmp_path / "ours"})
    assert [file.name for file in tmp_path.iterdir()] == ["bomb"]


@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_damaged_archive_is_refused_and_leaves_no_file(tmp_path: Path, make: object) -> None:
    data = b"".join(b"linia %d\n" % (i * 7919) for i in range(9999))
    archive = make(tmp_path / "a", {"a.ro": data})  # type: ignore[operator]
    whole = archive.read_bytes()
    archive.write_bytes(whole[:9000] + bytes(90) + whole[9090:])
    with pytest.raises(CorpusError, match="damaged"):
        take_members(archive, {"a.ro": tmp_path / "ours"})
    archive.write_bytes(whole[:9000])
    with pytest.raises(CorpusError, match=r"damaged|neither a zip nor a tar"):
        take_members(archive, {"a.ro": tmp_path / "ours"})
    archive.write_bytes(b"<html>")
    with pytest.raises(CorpusError, match="is neither a zip nor a tar archive"):
        list_members(archive)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
