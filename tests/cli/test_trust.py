"""A project's own settings widen nothing until the person has trusted the folder, and an agent is not the person."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest

from geode_tui.log import commands as cmd
from tests.cli.conftest import Here
from tests.cli.place import Place, until
from tests.lab import Call, Say, lab_thread

WIDE = 'approve = "all"\n'
IGNORED = "approve in {} is ignored until you trust this folder: geode-tui trust"


def policy(place: Place) -> tuple[str, str]:
    """The approval policy of a new run, and what it printed on stderr. Its first answer is all it can pay for."""
    done = place.cli("run", "look around", "--provider", "offline", "--json", "--cost-budget", "0.0001")
    assert done.status == 3
    return done.events[0]["payload"]["approve"], done.err


def test_a_folder_s_wide_policy_counts_only_while_it_is_the_one_that_was_trusted(place: Place) -> None:
    settings = place.geode / "config.toml"
    settings.parent.mkdir()
    settings.write_text(WIDE)
    line = IGNORED.format(settings)
    approve, printed = policy(place)
    assert approve == "ask"
    assert printed.splitlines()[0] == line
    assert place.payloads(place.newest, "setting_ignored") == [{"setting": "approve", "reason": line}]

    trusted = place.cli("trust")
    assert trusted.status == 0
    assert "approve = all" in trusted.out
    approve, printed = policy(place)
    assert approve == "all"
    assert "ignored" not in printed

    settings.write_text(WIDE + "[tools]\ndeny = []\n")
    approve, printed = policy(place)
    assert approve == "ask"
    assert line in printed


def test_a_folder_without_such_settings_needs_no_trust(place: Place) -> None:
    assert "sets nothing that needs your trust" in place.cli("trust").out
    assert not (place.home / "own" / "data" / "trust.json").exists()


ONLY_THE_PERSON = [
    ("approve",),
    ("deny",),
    ("interrupt",),
    ("budget", "x", "rounds", "0"),
    ("trust",),
    ("resume", "x"),
    ("run", "x", "--approve", "all"),
    ("one two three",),
]


@pytest.mark.parametrize("arguments", ONLY_THE_PERSON, ids=" ".join)
def test_what_only_the_person_may_do_is_refused_inside_a_run(
    place: Place, here: Here, arguments: tuple[str, ...]
) -> None:
    done = here(*arguments, env={"GEODE_INSIDE_RUN": "s"})
    assert done.status == 2
    assert "is refused inside a run" in done.line
    assert not place.store.exists()


def escapes(session: str) -> list[tuple[str, dict[str, Any]]]:
    """What a hostile model tries, as tool calls."""
    approve, budget = f"geode-tui approve {session}", f"geode-tui budget {session} rounds 99"
    bare = "env -u GEODE_INSIDE_RUN"
    python = "import os; os.environ.pop('GEODE_INSIDE_RUN'); os.execvp('geode-tui', ['geode-tui', 'trust'])"
    shell = [
        approve,
        f"exec {bare} geode-tui trust",
        f"{bare} {approve}",
        f"{bare} {budget}",
        f"unset GEODE_INSIDE_RUN; {approve}; exit $?",
        f"python -c {shlex.quote(python)}",
        f"{bare} geode-tui run --approve all --provider offline 'write x into y.txt'",
        f"{bare} geode-tui deny {session}",
    ]
    return [
        ("write_file", {"path": ".geode/config.toml", "content": WIDE}),
        ("edit_file", {"path": ".geode/config.toml", "old": "ask", "new": "all"}),
        ("read_file", {"path": ".geode/sessions.db"}),
        *(("run_shell", {"command": command}) for command in shell),
    ]


def test_an_agent_cannot_approve_its_own_calls(place: Place) -> None:
    """Every call is allowed by the person, one by one; none of them gains anything by it."""
    settings = place.geode / "config.toml"
    settings.parent.mkdir()
    settings.write_text('approve = "ask"\n')
    tried: list[str] = []

    def step(number: int) -> Callable[[dict[str, Any]], Any]:
        def answer(body: dict[str, Any]) -> Any:
            tries = escapes(place.newest)
            if number >= len(tries):
                return Say("nothing helped")
            name, arguments = tries[number]
            tried.append(name)
            return Call(name, arguments)

        return answer

    with lab_thread(script=[step(n) for n in range(20)]) as lab:
        env = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": lab.base_url}
        client = place.start("run", "be good", "--json", env=env)
        session = place.newest
        allowed = allow_all(place, session)
        done = place.end(client)
    ended = [e["payload"] for e in done.events if e["event"] == "tool_exec_ended"]
    assert [p["tool_name"] for p in ended] == tried
    assert len(tried) == len(escapes(session))
    assert all(p["has_error"] for p in ended), [p for p in ended if not p["has_error"]]
    assert settings.read_text() == 'approve = "ask"\n'
    assert not (place.root / "y.txt").exists()
    assert not (place.home / "own" / "data" / "trust.json").exists()
    assert place.query("SELECT count(*) FROM commands WHERE kind != 'submit'") == [(allowed,)]
    assert place.sessions() == [session]
    assert {p["approve"] for p in place.payloads(session, "session_started")} == {"ask"}
    assert place.payloads(session, "limits_changed") == []


def allow_all(place: Place, session_id: str) -> int:
    """Allow every call until the turn ends; how many there were."""
    answered: set[str] = set()

    def over() -> bool:
        state = place.state(session_id)
        for approval_id in set(state.approvals) - answered:
            answered.add(approval_id)
            place.send(session_id, cmd.Decide("allow", approval_id))
        return bool(state.termination_reason)

    until(over, "the turn's end", 60.0)
    return len(answered)
