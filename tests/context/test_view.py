"""Versions folded into a view, and the messages that are sent of it (ARCHITECTURE.md, "Views")."""

from __future__ import annotations

import msgspec
import pytest

from geode_tui.context.conversation import Conversation
from geode_tui.context.rendering import (
    ACK_MARKER,
    ACK_SUMMARY,
    LEAD_IN,
    MISSING_RESULT,
    Renderer,
    first_changed,
    goes_on,
)
from geode_tui.context.view import Sent, View, fold, followed
from geode_tui.core.messages import OpaqueBlock, ThinkingBlock, ToolCallBlock, answered, tool_text
from geode_tui.core.views import (
    Cause,
    Clear,
    Cut,
    Mask,
    MaxTurns,
    Offload,
    Operation,
    Pin,
    Shrink,
    Stub,
    Summarise,
    Trim,
    Unpin,
    Version,
    counts,
    decode_version,
    encode_version,
)
from geode_tui.routes.catalog import Catalog
from tests.context.talks import Talk, call, thought

LOOSE = Catalog().route("claude-opus-4-6", "anthropic", "payg")
BOUND = Catalog().route("claude-fable-5-1", "anthropic", "payg")


class Versions:
    """Versions in the order in which they were made."""

    def __init__(self) -> None:
        self.made: list[Version] = []

    def do(self, *operations: Operation, cause: Cause = "manual", group: int = 0) -> View:
        number = len(self.made) + 1
        return self._add(cause, operations=operations, group=group or number)

    def undo(self, *numbers: int) -> View:
        return self._add("undo", takes_back=numbers)

    def redo(self, *numbers: int) -> View:
        return self._add("redo", gives_back=numbers)

    def _add(
        self,
        cause: Cause,
        *,
        operations: tuple[Operation, ...] = (),
        takes_back: tuple[int, ...] = (),
        gives_back: tuple[int, ...] = (),
        group: int = 0,
    ) -> View:
        number = len(self.made) + 1
        self.made.append(
            Version(
                number=number,
                parent=number - 1,
                group=group or number,
                cause=cause,
                operations=operations,
                takes_back=takes_back,
                gives_back=gives_back,
            )
        )
        return fold(self.made)


def masked(*seqs: int) -> Mask:
    return Mask(tuple(Stub(seq, f"[masked {seq}]") for seq in seqs))


def under(*operations: Operation) -> View:
    return Versions().do(*operations)


def texts(talk: Talk, view: View, *, bound: bool = False) -> list[str]:
    """What is sent: seq and text of messages, the first words of what stands for others."""
    sent = Renderer().render(talk.items, view, bound=bound)
    return [f"{s.seq or '-'} {s.message.role}: {said(s)}" for s in sent]


def said(sent: Sent) -> str:
    blocks = sent.message.blocks
    return " ".join(getattr(b, "text", "") or getattr(b, "name", "") or getattr(b, "kind", "") for b in blocks)[:40]


def short() -> Talk:
    talk = Talk()
    talk.user("task")
    talk.round("grep", "found")
    talk.round("read_file", "lines")
    talk.agent("done")
    return talk


# -- versions ----------------------------------------------------------------------------------------------------------
def test_operations_add_up_over_versions() -> None:
    versions = Versions()
    versions.do(masked(3))
    view = versions.do(Shrink((Stub(5, "[facts]"),), (Cut(2, "c2_0", "{}"),)))
    assert {seq: state for seq, (_, state) in view.stubs.items()} == {3: "masked", 5: "shrunk"}
    assert view.cuts == {(2, "c2_0"): "{}"}
    assert (view.number, view.active) == (2, (1, 2))
    assert followed(fold(versions.made[:1]), versions.made[1]) == view


def test_a_later_stub_of_the_same_result_stands() -> None:
    view = under(Offload((Stub(3, "{}", "r"),)), masked(3))
    assert view.stubs[3] == (Stub(3, "[masked 3]"), "masked")


def test_pins_come_and_go() -> None:
    assert under(Pin((1, 2)), Unpin((1,)), Pin((4,))).pinned == {2, 4}


def test_an_undo_takes_back_all_of_one_cause_and_nothing_else() -> None:
    versions = Versions()
    versions.do(masked(3))
    versions.do(masked(5), cause="warning")
    view = versions.do(Summarise(1, 3, "s"), cause="warning", group=2)
    assert view.undoable == (2, 3)
    view = versions.undo(2, 3)
    assert view.stubs.keys() == {3}
    assert view.summary is None
    assert (view.active, view.undone) == ((1,), ((2, 3),))
    assert view.undoable == (1,)


