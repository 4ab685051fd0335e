"""The command line: every command of PRODUCT.md that this program has, each wired to its module."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from geode_tui import __version__
from geode_tui.cli.env import Env
from geode_tui.cli.starting import LimitFlags
from geode_tui.log import commands as cmd

Json = Annotated[bool, Parameter(name="--json", negative="", help="JSON on stdout and nothing else there")]
Session = Annotated[str | None, Parameter(help="a session's id, or its beginning or end; the newest without one")]

app = App(name="geode-tui", version=__version__, help="Run an agent for hours; watch and steer it from a terminal.")


NoMotion = Annotated[bool, Parameter(name="--no-motion", negative="", help="nothing on screen moves by itself")]


def _env(*, no_motion: bool = False) -> Env:
    return Env(Path.cwd(), os.environ, {"motion": False if no_motion else None})


@app.default
def dashboard(
    prompt: Annotated[str | None, Parameter(help="starts a run and shows it")] = None,
    /,
    *,
    no_motion: NoMotion = False,
) -> int:
    """Open the dashboard; with PROMPT start a run and show it."""
    from geode_tui.cli.dashboard import open_new

    return open_new(_env(no_motion=no_motion), prompt)


@app.command
def run(
    prompt: str,
    /,
    flags: LimitFlags | None = None,
    *,
    session: Annotated[str | None, Parameter(help="add a turn to this session")] = None,
    json: Json = False,
) -> int:
    """Run PROMPT without a screen; events or lines on stdout until its turn is complete."""
    from geode_tui.cli.run import run as run_headless

    wishes = (flags or LimitFlags()).wishes()
    return run_headless(_env(), prompt, wishes, session=session, json=json)


@app.command
def resume(
    session: str,
    /,
    flags: LimitFlags | None = None,
    *,
    json: Json = False,
    take_over: Annotated[bool, Parameter(negative="", help="end a worker that does not answer")] = False,
) -> int:
    """Go on where a dead or interrupted run stopped."""
    from geode_tui.cli.run import resume as resume_headless

    wishes = (flags or LimitFlags()).wishes()
    return resume_headless(_env(), session, wishes, json=json, take_over=take_over)


@app.command
def attach(session: Session = None, /, *, no_motion: NoMotion = False) -> int:
    """The run screen on a live or ended session."""
    from geode_tui.cli.dashboard import open_session

    return open_session(_env(no_motion=no_motion), session)


@app.command
def sessions(*, json: Json = False) -> int:
    """Runs with their state, model, rounds, context, cost and ending."""
    from geode_tui.cli import reports

    return reports.sessions(_env(), json=json)


@app.command
def status(session: Session = None, /, *, json: Json = False) -> int:
    """What a session is doing or waiting on; without SESSION this project's workers."""
    from geode_tui.cli import reports

    return reports.status(_env(), session, json=json)


@app.command
def context(
    session: str,
    /,
    *,
    round: Annotated[str, Parameter(help="as of round 7, or 2.7: round 7 of turn 2")] = "",  # noqa: A002
    tiers: Annotated[bool, Parameter(negative="", help="what is remembered beside it, tier by tier")] = False,
    json: Json = False,
) -> int:
    """The gauge's figures and the block table."""
    if tiers:
        from geode_tui.cli.tiers import tiers as show

        return show(_env(), session, at=round, json=json)
    from geode_tui.cli import reports

    return reports.context(_env(), session, at=round, json=json)


@app.command
def offloads(
    session: str,
    ref: Annotated[str | None, Parameter(help="the reference of one; its text is written")] = None,
    /,
    *,
    raw: Annotated[bool, Parameter(negative="", help="its exact bytes")] = False,
    json: Json = False,
) -> int:
    """Results that left the context: a list, or one of them."""
    from geode_tui.cli.offloads import offloads as show

    return show(_env(), session, ref, raw=raw, json=json)


@app.command
def dreams(
    session: str,
    /,
    *,
    now: Annotated[bool, Parameter(negative="", help="dream of what was said since the last one")] = False,
    json: Json = False,
) -> int:
    """What a run should still know later: its dreams and summaries, and how the dreaming goes."""
    from geode_tui.cli.dreams import dreams as show

    return show(_env(), session, now=now, json=json)


@app.command
def cost(session: Session = None, /, *, month: str | None = None, json: Json = False) -> int:
    """The meter's figures of a session, or of a month over all projects."""
    from geode_tui.cli import reports

    return reports.cost(_env(), session, month=month, json=json)


@app.command(name="import")
def import_(
    *paths: Annotated[Path, Parameter(help="a transcript of Claude Code, or a folder of them")], json: Json = False
) -> int:
    """Foreign transcripts into this project's log."""
    from geode_tui.cli.importing import import_files

    return import_files(_env(), list(paths), json=json)


@app.command
def interrupt(session: Session = None, /, *, json: Json = False) -> int:
    """End the turn that is going on."""
    from geode_tui.cli.steer import steer

    return steer(_env(), session, cmd.Interrupt(), "interrupt", json=json)


@app.command
def approve(
    session: Session = None,
    approval: Annotated[str, Parameter(help="its id; the oldest without one")] = "",
    /,
    *,
    always: Annotated[
        bool, Parameter(negative="", help="and every call like it in this run; of a command, itself")
    ] = False,
    json: Json = False,
) -> int:
    """Allow a call that waits."""
    from geode_tui.cli.steer import steer

    return steer(_env(), session, cmd.Decide("allow", approval, always=always), "approve", json=json)


