"""Notes that no state holds any more, and all that a summary lost."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from geode_tui.core import events as ev
from geode_tui.view.reduce import fold
from geode_tui.view.state import NOTES, RunState, WindowNote
from geode_tui.view.window_history import NOTE_EVENTS, LostRow, lost_rows, notes_of
from tests.view.runs import HOSTILE, plausible, row, view_changed


def all_notes(rows: list[ev.EventRow]) -> list[WindowNote]:
    """Every note of a run, as the fold makes them one after the other."""
    state, made = RunState(), dict[tuple[int, str], WindowNote]()
    for each in rows:
        fold(state, [each])
        made.update(((note.id, note.what), note) for note in state.window_notes)
    return list(made.values())


@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_that_the_fold_made(seed: int) -> None:
    rows = plausible(Random(seed), 400)
    named = [each for each in rows if each.event in NOTE_EVENTS]
    notes = all_notes(rows)
    assert len(notes) > NOTES // 2
    assert notes_of(named) == tuple(notes)


def test_a_part_of_a_run_gives_the_notes_of_that_part() -> None:
    rows = [each for each in plausible(Random(9), 400) if each.event in NOTE_EVENTS]
    start, end = len(rows) // 3, len(rows) // 2
    first = next(n for n in range(start, end) if rows[n].event in {"message_completed", "user_input_received"})
    wanted = [note for note in all_notes(rows) if rows[first].id < note.id <= rows[end].id and note.what != "paused"]
    assert wanted
    assert [n for n in notes_of(rows[first : end + 1]) if n.what != "paused"] == wanted


def change(number: int, version: int, **more: object) -> ev.EventRow:
    return row(number, view_changed(version, {"summarise": 1}, **more))


def test_what_a_version_lost_is_told_with_what_was_put_back() -> None:
    lost = (ev.LostItem("rule", f"never {HOSTILE}", 3), ev.LostItem("path", "a.py", 0), ev.LostItem("error", "E", 9))
    pin = msgspec.structs.replace(view_changed(5, {"pin": 1}, cause="pin"), back=(4, 2))
    other = msgspec.structs.replace(view_changed(6, {"pin": 1}, cause="pin"), back=(3, 0))
    damaged = ev.EventRow(9, 0.0, 1, 1, "view_changed", "{")
    rows = [change(1, 3, lost=lost[:1]), change(2, 4, lost=lost), damaged, row(3, pin), row(4, other)]
    made = lost_rows(4, rows)
    assert [(thing.kind, thing.seq, thing.pinned) for thing in made] == [
        ("rule", 3, False),
        ("path", 0, False),
        ("error", 9, True),
    ]
    assert made[0].text.isprintable()
    assert lost_rows(3, rows) == (LostRow("rule", made[0].text, 3, pinned=True),)
    assert lost_rows(8, rows) == ()
