"""A run told in lines, for screen readers and for terminals that cannot be drawn on.

Pure: what is new between two moments, and what a message says. A line of ours begins with a word for who speaks or what
it is about; what comes from the run is indented below it, so that nothing in a run can pass for a line of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.core.messages import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean, clean_line
from geode_tui.log.rows import StoredMessage
from geode_tui.view.cost import amount
from geode_tui.view.follow import Batch
from geode_tui.view.gauge import percent_text
from geode_tui.view.selectors import (
    OFFLINE,
    Status,
    cache_read_text,
    context_level,
    ending_line,
    run_status,
    state_line,
)
from geode_tui.view.state import OpenApproval, RunState, WindowNote
from geode_tui.view.window_notes import note_text

CONTEXT_MARKS = (50, 70, 80, 90, 100)
"""Percents of the prompt budget that are told when they are passed (PRODUCT.md, "Context gauge")."""
COST_MARKS = (80, 100)
"""The same of the cost budget."""
RESULT_LINES = 12
"""Lines of a tool's result that are told."""
INDENT = "  "


class Moment(msgspec.Struct, frozen=True):
    """A run at one time."""

    state: RunState
    status: Status
    trouble: str = ""


def moment(batch: Batch, now: float) -> Moment:
    """What ``batch`` says at ``now`` (epoch seconds)."""
    return Moment(batch.state, run_status(batch.state, batch.liveness, now), batch.trouble or batch.liveness.trouble)


# -- the run ---------------------------------------------------------------------------------------------------------
def opening(now: Moment, strings: Strings) -> list[str]:
    """Where a run stands."""
    state, t = now.state, strings.t
    lines = [t("plain.run", title=clean_line(state.title) or t("header.untitled"), model=clean_line(state.model, 40))]
    lines.append(t("plain.state", text=state_line(state, now.status, strings)))
    if state.context is not None:
        lines.append(context_line(state.context, strings))
    if state.provider == OFFLINE:
        lines.append(t("offline.notice"))
    return [*lines, *_what_to_do(now, strings)]


def changes(before: Moment, now: Moment, strings: Strings) -> list[str]:
    """What has to be told since ``before``: states, marks that were passed, limits that are near, endings."""
    return list(_changes(before, now, strings))


def _changes(before: Moment, now: Moment, strings: Strings) -> Iterator[str]:
    old, new, t = before.state, now.state, strings.t
    if now.trouble and now.trouble != before.trouble:
        yield t("plain.trouble", text=clean_line(now.trouble))
    if new.provider == OFFLINE != old.provider:
        yield t("offline.notice")
    if new.plan != old.plan and new.plan:
        yield _plan(new, strings)
    if new.context is not None and _passed(_context_percent(old), _context_percent(new), CONTEXT_MARKS):
        yield context_line(new.context, strings)
    if _passed(_cost_percent(old), _cost_percent(new), COST_MARKS):
        yield cost_line(new, strings)
    if new.retry is not None and new.retry != old.retry:
        error = clean_line(new.retry.message or new.retry.error_type, 100)
        yield t("plain.retry", error=error, n=new.retry.attempt + 1)
    if new.wrap_up and not old.wrap_up:
        yield t("plain.wrap_up", guard=clean_line(new.wrap_up.replace("_", " "), 40))
    if new.handoff and not old.handoff:
        yield t("notice.handoff")
    if new.cache_low_turn and not old.cache_low_turn:
        yield t("notice.cache_low", percent=cache_read_text(new))
    if new.maintenance is not None and (old.maintenance is None or new.maintenance.since != old.maintenance.since):
        yield t("plain.state", text=state_line(new, now.status, strings))
    for note in _since(old.window_notes, new.window_notes):
        yield t("plain.window", text=note_text(note, strings))
    if new.turn and _standing(now) != _standing(before):
        yield t("plain.state", text=state_line(new, now.status, strings))
        yield from _what_to_do(now, strings)


def _since(old: Sequence[WindowNote], new: Sequence[WindowNote]) -> list[WindowNote]:
    """The notes after the last old one; of both lists only the newest are kept."""
    known = old[-1].id if old else 0
    return [note for note in new if note.id > known]


def _standing(at: Moment) -> tuple[str, int]:
    """A question is told by itself, so a run that waits stands where it stood."""
    kind = "running" if at.status.kind == "waiting" else at.status.kind
    return kind, at.state.turn


def _what_to_do(now: Moment, strings: Strings) -> list[str]:
    """The line under a state that wants the person."""
    state, t = now.state, strings.t
    if now.status.kind == "dead":
        return [t("error.worker", n=state.round)]
    if now.status.kind == "not_answering":
        return [t("notice.not_answering", pid=state.pid)]
    if not now.status.resumable:
        return []
    detail = clean_line(state.ended_detail)
    known = detail in ending_line(state, strings)
    return [t("notice.resume")] if known else [INDENT + detail, t("notice.resume")]


