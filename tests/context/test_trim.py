"""The hard trim and the count limit (RUNTIME.md 3.6, 2.9)."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.mask import maskable
from geode_tui.context.protect import batches, protected
from geode_tui.context.rendering import Renderer
from geode_tui.context.trim import max_turns, trimmed
from geode_tui.context.view import Item, View, fold
from geode_tui.core.messages import OpaqueBlock, answered
from geode_tui.core.views import MaxTurns, Operation, Pin, Summarise, Trim, Version
from tests.context.histories import histories
from tests.context.talks import NATIVE, Talk, call, thought


def under(*operations: Operation) -> View:
    return fold([Version(number=1, parent=0, group=1, cause="manual", operations=operations, newest=99)])


def trim(talk: Talk, room: int, view: View | None = None, *, fixed: int = 0) -> Trim | None:
    """Every message takes ten tokens."""
    return trimmed(
        talk.items,
        view or View(),
        sizes=lambda _: 10,
        fixed=fixed,
        room=room,
        note=lambda first, upto: f"{first}-{upto} left out",
    )


def test_b020_what_a_providers_own_tool_gave_stays_with_its_call() -> None:
    talk = Talk()
    talk.user("the task")
    pair = tuple(
        OpaqueBlock("anthropic", kind, json.dumps({"type": kind, name: "srvtoolu_1"}))
        for kind, name in (("server_tool_use", "id"), ("web_search_tool_result", "tool_use_id"))
    )
    searched = talk.agent(*pair, "done")
    for n in range(6):
        talk.round(path=f"{n}.py")
    for room in range(20, 140, 10):
        operation = trim(talk, room)
        view = under(operation) if operation is not None else View()
        sent = {s.seq: s.message for s in Renderer().render(talk.items, view)}
        assert sent.get(searched.seq, searched.message) is searched.message, "whole, or not at all"
    assert maskable(talk.items, View(), keep_rounds=1)
    assert searched not in maskable(talk.items, View(), keep_rounds=1)


def worked(rounds: int) -> Talk:
    talk = Talk()
    talk.user("the task")
    for n in range(rounds):
        talk.round(path=f"{n}.py")
    talk.agent("done")
    return talk


def test_the_newest_whole_batches_that_fit_stay() -> None:
    talk = worked(4)
    assert trim(talk, 40) == Trim(7, "2-7 left out", (1,))
    assert trim(talk, 59) == Trim(7, "2-7 left out", (1,))
    assert trim(talk, 60) == Trim(5, "2-5 left out", (1,))
    assert trim(talk, 60, fixed=20) == Trim(7, "2-7 left out", (1,))


def test_nothing_goes_where_everything_fits() -> None:
    assert trim(worked(4), 100) is None
    assert trim(worked(4), 99) is not None


def test_what_stays_is_contiguous_even_where_an_older_batch_would_fit() -> None:
    talk = Talk()
    talk.user("the task")
    talk.agent("short")
    talk.agent(call("grep"), call("grep"), call("grep"))
    for _ in range(3):
        talk.result()
    talk.agent("end")
    assert trim(talk, 50) == Trim(6, "2-6 left out", (1,))


def test_what_is_protected_stays_even_where_it_does_not_fit() -> None:
    """B022."""
    talk = Talk()
    talk.user("a")
    talk.agent("b")
    talk.user("x" * 300_000)
    assert trim(talk, 5) == Trim(2, "1-2 left out", ())
    assert trim(talk, 5, under(Trim(2, "1-2 left out"))) is None


def test_a_pin_stays_with_its_batch_at_its_place() -> None:
    talk = worked(4)
    assert trim(talk, 60, under(Pin((5,)))) == Trim(7, "2-7 left out", (1, 4, 5))


def test_the_batch_that_was_not_answered_stays() -> None:
    talk = worked(4)
    talk.agent(thought(), call("grep"), call("grep"))
    talk.result()
    talk.result()
    assert trim(talk, 10) == Trim(10, "2-10 left out", (1,))


def test_a_second_note_tells_of_all_that_was_trimmed_and_not_of_what_a_summary_stands_for() -> None:
    talk = worked(4)
    assert trim(talk, 40, under(Trim(3, "2-3 left out", (1,)))) == Trim(7, "2-7 left out", (1,))
    assert trim(talk, 40, under(Summarise(1, 3, "s", kept=(1,)))) == Trim(7, "4-7 left out", (1,))


def test_results_that_came_in_another_order_do_not_move_the_cut_into_a_batch() -> None:
    talk = Talk()
    talk.user("the task")
    talk.agent(call("grep"), call("grep"))
    talk.result()
    talk.result()
    talk.items[2], talk.items[3] = (
        Item(4, 1, 1, talk.items[2].message),
        Item(3, 1, 1, talk.items[3].message),
    )
    talk.agent("end")
    assert trim(talk, 20) == Trim(4, "2-4 left out", (1,))


@given(history=histories(native=True), room=st.integers(0, 600))
def test_a_trim_keeps_pairs_and_what_is_protected_and_fits_where_it_can(history: list[Item], room: int) -> None:
    made = trimmed(history, View(), sizes=lambda _: 10, fixed=5, room=room, note=lambda *_: "")
    view = under(made) if made is not None else View()
    left = [item for item in history if not view.hides(item.seq)]
    spared = protected(history, View())
    assert answered(tuple(item.message for item in left))
    assert spared.keys() <= {item.seq for item in left}
    assert 5 + 10 * len(left) <= room or len(left) == len(spared)
    loose = [batch[0].seq for batch in batches(history) if batch[0].seq not in spared]
    assert [seq for seq in loose if not view.hides(seq)] == loose[sum(view.hides(seq) for seq in loose) :]


def test_two_hundred_turns_may_be_sent() -> None:
    talk = Talk()
    for _ in range(200):
        talk.user()
        talk.agent("yes")
    assert max_turns(talk.items, View()) is None
    talk.user()
    talk.agent("yes")
    assert max_turns(talk.items, View()) == MaxTurns(41, ())


def test_the_count_limit_keeps_whole_batches_and_the_latest_input() -> None:
    talk = worked(6)
    assert max_turns(talk.items, View(), 7) is None
    assert max_turns(talk.items, View(), 6) == MaxTurns(3, (1,))
    assert max_turns(talk.items, View(), 3) == MaxTurns(9, (1,))


def test_all_results_of_an_answer_count_as_one_message() -> None:
    talk = Talk()
    talk.user("the task")
    for _ in range(4):
        talk.agent(call("grep"), call("grep"), call("grep"))
        for _ in range(3):
            talk.result()
    talk.agent("done")
    assert max_turns(talk.items, View(), 5) is None
    assert max_turns(talk.items, View(), 4) == MaxTurns(5, (1,))


def test_messages_that_are_left_out_do_not_count() -> None:
    assert max_turns(worked(6).items, under(Summarise(1, 9, "s", kept=(1,))), 3) is None


def test_the_count_limit_does_nothing_beside_a_native_compaction() -> None:
    talk = worked(6)
    talk.agent(NATIVE)
    assert max_turns(talk.items, View(), 2) is None
