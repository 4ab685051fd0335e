"""`sessions`, `status`, `context`, `cost`: figures for people and, with --json, for programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from geode_tui import __version__
from geode_tui.cli.blocks import BlockReader
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.lines import event_object
from geode_tui.cli.mcp import server_rows
from geode_tui.cli.months import is_month, month_cost
from geode_tui.cli.rounds import Round, find_round
from geode_tui.cli.routing import chosen
from geode_tui.core import format as fmt
from geode_tui.core.events import LlmCallEnded, event_name
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.log.browse import EventQuery, every
from geode_tui.log.commands import pending
from geode_tui.log.lease import lock_path, probe, worker_pids
from geode_tui.log.transcript import Transcript
from geode_tui.providers.access import NoProvider
from geode_tui.tui.cells import pad, width_of
from geode_tui.view import reports
from geode_tui.view.blocks import BlockRow, block_table
from geode_tui.view.cost import amount, cost_lines, part_lines, session_text
from geode_tui.view.follow import state_at
from geode_tui.view.gauge import context_line, context_lines, kind_name
from geode_tui.view.selectors import run_status, state_line
from geode_tui.view.state import RunState
from geode_tui.view.window_notes import view_line

MOST_BLOCKS = 20
"""Blocks that are listed for a person; ``--json`` has all."""


def sessions(env: Env, *, json: bool) -> int:
    """Every run of the project."""
    found: list[dict[str, Any]] = []
    if env.has_store():
        transcript = env.transcript()
        for row in transcript.sessions():
            state = state_at(transcript, row.number)
            liveness = probe(lock_path(env.project.geode, row.session_id))
            found.append(reports.session_report(row, state, liveness, time.time()))
    if json:
        env.print_json(found)
        return 0
    if not found:
        env.print(f"no runs in {env.project.root} yet: geode-tui run PROMPT starts one")
    for item in found:
        context = item["context"]
        gauge = f"{int(context['percent'])} % {context['state']}" if context and context["state"] else "-"
        cost = "unpriced" if item["cost_usd"] is None else f"${item['cost_usd']}"
        why = item["termination_reason"] or ""
        env.print(
            f"{item['session_id']}  {item['state']:<13} {item['rounds']:>4} rounds  {gauge:<14} {cost:<9}"
            f" {why:<22} {item['title']}"
        )
    return 0


def _state(env: Env, transcript: Transcript, session: str | None) -> tuple[RunState, int]:
    row = env.session(transcript, session)
    state = state_at(transcript, row.number)
    state.session_id = row.session_id
    return state, row.number


def status(env: Env, session: str | None, *, json: bool) -> int:
    """What a session is doing or waiting on, or where and how it ended; without one, the project's workers."""
    if session is None:
        return _overview(env, json=json)
    transcript = env.transcript()
    state, number = _state(env, transcript, session)
    now, liveness = time.time(), probe(lock_path(env.project.geode, state.session_id))
    kind = run_status(state, liveness, now)
    events = transcript.newest_events(number, 8)
    lines = [event_object(e, state.session_id, env.safe_value) for e in events]
    waiting = pending(transcript.db, state.session_id)
    report = reports.status_report(state, kind, liveness, waiting, now, [msgspec.json.decode(line) for line in lines])
    if json:
        env.print_json(report)
        return 0
    env.print(f"{state.session_id}  {state.title}")
    env.print(state_line(state, kind, env.strings))
    for label, value in (("because", report["ended_because"]), ("trouble", report["trouble"])):
        if value:
            env.print(f"{label}: {value}")
    if state.context is not None:
        env.print(f"{env.strings.t('section.context')}: {context_line(state.context, env.strings)}")
    env.print(f"{env.strings.t('section.cost')}: {session_text(state, env.strings)}")
    if report["waiting_on"]:
        on = report["waiting_on"]
        env.print(f"waits on {on['kind']} {on['name']} for {fmt.elapsed(on['seconds'])}")
    if report["queued"]:
        env.print(f"{report['queued']} queued")
    env.print("last events:")
    for event in events:
        env.print(f"  {datetime.fromtimestamp(event.ts):%H:%M:%S}  {event.event}")  # noqa: DTZ006 - local time for a person
    return 0


