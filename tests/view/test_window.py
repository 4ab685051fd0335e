"""What befalls the context, as it is folded and as it is told."""

from __future__ import annotations

import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core import events as ev
from geode_tui.core.limits import Limits
from geode_tui.core.strings import Strings
from geode_tui.core.usage import Usage
from geode_tui.log.rows import Liveness
from geode_tui.view import spoken
from geode_tui.view.blocks import BlockTable
from geode_tui.view.reduce import decode_state, encode_state, fold
from geode_tui.view.reports import context_report, cost_report, status_report
from geode_tui.view.selectors import doing, run_status, state_line, upkeep
from geode_tui.view.state import NOTES, Maintenance, NoteKind, RunState, WindowNote, frozen_copy
from geode_tui.view.window_notes import gathered, note_text, upkeep_text, view_text
from tests.view.runs import HOSTILE, NOW, SESSION, figures, row, view_changed

EN, KO = Strings("en"), Strings("ko")
HELD, FREE, STALE = Liveness("held", pid=9), Liveness("free"), Liveness("stale", pid=9)
GO = ev.UserInputReceived(SESSION, "t-1", 7, 7, 40, "user_input")
STARTED = ev.MaintenanceStarted("manual", False, figures(162_000))
TAKEN = ev.SessionStarted(SESSION, "m", "p", "payg", True, 2, 9, "ask", Limits())


def run(*payloads: ev.Payload) -> RunState:
    return fold(RunState(), [row(n, p) for n, p in enumerate(payloads, start=1)])


def ended(status: ev.MaintenanceStatus = "changed", **more: typing.Any) -> ev.MaintenanceEnded:
    return ev.MaintenanceEnded("manual", "compact", status, 90, 8, 162_000, 41_000, **more)


def told(state: RunState, strings: Strings = EN) -> list[str]:
    return [note_text(note, strings) for note in state.window_notes]


# -- the fold ---------------------------------------------------------------------------------------------------------
def test_the_gauge_moves_the_moment_the_view_changes() -> None:
    state = run(GO, view_changed(3, {"mask": 12}, cause="warning"))
    assert (state.view_version, state.view_cause, state.prompt_upto) == (3, "warning", 7)
    assert state.context == figures(41_000)
    assert state.context is not None
    assert state.context.measured == "estimated"


def test_what_is_read_begins_with_the_last_block_of_the_provider_that_is_still_sent() -> None:
    def compaction(version: int, seq: int) -> tuple[ev.Payload, ...]:
        changed = view_changed(version, {"replay": 1}, cause="provider", mode="threshold")
        return ev.ProviderCompacted(f"c{version}", seq, 160_000, 900), changed

    def undone(version: int, *taken: int, back: tuple[int, ...] = ()) -> ev.Payload:
        cause = "redo" if back else "undo"
        return view_changed(version, {}, cause=cause, mode="threshold", takes_back=taken, gives_back=back)

    both = (GO, *compaction(1, 20), *compaction(2, 40))
    assert (run(*both).prompt_from, run(*both).view_mode) == (39, "threshold")
    assert run(*both, undone(3, 2)).prompt_from == 19
    assert run(*both, undone(3, 2), undone(4, 1)).prompt_from == 0
    assert run(*both, undone(3, 2), undone(4, back=(2,))).prompt_from == 39


def test_upkeep_runs_until_it_ends_and_no_longer_than_its_turn() -> None:
    state = run(GO, STARTED)
    assert state.maintenance == Maintenance("manual", NOW + 2)
    assert run(GO, STARTED, ended()).maintenance is None
    assert run(GO, STARTED, TAKEN).maintenance is not None, "whoever takes over writes its end"
    assert run(GO, STARTED, TAKEN, ended()).maintenance is None
    over = ev.TurnCompleted(SESSION, "t", "m", "p", 1, (), "user_cancelled")
    assert run(GO, STARTED, over).maintenance is None


@pytest.mark.parametrize(
    ("liveness", "standing", "line"),
    [
        (HELD, "running", "running  compacts the context"),
        (FREE, "interrupted", "stopped working  compaction interrupted"),
        (STALE, "interrupted", "not answering  compaction interrupted"),
    ],
)
def test_upkeep_without_a_worker_that_answers_is_interrupted(liveness: Liveness, standing: str, line: str) -> None:
    state = run(GO, STARTED)
    status = run_status(state, liveness, NOW + 14)
    assert upkeep(state, status) == standing
    assert state_line(state, status, EN).startswith(line)
    assert upkeep_text(state, status, NOW + 14, EN) == (
        "compacting since 0:12" if standing == "running" else "compaction interrupted"
    )