def test_what_arrived_too_large_and_pins_are_not_undone() -> None:
    versions = Versions()
    versions.do(masked(3))
    versions.do(Offload((Stub(5, "{}", "r"),)), cause="arrival")
    assert versions.do(Pin((2,)), cause="pin").undoable == (1,)
    assert versions.undo(1).undoable == ()


def test_a_redo_gives_back_and_is_lost_with_the_next_operation() -> None:
    versions = Versions()
    versions.do(masked(3))
    versions.undo(1)
    view = versions.redo(1)
    assert view.stubs.keys() == {3}
    assert (view.undone, view.undoable) == ((), (1,))
    versions.undo(1)
    assert versions.do(Offload((Stub(5, "{}", "r"),)), cause="arrival").undone == ((1,),)
    assert versions.do(masked(5)).undone == ()


def test_two_undos_are_given_back_in_turn() -> None:
    versions = Versions()
    versions.do(masked(3))
    versions.do(masked(5))
    versions.undo(2)
    view = versions.undo(1)
    assert view.undone == ((2,), (1,))
    assert versions.redo(1).undone == ((2,),)
    assert versions.redo(2).stubs.keys() == {3, 5}


def test_an_undo_is_held_until_somebody_does_something() -> None:
    versions = Versions()
    versions.do(masked(3))
    undone = versions.undo(1)
    assert undone.held == undone.newest
    assert versions.do(Pin((1,)), cause="pin").held == versions.made[1]
    assert versions.do(masked(5)).held is None


def test_a_view_names_its_versions() -> None:
    versions = Versions()
    view = versions.do(masked(3))
    assert view.version(1) is versions.made[0]
    assert (View().number, View().newest) == (0, None)
    with pytest.raises(KeyError):
        view.version(2)


def test_of_two_summaries_of_the_same_part_the_newer_stands() -> None:
    versions = Versions()
    versions.do(Summarise(1, 3, "local", local=True))
    view = versions.do(Summarise(1, 3, "by a model"))
    assert view.summary is not None
    assert view.summary.text == "by a model"


def test_a_clear_takes_away_what_stood_for_what_it_clears() -> None:
    view = under(Summarise(1, 2, "s"), Trim(3, "note"), Clear(5, (1,)))
    assert view.summary is None
    assert view.drops == (Clear(5, (1,)),)
    assert [seq for seq in range(1, 8) if view.hides(seq)] == [2, 3, 4, 5]


def test_a_summary_takes_the_place_of_a_trim_that_it_covers() -> None:
    view = under(Trim(3, "note", (1,)), Summarise(1, 5, "s", kept=(4,)))
    assert view.drops == ()
    assert [seq for seq in range(1, 8) if view.hides(seq)] == [1, 2, 3, 5]
    assert under(Summarise(1, 5, "s"), Trim(7, "note")).drops == (Trim(7, "note"),)


def test_versions_survive_their_text_form() -> None:
    operations = (masked(3), Shrink(cuts=(Cut(2, "c", "{}"),)), Summarise(1, 5, "요약", "art_1", kept=(1,)), Clear(9))
    version = Version(number=2, parent=1, group=1, cause="warning", operations=operations, newest=9, first_changed=3)
    assert decode_version(encode_version(version)) == version
    assert counts(operations) == {"mask": 1, "shrink": 1, "summarise": 1, "clear": 1}


# -- what is sent ------------------------------------------------------------------------------------------------------
def test_without_versions_the_transcript_itself_is_sent() -> None:
    talk = short()
    sent = Renderer().render(talk.items, View())
    assert [id(s.message) for s in sent] == [id(item.message) for item in talk.items]
    assert {s.state for s in sent} == {"verbatim"}


def test_a_stub_replaces_a_result_and_keeps_its_call() -> None:
    talk = short()
    sent = Renderer().render(talk.items, under(masked(3)))
    assert answered(tuple(s.message for s in sent))
    assert (sent[1].message, sent[2].state) == (talk.items[1].message, "masked")
    assert said(sent[2]) == "[masked 3]"


def test_cut_arguments_are_sent_and_thinking_beside_them_is_untouched() -> None:
    talk = Talk()
    talk.user()
    talk.agent(thought(), call("write_file", content="z" * 3_000), call("grep", pattern="x"))
    sent = Renderer().render(talk.items, under(Shrink(cuts=(Cut(2, "c2_1", '{"content":"z"}'),))))[1]
    assert sent.state == "shrunk"
    assert sent.message.blocks[0] is talk.items[1].message.blocks[0]
    assert [c.arguments for c in sent.message.calls] == ['{"content":"z"}', '{"pattern": "x"}']


