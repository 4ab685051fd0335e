"""Results too large for the context: one file each under ``.geode/tool-offload`` (RUNTIME.md 4.2).

Whatever is read here may have been put there by anybody who can write the project's folder: names are checked, links
are not followed, and a file counts only where it says what it is. Reading deletes and changes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

import msgspec

from geode_tui.core.events import BlobRef
from geode_tui.core.ids import BadId, check_id
from geode_tui.core.text import clean_line
from geode_tui.log import pieces, receipts
from geode_tui.log.store import StoreError, private_folder, write_private

FOLDER = "tool-offload"
KNOWN_SHOWN = 20
"""References that an error names, the newest."""
_HEAD_BYTES = 4_096
"""Holds everything but the result, as it is written here."""
_RESULT_KEY = b',"result":'
"""Never within a JSON string, where its quotes would be escaped."""
_ANY_RESULT_KEY = re.compile(rb'"result"\s*:\s*')
SET_ASIDE = ".damaged"
"""What a file's name ends with once it turned out to be none of these."""
EXTRAPOLATED_BYTES = 4_000_000
"""Bytes of a result's text from which its tokens are those of a sample, extrapolated (RUNTIME.md 4.1)."""
_NO_LINKS = os.O_RDONLY | os.O_NOFOLLOW
_DIGEST_SHOWN = 12


class OffloadFailed(StoreError):
    """The result could not be stored: the run goes on without its file."""


class OffloadUnknown(StoreError):
    """The session has no such result; the message names those that it has."""


class OffloadDamaged(StoreError):
    """The file is not what was stored."""


class Offloaded(msgspec.Struct, frozen=True):
    """What is known of a stored result.

    ``original_tokens`` is its size as the gauge counts, ``bytes`` that of its UTF-8 text and ``sha256`` its hash;
    ``call_seq`` is the message that made the call, ``receipt`` the hash of the untouched bytes where they are others
    than the text's. One that is ``pinned`` does not expire. Another program's files have only ``ref_id`` and
    ``offloaded_at`` (epoch seconds).
    """

    ref_id: str
    offloaded_at: float
    tool_name: str = ""
    original_tokens: int = 0
    sha256: str = ""
    turn_id: str = ""
    call_seq: int = 0
    bytes: int = 0
    pinned: bool = False
    receipt: str = ""

    @property
    def extrapolated(self) -> bool:
        """Whether ``original_tokens`` was counted on a sample."""
        return self.bytes > EXTRAPOLATED_BYTES


Result: TypeAlias = str | BlobRef
"""A result that is to be stored: its text, or the receipt of its bytes."""


class Stored(Offloaded, frozen=True, kw_only=True):
    """A stored result with its text, or whatever JSON value another program stored. It is the last key of the file,
    so that a listing needs only the beginning.
    """

    result: Any

    @property
    def text(self) -> str:
        """The result as text: itself, or its JSON text."""
        return self.result if isinstance(self.result, str) else msgspec.json.encode(self.result).decode()


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Stored)
_ABOUT = msgspec.json.Decoder(Offloaded)


def ref_of(call_id: str) -> str:
    """The reference under which the result of a call is stored: the provider's id, or one made from it where that may
    not name a file.
    """
    try:
        return check_id(call_id)
    except BadId:
        digest = hashlib.blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
        return f"ref_{digest}"


def path_of(session_id: str, ref_id: str) -> str:
    """Where a result stands, relative to ``.geode``. Raises `BadId`."""
    return f"{FOLDER}/{check_id(session_id)}/{check_id(ref_id)}.json"


def keep(
    geode: Path,
    session_id: str,
    call_id: str,
    result: Result,
    *,
    tool_name: str = "",
    tokens: int = 0,
    turn_id: str = "",
    call_seq: int = 0,
    now: float,
) -> Offloaded:
    """Store ``result``, once: the same result of the same call is found again. Of a receipt the bytes that are not
    UTF-8 are replaced.

    What stands under a reference never changes. Another result of a call of the same id gets a reference of its own.
    The file is durable before this returns. Raises `OffloadFailed`; `BadId` for a session that may not name a folder.
    """
    try:
        folder = _own_folder(geode, session_id)
        digest, size = _measured(geode, result)
        about = Offloaded(
            ref_id=ref_of(call_id),
            offloaded_at=now,
            tool_name=clean_line(tool_name, 60),
            original_tokens=tokens,
            sha256=digest,
            turn_id=turn_id,
            call_seq=call_seq,
            bytes=size,
            receipt=result.sha256 if isinstance(result, BlobRef) and result.sha256 != digest else "",
        )
        for ref_id in (about.ref_id, f"{about.ref_id[:100]}.{digest[:_DIGEST_SHOWN]}"):
            about = msgspec.structs.replace(about, ref_id=ref_id)
            if not os.path.lexists(folder / f"{ref_id}.json"):
                break
            if (same := _same(geode, session_id, about)) is not None:
                return same
        with contextlib.closing(_pieces_of(geode, result)) as text:
            body = pieces.into_json(text)
            write_private(folder / f"{about.ref_id}.json", chain([_head(about), b'"'], body, [b'"}']))
    except (OSError, StoreError) as error:
        raise OffloadFailed(f"not stored: {_reason(error)}") from error
    return about