def test_upkeep_between_turns_is_what_an_idle_run_does() -> None:
    state = run(TAKEN, STARTED)
    status = run_status(state, HELD, NOW + 5)
    assert (status.kind, upkeep(state, status), doing(state)) == ("idle", "running", "doing.upkeep")
    assert state_line(state, status, EN).startswith("idle  compacts the context")
    assert upkeep_text(run(TAKEN), status, NOW, EN) == ""


def test_upkeep_that_did_not_help_rests_until_something_changes() -> None:
    paused = run(GO, ended("unchanged", paused=True))
    assert paused.maintenance_paused
    assert told(paused) == ["compaction rests: it did not help often enough"]
    assert told(run(GO, ended("unchanged", paused=True), ended("unchanged", paused=True))) == told(paused)
    assert run(GO, ended(paused=True), ended("unchanged")).maintenance_paused
    assert not run(GO, ended(paused=True), ended("changed")).maintenance_paused
    assert not run(GO, ended(paused=True), TAKEN).maintenance_paused


def test_failed_upkeep_is_a_warning_that_says_why() -> None:
    state = run(GO, ended("failed", error_type="timeout", detail="the summary took too long"))
    assert (state.warnings, told(state)) == (1, ["compaction failed: the summary took too long"])
    assert told(run(GO, ended("deferred"))) == []


def test_what_the_provider_says_of_its_window_holds_for_its_route() -> None:
    state = run(GO, ev.WindowObserved("m", "p", "payg", 120_000, 131_000))
    assert (state.window_observed, told(state)) == (120_000, ["the provider says 120.0k fit"])
    switched = ev.ModelSwitched("m", "n", "person", "p", "payg", "p", "payg", figures(5))
    fold(state, [row(9, switched)])
    assert state.window_observed == 0


def test_a_provider_that_compacts_leaves_out_what_came_before_its_answer() -> None:
    state = run(GO, ev.ProviderCompacted("c-1", 9, 52_000, 6_400))
    assert (state.prompt_from, told(state)) == (8, ["compacted by the provider: 52.0k -> 6.4k"])
    assert told(state, KO) == ["제공자가 컨텍스트를 압축함: 52.0k -> 6.4k"]


@pytest.mark.parametrize("event", [ev.ProviderCompacted("c-1", 9, 52_000, 0), ev.ProviderCleared("c-1", 4, 9_000)])
def test_what_a_provider_took_off_a_prompt_is_no_error_of_the_estimate(event: ev.Payload) -> None:
    state = run(GO)
    state.last_estimate_error = 900.0
    assert fold(state, [row(9, event)]).last_estimate_error is None


def test_a_fork_begins_with_what_its_parent_had() -> None:
    forked = ev.SessionForked("s-0", 2, 5, 31, view_version=4, view_cause="manual", context=figures(20_000))
    state = run(TAKEN, forked)
    assert (state.forked_from, state.newest_seq, state.prompt_upto, state.view_version) == ("s-0", 31, 31, 4)
    assert (state.context, told(state)) == (figures(20_000), ["forked from s-0"])


def test_a_summary_is_no_round_of_the_turn_and_has_a_purpose_of_its_own() -> None:
    call = ("c-1", 1, "summary", "m-1", "anthropic", "payg")
    asked = ev.LlmCallStarted(*call, None, 8_000, figures(50_000))
    answered = ev.LlmCallEnded(*call, 900, Usage(50_000, 800), 9_000, "end_turn", figures(1))
    state = run(GO, STARTED, asked, answered)
    assert (state.rounds_total, state.rounds, state.context) == (0, [], None)
    report = cost_report(
        session_id=SESSION, month=None, money=state.money, by_model=state.by_model, by_purpose=state.by_purpose,
        simulated=False,
    )  # fmt: skip
    assert report["by_purpose"]["summary"]["usd"] == "0.009"


def test_what_an_idle_run_waits_on_is_its_compaction() -> None:
    state = run(TAKEN, STARTED)
    report = status_report(state, run_status(state, HELD, NOW + 14), HELD, [], NOW + 14, [])
    assert (report["doing"], report["waiting_on"]) == (
        "upkeep",
        {"kind": "compaction", "name": "manual", "seconds": 12.0},
    )


