"""`run` and `resume` without a screen: what they print, how they end, and what is left behind."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import pytest

from tests.cli.conftest import Here
from tests.cli.place import Finished, Place, until
from tests.lab import Answer, Refusal, Say, ScriptStep, lab_thread

ECHO = "run `echo x >> out.txt`"
OFFLINE = ("--provider", "offline", "--approve", "all")
KEYS = {"id", "ts", "session_id", "turn", "round", "event", "payload"}


def run_lab(place: Place, script: Sequence[ScriptStep], *flags: str) -> Finished:
    """A run with ``--json`` that a lab answers."""
    with lab_thread(script=script, api_key="test") as lab:
        key = place.environment.get("ANTHROPIC_API_KEY", "test")
        env = {"ANTHROPIC_BASE_URL": lab.base_url, "ANTHROPIC_API_KEY": key}
        return place.cli("run", "do it", "--json", "--approve", "all", *flags, env=env)


def ending(done: Finished) -> str:
    """Why the run ended, by its last event."""
    assert done.events[-1]["event"] == "turn_completed"
    return str(done.events[-1]["payload"]["termination_reason"])


# -- the stream of events ---------------------------------------------------------------------------------------------
def test_json_prints_the_run_s_events_in_order_and_nothing_else(place: Place) -> None:
    done = place.cli("run", ECHO, *OFFLINE, "--json")
    assert done.status == 0
    assert done.err == ""
    events = done.events
    assert all(set(e) == KEYS for e in events)
    ids = [e["id"] for e in events]
    assert ids == sorted(set(ids))
    assert len({e["session_id"] for e in events}) == 1
    assert [e["event"] for e in events if e["event"].startswith("session_")] == ["session_started"]
    assert events[-1]["event"] == "turn_completed"
    assert place.lines("out.txt") == ["x"]
    check_order(events)


def check_order(events: list[dict[str, Any]]) -> None:
    """A request ends before the tools it asks for begin, and they have ended before the next request."""
    asking: str | None = None
    running: set[str] = set()
    for event in events:
        payload = event["payload"]
        match event["event"]:
            case "llm_call_started":
                assert asking is None
                assert not running
                asking = payload["call_id"]
            case "llm_call_ended":
                assert asking == payload["call_id"]
                asking = None
            case "tool_exec_started":
                assert asking is None
                running.add(payload["call_id"])
            case "tool_exec_ended":
                running.remove(payload["call_id"])
    assert asking is None
    assert not running


def test_lines_for_people_have_no_escape_bytes_without_a_terminal(place: Place) -> None:
    done = place.cli("run", ECHO, *OFFLINE, env={"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "0"})
    assert done.status == 0
    assert "\x1b" not in done.out + done.err
    assert "run_shell" in done.out
    assert done.out.splitlines()[-1].startswith("ended after 3 rounds")


def test_no_secret_is_printed_whatever_asks_for_it(place: Place, here: Here) -> None:
    key, token = "sk-ant-api03-TESTTEST-TESTTEST", "very-private-token-value"
    place.environment |= {"ANTHROPIC_API_KEY": key, "DEPLOY_TOKEN": token}
    done = place.cli("run", f"run `env; echo {key} {token}`", *OFFLINE, "--json")
    assert done.status == 0
    session = done.events[0]["session_id"]
    shown = [done, here("sessions", "--json"), here("status", session, "--json"), here("sessions"), here("attach")]
    shown += [here("context", session, "--json"), place.cli("run", "and what was it", "--session", session)]
    for output in shown:
        assert key not in output.out + output.err
        assert token not in output.out + output.err
    assert "[redacted]" in done.out
    results = [m.message for m in place.read(lambda t: t.messages(session)) if m.row.tool == "run_shell"]
    assert "DEPLOY_TOKEN" not in repr(results)
    assert "ANTHROPIC_API_KEY" not in repr(results)


# -- how it ends ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("step", "status", "reason"),
    [
        (Answer((Say("half"),), stop_reason="max_tokens"), 0, "actionable_partial"),
        (Refusal(), 4, "model_refusal"),
        (Answer((Say("x"),), stop_reason="model_context_window_exceeded"), 5, "context_exhausted"),
    ],
)
def test_the_exit_status_says_how_the_model_s_answer_ended_the_run(
    place: Place, step: ScriptStep, status: int, reason: str
) -> None:
    done = run_lab(place, [step])
    assert (done.status, ending(done)) == (status, reason)
    assert done.err.count("\n") == (status != 0)


@pytest.mark.parametrize(
    ("prompt", "flags", "reason"),
    [
        ("survey this project in 30 rounds", ("--max-rounds", "3"), "max_rounds"),
        ("survey this project in 30 rounds", ("--cost-budget", "0.01"), "cost_budget_exceeded"),
        ("run `sleep 30`", ("--time-budget", "2"), "time_budget_expired"),
    ],
)
def test_a_guard_ends_the_run_with_status_3(place: Place, prompt: str, flags: tuple[str, ...], reason: str) -> None:
    for number in range(8):
        (place.root / f"part{number}.py").write_text(f"def part_{number}():\n    return {number}\n")
    done = place.cli("run", prompt, *OFFLINE, *flags, "--json")
    assert (done.status, ending(done)) == (3, reason)
    assert done.err.startswith(f"{reason}")
    assert done.err.count("\n") == 1


def test_a_key_that_is_refused_ends_with_status_4_and_one_line_without_the_key(place: Place) -> None:
    place.environment["ANTHROPIC_API_KEY"] = "sk-ant-api03-wrong-wrong-wrong"
    done = run_lab(place, [])
    assert (done.status, ending(done)) == (4, "model_action_required")
    assert done.err.startswith("model_action_required: auth:")
    assert done.err.count("\n") == 1
    assert "wrong-wrong" not in done.out + done.err


# -- sessions ---------------------------------------------------------------------------------------------------------
def test_session_adds_a_turn_and_prints_only_that_turn(place: Place) -> None:
    first = place.cli("run", ECHO, *OFFLINE, "--json")
    session = first.events[0]["session_id"]
    second = place.cli("run", "run `echo y >> out.txt`", "--session", session, "--json")
    assert second.status == 0
    assert {e["session_id"] for e in second.events} == {session}
    assert {e["turn"] for e in second.events} == {2}
    assert second.events[0]["id"] > first.events[-1]["id"]
    assert place.lines("out.txt") == ["x", "y"]


def test_a_session_that_is_not_there_is_wrong_usage(place: Place, here: Here) -> None:
    place.cli("run", ECHO, *OFFLINE)
    for command in (("run", "x", "--session"), ("resume",), ("status",), ("context",), ("cost",), ("interrupt",)):
        done = here(*command, "20200101-000000-none")
        assert done.status == 2, command
        assert "there is no session 20200101-000000-none" in done.line


def test_resume_of_a_run_that_a_limit_ended_goes_on_with_new_limits(place: Place) -> None:
    first = place.cli("run", "run `echo a >> out.txt` and then run `echo b >> out.txt`", *OFFLINE, "--json",
                      "--max-rounds", "1")  # fmt: skip
    assert (first.status, ending(first)) == (3, "max_rounds")
    session = first.events[0]["session_id"]
    second = place.cli("resume", session, "--max-rounds", "0", "--json")
    assert second.status == 0
    assert second.events[-1]["turn"] == 2
    assert place.state(session).limits.max_rounds == 0


def test_resume_of_a_dead_run_finishes_its_turn(place: Place) -> None:
    place.start("run", "run `echo a >> out.txt; sleep 60`", *OFFLINE)
    until(lambda: place.lines("out.txt"), "the command")
    session = place.newest
    place.kill_worker(session)
    done = place.cli("resume", session, "--json")
    assert (done.status, ending(done)) == (0, "natural")
    assert done.events[-1]["turn"] == 1
    assert place.status(session) == "idle"


def test_b129_a_stricter_policy_survives_an_interrupt_a_kill_and_a_resume(place: Place) -> None:
    session = place.cli("run", ECHO, *OFFLINE, "--json").events[0]["session_id"]
    client = place.start("run", "run `echo no >> out.txt`", "--session", session, "--approve", "ask")
    until(lambda: place.state(session).approvals, "a question")
    client.send_signal(signal.SIGINT)
    assert place.end(client).status == 130
    place.kill_worker(session)
    assert place.cli("resume", session).status == 0
    place.kill_worker(session)
    assert place.state(session).approve == "ask"
    again = place.start("run", "run `echo never >> out.txt`", "--session", session)
    until(lambda: place.state(session).turn_open and place.state(session).approvals, "the question of another turn")
    again.kill()
    assert place.lines("out.txt") == ["x"]


# -- places -----------------------------------------------------------------------------------------------------------
def test_b077_a_project_that_was_moved_is_resumed_from_its_new_and_its_old_place(place: Place) -> None:
    session = place.cli("run", ECHO, *OFFLINE, "--json").events[0]["session_id"]
    place.kill_worker(session)
    moved = place.root.rename(place.root.with_name("moved"))
    place.root.symlink_to(moved)
    for word, folder in (("new", moved), ("old", place.root)):
        prompt = f"run `echo {word} >> out.txt`"
        again = place.cli("run", prompt, "--session", session, "--json", cwd=folder)
        assert (again.status, ending(again)) == (0, "natural")
    assert place.lines("out.txt") == ["x", "new", "old"]


def test_a_korean_locale_gets_korean_words(place: Place) -> None:
    done = place.cli("run", "안녕하세요", *OFFLINE, env={"LANG": "ko_KR.UTF-8"})
    assert done.status == 0
    assert any("\uac00" <= c <= "\ud7a3" for c in done.err)


def test_what_a_terminal_cannot_write_is_replaced(place: Place) -> None:
    done = place.cli("run", "run `echo ✓ 한글`", *OFFLINE, env={"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"})
    assert done.status == 0
    assert "?" in done.out


def test_the_home_folder_allows_only_reading(place: Place) -> None:
    done = place.cli("run", "write `x` into notes.txt", *OFFLINE, "--json", cwd=place.home)
    assert "home folder" in done.err
    assert not (place.home / "notes.txt").exists()
    refused = [e for e in done.events if e["event"] == "tool_exec_ended" and e["payload"]["tool_name"] == "write_file"]
    assert refused
    assert all(e["payload"]["has_error"] and not e["payload"]["executed"] for e in refused)


# -- the model of a session -------------------------------------------------------------------------------------------
def test_a_session_goes_on_with_another_model_that_is_asked_for(place: Place) -> None:
    with lab_thread(script=[Say("one"), Say("two"), Say("three")], api_key="test") as lab:
        env = {"ANTHROPIC_BASE_URL": lab.base_url, "ANTHROPIC_API_KEY": "test"}
        first = place.cli("run", "go", "--json", "--model", "claude-opus-5-5", "--effort", "low", env=env)
        session = str(first.events[0]["session_id"])
        more = ("run", "on", "--json", "--session", session)
        assert place.cli(*more, "--model", "claude-sonnet-5", env=env).status == 0
        refused = place.cli(*more, "--effort", "enormous", env=env)
        assert (refused.status, "takes the efforts low" in refused.line) == (2, True)
        assert place.cli("resume", session, "--json", "--effort", "max", env=env).status == 0
        asked = [(r.body["model"], r.body["output_config"]["effort"]) for r in lab.requests]
    assert asked == [("claude-opus-5-5", "low"), ("claude-sonnet-5", "high"), ("claude-sonnet-5", "max")]


def test_a_session_that_cannot_go_on_with_a_model_keeps_its_own(place: Place) -> None:
    env = {"OPENAI_API_KEY": "k"}
    first = place.cli("run", ECHO, *OFFLINE, "--json", env=env)
    session = str(first.events[0]["session_id"])
    more = ("run", ECHO, "--json", "--session", session)
    refused = place.cli(*more, "--model", "glm-5.3", env=env)
    assert refused.status == 2
    assert "the model was not switched: the provider glm needs a key in ZAI_API_KEY" in refused.line
    assert "this run's money is simulated" in place.cli(*more, "--model", "gpt-6-sol", env=env).line
    assert place.lines("out.txt") == ["x"], "nothing was asked of the agent"
    assert place.cli(*more, env=env).status == 0
