"""`sessions`, `status`, `context`, `cost`: figures for people and, with --json, for programs."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import msgspec

from geode_tui import __version__
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.lines import event_object
from geode_tui.context.estimate import block_part
from geode_tui.core import format as fmt
from geode_tui.core.usage import Usage
from geode_tui.log import ledger
from geode_tui.log.commands import pending
from geode_tui.log.lease import lock_path, probe, worker_pids
from geode_tui.log.rows import StoredMessage
from geode_tui.log.transcript import Transcript
from geode_tui.providers.registry import NoProvider, choose
from geode_tui.view import reports
from geode_tui.view.follow import state_at
from geode_tui.view.selectors import context_level, run_status, state_line
from geode_tui.view.state import Money, RunState


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
        gauge = f"{context['percent']:.0f} % {context['state']}" if context else "-"
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
        choice = choose(env.settings.provider, env.settings.model, env.environment)
        model = f"{choice.model} ({choice.provider}/{choice.source})"
    except NoProvider as error:
        model = str(error)
    if json:
        rows = [{"session_id": s, "pid": pid} for s, pid in workers.items()]
        env.print_json({"workers": rows, "model": model, "mcp": [], "version": __version__})
        return 0
    env.print(f"geode-tui {__version__}  {env.project.root}")
    env.print(f"model: {model}")
    for session_id, pid in workers.items():
        env.print(f"worker {pid}: {session_id}")
    if not workers:
        env.print("no worker is running here")
    return 0


def context(env: Env, session: str, *, round_: int | None, json: bool) -> int:
    """The gauge's figures and the block table, now or as of a round."""
    transcript = env.transcript()
    state, number = _state(env, transcript, session)
    if round_ is not None:
        state = _as_of_round(transcript, state, number, round_)
    stored = [m for m in transcript.messages(state.session_id) if round_ is None or _before(m, state)]
    report = reports.context_report(state, _blocks(stored), round_)
    if json:
        env.print_json(report)
        return 0
    figures = state.context
    if figures is None:
        env.print("nothing was sent yet")
        return 0
    env.print(
        f"{'~' if figures.measured == 'estimated' else ''}{report['percent']} % {context_level(figures)}  "
        f"{fmt.tokens(figures.used)} of {fmt.tokens(figures.budget)}  "
        f"window {fmt.size(figures.window)} {figures.provenance},"
        f" reserve {fmt.size(figures.output_reserve)}, {figures.measured}"
    )
    for row in report["rows"]:
        env.print(f"  {row['category']:<14} {fmt.tokens(row['tokens']):>8}")
    return 0


def _as_of_round(transcript: Transcript, state: RunState, number: int, round_: int) -> RunState:
    """The state right after round ``round_`` of the session's last turn."""
    at = last = 0
    while True:
        rows = transcript.events(number, last)
        for row in rows:
            last = row.id
            if row.turn == state.turn and row.round == round_ and row.event == "llm_call_ended":
                at = row.id
        if len(rows) < 1_000:
            break
    if not at:
        raise CliError(f"there is no round {round_} in the last turn of {state.session_id}")
    then = state_at(transcript, number, at)
    then.session_id = state.session_id
    return then


def _before(message: StoredMessage, state: RunState) -> bool:
    return (message.row.turn, message.row.round) <= (state.turn, state.round)


def _blocks(stored: list[StoredMessage]) -> list[dict[str, Any]]:
    """The active view's blocks, largest first."""
    rows = []
    for item in stored:
        for block in item.message.blocks:
            category, tokens = block_part(block)
            kind = "user" if item.row.role == "user" and category == "agent" else category
            rows.append(reports.block_row(item.row, kind, tokens))
    return sorted(rows, key=lambda r: -int(r["tokens"]))


def cost(env: Env, session: str | None, *, month: str | None, json: bool) -> int:
    """The meter's figures: a session's from its log, a month's from the person's ledger."""
    if session is not None and month is not None:
        raise CliError("give a session or --month, not both")
    if session is not None:
        transcript = env.transcript()
        state, _ = _state(env, transcript, session)
        report = reports.cost_report(
            session_id=state.session_id, month=None, money=state.money, by_model=state.by_model,
            by_purpose=state.by_purpose, simulated=state.simulated,
        )  # fmt: skip
    else:
        report = _month(env, month or f"{datetime.now().astimezone():%Y-%m}")
    if json:
        env.print_json(report)
        return 0
    amount = "unpriced" if report["usd"] is None else f"${report['usd']}"
    env.print(f"{report['session_id'] or report['month']}  {amount}{'  simulated' if report['simulated'] else ''}")
    if report["unpriced_calls"]:
        env.print(f"{report['unpriced_calls']} calls have no known price")
    for name, tokens in report["tokens"].items():
        env.print(f"  {name:<15} {fmt.number(tokens):>12}")
    for name, part in report["by_model"].items():
        env.print(f"  {name}  {part['calls']} calls  {'unpriced' if part['usd'] is None else '$' + part['usd']}")
    return 0


def _month(env: Env, month: str) -> dict[str, Any]:
    try:
        datetime.strptime(month, "%Y-%m")  # noqa: DTZ007 - only its form is asked
    except ValueError:
        raise CliError(f"a month is written YYYY-MM, not {month!r}") from None
    total = Money()
    by_model: dict[str, Money] = {}
    by_purpose: dict[str, Money] = {}
    for entry in ledger.read_month(env.folders.usage, month):
        part = _entry_money(entry)
        total = reports.add_money(total, part)
        by_model[entry.model] = reports.add_money(by_model.get(entry.model, Money()), part)
        purpose = entry.role if entry.role in reports.PURPOSES else "turn"
        by_purpose[purpose] = reports.add_money(by_purpose.get(purpose, Money()), part)
    return reports.cost_report(
        session_id=None, month=month, money=total, by_model=by_model, by_purpose=by_purpose, simulated=False
    )


def _entry_money(entry: ledger.Entry) -> Money:
    write_1h = entry.cache_w_1h or 0
    usage = Usage(
        entry.tokens_in, entry.tokens_out, entry.cache_r, max(0, entry.cache_w - write_1h), write_1h, entry.think
    )
    return Money(round(entry.cost * 1_000_000), 1, 0, usage)
