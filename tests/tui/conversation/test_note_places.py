"""Where notes stand, whatever came first and however many there were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.log.rows import MessageRow
from geode_tui.tui.conversation.model import Transcript
from geode_tui.tui.conversation.note_places import MOST, SPAN, NotePlaces
from geode_tui.view.state import NOTES, WindowNote


def talk(messages: int, *, results: bool = False) -> Transcript:
    """A turn of ``messages`` in all; with ``results``, every other one is a result in the entry before it."""
    made = Transcript()
    made.load_index([row(seq, results=results) for seq in range(1, messages + 1)], 80)
    return made


def row(seq: int, *, results: bool = False) -> MessageRow:
    shape = (seq, seq, 1, seq // 2 if results else seq - 1)
    if results and seq % 2 == 0:
        return MessageRow(*shape, "assistant", "agent", "complete", 9, 1.0, calls=(f"c{seq}",))
    if results and seq > 1:
        return MessageRow(*shape, "tool", "tool", "complete", 9, 1.0, call_id=f"c{seq - 1}")
    return MessageRow(*shape, "assistant" if seq > 1 else "user", "agent", "complete", 9, 1.0)


def note(number: int, seq: int) -> WindowNote:
    return WindowNote(seq, "masked", count=1, id=number)


def test_a_note_stands_after_its_message_or_the_call_that_its_result_answers() -> None:
    places = NotePlaces(talk(7, results=True))
    assert places.place([note(1, 1), note(2, 3), note(3, 7)]) == {0, 1, 3}
    assert [[n.id for n in places.at(index)] for index in range(4)] == [[1], [2], [], [3]]
    assert [places.has_any(index) for index in range(4)] == [True, True, False, True]


def test_a_note_moves_to_its_message_when_that_comes() -> None:
    transcript = talk(2)
    places = NotePlaces(transcript)
    assert places.place([note(1, 3)]) == {1}
    assert places.has_placed([note(1, 3)])
    transcript.put(row(3), 80)
    assert not places.has_placed([note(1, 3)])
    assert places.place([note(1, 3)]) == {1, 2}
    assert not places.has_any(1)


@given(st.lists(st.integers(1, 30), max_size=40).map(sorted), st.integers(1, 5))
def test_what_a_state_no_longer_holds_stays_where_it_stood(seqs: list[int], window: int) -> None:
    places, notes = NotePlaces(talk(30)), [note(number, seq) for number, seq in enumerate(seqs, start=1)]
    for upto in range(1, len(notes) + 1):
        places.place(notes[max(0, upto - window) : upto])
    stands = [n for index in range(30) for n in places.at(index)]
    assert stands == notes
    assert all(n in places.at(n.seq - 1) for n in notes)


def test_old_notes_are_read_once_by_spans_of_entries_and_only_where_some_may_be_missing() -> None:
    transcript = talk(4 * SPAN)
    places = NotePlaces(transcript)
    few = [note(900 + n, 3 * SPAN) for n in range(NOTES - 1)]
    places.place(few)
    assert places.wanted(0, 4 * SPAN) is None, "a state that holds fewer holds all"
    places.place([*few, note(999, 3 * SPAN + 9)])
    assert places.wanted(0, 9) == 0
    assert places.rounds_of(0) == ((1, 0), (1, SPAN))
    assert places.wanted(0, 9) is None
    assert places.wanted(0, SPAN) == 1
    assert places.rounds_of(1) == ((1, SPAN - 1), (1, 2 * SPAN))
    assert places.take(1, [note(5, 2), note(6, SPAN + 1), note(999, SPAN + 2)]) == {SPAN}, "of its span, and not known"
    assert [n.id for n in places.at(SPAN)] == [6]
    assert places.wanted(3 * SPAN, 4 * SPAN) is None, "from the oldest of the newest on, all are known"
    assert places.rounds_of(3) == ((1, 3 * SPAN - 1), None), "to the end"


def test_no_more_than_a_bound_of_old_notes_is_kept_in_all_and_of_an_entry() -> None:
    places = NotePlaces(talk(SPAN))
    flood = [note(number, SPAN) for number in range(1, 20 * NOTES)]
    for start in range(0, len(flood), NOTES):
        places.place(flood[start : start + NOTES])
    assert places.at(SPAN - 1) == tuple(flood[1 - 2 * NOTES :]), "the newest, and as many before them"
    for number in range(2 * MOST):
        places.take(0, [note(number, 1 + number % (SPAN - 1))])
    assert 0 < sum(len(places.at(index)) for index in range(SPAN)) <= MOST + NOTES


def test_the_rounds_that_a_compaction_stands_for() -> None:
    transcript = Transcript()
    turns = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0)]
    rows = [
        MessageRow(n, n, turn, round_, "assistant" if round_ else "user", "", "complete", 9, 1.0)
        for n, (turn, round_) in enumerate(turns, start=1)
    ]
    transcript.load_index(rows, 80)
    places = NotePlaces(transcript)
    for first, upto, rounds in [
        (0, 2, "1"),
        (1, 3, "1-2"),
        (1, 5, "1.1-2.1"),
        (2, 6, "1.1-2.1"),
        (1, 1, ""),
        (1, 0, ""),
    ]:
        assert places.rounds(WindowNote(6, "summarised", first=first, upto=upto)) == rounds, (first, upto)
    assert NotePlaces(Transcript()).rounds(WindowNote(6, "summarised", upto=9)) == ""