def _head(about: Offloaded) -> bytes:
    """A file up to its result."""
    return _ENCODER.encode(about)[:-1] + _RESULT_KEY


def _pieces_of(geode: Path, result: Result) -> Generator[str]:
    if isinstance(result, str):
        yield from pieces.of_text(result)
    else:
        with receipts.opened(geode, result.sha256) as file:
            yield from pieces.of_bytes(file)


def _measured(geode: Path, result: Result) -> tuple[str, int]:
    """Hash and size of a result's UTF-8 text."""
    digest, size = hashlib.sha256(), 0
    for piece in _pieces_of(geode, result):
        data = piece.encode()
        digest.update(data)
        size += len(data)
    return digest.hexdigest(), size


def _reason(error: BaseException | None) -> str:
    """What the system says, without a path: it is told to the model too."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return _reason(error.__cause__) if error is not None else "unknown"


def _own_folder(geode: Path, session_id: str) -> Path:
    """The session's folder, made if needed; never through a link."""
    folder = geode / FOLDER
    for path in (folder, folder / check_id(session_id)):
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"{path.name} is a link")
        private_folder(path)
    return folder / session_id


def _same(geode: Path, session_id: str, about: Offloaded) -> Offloaded | None:
    """What is stored under the reference of ``about``, where it is the same."""
    try:
        with _reading(geode, session_id, about.ref_id) as stored:
            if stored.about.sha256 != about.sha256:
                return None
            for _ in stored.pieces():
                pass
            return stored.about
    except (OffloadUnknown, OffloadDamaged):
        return None


class Reading:
    """A stored result that is being read: what is known of it, and its text piece by piece. Close it."""

    def __init__(self, file: BinaryIO, about: Offloaded, start: int, *, last: bool) -> None:
        self.about = about
        self._file = file
        self._start = start
        self._last = last
        """Whether the result is the file's last key, as it is written here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def pieces(self) -> Iterator[str]:
        """The whole text. Raises `OffloadDamaged`, at its end where it turns out not to be what was stored."""
        digest = hashlib.sha256()
        try:
            for piece in self._text():
                digest.update(piece.encode())
                yield piece
        except (ValueError, msgspec.DecodeError, RecursionError, OSError) as error:
            raise OffloadDamaged(f"the stored result {self.about.ref_id} is damaged") from error
        if self.about.sha256 and digest.hexdigest() != self.about.sha256:
            raise OffloadDamaged(f"the stored result {self.about.ref_id} was changed")

    def _text(self) -> Iterator[str]:
        self._file.seek(self._start)
        if self._file.read(1) != b'"':
            yield from pieces.of_text(self._whole().text)
            return
        string = pieces.JsonString(self._file)
        yield from string.pieces()
        if self._last and string.rest.strip() != b"}":
            raise ValueError("the file does not end with its result")

    def _whole(self) -> Stored:
        self._file.seek(0)
        return _DECODER.decode(self._file.read())

    def with_head(self, about: Offloaded) -> Iterator[bytes]:
        """The file as it is, with another head."""
        if not self._last:
            yield _ENCODER.encode(Stored(**msgspec.structs.asdict(about), result=self._whole().result))
            return
        yield _head(about)
        self._file.seek(self._start)
        while block := self._file.read(pieces.PIECE):
            yield block


def reading(geode: Path, session_id: str, ref_id: str) -> Reading:
    """Begin to read a stored result; a large one is never whole in memory. Raises as `load`."""
    try:
        return _reading(geode, session_id, ref_id)
    except OffloadUnknown as error:
        raise OffloadUnknown(f"{error}; {_known(geode, session_id)}") from error


def _reading(geode: Path, session_id: str, ref_id: str) -> Reading:
    file = _opened(geode, session_id, ref_id)
    try:
        head = file.read(_HEAD_BYTES)
        key = head.find(_RESULT_KEY)
        about = _decoded(head[:key] + b"}") if key >= 0 else None
        start, last = key + len(_RESULT_KEY), about is not None
        if about is None:
            found = _ANY_RESULT_KEY.search(head)
            file.seek(0)
            about = _decoded(file.read()) if found is not None else None
            start = found.end() if found is not None else 0
        if about is None:
            raise OffloadDamaged(f"the stored result {ref_id} is damaged")
        if about.ref_id != ref_id:
            raise OffloadUnknown(_unknown(ref_id))
    except BaseException:
        file.close()
        raise
    return Reading(file, about, start, last=last)


def pin(geode: Path, session_id: str, ref_id: str, *, pinned: bool) -> Offloaded:
    """Let a stored result expire, or not. Raises as `load`, and `OffloadFailed`."""
    with reading(geode, session_id, ref_id) as stored:
        about = msgspec.structs.replace(stored.about, pinned=pinned)
        if about == stored.about:
            return about
        try:
            path = _own_folder(geode, session_id) / f"{ref_id}.json"
            times = path.stat(follow_symlinks=False)
            write_private(path, stored.with_head(about))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        except (OSError, StoreError) as error:
            raise OffloadFailed(f"not stored: {_reason(error)}") from error
    return about


def load(geode: Path, session_id: str, ref_id: str) -> Stored:
    """The stored result. Raises `OffloadUnknown` for a reference that is none of the session's, and names those that
    are; `OffloadDamaged`.
    """
    try:
        return _load(geode, session_id, ref_id)
    except OffloadUnknown as error:
        raise OffloadUnknown(f"{error}; {_known(geode, session_id)}") from error


def _load(geode: Path, session_id: str, ref_id: str) -> Stored:
    try:
        with _opened(geode, session_id, ref_id) as file:
            stored = _DECODER.decode(file.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise OffloadDamaged(f"the stored result {ref_id} is damaged") from error
    if stored.ref_id != ref_id:
        raise OffloadUnknown(_unknown(ref_id))
    if stored.sha256 and hashlib.sha256(stored.text.encode()).hexdigest() != stored.sha256:
        raise OffloadDamaged(f"the stored result {ref_id} was changed")
    return stored


def _opened(geode: Path, session_id: str, ref_id: str) -> BinaryIO:
    try:
        check_id(ref_id)
        with _folder(geode, session_id) as folder:
            return _open(folder, f"{ref_id}.json")
    except (BadId, FileNotFoundError, NotADirectoryError) as error:
        raise OffloadUnknown(_unknown(ref_id)) from error
    except OSError as error:
        raise OffloadDamaged(f"the stored result {ref_id} cannot be read ({error.strerror})") from error


def _unknown(ref_id: str) -> str:
    return f"there is no stored result {clean_line(ref_id, 60)!r} in this session"


def _known(geode: Path, session_id: str) -> str:
    refs = [about.ref_id for about in listing(geode, session_id, KNOWN_SHOWN)]
    return f"those that there are: {', '.join(refs)}" if refs else "nothing is stored"


def listing(geode: Path, session_id: str, limit: int | None = None) -> list[Offloaded]:
    """The session's stored results, the newest first; what is no such file is left out."""
    try:
        with _folder(geode, session_id) as folder:
            names = [name for _, name in sorted(_dated(folder), reverse=True)]
            found: list[Offloaded] = []
            for name in names:
                about = _glance(folder, name)
                if about is not None:
                    found.append(about)
                if len(found) == limit:
                    break
            return found
    except (BadId, OSError):
        return []


