"""`compact`, `undo` and `redo`: what the model is sent of a conversation, changed by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.cli.awaiting import Refused, carried_out
from geode_tui.cli.client import Client
from geode_tui.cli.compaction_preview import EMPTY, plan_of
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.cli.window import Window, before_version, window_of
from geode_tui.context.preview import REASONS, Preview, Strategy
from geode_tui.core import format as fmt
from geode_tui.core.endings import EXIT_DIED
from geode_tui.core.events import ViewChanged, event_name
from geode_tui.core.views import Native, Summarise, Version
from geode_tui.log import commands as cmd
from geode_tui.log.rows import SessionRow
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import artifacts, versions
from geode_tui.view.follow import state_at

KEEP = range(1, 1_001)
"""What ``--keep`` takes (RUNTIME.md 2.5)."""
LOST_TOLD = 3
"""Things that a summary lost which are named in a line: the weightiest."""
CHANGES_READ = 50
"""Newest changes of the view among which that of a command is looked for."""


def compact(env: Env, session: str, *, keep: int | None, focus: str, prune: bool, dry_run: bool, json: bool) -> int:
    """Replace the older part of a conversation, or with ``dry_run`` only say what would be replaced.

    Returns the exit status. Raises `CliError`.
    """
    refuse_inside(env.environment, "compact")
    if keep is not None and keep not in KEEP:
        raise CliError(f"--keep is {KEEP[0]} to {KEEP[-1]:,} messages")
    if prune and focus:
        raise CliError("--focus is for a summary, and --prune writes none")
    wish = cmd.Compact(keep or 0, focus, prune)
    transcript = env.transcript()
    try:
        row = _own(env, transcript, session)
        if dry_run:
            return _previewed(env, transcript, row, wish, json=json)
        try:
            version = _done(env, transcript, row, wish, "compact")
        except Refused as refused:
            if json:
                env.print_json(_refused(transcript, row, wish, refused.reason))
            raise
        report = _applied(transcript, row, wish, version)
    finally:
        transcript.db.close()
    if json:
        env.print_json(report)
    else:
        env.print(f"{_gone(report)}: {report['reason']}")
        env.print(f"{_sizes(report)}; view version {version.number}")
        if report["lost"]:
            env.print(_lost(report))
    return 0


def step(env: Env, session: str, command: cmd.Undo | cmd.Redo, what: str, *, json: bool) -> int:
    """Go back or forward by one change of the view. Returns the exit status. Raises `CliError`."""
    refuse_inside(env.environment, what)
    transcript = env.transcript()
    try:
        version = _done(env, transcript, _own(env, transcript, session), command, what)
    finally:
        transcript.db.close()
    if json:
        env.print_json({"view_version": version.number, "tokens": version.tokens_after})
    else:
        tokens = f"{fmt.tokens(version.tokens_before)} -> {fmt.tokens(version.tokens_after)} tokens"
        env.print(f"{what}: {tokens}; view version {version.number}")
    return 0


def _own(env: Env, transcript: Transcript, session: str) -> SessionRow:
    row = env.session(transcript, session)
    if row.origin != "own":
        raise CliError(f"this run was recorded by {row.origin}: what its model is sent is changed there, not here")
    return row


# -- doing it ----------------------------------------------------------------------------------------------------------
def _done(env: Env, transcript: Transcript, row: SessionRow, command: cmd.Command, what: str) -> Version:
    """Have the session's worker do it, and return the version that came of it. Raises `CliError`."""
    client = Client(env, row.session_id)
    if client.liveness().state != "free" and state_at(transcript, row.number).turn_open:
        env.note(f"the run is going on: {what} takes effect at its next round")
    key, _ = carried_out(client, command, what)
    number = _version_of(transcript, row, key)
    return next(version for version in versions(transcript, row.number) if version.number == number)


def _version_of(transcript: Transcript, row: SessionRow, key: str) -> int:
    """The version that was made in the transaction in which the command ``key`` ended."""
    changes = transcript.newest_named(row.number, event_name(ViewChanged), CHANGES_READ)
    ended = transcript.newest_named(row.number, "command_finished", CHANGES_READ)
    at = max(event.id for event in ended if msgspec.json.decode(event.payload)["key"] == key)
    return max(msgspec.json.decode(event.payload, type=ViewChanged).version for event in changes if event.id < at)


# -- saying what it does -----------------------------------------------------------------------------------------------
def _window(transcript: Transcript, row: SessionRow) -> Window:
    state = state_at(transcript, row.number)
    if state.context is None:
        raise CliError(EMPTY, EXIT_DIED)
    return window_of(transcript, row, state.context)


