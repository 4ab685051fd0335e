"""What no automatic step touches, and where a summary may end (RUNTIME.md 2.8, 3.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.protect import batches, boundary, has_native, kept, last_batch, latest_input, protected, shown
from geode_tui.context.view import Item, View, fold
from geode_tui.core.messages import OpaqueBlock, answered
from geode_tui.core.views import Operation, Pin, Summarise, Version
from tests.context.histories import histories
from tests.context.talks import Talk, call, thought


def under(*operations: Operation) -> View:
    return fold([Version(number=1, parent=0, group=1, cause="manual", operations=operations, newest=99)])


def test_an_answer_and_its_results_are_one_batch() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("grep", pattern="a"), call("grep", pattern="b"))
    talk.result()
    talk.result()
    talk.user("and this", "runtime")
    talk.agent("done")
    assert [[item.seq for item in batch] for batch in batches(talk.items)] == [[1], [2, 3, 4], [5], [6]]


def test_the_latest_input_is_found_by_its_mark_and_not_by_its_role() -> None:
    talk = Talk()
    talk.user("refactor all of src/")
    talk.round()
    wanted = talk.user("STOP. Only edit README.md")
    talk.round()
    talk.user("the run goes on", "resume")
    talk.user("a limit is near", "runtime")
    assert latest_input(talk.items) is wanted
    assert protected(talk.items, View())[wanted.seq] == "latest_input"
    assert 1 not in protected(talk.items, View())


def test_of_an_imported_conversation_the_last_user_message_counts_until_something_is_typed() -> None:
    talk = Talk()
    talk.user("old", "import")
    last = talk.user("newer", "import")
    talk.agent("yes")
    assert latest_input(talk.items) is last
    typed = talk.user("typed")
    assert latest_input(talk.items) is typed


def test_a_pin_holds_for_the_whole_batch() -> None:
    talk = Talk()
    talk.user()
    talk.agent(thought(), call("grep"), call("grep"))
    talk.result()
    talk.result()
    talk.agent("done")
    assert [seq for seq, rule in protected(talk.items, under(Pin((3,)))).items() if rule == "pinned"] == [2, 3, 4]


def test_a_skill_of_the_last_batch_is_protected_and_an_older_one_is_not() -> None:
    talk = Talk()
    talk.user()
    talk.round("use_skill", name="old")
    talk.agent(call("use_skill", name="new"), call("grep"))
    talk.result()
    talk.result()
    talk.agent("on it")
    rules = protected(talk.items, View())
    assert [seq for seq, rule in rules.items() if rule == "skill"] == [4, 5, 6]
    assert {2, 3}.isdisjoint(rules)


def test_a_batch_that_was_not_answered_yet_is_protected() -> None:
    talk = Talk()
    talk.user()
    talk.round()
    assert protected(talk.items, View()) == {1: "latest_input", 2: "last_batch", 3: "last_batch"}
    talk.user("one more thing")
    assert protected(talk.items, View()) == {2: "last_batch", 3: "last_batch", 4: "latest_input"}
    talk.agent("done")
    assert protected(talk.items, View()) == {4: "latest_input"}
    assert [item.seq for item in last_batch(talk.items, View())] == [2, 3]


@pytest.mark.parametrize("content", ['"S"', '""', "null"])
def test_a_native_compaction_is_protected_even_when_it_failed(content: str) -> None:
    talk = Talk()
    talk.user("a")
    raw = f'{{"type":"compaction","content":{content}}}'
    talk.agent(OpaqueBlock("anthropic", "compaction", raw), call("grep"))
    talk.result()
    talk.agent("b")
    assert has_native(talk.items)
    assert [seq for seq, rule in protected(talk.items, View()).items() if rule == "native"] == [2, 3]
    assert not has_native(talk.items, under(Summarise(1, 3, "s")))


def test_what_is_not_shown_is_not_looked_at() -> None:
    talk = Talk()
    talk.user("first")
    talk.round()
    talk.user("second")
    view = under(Summarise(1, 3, "s"), Pin((2,)))
    assert [item.seq for item in shown(talk.items, view)] == [4]
    assert protected(talk.items, view) == {4: "latest_input"}


def test_a_summary_never_ends_between_a_call_and_its_result() -> None:
    """B017."""
    talk = Talk()
    talk.user("u0")
    talk.agent(call("ls"), call("cat"))
    talk.result("a")
    talk.result("b")
    talk.agent("ok")
    talk.user("next")
    assert boundary(talk.items, View(), 3) == 1
    assert boundary(talk.items, View(), 2) == 4


def test_a_conversation_that_is_hardly_longer_than_what_stays_is_not_summarised() -> None:
    talk = Talk()
    for _ in range(6):
        talk.user()
        talk.agent("yes")
    assert boundary(talk.items, View(), 10) == 0
    assert boundary(talk.items, View(), 9) == 3


def test_nothing_is_summarised_where_all_that_would_go_is_protected() -> None:
    talk = Talk()
    talk.user("the task")
    for _ in range(4):
        talk.round()
    assert boundary(talk.items, View(), 6) == 3
    assert boundary(talk.items, under(Pin((2,))), 6) == 0


def test_a_second_summary_needs_something_new() -> None:
    talk = Talk()
    talk.user("the task")
    for _ in range(8):
        talk.round()
    first = boundary(talk.items, View(), 6)
    standing = under(Summarise(1, first, "s", kept=kept(talk.items, View(), first)))
    assert first == 11
    assert kept(talk.items, View(), first) == (1,)
    assert boundary(talk.items, standing, 5) == 0
    talk.agent("a")
    talk.agent("b")
    assert boundary(talk.items, standing, 5) == 13


def test_what_a_summary_left_standing_is_nothing_new() -> None:
    talk = Talk()
    talk.user("the task")
    talk.agent("a")
    talk.agent("b")
    talk.agent(call("grep"), call("grep"), call("grep"))
    for _ in range(3):
        talk.result()
    talk.user("another task")
    talk.agent("c")
    view = under(Summarise(1, 3, "s", kept=(1,)))
    assert boundary(talk.items, view, 4) == 0
    assert boundary(talk.items, view, 2) == 7


@given(history=histories(native=True), keep=st.integers(0, 8))
def test_a_boundary_leaves_enough_and_cuts_no_batch(history: list[Item], keep: int) -> None:
    upto = boundary(history, View(), keep)
    left = [item for item in history if item.seq > upto]
    assert not upto or len(left) >= keep
    assert answered(tuple(item.message for item in left))
    stays = kept(history, View(), upto)
    assert answered(tuple(item.message for item in history if item.seq in stays))
    assert len(stays) < len(history) - len(left) or not upto
