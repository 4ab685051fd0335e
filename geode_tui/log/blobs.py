"""Bodies too large for a row: content-addressed files under ``.geode/receipts`` (RUNTIME.md, decision 5)."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import msgspec

from geode_tui.core.events import BlobRef
from geode_tui.log.store import INLINE_LIMIT, StoreError, private_folder, write_private

_NAME = re.compile(r"[0-9a-f]{64}")


class _Stub(msgspec.Struct, frozen=True):
    file: BlobRef = msgspec.field(name="_file")


_STUB_START = '{"_file":'


def store_text(folder: Path, text: str) -> str:
    """``text`` itself where it fits a row, else the JSON of a stub whose file holds it. ``folder`` is ``.geode``.

    The file is durable before this returns, so a committed stub always has its body. Raises ``OSError``.
    """
    if len(text.encode()) <= INLINE_LIMIT:
        return text
    return msgspec.json.encode(_Stub(keep(folder, text))).decode()


def keep(folder: Path, text: str) -> BlobRef:
    """Store ``text`` as a file named by its hash, once. Raises ``OSError``, `StoreError`."""
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    path = folder / "receipts" / digest
    if not path.exists():
        private_folder(path.parent)
        write_private(path, data)
    return BlobRef(digest, len(data), f"receipts/{digest}")


def load_text(folder: Path, text: str) -> str:
    """Inverse of `store_text`. Raises `StoreError` when the file is gone or not what was stored."""
    if not text.startswith(_STUB_START):
        return text
    try:
        ref = msgspec.json.decode(text, type=_Stub).file
    except msgspec.DecodeError as error:
        raise StoreError(f"a stored body is damaged ({error})") from error
    if _NAME.fullmatch(ref.sha256) is None:
        raise StoreError("a stored body names no valid file")
    path = folder / "receipts" / ref.sha256
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreError(f"the stored body {path} cannot be read ({error.strerror})") from error
    with os.fdopen(fd, "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != ref.sha256:
        raise StoreError(f"the stored body {path} was changed")
    return data.decode()