def _dated(folder: int) -> Iterator[tuple[int, str]]:
    """(modification time in ns, name) of every file that may be one."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                with contextlib.suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_mtime_ns, entry.name


def _glance(folder: int, name: str) -> Offloaded | None:
    """What a file says of its result, from its beginning where that says all."""
    try:
        head = _read(folder, name, _HEAD_BYTES)
        about = _decoded(head.partition(_RESULT_KEY)[0] + b"}") or _decoded(_read(folder, name))
    except OSError:
        return None
    return about if about is not None and name == f"{about.ref_id}.json" else None


def _decoded(data: bytes) -> Offloaded | None:
    try:
        return _ABOUT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@contextlib.contextmanager
def _folder(geode: Path, session_id: str) -> Iterator[int]:
    """A descriptor of the session's folder. Raises `BadId`, ``OSError``; a link on the way is an error."""
    root = os.open(geode / FOLDER, _NO_LINKS | os.O_DIRECTORY)
    try:
        folder = os.open(check_id(session_id), _NO_LINKS | os.O_DIRECTORY, dir_fd=root)
    finally:
        os.close(root)
    try:
        yield folder
    finally:
        os.close(folder)


def _read(folder: int, name: str, size: int = -1) -> bytes:
    """The file's first ``size`` bytes, all without one."""
    with _open(folder, name) as file:
        return file.read(size)


def _open(folder: int, name: str) -> BinaryIO:
    """The file, for reading. A link or what is no file raises ``OSError``."""
    file = os.fdopen(os.open(name, _NO_LINKS | os.O_NONBLOCK, dir_fd=folder), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a file")
    return file


def share(geode: Path, source: str, target: str, ref_ids: Iterable[str]) -> int:
    """Make results of session ``source`` results of session ``target`` too; returns how many there are no more of.

    The same file where the file system allows it. Raises `OffloadFailed`; `BadId` for a session that may not name a
    folder.
    """
    missing = 0
    try:
        for ref_id in ref_ids:
            try:
                with _folder(geode, source) as folder:
                    _share(folder, _own_folder(geode, target), f"{check_id(ref_id)}.json")
            except (BadId, FileNotFoundError, NotADirectoryError):
                missing += 1
    except (OSError, StoreError) as error:
        raise OffloadFailed(f"not stored: {_reason(error)}") from error
    return missing


def _share(source: int, target: Path, name: str) -> None:
    if (target / name).exists():
        return
    try:
        os.link(name, target / name, src_dir_fd=source, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        write_private(target / name, _read(source, name))
