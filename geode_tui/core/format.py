"""Figures as people read them (SCREENS.md 4): the same in every language, and never cut to look nicer than they are."""

from __future__ import annotations

from geode_tui.core.usage import MICRO


def tokens(count: int) -> str:
    """``214``, ``18.3k``, ``1.31M``: one decimal from 1,000 on, two from a million."""
    if count < 1_000:
        return str(count)
    if count < 999_950:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000_000:.2f}M"


def size(count: int) -> str:
    """Tokens of a window or a limit: as `tokens`, without decimals that say nothing (``400k``, ``1M``)."""
    text = tokens(count)
    if text[-1] not in "kM":
        return text
    return text[:-1].rstrip("0").rstrip(".") + text[-1]


def money(micro: int) -> str:
    """``$0.06``, ``$1.84``, ``$1,204``; less than a cent is ``<$0.01``. ``micro`` is micro-dollars."""
    if 0 < micro < MICRO // 100:
        return "<$0.01"
    cents = (micro * 100 + MICRO // 2) // MICRO
    if cents >= 100_000:
        return f"${(cents + 50) // 100:,}"
    return f"${cents // 100}.{cents % 100:02d}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds of a run: ``0:42:10``."""
    whole = max(0, int(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def elapsed(seconds: float) -> str:
    """How long something small took: ``0.2 s``, ``8.4 s``, from ten seconds on ``0:48``, from an hour ``1:02:03``."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    return short_clock(seconds)


def short_clock(seconds: float) -> str:
    """``0:09``, ``12:40``, from an hour on ``1:02:03``: ages and countdowns."""
    whole = max(0, int(seconds))
    if whole >= 3600:
        return duration(whole)
    return f"{whole // 60}:{whole % 60:02d}"


def hours(seconds: float) -> str:
    """Hours and minutes where room is short: ``0:42``."""
    whole = max(0, int(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}"


def percent(part: float, whole: float) -> str:
    """``72 %`` in text, rounded down so that a threshold is never shown before it is met; not capped at 100."""
    return f"{int(part * 100 // whole)} %" if whole > 0 else "- %"


def percent_column(part: float, whole: float) -> str:
    """``15.9%`` for columns."""
    return f"{part * 100 / whole:.1f}%" if whole > 0 else "-"


def size_bytes(count: int) -> str:
    """``412 B``, ``71 KB``, ``5.2 MB``, ``1.4 GB``; decimal units."""
    if count < 1_000:
        return f"{count} B"
    if count < 999_500:
        return f"{(count + 500) // 1_000} KB"
    if count < 999_950_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1_000_000_000:.1f} GB"


def number(value: int) -> str:
    """``4,218``."""
    return f"{value:,}"