def test_a_summary_stands_at_the_head_and_its_wire_form_is_valid() -> None:
    talk = short()
    talk.user("next")
    assert texts(talk, under(Summarise(1, 6, "what was", "art_9"))) == [
        '- user: <conversation_summary messages="1-6">\nTh',
        f"- assistant: {ACK_SUMMARY[:40]}",
        "- user: [The conversation up to message 6 was co",
        f"- assistant: {ACK_MARKER}",
        "7 user: next",
    ]
    assert texts(talk, under(Summarise(1, 5, "what was")))[2:] == [
        "- user: [The conversation up to message 5 was co",
        "6 assistant: done",
        "7 user: next",
    ]


def test_what_is_kept_follows_the_summary_in_order() -> None:
    talk = short()
    shown = texts(talk, under(Summarise(1, 5, "s", kept=(1, 4, 5))))
    assert [line.split()[0] for line in shown] == ["-", "-", "-", "-", "1", "4", "5", "6"]


def test_only_the_newest_trim_tells_of_itself_and_after_the_summary() -> None:
    talk = short()
    talk.user("next")
    shown = texts(talk, under(Summarise(1, 3, "s"), Trim(5, "older note"), Trim(6, "newer note")))
    assert shown[2:] == [
        "- user: [The conversation up to message 3 was co",
        f"- assistant: {ACK_MARKER}",
        "- user: newer note",
        f"- assistant: {ACK_MARKER}",
        "7 user: next",
    ]


@pytest.mark.parametrize("operation", [Clear(3, (2, 3)), MaxTurns(3, (2, 3))])
def test_a_conversation_never_begins_with_an_answer_because_something_was_left_out(operation: Operation) -> None:
    talk = short()
    assert texts(talk, under(operation))[:2] == [f"- user: {LEAD_IN[:40]}", "2 assistant: grep"]
    assert texts(talk, under(Clear(5)))[0].startswith("- user: ")
    assert texts(talk, under(Clear(6))) == []


def test_a_result_whose_call_is_gone_is_left_out() -> None:
    """B019."""
    talk = short()
    assert texts(talk, under(Clear(2))) == [
        f"- user: {LEAD_IN[:40]}",
        "4 assistant: read_file",
        "5 tool: lines",
        "6 assistant: done",
    ]


def test_a_call_whose_result_is_missing_gets_one_unless_it_is_being_run() -> None:
    """B018."""
    talk = Talk()
    talk.user()
    talk.agent(call("grep"), call("grep"))
    talk.result("one")
    assert len(Renderer().render(talk.items, View())) == 3
    talk.user("continue")
    sent = Renderer().render(talk.items, View())
    assert answered(tuple(s.message for s in sent))
    assert MISSING_RESULT in str(sent[3].message)


def test_what_looks_the_same_is_the_same_object() -> None:
    talk = short()
    renderer, view = Renderer(), under(masked(3), Summarise(1, 3, "s", kept=(1, 2, 3)))
    first, second = renderer.render(talk.items, view), renderer.render(talk.items, view)
    assert [id(s.message) for s in first] == [id(s.message) for s in second]


def test_whether_a_message_follows_on_what_is_sent() -> None:
    talk = short()
    sent = Renderer().render(talk.items, View())
    late = tool_text(ToolCallBlock("gone", "grep", "{}"), "late")
    assert goes_on(sent, talk.items[0].message)
    assert not goes_on(sent, late)
    assert not goes_on(sent[:2], talk.items[0].message)
    assert goes_on(sent[:2], talk.items[2].message)
    assert goes_on((), talk.items[0].message)
    assert not goes_on((), talk.items[1].message)
    assert not goes_on(Renderer().render(talk.items, under(Summarise(1, 6, "s"))), talk.items[0].message)


# -- what changed, and what that unbinds -------------------------------------------------------------------------------
def changed(talk: Talk, before: View, after: View) -> int:
    return first_changed(Renderer().render(talk.items, before), Renderer().render(talk.items, after))


def test_the_first_message_that_is_sent_in_another_form() -> None:
    talk = short()
    talk.user("next")
    assert changed(talk, View(), View()) == 0
    assert changed(talk, View(), under(masked(5))) == 5
    assert changed(talk, under(masked(3)), under(masked(3, 5))) == 5
    assert changed(talk, View(), under(Summarise(1, 3, "s"))) == 1
    assert changed(talk, View(), under(Clear(7))) == 1
    assert changed(talk, under(Clear(7)), View()) == 1
    assert changed(talk, View(), under(Trim(3, "note", (1,)))) == 1


