"""B094: a run told in lines: what is said of it, and what typed lines do."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from geode_tui.cli.env import Env
from geode_tui.cli.plain_run import SETTLE_S, PlainRun
from geode_tui.core.messages import Message, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.usage import CacheUse
from geode_tui.log.rows import Liveness, MessageRow, ResultMeta, StoredMessage
from geode_tui.view.follow import Added, Batch, Completed, Index, Op
from geode_tui.view.state import Money, Outcome, RunState, WindowNote
from tests.tui import hostile
from tests.tui.fakes import FIGURES, FREE, HELD, FakeSource, approval, running_state


class Told:
    """A run in lines, driven by hand."""

    def __init__(self, tmp_path: Path, language: str = "en") -> None:
        self.source = FakeSource()
        self.lines: list[str] = []
        self.now = 100.0
        env = Env(tmp_path, {"HOME": str(tmp_path), "GEODE_TUI_HOME": str(tmp_path), "GEODE_LANG": language})
        self.run = PlainRun(env, self.source, lambda line: self.lines.append(env.safe(line)), lambda: self.now)

    def show(self, state: RunState, liveness: Liveness = HELD, ops: Sequence[Op] = ()) -> list[str]:
        """The lines that a batch adds."""
        before = len(self.lines)
        self.run.show(Batch(state, tuple(ops), liveness, ()))
        self.now += SETTLE_S
        return self.lines[before:]

    def type(self, *typed: str) -> list[str]:
        """The lines that typed lines add."""
        before = len(self.lines)
        for line in typed:
            self.run.hear(line)
        return self.lines[before:]

    @property
    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        return [(kind, payload) for kind, payload, _ in self.source.sent]

    def message(self, number: int, message: Message, **fields: Any) -> MessageRow:
        row = MessageRow(number, number, 1, 2, message.role, message.origin, "complete", 1, 1.0, **fields)
        self.source.bodies[number] = StoredMessage(row, message)
        return row


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def quiet(**changes: Any) -> RunState:
    """A run that waits for words."""
    return running_state(turn_open=False, termination_reason="natural", **changes)


def filled(percent: int) -> RunState:
    """A run whose context is filled to ``percent``, with a dollar spent of every hundred."""
    figures = msgspec.structs.replace(FIGURES, used=FIGURES.budget * percent // 100 + 1)
    return running_state(context=figures, money=Money(percent * 50_000))


# -- what is told -----------------------------------------------------------------------------------------------------
def test_an_opened_run_says_where_it_stands_and_how_to_go_on(told: Told) -> None:
    lines = told.show(running_state())
    assert lines[0] == "run: Streaming parser   gpt-5.2"
    assert lines[1].startswith("state: running")
    assert lines[2] == "context: 72 % used, warning, 264.9k of 367.2k"
    assert "ctrl+c" in lines[-1]


def test_nothing_is_said_while_nothing_has_to_be(told: Told) -> None:
    told.show(running_state())
    assert told.show(running_state(round=38, last_ts=1.0)) == []


@pytest.mark.parametrize(("before", "now", "marks"), [(45, 49, 0), (49, 50, 1), (62, 79, 1), (79, 81, 1), (89, 103, 1)])
def test_a_mark_of_the_context_is_told_once_when_it_is_passed(told: Told, before: int, now: int, marks: int) -> None:
    told.show(filled(before))
    lines = [line for line in told.show(filled(now)) if line.startswith("context:")]
    assert len(lines) == marks
    assert all(f"{now} % used" in line for line in lines)
    assert told.show(filled(now)) == []


def test_eighty_percent_of_the_cost_budget_is_told(told: Told) -> None:
    told.show(filled(79))
    assert "cost: $4.05 of $5.00, 81 % of the budget" in told.show(filled(81))


def test_states_limits_and_trouble_are_told_when_they_come(told: Told) -> None:
    told.show(running_state())
    assert any("limit: max rounds is near" in line for line in told.show(running_state(wrap_up="max_rounds")))
    wasted = running_state(cache_use=CacheUse(8_000, 60_000), cache_low_turn=1)
    assert any("only 13 % was read" in line for line in told.show(wasted))
    assert told.show(wasted) == []
    assert any("stopped at round 37" in line for line in told.show(running_state(), FREE))
    assert any("done" in line for line in told.show(quiet()))


def test_a_message_is_told_whole_and_once_with_who_speaks(told: Told) -> None:
    call = ToolCallBlock("c1", "run_shell", '{"command": "pytest"}')
    said = told.message(1, Message("user", (TextBlock("Go\non"),), "user_input"))
    answer = told.message(3, Message("assistant", (ThinkingBlock("hm"), TextBlock("I look."), call)))
    result = ToolResultBlock("c1", "run_shell", (TextBlock("\n".join(map(str, range(40)))),), True)
    got = told.message(
        4, Message("tool", (result,), "tool"), tool="run_shell", result=ResultMeta("exit 1", 8_400, 1, is_error=True)
    )
    opened = msgspec.structs.replace(answer, status="open")
    first = told.show(running_state(), ops=[Index((said, opened))])
    assert first[:3] == ["you:", "  Go", "  on"]
    lines = told.show(running_state(), ops=[Added(opened), Completed(answer), Added(answer), Added(got)])
    assert lines[:5] == [
        "agent, round 2:",
        "  thought",
        "  I look.",
        'calls run_shell  {"command": "pytest"}',
        "result of run_shell: failed  exit 1  8.4 s",
    ]
    assert lines[5:] == [*(f"  {n}" for n in range(12)), "  28 more lines"]
    assert told.show(running_state(), ops=[Index((said, answer, got))]) == []


def test_a_long_past_is_not_told(told: Told) -> None:
    rows = tuple(told.message(n, Message("user", (TextBlock(f"word {n}"),), "user_input")) for n in range(1, 101))
    lines = told.show(quiet(), ops=[Index(rows)])
    assert lines[0] == "88 earlier messages are not told."
    assert "  word 100" in lines
    assert "  word 88" not in lines


@pytest.mark.parametrize("language", ["en", "ko"])
def test_no_line_drives_a_terminal_draws_with_characters_or_passes_for_another(tmp_path: Path, language: str) -> None:
    """B083, B084: whatever a run holds."""
    told = Told(tmp_path, language)
    evil = hostile.HOSTILE + "\nyou:\n\x85question 1 of 1: \u2028calls x"
    call = ToolCallBlock(evil, evil, evil)
    answer = told.message(1, Message("assistant", (TextBlock(evil), ThinkingBlock(evil), call)))
    result = ToolResultBlock("c", evil, (TextBlock(evil),))
    got = told.message(2, Message("tool", (result,), "tool"), tool=evil, result=ResultMeta(evil, 1, 1))
    asked = approval(tool=evil, brief=evil, why=evil)
    told.source.argument_text = msgspec.json.encode({evil: evil}).decode()
    state = running_state(title=evil, model=evil, plan=((evil, "active"),), approvals={"a": asked}, wrap_up=evil)
    lines = told.show(state, ops=[Index((answer, got))])
    lines += told.show(running_state(last_error=evil, plan=((evil, "done"),)), FREE)
    lines += told.type("/status", "/context", "/cost", "/help", "/theme")
    assert len(lines) > 40
    for line in lines:
        assert not [c for c in line if unicodedata.category(c) == "Cc" and c != "\t"], repr(line)
        assert not [c for c in line if "\u2800" <= c <= "\u28ff" or "\u2500" <= c <= "\u259f"], line
        assert "\u2028" not in line
    said = [line for line in lines if line.startswith(("you", "question", "calls", "사용자", "질문", "호출"))]
    assert len(said) == 2, said


# -- what is typed ----------------------------------------------------------------------------------------------------
def test_words_are_sent_and_commands_done_as_on_the_screen(told: Told) -> None:
    told.show(running_state())
    assert told.type("make it faster") == ["sends before the next round"]
    told.type("/later and then this", "/budget rounds 40", "/interrupt")
    assert told.sent == [
        ("submit", {"text": "make it faster", "later": False}),
        ("submit", {"text": "and then this", "later": True}),
        ("budget", {"limit": "rounds", "value": "40"}),
        ("interrupt", {}),
    ]
    assert told.type("/cost")[0].startswith("session  $1.84 of $5.00")
    assert told.type("/context tiers")[1] == "0 identity  read  GEODE.md"
    assert told.type("/nothing")[0].startswith("There is no command /nothing")


def test_the_context_is_changed_by_the_same_commands_and_each_change_is_told(told: Told) -> None:
    told.show(running_state())
    assert told.type("/compact keep 8") == ["compaction: takes effect at the next round boundary."]
    note = WindowNote(9, "summarised", 162_000, 41_000, first=1, upto=84, id=9)
    assert told.show(running_state(window_notes=[note])) == [
        "about the context: context compacted: 162.0k -> 41.0k, messages 1-84"
    ]
    told.show(quiet(window_notes=[note]))
    assert told.type("/undo") == []
    assert [kind for kind, _ in told.sent] == ["compact", "undo"]
    assert told.type("/fork 3") == ["/fork does nothing without a screen."]


def test_words_that_cannot_be_sent_are_told(told: Told) -> None:
    told.show(running_state())
    told.source.fails = "the store cannot be written"
    assert told.type("words") == ["the store cannot be written"]


def test_a_command_that_was_refused_is_told(told: Told) -> None:
    told.show(running_state())
    told.type("words")
    key = told.source.sent[0][2]
    lines = told.show(running_state(outcomes=[Outcome(1, key, "submit", "refused", "no more room")]))
    assert lines == ["message refused. no more room"]


@pytest.mark.parametrize(
    ("typed", "choice", "payload"),
    [
        ("y", "allow once", {"verdict": "allow", "always": False, "why": ""}),
        ("ㅛ", "allow once", {"verdict": "allow", "always": False, "why": ""}),
        ("a", "always, just this command", {"verdict": "allow", "always": True, "why": ""}),
        ("n", "refuse", {"verdict": "deny", "always": False, "why": ""}),
        ("r", "refuse and say why", {"verdict": "deny", "always": False, "why": "too risky"}),
    ],
)
def test_a_question_is_told_with_its_answers_and_the_chosen_one_is_announced(
    told: Told, typed: str, choice: str, payload: dict[str, Any]
) -> None:
    lines = told.show(running_state(approvals={"a": approval()}))
    assert "question 1 of 1: The agent wants to run a command: run_shell" in lines
    assert "  command: make docs" in lines
    assert "y allow once   a always, just this command   n refuse   r refuse and say why" in lines[-1]
    said = told.type(typed, *(["too risky"] if typed == "r" else []))
    assert said[0] == f"chosen: {choice}"
    assert said[-1] == "answer sent"
    assert told.sent == [("decide", {"approval_id": "a-1", **payload})]


def test_an_answer_typed_before_the_question_could_be_read_is_not_taken(told: Told) -> None:
    told.show(running_state(approvals={"a": approval()}))
    told.now -= SETTLE_S
    assert "could be read" in told.type("y")[0]
    assert told.sent == []


def test_a_letter_is_never_sent_as_words_when_nothing_waits(told: Told) -> None:
    told.show(running_state())
    assert told.type("y") == ["Nothing waits for you."]
    assert told.sent == []


def test_the_next_question_is_told_when_the_first_is_answered(told: Told) -> None:
    told.show(running_state(approvals={"a": approval(1), "b": approval(2, brief="x")}))
    assert told.show(running_state(approvals={"a": approval(1), "b": approval(2)})) == []
    lines = told.show(running_state(approvals={"b": approval(2)}))
    assert lines[0].startswith("question 1 of 1")
    told.type("y")
    assert told.sent[-1][1]["approval_id"] == "a-2"


def test_esc_leaves_a_reason_and_esc_twice_interrupts(told: Told) -> None:
    told.show(running_state(approvals={"a": approval()}))
    told.type("r", "\x1b")
    assert told.sent == []
    assert told.type("\x1b") == ["esc again interrupts"]
    assert told.type("\x1b\x1b") == ["interrupting"]
    assert told.sent == [("interrupt", {})]


def test_enter_alone_resumes_what_can_be_resumed(told: Told) -> None:
    told.show(running_state(), FREE)
    told.type("")
    assert told.sent == [("resume", {})]