def test_the_report_names_the_version_of_the_view() -> None:
    assert context_report(run(GO), BlockTable())["view"] == {"version": 0, "cause": "original", "mode": "text"}
    changed = run(GO, view_changed(3, {"trim": 1}, cause="critical"))
    assert context_report(changed, BlockTable())["view"] == {"version": 3, "cause": "critical", "mode": "text"}


def test_only_the_newest_notes_are_kept() -> None:
    rows = [row(n, view_changed(n, {"mask": n})) for n in range(1, 3 * NOTES)]
    state = fold(RunState(), rows)
    assert len(state.window_notes) < 2 * NOTES
    for copy in (frozen_copy(state), decode_state(encode_state(state))):
        assert [note.count for note in copy.window_notes] == list(range(2 * NOTES, 3 * NOTES))


# -- words ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "line"),
    [
        (view_changed(1, {"summarise": 1}), "context compacted: 162.0k -> 41.0k, messages 1-84"),
        (
            view_changed(1, {"summarise": 1, "mask": 4}, local=True, first_changed=0),
            "context compacted: 162.0k -> 41.0k, messages 1-84, local summary",
        ),
        (view_changed(1, {"mask": 12}), "results masked: 12, 162.0k -> 41.0k"),
        (view_changed(1, {"shrink": 3}), "results shortened: 3, 162.0k -> 41.0k"),
        (view_changed(1, {"offload": 2}), "results offloaded: 2, 162.0k -> 41.0k"),
        (view_changed(1, {"trim": 1, "shrink": 2}), "older messages left out: 162.0k -> 41.0k, messages 1-84"),
        (view_changed(1, {"max_turns": 1}, upto=0), "older messages left out: 162.0k -> 41.0k"),
        (view_changed(5, {}, cause="undo", takes_back=(4,)), "undo: version 4 taken back, 162.0k -> 41.0k"),
        (view_changed(6, {}, cause="undo", takes_back=(4, 5)), "undo: version 4-5 taken back, 162.0k -> 41.0k"),
        (view_changed(6, {}, cause="redo"), "redo: 162.0k -> 41.0k"),
        (ev.ContextCompacted("auto", 155_000), "context compacted: 155.0k -> 0"),
        (ev.ContextCompacted("auto"), "context compacted"),
    ],
)
def test_a_change_of_the_context_is_one_quiet_line(change: ev.Payload, line: str) -> None:
    assert told(run(GO, change)) == [line]


@pytest.mark.parametrize("cause", ["arrival", "pin"])
def test_what_the_conversation_shows_elsewhere_gets_no_line(cause: str) -> None:
    state = run(GO, view_changed(2, {"offload": 1, "pin": 1}, cause=cause))
    assert (told(state), state.view_version) == ([], 2)


notes = st.builds(
    WindowNote,
    st.integers(0, 10**6),
    st.sampled_from(typing.get_args(NoteKind)),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    versions=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    local=st.booleans(),
    detail=st.sampled_from(["", HOSTILE, "x" * 500]),
)


@given(notes, st.sampled_from([EN, KO]))
def test_every_note_is_one_inert_line_in_both_languages(note: WindowNote, strings: Strings) -> None:
    line = note_text(note, strings)
    assert line
    assert line.isprintable()
    assert len(line) < 250


@pytest.mark.parametrize(
    ("version", "cause", "en", "ko"),
    [
        (0, "", "view: everything as it was said", "보기: 모두 원문 그대로"),
        (3, "warning", "view: version 3, warning", "보기: 버전 3, 주의"),
        (3, "of the future\x1b", "view: version 3, of the future␛", "보기: 버전 3, of the future␛"),
    ],
)
def test_where_the_view_stands(version: int, cause: str, en: str, ko: str) -> None:
    assert (view_text(version, cause, EN), view_text(version, cause, KO)) == (en, ko)


def test_lines_tell_each_change_once_and_when_upkeep_begins() -> None:
    def moment(state: RunState) -> spoken.Moment:
        return spoken.Moment(frozen_copy(state), run_status(state, HELD, NOW + 9))

    before = run(GO, view_changed(1, {"mask": 2}))
    begun = fold(msgspec.structs.replace(frozen_copy(before)), [row(8, STARTED)])
    assert spoken.changes(moment(before), moment(begun), EN) == [
        "state: running  compacts the context  round 1  0:00:08"
    ]
    after = fold(frozen_copy(begun), [row(9, view_changed(2, {"summarise": 1})), row(10, ended())])
    assert spoken.changes(moment(begun), moment(after), EN) == [
        "about the context: context compacted: 162.0k -> 41.0k, messages 1-84"
    ]
    assert spoken.changes(moment(after), moment(after), EN) == []


