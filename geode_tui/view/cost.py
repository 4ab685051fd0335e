"""What a run or a month cost, in figures and in words: every screen, command and report takes them from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from geode_tui.core import format as fmt
from geode_tui.core.events import (
    LEGACY_NAMES,
    CacheBroken,
    EventRow,
    LlmCallEnded,
    LlmCallFailed,
    decode_payload,
    event_name,
)
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.core.usage import Usage
from geode_tui.view.reduce import failed, paid
from geode_tui.view.selectors import cache_hit_of
from geode_tui.view.state import CacheBreak, Money, RunState
from geode_tui.view.upkeep import Upkeep, Verdict, total_of, verdict_of
from geode_tui.view.upkeep_step import Step

_OWN = frozenset(map(event_name, (LlmCallEnded, LlmCallFailed, CacheBroken)))
COST_EVENTS = _OWN | {old for old, new in LEGACY_NAMES.items() if new in _OWN}
"""Names of the events that say what rounds cost."""


class MonthCost(msgspec.Struct, frozen=True):
    """A month of the person's ledger, over all projects. ``month`` is ``YYYY-MM``."""

    month: str
    money: Money = Money()
    by_model: dict[str, Money] = {}
    by_purpose: dict[str, Money] = {}


class RoundCost(msgspec.Struct, frozen=True):
    """What one round cost: its answer, its failed attempts, and what else was asked meanwhile."""

    turn: int
    round: int
    money: Money = Money()
    breaks: tuple[str, ...] = ()
    """Causes of the cache breaks that it met."""


# -- figures ----------------------------------------------------------------------------------------------------------
def priced(money: Money) -> int | None:
    """Micro-dollars, or None where nothing that was called has a price."""
    return None if money.unpriced_calls and not money.cost_micro else money.cost_micro


def added(a: Money, b: Money) -> Money:
    """The sum of two parts."""
    return Money(
        cost_micro=a.cost_micro + b.cost_micro,
        calls=a.calls + b.calls,
        unpriced_calls=a.unpriced_calls + b.unpriced_calls,
        usage=a.usage.plus(b.usage),
        failed_micro=a.failed_micro + b.failed_micro,
        failed_calls=a.failed_calls + b.failed_calls,
        equivalent_micro=a.equivalent_micro + b.equivalent_micro,
    )


def round_costs(rows: Iterable[EventRow]) -> tuple[RoundCost, ...]:
    """The rounds that ``rows`` tell of, in their order; a damaged row is passed over."""
    made: dict[tuple[int, int], RoundCost] = {}
    for row in rows:
        try:
            payload = decode_payload(row.event, row.payload)
        except msgspec.DecodeError:
            continue
        at = (row.turn, row.round)
        one = made.get(at) or RoundCost(*at)
        if isinstance(payload, LlmCallEnded):
            one = msgspec.structs.replace(one, money=paid(one.money, payload))
        elif isinstance(payload, LlmCallFailed):
            one = msgspec.structs.replace(one, money=failed(one.money, payload))
        elif isinstance(payload, CacheBroken):
            one = msgspec.structs.replace(one, breaks=(*one.breaks, payload.cause))
        else:
            continue
        made[at] = one
    return tuple(made.values())


def followed(earlier: tuple[RoundCost, ...], later: tuple[RoundCost, ...]) -> tuple[RoundCost, ...]:
    """``later`` after ``earlier``; a round that lies in both is put together again."""
    if earlier and later and (earlier[-1].turn, earlier[-1].round) == (later[0].turn, later[0].round):
        both, rest = (earlier[-1], later[0]), later[1:]
        whole = RoundCost(
            both[0].turn, both[0].round, added(both[0].money, both[1].money), both[0].breaks + both[1].breaks
        )
        return (*earlier[:-1], whole, *rest)
    return earlier + later


def largest_first(parts: Mapping[str, Money]) -> list[tuple[str, Money]]:
    """Parts of a cost by name, the dearest first; then those without a price."""
    return sorted(parts.items(), key=lambda part: (-part[1].cost_micro, part[0]))


