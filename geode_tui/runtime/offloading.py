"""A session's results in files: kept within the quota, read again, and swept once nothing refers to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from geode_tui.context.offload import SAMPLE_CHARS, Counter, extrapolated, referred, sample_starts
from geode_tui.core.events import BlobRef, OffloadsSwept
from geode_tui.core.format import number
from geode_tui.core.limits import Retention
from geode_tui.core.views import Version
from geode_tui.log import lease, offloads, pieces, receipts, retention, views
from geode_tui.log.store import INLINE_LIMIT, StoreError
from geode_tui.log.transcript import Transcript
from geode_tui.runtime.journal import Journal

RECOUNT_S = 60.0
"""Seconds for which the size of the store is taken as known: other sessions write there too."""


def is_large(text: str) -> bool:
    """Whether a result gets a receipt: it would not fit into a row (RUNTIME.md, decision 5)."""
    return len(text) > INLINE_LIMIT or len(text.encode()) > INLINE_LIMIT


class ResultStore:
    """See the module. ``versions`` gives those of the session's view as they stand. Used on the journal's thread,
    one call at a time, but for what is ``async``.
    """

    def __init__(self, session_id: str, journal: Journal, versions: Callable[[], Sequence[Version]]) -> None:
        self._session_id = session_id
        self._journal = journal
        self._versions = versions
        self.retention = Retention()
        self._new: set[str] = set()
        """References that this worker made and that no version of the view has named yet."""
        self._used = 0
        self._counted_at = -RECOUNT_S

    @property
    def geode(self) -> Path:
        """The project's folder."""
        return self._journal.writer.geode

    # -- keeping ------------------------------------------------------------------------------------------------------
    def receipt(self, text: str) -> BlobRef | None:
        """Store the untouched result; None where that cannot be done."""
        try:
            return receipts.keep(self.geode, (piece.encode() for piece in pieces.of_text(text)))
        except (OSError, StoreError):
            return None

    def keep(
        self, call_id: str, result: offloads.Result, *, tool_name: str, tokens: int, turn_id: str, call_seq: int
    ) -> offloads.Offloaded:
        """Put a result into its file. Raises `OffloadFailed`."""
        size = result.bytes if isinstance(result, BlobRef) else len(result)
        self._make_room(size)
        now = self._journal.clock.now()
        stored = offloads.keep(
            self.geode,
            self._session_id,
            call_id,
            result,
            tool_name=tool_name,
            tokens=tokens,
            turn_id=turn_id,
            call_seq=call_seq,
            now=now,
        )
        self._used += size
        self._new.add(stored.ref_id)
        return stored

    def _held(self) -> frozenset[str]:
        """What may not leave this session."""
        named = referred(self._versions())
        self._new -= named
        return named | self._new

    def _make_room(self, size: int) -> None:
        """Let what nothing refers to leave this session for ``size`` bytes more. Raises `OffloadFailed`."""
        quota, now = self.retention.quota, self._journal.clock.monotonic()
        if not quota:
            return
        if now - self._counted_at >= RECOUNT_S:
            self._used, self._counted_at = retention.used(self.geode), now
        if self._used + size <= quota:
            return
        self._used = retention.used(self.geode)
        over = self._used + size - quota
        kept, _ = retention.found(self.geode, self._session_id, self._held())
        own = sum(each.size for each in kept)
        spare = Retention(0.0, max(1, own - over), 0.0)
        for each in retention.leaving(kept, spare, 0.0)[1]:
            self._used -= retention.remove(self.geode, each)
        if self._used + size > quota:
            limit = number(quota // 1_000_000)
            raise offloads.OffloadFailed(
                f"not stored: stored results may take {limit} MB, and those there are in use ([tool_offload] quota_mb)"
            )

    def sampled(self, receipt: BlobRef, count: Counter) -> int:
        """Tokens of the text in a receipt: those of a sample, extrapolated. Raises `StoreError`, ``OSError``."""
        sample, seen = [], 0
        with receipts.opened(self.geode, receipt.sha256) as file:
            for at in sample_starts(receipt.bytes):
                file.seek(at)
                data = file.read(SAMPLE_CHARS)
                seen += len(data)
                sample.append(data.decode("utf-8", "ignore"))
        return extrapolated(sample, count, seen, receipt.bytes)

    # -- sweeping -----------------------------------------------------------------------------------------------------
    async def sweep(self) -> None:
        """Let what is old and unreferenced leave, here and in the sessions that nobody has at hand, and set aside what
        is damaged. What came of it is told.
        """
        told = await self._journal.read(self._sweep)
        if told != OffloadsSwept():
            await self._journal.write(lambda tx: tx.event(told))

    def _sweep(self, transcript: Transcript) -> OffloadsSwept:
        now, geode = self._journal.clock.now(), self.geode
        kept: list[retention.Kept] = []
        damaged: list[str] = []
        for session_id in retention.sessions(geode):
            held = self._held_in(transcript, session_id)
            if held is None:
                continue
            here, bad = retention.found(geode, session_id, held)
            kept += here
            damaged += [f"{session_id}/{name}" for name in bad if retention.set_aside(geode, session_id, name)]
        expired, crowded = retention.leaving(kept, self.retention, now)
        freed = sum(retention.remove(geode, each) for each in (*expired, *crowded))
        count = more = 0
        if self.retention.receipts_s:
            count, more = receipts.sweep(geode, before=now - self.retention.receipts_s)
        self._used, self._counted_at = retention.used(geode), self._journal.clock.monotonic()
        return OffloadsSwept(len(expired), len(crowded), count, freed + more, tuple(damaged))

    def _held_in(self, transcript: Transcript, session_id: str) -> frozenset[str] | None:
        """What may not leave a session; None for one that is another program's, or another worker's."""
        if session_id == self._session_id:
            return self._held()
        row = transcript.session(session_id)
        if row is None or row.origin != "own":
            return None
        if lease.probe(lease.lock_path(self.geode, session_id)).state != "free":
            return None
        try:
            return referred(views.versions(transcript, row.number))
        except StoreError:
            return None
