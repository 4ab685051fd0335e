"""The arithmetic of a measurement: percentiles, a figure beside its limit, a target, and how rows are written."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure must keep: a bound of its own, a bound of its ratio to the limit, or both."""

    at_most: float | None = None
    ratio_at_most: float | None = None
    ratio_at_least: float | None = None
    unit: str = ""

    def met(self, figure: float, ratio: float | None) -> bool:
        """Whether every bound is kept. A bound of a ratio is not kept where there is no ratio."""
        if not math.isfinite(figure) or (self.at_most is not None and figure > self.at_most):
            return False
        if self.ratio_at_most is not None and (ratio is None or ratio > self.ratio_at_most):
            return False
        return self.ratio_at_least is None or (ratio is not None and ratio >= self.ratio_at_least)

    def __str__(self) -> str:
        parts = []
        if self.at_most is not None:
            parts.append(f"<= {self.at_most:g} {self.unit}".rstrip())
        if self.ratio_at_most is not None:
            parts.append(f"<= {self.ratio_at_most:g}x")
        if self.ratio_at_least is not None:
            parts.append(f">= {self.ratio_at_least:g}x")
        return "; ".join(parts)


class Row(msgspec.Struct, frozen=True):
    """One figure beside the limit that was measured in the same run; both in the unit that ends its name."""

    name: str
    figure: float | None
    limit: float | None
    ratio: float | None
    target: str
    met: bool


class Report(msgspec.Struct, frozen=True):
    """What ``--json`` prints."""

    rows: tuple[Row, ...]


def row(name: str, figure: float, limit: float | None, target: Target) -> Row:
    """``figure`` judged by ``target``, rounded only after that. One that could not be taken (nan), or has no end
    (inf), is not met and stands as None.
    """
    ratio = figure / limit if limit and math.isfinite(limit) else None
    return Row(name, _rounded(figure), _rounded(limit), _rounded(ratio), str(target), target.met(figure, ratio))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` (0 to 1) of all are not above; nan of none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle one; of an even number the lower."""
    return percentile(values, 0.5)


def as_json(rows: Sequence[Row]) -> str:
    """``{"rows": [...]}`` in one line."""
    return msgspec.json.encode(Report(tuple(rows))).decode()


def as_table(rows: Sequence[Row]) -> str:
    """The rows for a person, a line each."""
    cells = [("name", "figure", "limit", "ratio", "target", "")]
    for each in rows:
        figures = ("-" if v is None else f"{v:,g}" for v in (each.figure, each.limit, each.ratio))
        cells.append((each.name, *figures, each.target, "met" if each.met else "NOT MET"))  # type: ignore[arg-type]
    widths = [max(len(line[column]) for line in cells) for column in range(6)]
    return "\n".join(_line(line, widths) for line in cells)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, figure, limit, ratio, target, met = cells
    numbers = "  ".join(text.rjust(width) for text, width in zip((figure, limit, ratio), widths[1:4], strict=True))
    return f"{name.ljust(widths[0])}  {numbers}  {target.ljust(widths[4])}  {met}".rstrip()


def _rounded(value: float | None) -> float | None:
    """Three significant digits, but what is above 1,000 to the next whole number."""
    if not value or not math.isfinite(value):
        return None if value is None or value else 0.0
    digits = 2 - math.floor(math.log10(abs(value)))
    return round(value, max(0, digits))
