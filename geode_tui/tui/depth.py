"""How many colours a terminal has, and what becomes of a theme's where it has few (SCREENS.md 2).

Textual draws everything in 24-bit colours. Left to the library that writes them, dark planes fall together in 256
colours and mean nothing in 16; here each role gets the colour that keeps what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor
from textual.constants import COLOR_SYSTEM
from textual.filter import LineFilter

from geode_tui.tui.palette import PLANES, READABLE, TEXT_ROLES, Palette, contrast, linear_light

Depth: TypeAlias = Literal["full", "256", "16", "none"]

_SIXTEEN: Mapping[str, str] = {
    "accent": "bright_magenta",
    "ok": "green",
    "warn": "yellow",
    "crit": "red",
    "user": "cyan",
    "info": "cyan",
}
"""Colours of 16 for what has a meaning; all other text has the terminal's own."""
_FILLED = ("accent", "ok", "warn", "crit")
"""Roles that fill a chip: reversed where planes cannot be seen."""
_REGIONS = ("base", "surface", "panel", "raised", "select")
_HUE_COUNTS = 6.0
"""How much more than its lightness the hue of a text counts: it says what the text means."""
_SIXTEEN_KINDS: Mapping[str, str] = {
    "system": "white",
    "tools": "yellow",
    "native": "bright_black",
    "summaries": "bright_yellow",
    "user": "bright_cyan",
    "agent": "magenta",
    "thinking": "bright_magenta",
    "results": "green",
    "images": "bright_white",
}


def depth_of(environ: Mapping[str, str]) -> Depth:
    """How many colours will be written to the terminal that ``environ`` describes."""
    if environ.get("NO_COLOR"):
        return "none"
    system = Console(color_system=COLOR_SYSTEM, force_terminal=True, _environ=environ).color_system  # type: ignore[arg-type]
    if system is None:
        return "none"
    return {"standard": "16", "windows": "16", "256": "256"}.get(system, "full")  # type: ignore[return-value]


def filter_for(depth: Depth, palette: Palette) -> LineFilter | None:
    """What the lines of a screen in ``palette`` pass on their way out; None where nothing has to change."""
    match depth:
        case "none":
            return Colourless()
        case "16":
            return Sixteen(palette)
        case "256":
            return TwoHundred(palette)
        case _:
            return None


class Colourless(LineFilter):
    """Leaves weight, underline and reverse, and no colour at all: ``NO_COLOR`` as it is meant."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002  Textual's
        """``segments`` without colours."""
        return [Segment(text, style.without_color if style else None, control) for text, style, control in segments]


class _Mapped(LineFilter):
    """Gives every style another one."""

    def __init__(self) -> None:
        super().__init__()
        self._styles = lru_cache(maxsize=1024)(self.styled)

    def styled(self, style: Style) -> Style:
        """What becomes of ``style``."""
        raise NotImplementedError

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002  Textual's
        """``segments`` in the colours that there are."""
        return [Segment(text, self._styles(style) if style else None, control) for text, style, control in segments]


class Sixteen(_Mapped):
    """Planes are the terminal's own background, what was filled is reversed."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._inks = {getattr(palette, role): Color.parse(name) for role, name in _SIXTEEN.items()}
        self._fills = {getattr(palette, role): Color.parse(_SIXTEEN[role]) for role in _FILLED}
        self._kinds = {palette.gauge[kind]: Color.parse(name) for kind, name in _SIXTEEN_KINDS.items()}
        self._select = palette.select

    def styled(self, style: Style) -> Style:
        """See `_Mapped.styled`."""
        ink, ground = _hex(style.color), _hex(style.bgcolor)
        plain = style.without_color
        if ground in self._fills:
            return plain + Style(color=self._fills[ground], reverse=True)
        if ground in self._kinds:
            return plain + Style(color="black", bgcolor=self._kinds[ground])
        if ground == self._select:
            return plain + Style(reverse=True)
        return plain + Style(color=self._inks.get(ink))


class TwoHundred(_Mapped):
    """The nearest of 256 colours, text moved on until it reads on each plane it may stand on."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._planes, self._inks = quantised(palette)

    def styled(self, style: Style) -> Style:
        """See `_Mapped.styled`."""
        ink, ground = _hex(style.color), _hex(style.bgcolor)
        color = Color.from_ansi(self._inks.get(ink) or _nearest(ink)) if ink else None
        plane = Color.from_ansi(self._planes.get(ground) or _nearest(ground)) if ground else None
        return style.without_color + Style(color=color, bgcolor=plane)


def quantised(palette: Palette) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of 256 colours for the planes and for the text roles of ``palette``, by ``#rrggbb``.

    Regions that differ stay different; text keeps its hue and has a contrast of at least `READABLE` on every plane.
    """
    planes: dict[str, int] = {}
    for color in (getattr(palette, name) for name in _REGIONS):
        planes.setdefault(color, next(n for n in _by_distance(color) if n not in planes.values()))
    for color in (palette.addbg, palette.delbg):
        planes.setdefault(color, _nearest(color))
    stands_on = [_COLORS[planes[getattr(palette, name)]] for name in PLANES]
    inks: dict[str, int] = {}
    for color in (getattr(palette, role) for role in TEXT_ROLES):
        near = _by_distance(color, hue=_HUE_COUNTS)
        readable = (n for n in near if all(contrast(_COLORS[n], plane) >= READABLE for plane in stands_on))
        inks.setdefault(color, next(readable, near[0]))
    return planes, inks


def _hex(color: Color | None) -> str:
    return "" if color is None or color.is_default else color.get_truecolor().hex


_LEVELS = (0, 95, 135, 175, 215, 255)


def _cube(number: int) -> str:
    """``#rrggbb`` of a colour of 256 from 16 on: a cube of six levels, then a ramp of greys."""
    if number >= 232:
        return f"#{8 + 10 * (number - 232):02x}" + 2 * f"{8 + 10 * (number - 232):02x}"
    red, green, blue = _LEVELS[(number - 16) // 36], _LEVELS[(number - 16) // 6 % 6], _LEVELS[(number - 16) % 6]
    return f"#{red:02x}{green:02x}{blue:02x}"


_COLORS: Mapping[int, str] = {number: _cube(number) for number in range(16, 256)}
"""What every terminal shows for these numbers; the first 16 are the person's own."""


@lru_cache(maxsize=1024)
def _lab(color: str) -> tuple[float, float, float]:
    """``#rrggbb`` in OKLab, where distances are as they look."""
    red, green, blue = linear_light(color)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _by_distance(color: str, hue: float = 1.0) -> list[int]:
    """Numbers of 256 colours, nearest to ``color`` first; ``hue`` is what it counts for beside lightness."""
    light, green_red, blue_yellow = _lab(color)

    def distance(number: int) -> float:
        lightness, a, b = _lab(_COLORS[number])
        return (lightness - light) ** 2 + hue * ((a - green_red) ** 2 + (b - blue_yellow) ** 2)

    return sorted(_COLORS, key=distance)


@lru_cache(maxsize=1024)
def _nearest(color: str) -> int:
    return _by_distance(color)[0]
