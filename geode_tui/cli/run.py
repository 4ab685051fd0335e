"""`run` and `resume`: headless."""

from __future__ import annotations

from geode_tui.cli.client import Client, fresh_key, fresh_session_id
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.cli.headless import Headless
from geode_tui.cli.options import Wishes, new_options, next_options
from geode_tui.cli.routing import ask_consent
from geode_tui.core.endings import EXIT_DIED
from geode_tui.core.ids import BadId, check_id
from geode_tui.log import commands as cmd

SWITCH_S = 60.0
"""How long a switch of the model may take: a run that works takes it at its next round."""


def run(
    env: Env,
    prompt: str,
    wishes: Wishes,
    *,
    session: str | None,
    json: bool,
) -> int:
    """Give the agent ``prompt`` and follow it to the turn's end. Returns the exit status. Raises `CliError`."""
    if wishes.approve is not None:
        refuse_inside(env.environment, "run --approve")
    if not prompt.strip():
        raise CliError("the prompt is empty: geode-tui run 'what to do'")
    if session:
        transcript = env.transcript()
        row = env.session(transcript, session)
        transcript.db.close()
        session_id, options = row.session_id, next_options(row.options, wishes, headless=True)
    else:
        session_id = fresh_session_id()
        env = ask_consent(env, wishes.provider)
        options = new_options(env, wishes, headless=True)
    if env.project.at_home:
        env.note("started in the home folder: only reading is allowed here; start in a project's folder for more")
    for line in env.resolved.ignored:
        env.note(line)
    env.make_store()
    client = Client(env, session_id)
    following = Headless(env, client, json=json)
    if not json:
        env.note(f"session {session_id}  {options.model}  approvals: {options.approve}")
        if options.provider == "offline":
            env.note(env.strings.t("offline.notice"))
    if session:
        switch(client, wishes)
    key = client.send(cmd.Submit(prompt, options=options), fresh_key())
    return following.follow(key)


def resume(env: Env, session: str, wishes: Wishes, *, json: bool, take_over: bool) -> int:
    """Go on where a dead or interrupted run stopped. Returns the exit status. Raises `CliError`."""
    refuse_inside(env.environment, "resume")
    try:
        check_id(session)
    except BadId as error:
        raise CliError(str(error)) from error
    transcript = env.transcript()
    row = env.session(transcript, session)
    transcript.db.close()
    client = Client(env, row.session_id)
    liveness = client.liveness()
    if liveness.state == "stale":
        _end_stale(env, client, take_over=take_over)
    options = next_options(row.options, wishes, headless=True)
    following = Headless(env, client, json=json)
    switch(client, wishes)
    key = client.send(cmd.Resume(options))
    return following.follow(key)


def switch(client: Client, wishes: Wishes) -> None:
    """Let a session go on with the model that the flags name, before anything else is asked of it.

    Raises `CliError` where it cannot: then nothing was sent.
    """
    if not (wishes.model or wishes.provider or wishes.effort):
        return
    key = client.send(cmd.Model(wishes.model, wishes.provider, wishes.effort))
    found = client.wait(key, SWITCH_S)
    if found is None:
        raise CliError(f"the model was not switched within {SWITCH_S:.0f} s: the run waits for something", EXIT_DIED)
    outcome, detail = found
    if outcome != "done":
        raise CliError(f"the model was not switched: {detail or outcome}")


def _end_stale(env: Env, client: Client, *, take_over: bool) -> None:
    """A worker that does not answer is ended only when the person says so; pid and start time are checked."""
    import contextlib
    import sys

    import psutil

    liveness = client.liveness()
    age = f"{liveness.heartbeat_age_s:.0f} s"
    if not take_over:
        if not sys.stdin.isatty():
            raise CliError(
                f"its worker (pid {liveness.pid}) has not answered for {age}: --take-over ends it and goes on",
                EXIT_DIED,
            )
        env.note(f"its worker (pid {liveness.pid}) has not answered for {age}. End it and go on? [y/N]")
        if input().strip().lower() not in {"y", "yes"}:
            raise CliError("left as it is", EXIT_DIED)
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(liveness.pid)
        if process.create_time() > liveness.started + 2:
            raise CliError(f"pid {liveness.pid} is another process by now: nothing was ended", EXIT_DIED)
        process.kill()
        process.wait(10)