# -- compactions ------------------------------------------------------------------------------------------------------
LOST = tuple(ev.LostItem("path", f"src/{n}.py{HOSTILE}", n) for n in range(1, 6))


def summary_call(cost: int | None, *, fails: bool = False) -> ev.Payload:
    route = ("summary", "m-small", "p", "payg")
    if fails:
        return ev.LlmCallFailed("c", 1, *route, "overloaded", "warning", "busy", cost_micro=cost)
    return ev.LlmCallEnded("c", 2, *route, 900, Usage(10, 20), cost, "end_turn", figures(9_000))


def test_a_compaction_is_noted_with_its_version_its_writer_its_cost_and_what_it_lost() -> None:
    calls = summary_call(400, fails=True), summary_call(18_000)
    made = view_changed(3, {"summarise": 1}, cause="manual", lost=LOST)
    (note,) = run(GO, STARTED, *calls, made).window_notes
    assert (note.version, note.cause, note.writer, note.cost_micro) == (3, "manual", "m-small", 18_400)
    assert (note.id, note.seq, note.budget, note.first, note.upto) == (5, 7, figures(1).budget, 1, 84)
    assert (note.lost, [item.seq for item in note.told]) == (5, [1, 2, 3])
    assert all(item.text.isprintable() for item in note.told)
    assert note_text(note, EN) == (
        "context compacted: 162.0k -> 41.0k, messages 1-84, summary by m-small, cost $0.02,"
        " 5 things the summary does not hold"
    )


def test_what_a_summary_cost_is_told_once_and_only_where_it_is_known() -> None:
    two = run(GO, STARTED, summary_call(100), view_changed(1, {"summarise": 1}), view_changed(2, {"summarise": 1}))
    assert [(note.writer, note.cost_micro) for note in two.window_notes] == [("m-small", 100), ("", None)]
    unpriced = run(GO, STARTED, summary_call(None), view_changed(1, {"native": 1}))
    assert [(note.what, note.writer, note.cost_micro) for note in unpriced.window_notes] == [
        ("on_demand", "m-small", None)
    ]
    local = run(GO, STARTED, summary_call(7, fails=True), view_changed(1, {"summarise": 1}, local=True))
    assert [note.cost_micro for note in local.window_notes] == [None]


@pytest.mark.parametrize("version_first", [False, True])
def test_a_providers_compaction_and_its_version_are_one_note(version_first: bool) -> None:
    answered = ev.MessageCompleted(9, 9, "assistant", 40)
    both: list[ev.Payload] = [
        ev.ProviderCompacted("c-1", 9, 162_000, 41_000),
        view_changed(2, {"replay": 1}, cause="provider", first_changed=0, upto=0),
    ]
    state = run(GO, answered, *(both[::-1] if version_first else both))
    (note,) = state.window_notes
    assert (note.what, note.seq, note.version, note.first, note.upto) == ("native", 9, 2, 1, 8)
    assert (note.id, state.prompt_from, told(state)) == (3, 8, ["compacted by the provider: 162.0k -> 41.0k"])


def test_notes_that_repeat_one_after_the_other_are_one() -> None:
    masked = [WindowNote(4, "masked", 90 - n, 80 - n, count=2, id=n) for n in range(3)]
    other = WindowNote(4, "redone", id=7)
    assert [(n.times, n.count, n.before, n.after) for n in gathered([*masked, other, masked[0]])] == [
        (3, 6, 90, 78),
        (1, 0, 0, 0),
        (1, 2, 90, 80),
    ]
    compacted = WindowNote(4, "summarised", version=1)
    assert gathered([compacted, compacted]) == [compacted, compacted], "each has its own text"


def test_a_note_that_is_made_fuller_is_not_told_again() -> None:
    def moment(state: RunState) -> spoken.Moment:
        return spoken.Moment(frozen_copy(state), run_status(state, HELD, NOW + 9))

    before = run(GO, ev.MessageCompleted(9, 9, "assistant", 40), ev.ProviderCompacted("c-1", 9, 162_000, 41_000))
    after = fold(decode_state(encode_state(before)), [row(4, view_changed(2, {"replay": 1}, cause="provider"))])
    assert spoken.changes(moment(before), moment(after), EN) == []
    assert after.window_notes[0].version == 2
