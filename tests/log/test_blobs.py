"""Bodies that are files: from which size on, and what is refused when one is read back."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.events import BlobRef
from geode_tui.core.messages import user_text
from geode_tui.log import blobs
from geode_tui.log.store import INLINE_LIMIT, StoreError, fetch_one
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from tests.log.stores import SESSION, commit


def test_bodies_over_256_kib_are_files(tmp_path: Path) -> None:
    fits, large = "x" * INLINE_LIMIT, "é" * (INLINE_LIMIT // 2) + "x"
    assert blobs.store_text(tmp_path, fits) == fits
    assert list(tmp_path.iterdir()) == []
    stub = blobs.store_text(tmp_path, large)
    digest = hashlib.sha256(large.encode()).hexdigest()
    assert msgspec.json.decode(stub) == {
        "_file": {"sha256": digest, "bytes": INLINE_LIMIT + 1, "path": f"receipts/{digest}"}
    }
    assert blobs.load_text(tmp_path, stub) == large
    assert stat.S_IMODE((tmp_path / "receipts" / digest).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "receipts").stat().st_mode) == 0o700


def test_the_same_body_is_kept_once(tmp_path: Path) -> None:
    assert blobs.keep(tmp_path, "a body") == blobs.keep(tmp_path, "a body")
    assert len(list((tmp_path / "receipts").iterdir())) == 1


@given(st.text(st.characters(codec="utf-8")))
def test_a_body_in_a_row_is_read_as_it_is(text: str) -> None:
    if not text.startswith('{"_file":'):
        assert blobs.load_text(Path("/no/such/folder"), text) == text


def test_a_body_that_was_changed_or_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    stub = blobs.store_text(tmp_path, "x" * (INLINE_LIMIT + 1))
    file = next((tmp_path / "receipts").iterdir())
    file.write_bytes(b"x" * INLINE_LIMIT + b"y")
    with pytest.raises(StoreError, match=r"was changed"):
        blobs.load_text(tmp_path, stub)
    file.unlink()
    with pytest.raises(StoreError, match=file.name):
        blobs.load_text(tmp_path, stub)


def test_a_link_in_a_bodys_place_is_not_followed(tmp_path: Path) -> None:
    """B123."""
    secret = tmp_path / "secret"
    secret.write_text("a key")
    ref = BlobRef(hashlib.sha256(b"a key").hexdigest(), 5, "")
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts" / ref.sha256).symlink_to(secret)
    with pytest.raises(StoreError, match=r"cannot be read"):
        blobs.load_text(tmp_path, msgspec.json.encode({"_file": ref}).decode())


@pytest.mark.parametrize(
    "stub",
    [
        '{"_file":{"sha256":"../../etc/passwd","bytes":1,"path":"x"}}',
        '{"_file":{"sha256":"/etc/passwd","bytes":1,"path":"x"}}',
        '{"_file":{"sha256":"' + "A" * 64 + '","bytes":1,"path":"x"}}',
        '{"_file":3}',
        '{"_file":',
    ],
)
def test_a_stub_names_a_body_by_its_hash_or_not_at_all(tmp_path: Path, stub: str) -> None:
    """B122."""
    with pytest.raises(StoreError):
        blobs.load_text(tmp_path, stub)


def test_a_message_of_any_size_reads_back_and_its_row_stays_small(writer: Writer, transcript: Transcript) -> None:
    body = "한" * 400_000
    number, _ = commit(writer, lambda tx: tx.add_message(user_text(body)))
    assert transcript.message(number).message.text == body
    assert transcript.index(SESSION)[0].chars == len(body)
    assert fetch_one(writer.db, "SELECT length(content) < 1000 FROM messages") == (1,)
