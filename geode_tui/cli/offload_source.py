"""A run's stored results out of the log and the files: what the Offloads tab and ``geode-tui offloads`` show."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from geode_tui.cli.env import Env
from geode_tui.context.offload import referred
from geode_tui.context.view import fold
from geode_tui.core.events import ToolExecStarted, ToolResultOffloaded, ToolResultRecalled, event_name
from geode_tui.core.ids import BadId, check_id
from geode_tui.log import offloads, views
from geode_tui.log.raw_results import open_raw
from geode_tui.log.store import StoreError, fetch
from geode_tui.log.transcript import Transcript
from geode_tui.tui.source import Exported, OpenedOffload, SourceError
from geode_tui.view.offloads import OffloadRow, OffloadTable

PIECE = 1 << 20


class OffloadSource:
    """Reads the stored results of one session. Raises `SourceError`, `StoreError`."""

    def __init__(self, env: Env, session_id: str) -> None:
        self._env = env
        self._geode = env.project.geode
        self._session_id = session_id

    def table(self, transcript: Transcript, number: int) -> OffloadTable:
        """All of them, the newest first. Only files that no event tells of are looked into."""
        files, set_aside = _names(self._geode, self._session_id)
        referenced = referred(views.versions(transcript, number))
        rows: dict[str, OffloadRow] = {}
        briefs = _briefs(transcript, number)
        recalls = _recalls(transcript, number)
        for told, at, round_ in _told(transcript, number):
            damaged = told.ref_id in set_aside
            rows[told.ref_id] = OffloadRow(
                told.ref_id,
                at,
                told.tool_name,
                briefs.get(told.tool_call_id, ""),
                round_,
                told.original_tokens,
                extrapolated=told.extrapolated,
                standing="damaged" if damaged else "stored" if told.ref_id in files else "gone",
                referenced=told.ref_id in referenced,
                recalls=len(recalls.get(told.ref_id, ())),
                recalled=tuple(recalls.get(told.ref_id, ())),
            )
        foreign = [OffloadRow(ref, files[ref], referenced=ref in referenced) for ref in files if ref not in rows]
        found = (*rows.values(), *self.looked_into(foreign))
        return OffloadTable(tuple(sorted(found, key=lambda row: row.at, reverse=True)), len(set_aside))

    def looked_into(self, rows: Sequence[OffloadRow]) -> tuple[OffloadRow, ...]:
        """``rows`` with what their files say."""
        return tuple(map(self._looked_into, rows))

    def _looked_into(self, row: OffloadRow) -> OffloadRow:
        if row.standing != "stored":
            return row
        try:
            with offloads.reading(self._geode, self._session_id, row.ref_id) as stored:
                about = stored.about
        except offloads.OffloadUnknown:
            return msgspec.structs.replace(row, standing="gone")
        except StoreError:
            return msgspec.structs.replace(row, standing="damaged")
        stays = self._env.settings.retention().results_s
        held = about.pinned or row.referenced or not stays
        return msgspec.structs.replace(
            row,
            at=about.offloaded_at,
            tool=row.tool or about.tool_name,
            tokens=row.tokens or about.original_tokens,
            extrapolated=row.extrapolated or about.extrapolated,
            bytes=about.bytes or None,
            sha256=about.sha256,
            pinned=about.pinned,
            expires_at=None if held else about.offloaded_at + stays,
        )

    def opened(self, transcript: Transcript, number: int, ref_id: str) -> OpenedOffload:
        """One of them to look at. Raises `OffloadUnknown`, `OffloadDamaged`."""
        view = fold(views.versions(transcript, number))
        stubs = (stub.text for seq, (stub, _) in view.stubs.items() if stub.ref == ref_id and not view.hides(seq))
        return OpenedOffload(ref_id, open_raw(self._geode, self._session_id, ref_id), next(stubs, ""))

    def save(self, ref_id: str, path: str, *, replace: bool) -> Exported | None:
        """Write one's exact bytes to ``path``, relative to the project; None where a file is there that may not be
        replaced. Raises `SourceError`.
        """
        try:
            target = (self._env.project.root / Path(path).expanduser()).absolute()
            if target.is_dir():
                raise SourceError(f"{target} is a folder: name a file in it")
            return None if target.exists() and not replace else self._written(ref_id, target, replace=replace)
        except FileExistsError:
            return None
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise SourceError(f"{path} cannot be written ({why}): choose another name") from error
        except StoreError as error:
            raise SourceError(str(error)) from error

    def _written(self, ref_id: str, target: Path, *, replace: bool) -> Exported:
        """Write ``target`` whole or not at all. Raises ``FileExistsError`` where a file has come there meanwhile."""
        partial = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        fd = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                size = self.copy(ref_id, file.write)
            if replace:
                partial.replace(target)
            else:
                os.link(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        return Exported(str(target), size)

    def copy(self, ref_id: str, write: Callable[[bytes], Any]) -> int:
        """Give one's exact bytes to ``write`` piece by piece; returns their number. Raises as `offloads.load`."""
        raw, at = open_raw(self._geode, self._session_id, ref_id), 0
        while True:
            while at < raw.size:
                data = raw.read(at, PIECE)
                write(data)
                at += len(data)
            if raw.whole:
                return at
            raw.more()


def _names(geode: Path, session_id: str) -> tuple[dict[str, float], set[str]]:
    """({reference: when its file was written}, references whose files were set aside)."""
    files: dict[str, float] = {}
    set_aside: set[str] = set()
    with contextlib.suppress(OSError, BadId), os.scandir(geode / offloads.FOLDER / check_id(session_id)) as entries:
        for entry in entries:
            name, aside = entry.name.removesuffix(offloads.SET_ASIDE), entry.name.endswith(offloads.SET_ASIDE)
            if not name.endswith(".json") or name.startswith("."):
                continue
            if aside:
                set_aside.add(name.removesuffix(".json"))
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files[name.removesuffix(".json")] = status.st_mtime
    return files, set_aside


def _events(transcript: Transcript, number: int, kind: type[msgspec.Struct]) -> Iterator[tuple[Any, float, int]]:
    """(payload, when, round) of every event of a kind, oldest first."""
    query = "SELECT payload, ts, round FROM events WHERE session=? AND event=? ORDER BY id"
    decoder = msgspec.json.Decoder(kind)
    for payload, ts, round_ in fetch(transcript.db, query, (number, event_name(kind))):
        with contextlib.suppress(msgspec.DecodeError):
            yield decoder.decode(payload), ts, round_


def _told(transcript: Transcript, number: int) -> Iterator[tuple[ToolResultOffloaded, float, int]]:
    return _events(transcript, number, ToolResultOffloaded)


def _recalls(transcript: Transcript, number: int) -> dict[str, list[int]]:
    """Reference -> the rounds in which it was read again."""
    found: dict[str, list[int]] = {}
    for told, _, round_ in _events(transcript, number, ToolResultRecalled):
        found.setdefault(told.ref_id, []).append(round_)
    return found


def _briefs(transcript: Transcript, number: int) -> dict[str, str]:
    """Call id -> what it was about, of the calls whose results were stored."""
    query = (
        "SELECT payload ->> 'call_id', payload ->> 'brief' FROM events WHERE session=? AND event=?"
        " AND payload ->> 'call_id' IN (SELECT payload ->> 'tool_call_id' FROM events WHERE session=? AND event=?)"
    )
    names = event_name(ToolExecStarted), event_name(ToolResultOffloaded)
    rows = fetch(transcript.db, query, (number, names[0], number, names[1]))
    return {str(call): str(brief) for call, brief in rows}
