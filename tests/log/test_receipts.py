"""Untouched results in files of their own."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from geode_tui.log import receipts
from geode_tui.log.store import StoreError


def folder(geode: Path) -> Path:
    return geode / "receipts" / "raw"


def test_what_comes_in_pieces_is_one_file_named_by_its_hash(tmp_path: Path) -> None:
    data = b"\x00\xff some bytes"
    ref = receipts.keep(tmp_path, [data[:3], data[3:]])
    assert ref == receipts.keep(tmp_path, [data])
    assert (ref.sha256, ref.bytes, ref.path) == (sha256(data).hexdigest(), len(data), f"receipts/raw/{ref.sha256}")
    (file,) = folder(tmp_path).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with receipts.opened(tmp_path, ref.sha256) as kept:
        assert kept.read() == data
    assert receipts.name_in(ref.path) == ref.sha256


def test_what_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> list[bytes]:
        raise OSError("no")

    spool = receipts.Spool(tmp_path)
    spool.write(b"x" * 100_000)
    spool.drop()
    with pytest.raises(OSError, match="no"):
        receipts.keep(tmp_path, (piece for piece in broken()))
    assert list(folder(tmp_path).iterdir()) == []


@pytest.mark.parametrize("name", ["../../x", "", "A" * 64, "0" * 63])
def test_a_receipt_has_a_hash_for_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError):
        receipts.opened(tmp_path, name)
    assert receipts.name_in(f"receipts/raw/{name}") == ""


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "receipts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"is a link"):
        receipts.keep(tmp_path, [b"x"])


def test_old_ones_leave_and_so_does_what_never_became_one(tmp_path: Path) -> None:
    old, held, new = (receipts.keep(tmp_path, [data]) for data in (b"old", b"held", b"new"))
    (folder(tmp_path) / ".0123.tmp").write_bytes(b"half")
    (folder(tmp_path) / "notes.txt").write_bytes(b"not ours")
    for path in folder(tmp_path).iterdir():
        if path.name != new.sha256:
            os.utime(path, (100, 100))
    assert receipts.sweep(tmp_path, before=50.0) == (0, 0)
    assert receipts.sweep(tmp_path, before=200.0, held=[held.sha256]) == (2, 7)
    left = {path.name for path in folder(tmp_path).iterdir()}
    assert left == {held.sha256, new.sha256, "notes.txt"}
    assert old.sha256 not in left