def _previewed(env: Env, transcript: Transcript, row: SessionRow, wish: cmd.Compact, *, json: bool) -> int:
    window = _window(transcript, row)
    found = plan_of(window, row, wish).preview
    report = _report(found, window.conversation.view.number)
    if json:
        env.print_json(report)
    elif found.allowed:
        env.print(f"{_gone(report)}: {found.reason}")
        for seq, rule in found.protected:
            env.print(f"  message {seq} stays: {rule.replace('_', ' ')}")
        env.print(f"about {_sizes(report)}; nothing was changed")
    if not found.allowed:
        raise CliError(f"compact: {found.reason}", EXIT_DIED)
    return 0


def _report(found: Preview, version: int) -> dict[str, Any]:
    """PRODUCT.md's object for ``compact``."""
    names = ("from_seq", "to_seq", "messages")
    return {
        "allowed": found.allowed,
        "strategy": found.strategy,
        "reason": found.reason,
        "keep_recent": found.keep_recent,
        "summarised": None if found.summarised is None else dict(zip(names, found.summarised, strict=True)),
        "protected": [{"seq": seq, "rule": rule} for seq, rule in found.protected],
        "tokens_before": found.tokens_before,
        "tokens_after": found.tokens_after,
        "applied": False,
        "view_version": version,
        "artifact_id": None,
        "persisted": False,
        "lost": [],
    }


def _applied(transcript: Transcript, row: SessionRow, wish: cmd.Compact, version: Version) -> dict[str, Any]:
    """The same object once it is done: the plan as it was just before, and what really came of it."""
    before = before_version(_window(transcript, row), version.number)
    candidate = before.conversation.candidate(version.operations)
    stays = {sent.seq for sent in candidate.sent}
    gone = [sent.seq for sent in before.conversation.sent if sent.seq and sent.seq not in stays]
    summary = next((op for op in version.operations if isinstance(op, Summarise | Native)), None)
    named = summary.artifact_id if summary is not None else ""
    strategy = _strategy(summary)
    found = msgspec.structs.replace(
        plan_of(before, row, wish).preview,
        allowed=True,
        strategy=strategy,
        reason=REASONS[strategy],
        summarised=(gone[0], gone[-1], len(gone)),
        tokens_before=version.tokens_before,
        tokens_after=version.tokens_after,
    )
    return {
        **_report(found, version.number),
        "applied": True,
        "artifact_id": named or None,
        "lost": msgspec.to_builtins(_change(transcript, row, version.number).lost),
        "persisted": any(artifact.artifact_id == named for artifact in artifacts(transcript.db, row.session_id)),
    }


def _strategy(summary: Summarise | Native | None) -> Strategy:
    """How it was done, by what stands for the older messages since."""
    if summary is None:
        return "prune"
    if isinstance(summary, Native):
        return "on_demand"
    return "local_summary" if summary.local else "client_summary"


def _change(transcript: Transcript, row: SessionRow, number: int) -> ViewChanged:
    """What was told of a version that was just made."""
    told = transcript.newest_named(row.number, event_name(ViewChanged), CHANGES_READ)
    changes = (msgspec.json.decode(event.payload, type=ViewChanged) for event in told)
    return next(change for change in changes if change.version == number)


def _refused(transcript: Transcript, row: SessionRow, wish: cmd.Compact, why: str) -> dict[str, Any]:
    """The same object where nothing was done."""
    window = _window(transcript, row)
    planned = plan_of(window, row, wish).preview
    before = planned.tokens_before
    found = Preview(False, "none", why, planned.keep_recent, None, planned.protected, before, before)
    return _report(found, window.conversation.view.number)


def _gone(report: dict[str, Any]) -> str:
    part = report["summarised"]
    done = "are" if report["applied"] else "would be"
    how = "left out" if report["strategy"] == "prune" else "summarised"
    return f"messages {part['from_seq']} to {part['to_seq']} ({part['messages']} of them) {done} {how}"


def _sizes(report: dict[str, Any]) -> str:
    return f"{fmt.tokens(report['tokens_before'])} -> {fmt.tokens(report['tokens_after'])} tokens"


def _lost(report: dict[str, Any]) -> str:
    lost = [item["text"].rstrip(".") for item in report["lost"]]
    things = "1 thing" if len(lost) == 1 else f"{fmt.number(len(lost))} things"
    more = "; ..." if len(lost) > LOST_TOLD else ""
    return f"{things} that the summary does not hold: {'; '.join(lost[:LOST_TOLD])}{more}"