def _plan(state: RunState, strings: Strings) -> str:
    done = sum(step == "done" for _, step in state.plan)
    active = next((clean_line(text, 100) for text, step in state.plan if step == "active"), "-")
    return strings.t("plain.plan", done=done, all=len(state.plan), now=active)


# -- figures ---------------------------------------------------------------------------------------------------------
def context_line(figures: ContextFigures, strings: Strings) -> str:
    """How full the context is."""
    return strings.t(
        "plain.context",
        percent=percent_text(figures),
        level=strings.t(f"gauge.{context_level(figures)}"),
        used=fmt.tokens(figures.used),
        budget=fmt.tokens(figures.budget),
    )


def cost_line(state: RunState, strings: Strings) -> str:
    """What the run has cost."""
    spent = amount(state.money, strings)
    if state.simulated:
        spent = f"{spent} {strings.t('cost.simulated')}"
    budget = state.limits.cost_budget_micro
    if not budget:
        return strings.t("plain.cost", amount=spent)
    share = fmt.percent(state.money.cost_micro, budget)
    return strings.t("plain.cost_of", amount=spent, budget=fmt.money(budget), percent=share)


def _context_percent(state: RunState) -> float:
    return 0.0 if state.context is None else 100 * state.context.used / max(1, state.context.budget)


def _cost_percent(state: RunState) -> float:
    budget = state.limits.cost_budget_micro
    return 100 * state.money.cost_micro / budget if budget else 0.0


def _passed(before: float, now: float, marks: Sequence[int]) -> bool:
    return any(before < mark <= now for mark in marks)


# -- words -----------------------------------------------------------------------------------------------------------
def message_lines(stored: StoredMessage, strings: Strings) -> list[str]:
    """A whole message: who speaks, then what is said."""
    row, t = stored.row, strings.t
    if row.role == "tool":
        return _result_lines(stored, strings)
    if row.role == "user":
        label = t("plain.you") if row.origin == "user_input" else t("plain.note")
        return [label, *indented(stored.message.text)]
    lines = [t("plain.agent", n=row.round)]
    for block in stored.message.blocks:
        match block:
            case TextBlock():
                lines += indented(block.text)
            case ThinkingBlock():
                lines.append(INDENT + t("conv.thought"))
            case ToolCallBlock():
                lines.append(
                    t("plain.call", name=clean_line(block.name, 60), arguments=clean_line(block.arguments, 160))
                )
    if row.status == "interrupted":
        lines.append(t("plain.cut"))
    return lines


def _result_lines(stored: StoredMessage, strings: Strings) -> list[str]:
    meta, t = stored.row.result, strings.t
    failed = meta is not None and meta.is_error
    word = t("card.refused" if meta is not None and meta.denied else "card.failed" if failed else "card.ok")
    lines = [t("plain.result", name=clean_line(stored.row.tool, 60), word=word)]
    if meta is not None:
        lines[0] += f"  {clean_line(meta.summary, 120)}  {fmt.elapsed(meta.duration_ms / 1000)}"
    text = "\n".join(block.text for block in stored.message.blocks if isinstance(block, ToolResultBlock))
    body = indented(text)
    more = len(body) - RESULT_LINES
    return [*lines, *body[:RESULT_LINES], *([INDENT + t("card.more_lines", n=more)] if more > 0 else [])]


def question_lines(
    approval: OpenApproval, place: tuple[int, int], arguments: str, strings: Strings, *, whole: bool = False
) -> list[str]:
    """A question and the answers it takes; ``arguments`` are readable already. ``whole`` tells all of them."""
    t = strings.t
    asks = f"approve.wants_{approval.safety}"
    what = t(asks if strings.has(asks) else "approve.wants_other")
    lines = [t("plain.question", n=place[0], all=place[1], what=what, name=clean_line(approval.tool, 60))]
    body = indented(arguments)
    more = 0 if whole else len(body) - RESULT_LINES
    lines += body[:RESULT_LINES] if more > 0 else body
    if more > 0:
        lines.append(INDENT + t("card.more_lines", n=more))
    if approval.why:
        lines.append(f"{t('approve.asks')}: {clean_line(approval.why)}")
    choices = "   ".join(f"{key} {choice_text(key, approval, strings)}" for key in CHOICES)
    return [*lines, t("plain.choices", choices=choices)]


_CHOICES = {
    "y": "approve.once",
    "a": "approve.always",
    "n": "approve.no",
    "r": "approve.why",
    "v": "approve.view",
}
CHOICES = tuple(_CHOICES)
"""Answers to a question, by key."""


def choice_text(key: str, approval: OpenApproval, strings: Strings) -> str:
    """What an answer means."""
    if key == "a":
        always = f"approve.always_{approval.safety}"
        return strings.t(always if strings.has(always) else _CHOICES[key])
    return strings.t(_CHOICES[key])


def indented(text: str) -> list[str]:
    """``text``, inert, as lines below one of ours."""
    return [INDENT + line for line in clean(text).rstrip().split("\n")] if text.strip() else []
