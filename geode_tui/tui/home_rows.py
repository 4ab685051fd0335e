"""The runs of the home screen in the order in which a person needs them, and their words: pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.text import fold_width
from geode_tui.tui.look import Look
from geode_tui.tui.widgets.marks import state_mark
from geode_tui.view.overview import ListedRun
from geode_tui.view.selectors import Status, ending_line, ending_tone, needs_you, run_status

Group: TypeAlias = Literal["needs", "live", "ended"]
GROUPS: tuple[Group, ...] = ("needs", "live", "ended")
Order: TypeAlias = Literal["newest", "cost", "context", "rounds"]
ORDERS: tuple[Order, ...] = ("newest", "cost", "context", "rounds")
MINUTE, HOUR, DAY = 60, 3_600, 86_400


class HomeRow(msgspec.Struct, frozen=True):
    """A run as it is now. ``status`` is None until its figures are known; ``needs`` counts questions that an answer
    would reach.
    """

    run: ListedRun
    group: Group
    status: Status | None = None
    needs: int = 0

    @property
    def session_id(self) -> str:
        """The run's session."""
        return self.run.session_id


def home_rows(runs: Iterable[ListedRun], now: float) -> tuple[HomeRow, ...]:
    """Those that need the person first, then the live ones, then those that ended; each group as it was given."""
    rows = [_row(run, now) for run in runs]
    return tuple(sorted(rows, key=lambda row: GROUPS.index(row.group)))


def arranged(rows: Iterable[HomeRow], order: Order) -> tuple[HomeRow, ...]:
    """The rows with each group in another order, the greatest first; the groups stay as they are."""
    return tuple(sorted(rows, key=lambda row: (GROUPS.index(row.group), -_weight(row, order))))


def _weight(row: HomeRow, order: Order) -> float:
    state = row.run.state
    if state is None or order == "newest":
        return 0.0
    if order == "context":
        return state.context.used / max(1, state.context.budget) if state.context else -1.0
    return state.money.cost_micro if order == "cost" else state.rounds_total


def passes(row: HomeRow, wanted: str, look: Look) -> bool:
    """Whether a row holds every word of ``wanted``: in its title, its id, its model, its provider or its state."""
    state = row.run.state
    route = (state.model, state.provider) if state else ()
    text = _folded(" ".join(map(look.line, (row.run.title, row.session_id, *route, word(row, look)))))
    return all(part in text for part in _folded(wanted).split())


def _folded(text: str) -> str:
    return fold_width(text).casefold()


def _row(run: ListedRun, now: float) -> HomeRow:
    live: Group = "ended" if run.liveness.state == "free" else "live"
    if run.state is None:
        return HomeRow(run, live)
    status = run_status(run.state, run.liveness, now)
    needs = needs_you(run.state) if status.kind in {"waiting", "not_answering"} else 0
    return HomeRow(run, "needs" if needs else live, status, needs)


def mark(row: HomeRow, look: Look) -> tuple[str, str]:
    """(symbol, colour) of a row. A spinner does not move here: nothing does unless a run does."""
    if row.needs:
        return look.glyphs.needs_you, look.palette.accent
    if row.status is None:
        return look.glyphs.pending, look.palette.muted
    return state_mark(look, row.status)


def word(row: HomeRow, look: Look) -> str:
    """The state in one or two words; empty while it is not known."""
    status = row.status
    if status is None:
        return ""
    if status.kind == "ended":
        tone = ending_tone(status.ending)
        key = {"ok": "home.done", "stopped": "home.stopped", "failed": "home.failed", "none": "state.new"}[tone]
        return look.t(key)
    return look.t(f"state.{status.kind}")


def has_reason(row: HomeRow) -> bool:
    """Whether `reason` has something to say: the run is not just running or done."""
    status = row.status
    if status is None:
        return False
    troubled = row.needs > 0 or status.retry_in_s is not None or status.kind in {"dead", "not_answering"}
    return troubled or (not status.ticks and ending_tone(status.ending) in {"stopped", "failed"})


def reason(row: HomeRow, look: Look) -> str:
    """One line below a row: what the run wants, or why it stopped; empty where there is none (`has_reason`)."""
    status, state = row.status, row.run.state
    if status is None or state is None or not has_reason(row):
        return ""
    if row.needs:
        approval = next(iter(state.approvals.values()))
        return look.t("home.wants", tool=look.line(approval.tool, 40), brief=look.line(approval.brief, 120)).rstrip()
    if status.kind == "dead":
        return look.t("home.dead", n=state.round)
    if status.retry_in_s is not None:
        return look.t("state.retry", time=fmt.short_clock(status.retry_in_s))
    if status.kind == "not_answering":
        return look.t("notice.not_answering", pid=row.run.liveness.pid)
    return look.line(ending_line(state, look.strings))


def cost(row: HomeRow, look: Look) -> str:
    """``$1.84``, ``unpriced``, or for money that is not real ``simulated``; a dash where nothing was sent."""
    state = row.run.state
    if state is None or not (state.money.calls or state.money.cost_micro):
        return look.glyphs.none
    if state.simulated:
        return look.t("cost.simulated")
    if state.money.unpriced_calls and not state.money.cost_micro:
        return look.t("cost.unpriced_short")
    return fmt.money(state.money.cost_micro)


def age(row: HomeRow, look: Look, now: float) -> str:
    """The session's clock while its turn goes on, else how long ago something happened."""
    status, state = row.status, row.run.state
    if status is not None and status.ticks:
        return fmt.duration(status.elapsed_s)
    since = max(0.0, now - max(row.run.updated_at, state.last_ts if state else 0.0))
    if since < MINUTE:
        return look.t("home.now")
    if since < HOUR:
        return look.t("home.minutes", n=int(since // MINUTE))
    if since < 2 * DAY:
        return look.t("home.hours", n=int(since // HOUR))
    return look.t("home.days", n=int(since // DAY))
