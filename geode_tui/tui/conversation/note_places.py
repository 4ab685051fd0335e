"""Where in the conversation it stands what befell the context: after which entry. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from geode_tui.tui.conversation.model import Transcript
from geode_tui.view.state import NOTES, WindowNote

SPAN = 64
"""Entries whose notes are read at a time, where they are older than those that a state holds."""
MOST = 4_000
"""Older notes that are kept, `NOTES` of an entry: beyond that they are read again where they are looked at."""


class Past(Protocol):
    """What is read of a run's context when it is looked at. Both methods may block and raise `SourceError`."""

    def summary(self, version: int) -> str:
        """The text that stands for a part of the conversation since ``version`` of the view; empty where none does."""
        ...

    def notes(self, since: tuple[int, int], until: tuple[int, int] | None) -> tuple[WindowNote, ...]:
        """The notes of the rounds from ``since`` to ``until`` (turn, round), both included; None: to the end."""
        ...


class NotePlaces:
    """The newest notes, which every state holds, and older ones: those that were told before, or were read."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._newest: tuple[WindowNote, ...] = ()
        self._entries = 0
        """How many entries there were when the newest were placed."""
        self._placed: dict[int, tuple[WindowNote, ...]] = {}
        self._older: dict[int, tuple[WindowNote, ...]] = {}
        self._count = 0
        self._read: set[int] = set()
        """Spans that were asked for."""

    def at(self, index: int) -> tuple[WindowNote, ...]:
        """The notes after entry ``index``."""
        return (*self._older.get(index, ()), *self._placed.get(index, ()))

    def has_any(self, index: int) -> bool:
        """Whether there are any."""
        return index in self._placed or index in self._older

    def has_placed(self, notes: Sequence[WindowNote]) -> bool:
        """Whether these notes stand where they belong by now."""
        return (len(self._transcript.entries), tuple(notes)) == (self._entries, self._newest)

    def place(self, notes: Sequence[WindowNote]) -> set[int]:
        """Let the newest ``notes`` stand where they belong; the entries after which others stand now."""
        if self.has_placed(notes):
            return set()
        before, old = self._placed, self._newest
        self._entries, self._newest = len(self._transcript.entries), tuple(notes)
        self._placed = self._by_entry(notes) if self._entries else {}
        known = set(map(_key, notes))
        gone = [note for note in old if notes and 0 < note.id <= notes[0].id and _key(note) not in known]
        changed = {i for i in before.keys() | self._placed.keys() if before.get(i) != self._placed.get(i)}
        return changed | self._keep(gone)

    def wanted(self, low: int, high: int) -> int | None:
        """The span that is to be read to know all notes after the entries ``low`` to ``high``; None: all are known."""
        if len(self._newest) < NOTES or not self._entries:
            return None
        oldest = self._transcript.index_at(self._newest[0].seq)
        spans = range(low // SPAN, min(high, oldest) // SPAN + 1)
        return next((span for span in spans if span not in self._read), None)

    def rounds_of(self, span: int) -> tuple[tuple[int, int], tuple[int, int] | None]:
        """The rounds in whose events the notes of ``span`` are told, from one entry before it on: what is newest is
        known then. The span is taken as read.
        """
        self._read.add(span)
        entries = self._transcript.entries
        first, after = entries[max(0, span * SPAN - 1)].row, (span + 1) * SPAN
        until = (entries[after].row.turn, entries[after].row.round) if after < len(entries) else None
        return (first.turn, first.round), until

    def take(self, span: int, notes: Iterable[WindowNote]) -> set[int]:
        """The older notes of ``span`` were read; the entries after which others stand now."""
        known = set(map(_key, self._newest))
        entries = range(span * SPAN, (span + 1) * SPAN)
        fresh = [n for n in notes if _key(n) not in known and self._transcript.index_at(n.seq) in entries]
        return self._keep(fresh)

    def _keep(self, notes: Sequence[WindowNote]) -> set[int]:
        """Keep ``notes`` as older ones."""
        changed: set[int] = set()
        if self._count + len(notes) > MOST:
            changed = set(self._older)
            self._older, self._count = {}, 0
            self._read.clear()
        for index, some in self._by_entry(notes).items():
            known = {_key(note): note for note in self._older.get(index, ())}
            both = {**known, **{_key(note): note for note in some}}
            kept = sorted(both)[-NOTES:]
            self._count += len(kept) - len(known)
            self._older[index] = tuple(both[key] for key in kept)
            changed.add(index)
        return changed

    def _by_entry(self, notes: Sequence[WindowNote]) -> dict[int, tuple[WindowNote, ...]]:
        found: dict[int, tuple[WindowNote, ...]] = {}
        for note in notes:
            index = self._transcript.index_at(note.seq)
            found[index] = (*found.get(index, ()), note)
        return found

    def rounds(self, note: WindowNote) -> str:
        """The rounds that a compaction stands for: ``3``, ``1-14``, or with their turns ``1.1-2.9``."""
        entries = self._transcript.entries
        if not note.upto or not entries:
            return ""
        low, high = self._transcript.index_at(max(1, note.first)), self._transcript.index_at(note.upto)
        while high > low and not entries[high].row.round:
            high -= 1
        first, last = entries[low].row, entries[high].row
        if not last.round:
            return ""
        begin = max(1, first.round)
        if first.turn != last.turn:
            return f"{first.turn}.{begin}-{last.turn}.{last.round}"
        return str(last.round) if begin == last.round else f"{begin}-{last.round}"


def _key(note: WindowNote) -> tuple[int, str]:
    """What tells notes apart: an event may be told as two of them."""
    return note.id, note.what
