"""`run` and `resume`: headless."""

from __future__ import annotations

from geode_tui.cli.client import Client, fresh_key, fresh_session_id
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.cli.headless import Headless
from geode_tui.cli.options import Wishes, new_options, next_options
from geode_tui.core.endings import EXIT_DIED
from geode_tui.core.ids import BadId, check_id
from geode_tui.log import commands as cmd


def run(
    env: Env,
    prompt: str,
    wishes: Wishes,
    *,
    provider: str | None,
    model: str | None,
    session: str | None,
    json: bool,
) -> int:
    """Give the agent ``prompt`` and follow it to the turn's end. Returns the exit status. Raises `CliError`."""
    if wishes.approve is not None:
        refuse_inside(env.environment, "run --approve")
    if not prompt.strip():
        raise CliError("the prompt is empty: geode-tui run 'what to do'")
    if session:
        if provider or model:
            raise CliError("a session keeps its model: leave --provider and --model out, or start a new session")
        transcript = env.transcript()
        row = env.session(transcript, session)
        transcript.db.close()
        session_id, options = row.session_id, next_options(row.options, wishes, headless=True)
    else:
        session_id = fresh_session_id()
        options = new_options(env, wishes, provider=provider, model=model, headless=True)
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
    key = client.send(cmd.Resume(options))
    return following.follow(key)


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