def token_rows(usage: Usage) -> list[tuple[str, int | None]]:
    """(kind, tokens) in the order of a bill; None where the provider does not say. ``reasoning`` is part of
    ``output``.
    """
    return [
        ("input", usage.input_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write_5m", usage.cache_write_5m_tokens),
        ("cache_write_1h", usage.cache_write_1h_tokens),
        ("output", usage.output_tokens),
        ("reasoning", usage.reasoning_tokens),
    ]


# -- words ------------------------------------------------------------------------------------------------------------
def amount(money: Money, strings: Strings) -> str:
    """``$1.84``, or that there is no price."""
    return price_text(priced(money), strings)


def price_text(micro: int | None, strings: Strings) -> str:
    """Micro-dollars in words, None for what has no known price."""
    return strings.t("cost.unpriced_short") if micro is None else fmt.money(micro)


def session_text(state: RunState, strings: Strings) -> str:
    """``$1.84 simulated of $5.00  37 %``."""
    parts = [amount(state.money, strings)]
    if state.simulated:
        parts.append(strings.t("cost.simulated"))
    if budget := state.limits.cost_budget_micro:
        parts.append(strings.t("cost.of", budget=fmt.money(budget)))
        parts.append(f" {fmt.percent(state.money.cost_micro, budget)}")
    return " ".join(parts)


def purpose_name(name: str, strings: Strings) -> str:
    """What a call was for."""
    return strings.t(f"purpose.{name}") if strings.has(f"purpose.{name}") else clean_line(name, 20)


def break_text(one: CacheBreak, strings: Strings) -> str:
    """Why a cache was not read; the provider's own word where it says more."""
    text = cause_text(one.cause, strings, one.position)
    return f"{text} ({one.said})" if one.said and one.cause == "unknown" else text


def cause_text(cause: str, strings: Strings, position: int = 0) -> str:
    """The cause of a cache break in words; ``position`` is a message's place in the prompt, 0 where not known."""
    if cause in {"message", "removed"} and position:
        return strings.t(f"cache.{cause}_at", n=position)
    return strings.t(f"cache.{cause}") if strings.has(f"cache.{cause}") else clean_line(cause, 30)


def note_lines(money: Money, strings: Strings) -> list[str]:
    """What an amount does not hold, or holds beside what was billed."""
    out = []
    if money.unpriced_calls:
        out.append(strings.t("cost.unpriced", n=money.unpriced_calls))
    if money.equivalent_micro:
        out.append(strings.t("cost.equivalent", amount=fmt.money(money.equivalent_micro)))
    if money.failed_calls:
        out.append(
            strings.t("cost.failed_least", amount=fmt.money(money.failed_micro), n=fmt.number(money.failed_calls))
        )
    return out


def cost_lines(state: RunState, strings: Strings) -> list[tuple[str, str]]:
    """A run's cost as pairs of (name, figure); a line without a name spans both."""
    t = strings.t
    out = [(t("cost.session"), session_text(state, strings)), (t("cost.this_turn"), amount(state.turn_money, strings))]
    out += part_lines(state.money, state.by_model, state.by_purpose, strings)
    return out + [("", line) for line in (*break_lines(state, strings), *upkeep_lines(state, strings))]


def part_lines(
    money: Money, by_model: Mapping[str, Money], by_purpose: Mapping[str, Money], strings: Strings
) -> list[tuple[str, str]]:
    """By purpose, by model and by kind of token, and what must be said of it."""
    t = strings.t
    groups = (
        (
            "cost.by_purpose",
            [(purpose_name(n, strings), _part(m, strings)) for n, m in largest_first(by_purpose) if m.calls],
        ),
        ("cost.by_model", [(clean_line(n, 40), _part(m, strings)) for n, m in largest_first(by_model)]),
        ("cost.tokens", [(t(f"tokens.{k}"), fmt.number(n)) for k, n in token_rows(money.usage) if n is not None]),
    )
    out: list[tuple[str, str]] = []
    for heading, rows in groups:
        out += [(t(heading), ""), *((f"  {name}", figure) for name, figure in rows)] if rows else []
    hit = cache_hit_of(money.usage)
    if hit is not None:
        out.append(("", t("cost.hit", percent=fmt.percent(hit, 1))))
    return out + [("", line) for line in note_lines(money, strings)]


def break_lines(state: RunState, strings: Strings) -> list[str]:
    """The cache breaks, newest first, at most five."""
    return [
        strings.t(
            "cost.break_line",
            round=strings.t("round.n", n=one.round),
            why=break_text(one, strings),
            tokens=fmt.tokens(one.tokens),
            amount=price_text(one.cost_micro, strings),
        )
        for one in reversed(state.cache_breaks[-5:])
    ]


def upkeep_lines(state: RunState, strings: Strings) -> list[str]:
    """What the window's upkeep cost and saved in all, and its newest steps, newest first, at most five; nothing where
    there was none.
    """
    upkeep, place = state.upkeep, (state.turn, state.round)
    lines = [": ".join((strings.t("upkeep.title"), upkeep_sum(upkeep, strings)))] if has_upkeep(upkeep) else []
    for step in reversed(upkeep.steps[-5:]):
        facts = strings.t(
            "upkeep.line",
            own=price_text(step.own_micro, strings),
            broken=price_text(step.break_micro, strings),
            tokens=fmt.tokens(step.saved_by(upkeep.now).tokens),
            net=signed(step.net_micro(upkeep.now), strings),
            verdict=verdict_text(verdict_of(step, upkeep, place), strings),
        )
        lines.append(f"{place_text(step.turn, step.round, strings)}  {step_name(step, strings)}: {facts}")
    return lines


def has_upkeep(upkeep: Upkeep) -> bool:
    """Whether there is anything to tell of it."""
    return bool(upkeep.steps or upkeep.wasted)


def upkeep_sum(upkeep: Upkeep, strings: Strings) -> str:
    """``4 steps, 310.0k tok saved worth $0.12, spent $0.05``, and what was paid for nothing."""
    total = total_of(upkeep)
    key = "upkeep.sum_unpriced" if not total.priced else "upkeep.sum_one" if total.steps == 1 else "upkeep.sum"
    text = strings.t(
        key,
        n=fmt.number(total.steps),
        tokens=fmt.tokens(total.saved_tokens),
        saved=fmt.money(total.saved_micro) if total.saved_micro >= 0 else signed(total.saved_micro, strings),
        spent=fmt.money(total.own_micro + total.break_micro),
    )
    if not upkeep.wasted:
        return text
    wasted = strings.t("upkeep.wasted", n=fmt.number(upkeep.wasted), amount=fmt.money(upkeep.wasted_micro))
    return f"{text}, {wasted}"


def step_name(step: Step, strings: Strings, *, why: bool = True) -> str:
    """``v3 masked (warning)``: its version of the view, what it did, and ``why``."""
    what = strings.t(f"upkeep.kind_{step.kind}") if strings.has(f"upkeep.kind_{step.kind}") else ""
    key = f"view.cause_{step.cause}"
    cause = strings.t(key) if strings.has(key) else clean_line(step.cause, 30)
    cause = f"({cause})" if why and cause and step.cause != "provider" else ""
    return " ".join(part for part in (f"v{step.version}" if step.version else "", what, cause) if part)


def verdict_text(verdict: Verdict, strings: Strings) -> str:
    """Whether and where a step pays, in words."""
    place = place_text(*verdict.place, strings) if verdict.place else ""
    return strings.t(f"upkeep.{verdict.standing}", place=place)


def place_text(turn: int, round_: int, strings: Strings) -> str:
    """``t3 r12``."""
    return f"t{turn} {strings.t('round.column', n=round_)}"


def signed(micro: int | None, strings: Strings) -> str:
    """Micro-dollars that were won or lost: ``+$0.07``, ``-$0.02``; None for what has no known price."""
    if not micro:
        return price_text(micro, strings)
    return f"{'-' if micro < 0 else '+'}{fmt.money(abs(micro))}"


def _part(money: Money, strings: Strings) -> str:
    return f"{amount(money, strings)}  {strings.t('cost.calls', n=fmt.number(money.calls))}"