@app.command
def deny(
    session: Session = None,
    approval: Annotated[str, Parameter(help="its id; the oldest without one")] = "",
    /,
    *,
    why: str = "",
    json: Json = False,
) -> int:
    """Refuse a call that waits."""
    from geode_tui.cli.steer import steer

    return steer(_env(), session, cmd.Decide("deny", approval, why=why), "deny", json=json)


@app.command
def budget(
    session: str, limit: Literal["rounds", "time", "session", "cost"], value: str, /, *, json: Json = False
) -> int:
    """Set a limit of a run; 0 is none."""
    from geode_tui.cli.steer import steer

    return steer(_env(), session, cmd.Budget(limit, value), "budget", json=json)


@app.command
def compact(
    session: str,
    /,
    *,
    keep: Annotated[int | None, Parameter(help="newest messages that stay, 1 to 1000")] = None,
    focus: Annotated[str, Parameter(help="what the summary must not miss")] = "",
    prune: Annotated[bool, Parameter(negative="", help="no summary: the older messages are left out")] = False,
    dry_run: Annotated[bool, Parameter(negative="", help="say what would be done, and do nothing")] = False,
    json: Json = False,
) -> int:
    """Replace the older part of what the model is sent by a summary."""
    from geode_tui.cli.compacting import compact as compact_session

    return compact_session(_env(), session, keep=keep, focus=focus, prune=prune, dry_run=dry_run, json=json)


@app.command
def undo(session: str, /, *, json: Json = False) -> int:
    """Take back the last change of what the model is sent."""
    from geode_tui.cli.compacting import step

    return step(_env(), session, cmd.Undo(), "undo", json=json)


@app.command
def redo(session: str, /, *, json: Json = False) -> int:
    """Make what an undo took back hold again."""
    from geode_tui.cli.compacting import step

    return step(_env(), session, cmd.Redo(), "redo", json=json)


@app.command
def fork(
    session: str,
    at: Annotated[str, Parameter(help="7, or 2.7 for round 7 of turn 2; the newest that has ended without one")] = "",
    /,
    *,
    json: Json = False,
) -> int:
    """Another session that goes on from a round of this one; this one stays as it is."""
    from geode_tui.cli.forking import fork as fork_session

    return fork_session(_env(), session, at, json=json)


@app.command
def search(
    query: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    artifacts: Annotated[bool, Parameter(negative="", help="summaries and dreams as well")] = False,
    kind: Annotated[str | None, Parameter(help="artifacts of this kind only")] = None,
    json: Json = False,
) -> int:
    """Messages of all sessions with every word of QUERY, newest first; artifacts on request."""
    from geode_tui.cli.search import search as find

    return find(_env(), query, artifacts=artifacts, kind=kind, json=json)


@app.command
def screenshot(
    session: Session = None,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="the SVG file to write")],
    tab: str = "conversation",
    size: Annotated[str, Parameter(help="columns by rows")] = "120x40",
    theme: str | None = None,
    lang: Literal["en", "ko"] | None = None,
    ascii: Annotated[bool, Parameter(negative="", help="ASCII glyphs only")] = False,  # noqa: A002
) -> int:
    """The screen of a session as SVG, without a terminal."""
    from geode_tui.cli.screenshot import screenshot as draw

    env = Env(Path.cwd(), os.environ, {"theme": theme, "language": lang, "ascii": ascii or None})
    return draw(env, session, output, tab=tab, size=size, theme=theme)


@app.command
def doctor(*, json: Json = False) -> int:
    """What works here, and what to do about what does not."""
    from geode_tui.cli.doctor import doctor as look

    return look(Path.cwd(), os.environ, json=json)


@app.command
def hooks(*, json: Json = False) -> int:
    """Hooks, observers, middleware and skills: what is registered, from where, and whether anything calls it."""
    from geode_tui.cli.hooks import hooks as show

    return show(_env(), json=json)


@app.command
def mcp(*, json: Json = False) -> int:
    """MCP servers: whether they answer, the tools that they offer, and what those cost of every request."""
    from geode_tui.cli.mcp import mcp as show

    return show(_env(), json=json)


settings_app = App(name="config", help="Every setting with its value, its default and where the value came from.")
app.command(settings_app)


@settings_app.default
def config(*, json: Json = False) -> int:
    """Every setting with its value, its default and where the value came from."""
    from geode_tui.cli.config import config as show

    return show(_env(), json=json)


@settings_app.command(name="set")
def config_set(key: str, value: str, /) -> int:
    """Set one of them in your own settings file."""
    from geode_tui.cli.config_set import config_set as write

    return write(_env(), key, value)


@app.command
def trust(path: Path | None = None, /) -> int:
    """Let the settings and skills of a project's folder count as they are now."""
    from geode_tui.cli.trust import trust as trust_folder

    return trust_folder(_env(), path)


def main(arguments: Sequence[str]) -> int:
    """Run a command; a failing one prints one line on stderr. Returns the exit status."""
    try:
        status = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        line = " ".join(str(error).split()) or "this command line is not understood"
        print(f"geode-tui: {line} (geode-tui --help)", file=sys.stderr)
        return 2
    return int(status) if isinstance(status, int) else 0