def _overview(env: Env, *, json: bool) -> int:
    workers = worker_pids(env.project.geode)
    try:
        choice = chosen(env, env.settings.provider, env.settings.model, env.settings.effort)
        model = f"{choice.model} ({choice.provider}/{choice.source})"
    except NoProvider as error:
        model = str(error)
    if json:
        rows = [{"session_id": s, "pid": pid} for s, pid in workers.items()]
        env.print_json({"workers": rows, "model": model, "mcp": server_rows(env), "version": __version__})
        return 0
    env.print(f"geode-tui {__version__}  {env.project.root}")
    env.print(f"model: {model}")
    for server in server_rows(env):
        env.print(f"mcp {server['name']}: {server['state']}")
    for session_id, pid in workers.items():
        env.print(f"worker {pid}: {session_id}")
    if not workers:
        env.print("no worker is running here")
    return 0


def context(env: Env, session: str, *, at: str, json: bool) -> int:
    """The gauge's figures and the block table, now or as of round ``at``."""
    transcript = env.transcript()
    state, number = _state(env, transcript, session)
    if at:
        state = _as_of_round(transcript, state, number, at)
    read = BlockReader().read(transcript, state.session_id, state.view_version, state.newest_seq)
    table = block_table(read, state)
    if json:
        env.print_json(reports.context_report(state, table))
        return 0
    _print_pairs(env, context_lines(state, env.strings))
    env.print(view_line(state.view_version, state.view_cause, table.rows, env.strings))
    if table.rows:
        env.print(f"{env.strings.t('blocks.title')}  {env.strings.t('blocks.largest')}")
    for row in table.rows[:MOST_BLOCKS]:
        env.print(f"  {_block_line(row, state, env.strings)}")
    return 0


def _block_line(row: BlockRow, state: RunState, strings: Strings) -> str:
    used = state.context.used if state.context else 0
    share = fmt.percent_column(row.tokens, used) if row.state != "unsent" else "-"
    entry = row.entry
    round_ = f"t{entry.turn} r{entry.round}" if entry and entry.message_id else "-"
    what = clean_line(f"{entry.name} {entry.detail}".strip(), 60) if entry else ""
    if entry and entry.hidden:
        part = entry.hidden
        what = strings.t("blocks.of_messages", first=part.first, upto=part.upto, n=part.count)
    kind = kind_name(row.kind, strings)
    return (
        f"{fmt.tokens(row.tokens):>8} {share:>6}  {round_:<8} {kind:<10} {strings.t(f'blocks.{row.state}'):<10} {what}"
    )


def _print_pairs(env: Env, pairs: Sequence[tuple[str, str]]) -> None:
    """Lines, and pairs of (name, figure) in two columns."""
    width = max((width_of(name) for name, figure in pairs if name and figure), default=0)
    for name, figure in pairs:
        env.print(f"{pad(name, width)}  {figure}" if name and figure else name or figure)


def _as_of_round(transcript: Transcript, state: RunState, number: int, at: str) -> RunState:
    """The state right after the answer of a round, as a person names it. Raises `CliError`."""
    answers: dict[Round, int] = {}
    for page in every(transcript.db, number, EventQuery(only=frozenset({event_name(LlmCallEnded)}))):
        for row in page:
            if msgspec.json.decode(row.payload, type=_Purpose).purpose == "turn":
                answers[row.turn, row.round] = row.id
    then = state_at(transcript, number, answers[find_round(at, sorted(answers), state.session_id)])
    then.session_id = state.session_id
    return then


class _Purpose(msgspec.Struct, frozen=True):
    purpose: str


def cost(env: Env, session: str | None, *, month: str | None, json: bool) -> int:
    """The meter's figures: a session's from its log, a month's from the person's ledger."""
    if session is not None and month is not None:
        raise CliError("give a session or --month, not both")
    if session is not None:
        return _session_cost(env, session, json=json)
    month = month or f"{datetime.now().astimezone():%Y-%m}"
    if not is_month(month):
        raise CliError(f"a month is written YYYY-MM, not {month!r}")
    found = month_cost(env.folders.usage, month)
    if json:
        env.print_json(
            reports.cost_report(
                session_id=None, month=month, money=found.money, by_model=found.by_model,
                by_purpose=found.by_purpose, simulated=False,
            )
        )  # fmt: skip
        return 0
    head = [(month, amount(found.money, env.strings))]
    _print_pairs(env, head + part_lines(found.money, found.by_model, found.by_purpose, env.strings))
    return 0


def _session_cost(env: Env, session: str, *, json: bool) -> int:
    state, _ = _state(env, env.transcript(), session)
    if json:
        env.print_json(
            reports.cost_report(
                session_id=state.session_id, month=None, money=state.money, by_model=state.by_model,
                by_purpose=state.by_purpose, simulated=state.simulated, breaks=state.cache_breaks,
                upkeep=state.upkeep, place=(state.turn, state.round),
            )
        )  # fmt: skip
        return 0
    env.print(state.session_id)
    _print_pairs(env, cost_lines(state, env.strings))
    return 0