def test_another_head_changes_what_the_message_after_it_was_written_under() -> None:
    talk = short()
    assert changed(talk, under(Summarise(1, 5, "a")), under(Summarise(1, 5, "b"))) < 6


def thinking(conversation: Conversation) -> list[int]:
    """The messages that are sent with signed thinking."""
    return [s.seq for s in conversation.sent if any(isinstance(b, ThinkingBlock) for b in s.message.blocks)]


def thoughtful() -> Talk:
    talk = Talk()
    talk.user("task")
    for n in range(3):
        talk.agent(thought(str(n)), OpaqueBlock("anthropic", "redacted_thinking", "{}"), call("grep"))
        talk.result("found")
    return talk


def taken(conversation: Conversation, operation: Operation) -> Version:
    version = conversation.version("manual", [operation])
    candidate = conversation.candidate([operation])
    version = msgspec.structs.replace(version, first_changed=candidate.first_changed)
    conversation.take(version)
    assert list(candidate.sent) == conversation.sent
    return version


def test_an_operation_unbinds_the_thinking_after_it_and_not_what_is_written_later() -> None:
    talk, conversation = thoughtful(), Conversation(BOUND)
    for item in talk.items:
        conversation.append(item)
    taken(conversation, masked(3))
    assert thinking(conversation) == [2]
    assert not any(isinstance(b, OpaqueBlock) for s in conversation.sent[2:] for b in s.message.blocks)
    conversation.append(talk.agent(thought("new"), "done"))
    assert thinking(conversation) == [2, 8]
    undone = msgspec.structs.replace(conversation.version("undo", ()), takes_back=(1,))
    conversation.take(undone)
    assert thinking(conversation) == [2, 4, 6]


def test_thinking_that_is_not_bound_stays_whatever_is_done() -> None:
    talk, conversation = thoughtful(), Conversation(LOOSE)
    for item in talk.items:
        conversation.append(item)
    taken(conversation, masked(3))
    assert thinking(conversation) == [2, 4, 6]


def test_a_message_of_nothing_but_unbound_thinking_is_not_sent() -> None:
    talk = short()
    talk.agent(thought())
    talk.user("go on")
    conversation = Conversation(BOUND)
    for item in talk.items:
        conversation.append(item)
    taken(conversation, masked(3))
    assert [s.seq for s in conversation.sent] == [1, 2, 3, 4, 5, 6, 8]


# -- the conversation --------------------------------------------------------------------------------------------------
def test_an_input_after_a_summary_of_everything_is_sent_as_it_would_be_after_a_restart() -> None:
    talk, conversation = short(), Conversation(LOOSE)
    for item in talk.items:
        conversation.append(item)
    version = taken(conversation, Summarise(1, 6, "s"))
    conversation.append(talk.user("next"))
    again = Conversation(LOOSE)
    again.load(talk.items, [version], {}, LOOSE)
    assert conversation.messages == again.messages
    assert conversation.messages[-2].text == ACK_MARKER
    assert conversation.meter.messages == len(conversation.messages)


def test_a_stored_call_without_a_result_gets_one_when_the_conversation_goes_on() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("grep"))
    talk.user("continue")
    conversation = Conversation(LOOSE)
    conversation.load(talk.items, [], {}, LOOSE)
    assert answered(tuple(conversation.messages))


def test_a_result_that_was_offloaded_as_it_came_is_sent_as_its_stub() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("grep"))
    conversation = Conversation(LOOSE)
    for item in talk.items:
        conversation.append(item)
    stub = Offload((Stub(3, '{"_offloaded":true}', "c2_0", 20_000),))
    conversation.take(conversation.version("arrival", [stub]))
    conversation.append(talk.result("x" * 80_000))
    assert [s.state for s in conversation.sent] == ["verbatim", "verbatim", "offloaded"]
    assert "xxx" not in str(conversation.messages)


def test_a_candidate_changes_nothing() -> None:
    talk, conversation = short(), Conversation(LOOSE)
    for item in talk.items:
        conversation.append(item)
    before = list(conversation.sent)
    candidate = conversation.candidate([Summarise(1, 5, "s")])
    assert (conversation.sent, conversation.view) == (before, View())
    assert candidate.meter.messages == len(candidate.sent) == 4
