"""From a state to what each part of the run screen shows: pure, so that it can be read and tested without a screen."""

from __future__ import annotations

from math import ceil

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.tui.look import Look
from geode_tui.tui.slash import WINDOW_KINDS
from geode_tui.tui.widgets.cost import cost_view
from geode_tui.tui.widgets.gauge import GaugeView
from geode_tui.tui.widgets.header import HeaderView
from geode_tui.tui.widgets.notice import Line
from geode_tui.tui.widgets.side import SideView
from geode_tui.view.follow import Batch
from geode_tui.view.forecast import forecast_of
from geode_tui.view.selectors import (
    OFFLINE,
    Status,
    cache_read_text,
    ending_line,
    first_to_stop,
    guards,
    needs_you,
    run_status,
    upkeep,
)
from geode_tui.view.state import RunState
from geode_tui.view.window_notes import upkeep_text

UNKNOWN_WINDOW = 200_000
"""Tokens that an unknown window is planned with."""
RESTS_S = 1.0
"""While a run is busy, upkeep that rests is told of once it has rested so long: a line that comes and goes lays
the whole screen out anew each time."""


class Presented(msgspec.Struct, frozen=True):
    """Everything around the conversation at one moment."""

    status: Status
    header: HeaderView
    side: SideView
    notices: tuple[Line, ...]

    @property
    def ticks(self) -> bool:
        """Whether a clock on screen moves."""
        return self.status.ticks or self.header.upkeep


def present(batch: Batch, look: Look, project: str, now: float, *, interrupting: bool) -> Presented:
    """The screen for ``batch`` at ``now`` (epoch seconds). ``interrupting``: the turn was asked to end and has not."""
    state = batch.state
    status = run_status(state, batch.liveness, now)
    starting = bool(batch.pending) and not state.turn_open and status.kind in {"idle", "ended"}
    header = HeaderView(
        title=look.line(state.title) or look.t("header.untitled"),
        project=look.line(project, 30),
        model=look.line(state.model, 40),
        route="/".join(part for part in (look.line(state.provider, 20), look.line(state.source, 20)) if part),
        status=_whole_seconds(status),
        needs=needs_you(state) if status.kind in {"waiting", "not_answering"} else 0,
        ended=look.line(ending_line(state, look.strings)),
        starting=starting,
        interrupting=interrupting and state.turn_open,
        upkeep=upkeep(state, status) == "running",
    )
    side = _side(state, status, upkeep_text(state, status, now, look.strings), now)
    return Presented(status, header, side, tuple(_notices(batch, status, look, now)))


def _whole_seconds(status: Status) -> Status:
    """A clock that is drawn in seconds must not repaint its pane more often than that."""
    retry = None if status.retry_in_s is None else ceil(status.retry_in_s)
    return msgspec.structs.replace(status, elapsed_s=int(status.elapsed_s), retry_in_s=retry)


def _side(state: RunState, status: Status, tidying: str, now: float) -> SideView:
    lines = guards(state, now, live=status.ticks)
    whole = tuple(msgspec.structs.replace(line, used=int(line.used)) for line in lines)
    return SideView(
        gauge=GaugeView(state.context, state.last_estimate_error, forecast_of(state), upkeep=tidying),
        cost=cost_view(state),
        guards=whole,
        first=first_to_stop(lines, state.rounds),
        plan=state.plan,
        live=status.ticks,
    )


def draft_notices(weight: int, figures: ContextFigures | None, look: Look) -> tuple[Line, ...]:
    """What must be said before a message of about ``weight`` tokens is sent; ``figures`` is None while none are known,
    and the window is then taken for the one that an unknown one is planned with (PRODUCT.md, "Context gauge").
    """
    left = max(0, figures.budget - figures.used) if figures else UNKNOWN_WINDOW
    if weight <= left:
        return ()
    return (Line(look.t("notice.too_large", tokens=fmt.tokens(weight), left=fmt.tokens(left)), "warn"),)


def _notices(batch: Batch, status: Status, look: Look, now: float) -> list[Line]:
    state = batch.state
    out: list[Line] = []
    if trouble := batch.trouble or batch.liveness.trouble:
        out.append(Line(look.line(trouble), "crit"))
    if state.provider == OFFLINE:
        out.append(Line(look.t("offline.notice"), "info"))
    out += _state_lines(state, status, look, busy=bool(batch.pending))
    if state.turn_open and state.wrap_up:
        out.append(Line(look.t("notice.wrap_up", guard=_guard(state.wrap_up, look)), "warn"))
    if state.turn_open and state.handoff:
        out.append(Line(look.t("notice.handoff"), "warn"))
    if state.turn_open and 0 < state.cache_low_turn == state.turn:
        out.append(Line(look.t("notice.cache_low", percent=cache_read_text(state)), "warn"))
    rests = state.maintenance_paused and (not status.ticks or now - state.maintenance_paused >= RESTS_S)
    if rests and status.kind != "ended":
        out.append(Line(look.t("notice.upkeep_paused"), "warn"))
    note = look.t("composer.queued" if status.ticks else "composer.starting")
    out += [Line(look.line(p.text), "queued", note) for p in batch.pending if p.kind == "submit"]
    later = look.t("composer.next_round" if status.ticks else "composer.starting")
    out += [Line(look.t(f"command.{p.kind}"), "queued", later) for p in batch.pending if p.kind in WINDOW_KINDS]
    return out


def _guard(name: str, look: Look) -> str:
    key = {
        "max_rounds": "guard.rounds",
        "time_budget_expired": "guard.time",
        "session_time_budget_expired": "guard.session",
        "cost_budget_exceeded": "guard.cost",
    }.get(name, f"guard.{name}")
    return look.t(key) if look.strings.has(key) else look.line(name, 30)


def _state_lines(state: RunState, status: Status, look: Look, *, busy: bool) -> list[Line]:
    if status.retry_in_s is not None and state.retry is not None:
        time = fmt.short_clock(status.retry_in_s)
        text = look.t("notice.retry", error=look.line(state.retry.message or state.retry.error_type, 100), time=time)
        return [Line(text, "warn", look.t("notice.attempt", n=state.retry.attempt + 1))]
    if status.kind == "dead":
        return [Line(look.t("error.worker", n=state.round), "crit")]
    if status.kind == "not_answering":
        return [Line(look.t("notice.not_answering", pid=state.pid), "warn")]
    if busy or state.turn_open:
        return []
    detail = [Line(look.line(state.ended_detail), "warn")] if state.ended_detail else []
    if not status.resumable:
        return detail
    line = f"{look.line(ending_line(state, look.strings))}   {look.t('notice.resume')}"
    return [Line(line, "warn"), *detail]
