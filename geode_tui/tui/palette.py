"""Colours by role for widgets that draw their own lines (SCREENS.md 2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec
from rich.color import Color
from rich.style import Style

GAUGE_KINDS = ("system", "tools", "native", "summaries", "user", "agent", "thinking", "results", "images")
"""The parts of a prompt in the order of the bar."""

TEXT_ROLES = ("text", "muted", "accent", "user", "info", "ok", "warn", "crit", "code")
PLANES = ("base", "surface", "panel", "raised", "select", "addbg", "delbg")
"""Roles of text, and of what it stands on: each reads on each."""
READABLE = 4.5
"""Least contrast of text on a plane (WCAG 2 AA)."""

KIND_LETTERS = dict(zip(GAUGE_KINDS, "STNMUAHRI", strict=True))


class Palette(msgspec.Struct, frozen=True):
    """A theme's colours as ``#rrggbb``. ``gauge`` maps each of `GAUGE_KINDS` and ``free`` to a colour.

    With ``no_color`` set, `style` drops every colour and keeps weight, underline and reverse. With ``no_planes`` set,
    backgrounds are not seen, though colours are.
    """

    base: str
    surface: str
    panel: str
    raised: str
    select: str
    scrim: str
    text: str
    muted: str
    accent: str
    user: str
    info: str
    ok: str
    warn: str
    crit: str
    code: str
    added: str
    removed: str
    addbg: str
    delbg: str
    gauge: dict[str, str]
    no_color: bool = False
    no_planes: bool = False

    @property
    def flat(self) -> bool:
        """Whether no planes tell regions apart, so that marks must."""
        return self.no_color or self.no_planes

    def style(
        self,
        color: str = "",
        background: str = "",
        *,
        bold: bool = False,
        italic: bool = False,
        underline: bool = False,
        reverse: bool = False,
    ) -> Style:
        """A Rich style. ``color`` and ``background`` are ``#rrggbb`` or empty; ``reverse`` is for where a filled chip
        must be seen without colours, and is dropped where there are some.
        """
        if self.no_color:
            return _style("", "", bold, italic, underline, reverse)
        return _style(color, background, bold, italic, underline, False)

    def ink(self, background: str) -> str:
        """Whichever of black-like and white-like text reads better on ``background``."""
        return _ink(background)


@lru_cache(maxsize=512)
def _style(color: str, background: str, bold: bool, italic: bool, underline: bool, reverse: bool) -> Style:
    return Style(
        color=Color.parse(color) if color else None,
        bgcolor=Color.parse(background) if background else None,
        bold=bold or None,
        italic=italic or None,
        underline=underline or None,
        reverse=reverse or None,
    )


@lru_cache(maxsize=256)
def _ink(background: str) -> str:
    return max(("#14121a", "#ffffff"), key=lambda ink: contrast(ink, background))


def linear_light(color: str) -> tuple[float, float, float]:
    """Red, green and blue of ``#rrggbb`` as amounts of light, 0 to 1."""

    def linear(channel: int) -> float:
        part = channel / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(color[i : i + 2], 16)) for i in (1, 3, 5))
    return red, green, blue


@lru_cache(maxsize=1024)
def _luminance(color: str) -> float:
    red, green, blue = linear_light(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two ``#rrggbb`` colours, 1.0 to 21.0."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palette_from(roles: Mapping[str, str], gauge: Mapping[str, str], *, no_color: bool = False) -> Palette:
    """The palette of a theme file's tables. Raises ``KeyError`` naming a role or kind that is missing."""
    names = [name for name in Palette.__struct_fields__ if name not in {"gauge", "no_color", "no_planes"}]
    kinds = {kind: gauge[kind] for kind in (*GAUGE_KINDS, "free")}
    return Palette(**{name: roles[name] for name in names}, gauge=kinds, no_color=no_color, no_planes=False)
