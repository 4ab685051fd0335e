"""How full a context is, in figures and in words: every screen, command and report takes them from here."""

from __future__ import annotations

from math import ceil
from typing import Literal, TypeAlias

from geode_tui.core import format as fmt
from geode_tui.core.events import ContextFigures
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.view.forecast import Forecast, Span, forecast_of
from geode_tui.view.selectors import Level, context_level
from geode_tui.view.state import RunState

Layer: TypeAlias = Literal["tools", "system", "static", "dynamic", "history", "unattributed"]
"""A part of a prompt by when it changes (RUNTIME.md 7). ``system`` stands for ``static`` and ``dynamic`` where they are
not told apart; ``unattributed`` is what the provider counted and nothing explains."""


def known(figures: ContextFigures | None) -> ContextFigures | None:
    """``figures`` where there is a percentage to speak of, else None."""
    return figures if figures is not None and figures.budget > 0 else None


def percent(figures: ContextFigures) -> float:
    """Percent of the budget to one decimal, rounded down so that a threshold is never shown before it is met; never
    capped at 100.
    """
    return (1_000 * figures.used // max(1, figures.budget)) / 10


def uncertain(figures: ContextFigures) -> bool:
    """Whether its percentage is marked as an estimate."""
    return figures.measured == "estimated" or figures.provenance == "unknown_fallback"


def percent_text(figures: ContextFigures | None) -> str:
    """``72 %``, ``~72 %`` when estimated, ``- %`` when not known."""
    if known(figures) is None or figures is None:
        return "- %"
    return ("~" if uncertain(figures) else "") + fmt.percent(figures.used, figures.budget)


def level_of(figures: ContextFigures | None) -> Level | None:
    """The state, None when not known."""
    return context_level(figures) if known(figures) is not None and figures is not None else None


def parts_of(figures: ContextFigures | None) -> tuple[tuple[str, int], ...]:
    """(category, tokens), largest first, without those of nothing."""
    parts = figures.parts if figures is not None else {}
    return tuple(sorted(((k, n) for k, n in parts.items() if n > 0), key=lambda part: -part[1]))


def layers_of(figures: ContextFigures) -> tuple[tuple[Layer, int], ...]:
    """(layer, tokens) in the order in which they are sent; together they are what is used."""
    system, tools = figures.parts.get("system", 0), figures.parts.get("tools", 0)
    other = figures.parts.get("unattributed", 0)
    made: list[tuple[Layer, int]] = [("tools", tools)]
    if figures.dynamic is None:
        made.append(("system", system))
    else:
        dynamic = min(figures.dynamic, system)
        made += [("static", system - dynamic), ("dynamic", dynamic)]
    made.append(("history", figures.used - system - tools - other))
    return tuple(layer for layer in (*made, ("unattributed", other)) if layer[1] > 0)


# -- words ------------------------------------------------------------------------------------------------------------
def kind_name(kind: str, strings: Strings) -> str:
    """A category's name."""
    return strings.t(f"kind.{kind}") if strings.has(f"kind.{kind}") else clean_line(kind, 12)


def of_text(figures: ContextFigures, strings: Strings) -> str:
    """``of 367.2k``; nothing where that is not known."""
    if known(figures) is None:
        return ""
    key = "gauge.of_assumed" if figures.provenance == "unknown_fallback" else "gauge.of"
    return strings.t(key, budget=fmt.tokens(figures.budget))


def measured_text(figures: ContextFigures | None, error: float | None, strings: Strings) -> str:
    """How the figure was got, and how far off the last estimate was (``error``, percent)."""
    if figures is None:
        return ""
    if figures.suspect:
        return strings.t("gauge.suspect")
    if figures.measured == "confirmed" and error is not None:
        return strings.t("gauge.measured_off", error=f"{abs(error):.1f}")
    return strings.t(f"gauge.{figures.measured}")


def provenance_text(figures: ContextFigures | None, strings: Strings) -> str:
    """The window, where its size comes from, and the reserve."""
    if figures is None:
        return strings.t("gauge.empty")
    if known(figures) is None:
        return strings.t("gauge.no_window")
    key = f"provenance.{figures.provenance}"
    source = strings.t(key) if strings.has(key) else clean_line(figures.provenance, 20)
    return strings.t(
        "gauge.window", window=fmt.size(figures.window), source=source, reserve=fmt.size(figures.output_reserve)
    )


def context_line(figures: ContextFigures, strings: Strings) -> str:
    """``72 %  warning  264.9k of 367.2k``."""
    level = level_of(figures)
    word = strings.t(f"gauge.{level or 'unknown'}")
    return f"{percent_text(figures)}  {word}  {fmt.tokens(figures.used)} {of_text(figures, strings)}".rstrip()


def outlook_texts(ahead: Forecast | None, strings: Strings) -> tuple[str, str]:
    """(``critical in ~21 rounds``, ``+3.1k a round``): the next limit that is not reached; both empty without one."""
    if ahead is None:
        return "", ""
    found = next(((name, rounds) for name, rounds in limits_ahead(ahead) if name != "cost"), None)
    if found is None:
        return "", ""
    name, rounds = found
    pace = strings.t("gauge.pace", tokens=fmt.tokens(ahead.per_round))
    return strings.t(f"gauge.forecast_{name}", n=span_text(rounds)), pace


def limits_ahead(ahead: Forecast) -> list[tuple[str, Span]]:
    """(warning, critical, full or cost; the rounds left to it) for each limit that is not reached."""
    limits = (("warning", ahead.warning), ("critical", ahead.critical), ("full", ahead.full), ("cost", ahead.cost))
    return [(name, left) for name, left in limits if left is not None and left.likely > 0]


def time_text(took: Span | None, strings: Strings) -> str:
    """``~6-9 min``, from two hours on ``~2-4 h``; empty where it is not known."""
    if took is None:
        return ""
    unit, key = (3_600, "next.hours") if took.low >= 7_200 else (60, "next.minutes")
    return strings.t(key, n=span_text(Span(took.low // unit, took.likely // unit, ceil(took.high / unit))))


def span_text(span: Span) -> str:
    """``18-25``, or the one figure where both ends are the same."""
    return fmt.number(span.low) if span.low == span.high else f"{fmt.number(span.low)}-{fmt.number(span.high)}"


def context_lines(state: RunState, strings: Strings) -> list[tuple[str, str]]:
    """The gauge, the prompt's layers and its parts as pairs of (name, figure); a line without a name spans both."""
    figures = state.context
    if figures is None:
        return [("", provenance_text(None, strings))]
    ahead = forecast_of(state)
    heads = (
        context_line(figures, strings),
        "  ".join(outlook_texts(ahead, strings)).strip(),
        provenance_text(figures, strings),
        measured_text(figures, state.last_estimate_error, strings),
    )
    out = [("", line) for line in heads if line]
    out.append((strings.t("layer.title"), ""))
    out += [(f"  {strings.t(f'layer.{name}')}", fmt.tokens(n)) for name, n in layers_of(figures)]
    out.append((strings.t("layer.parts"), ""))
    out += [(f"  {kind_name(kind, strings)}", fmt.tokens(n)) for kind, n in parts_of(figures)]
    if ahead is not None and (limits := limits_ahead(ahead)):
        out.append((strings.t("section.next"), ""))
        out += [(f"  {strings.t(f'next.{name}')}", _when(ahead, left, strings)) for name, left in limits]
    return out


def _when(ahead: Forecast, left: Span, strings: Strings) -> str:
    rounds, time = strings.t("next.in_rounds", n=span_text(left)), time_text(ahead.seconds(left), strings)
    return f"{rounds}  {time}".rstrip()
