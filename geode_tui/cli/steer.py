"""Steering a live run from another terminal: interrupt, approve, deny, budget."""

from __future__ import annotations

from geode_tui.cli.client import Client
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.core.endings import EXIT_DIED
from geode_tui.log import commands as cmd

WAIT_S = 15.0


def steer(env: Env, session: str | None, command: cmd.Command, what: str, *, json: bool = False) -> int:
    """Send ``command`` to a live run and say what became of it. Returns the exit status. Raises `CliError`."""
    refuse_inside(env.environment, what)
    transcript = env.transcript()
    row = env.session(transcript, session)
    transcript.db.close()
    client = Client(env, row.session_id)
    starts = isinstance(command, cmd.Budget | cmd.Interrupt)
    if client.liveness().state == "free" and not starts:
        raise CliError(f"the session {row.session_id} has no worker: nothing waits for an answer")
    key = client.send(command, start=starts)
    found = client.wait(key, WAIT_S)
    if found is None:
        raise CliError(f"the worker has not answered within {WAIT_S:.0f} s; the command waits for it", EXIT_DIED)
    outcome, detail = found
    if json:
        env.print_json({"session_id": row.session_id, "command": what, "outcome": outcome, "detail": detail})
    elif outcome == "done":
        env.print(f"{what}: done")
    if outcome != "done":
        raise CliError(f"{what}: {outcome.replace('_', ' ')}: {detail}" if detail else f"{what}: {outcome}")
    return 0
