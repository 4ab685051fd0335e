"""Every glyph the screens print, in a Unicode and an ASCII form (SCREENS.md 3).

All have East Asian width N or Na: a terminal that draws ambiguous characters two cells wide keeps its columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Glyphs(msgspec.Struct, frozen=True):
    """One form of the glyphs. All but ``spinner`` and ``plot`` are strings of one or two cells."""

    ascii: bool
    product: str
    needs_you: str
    spinner: tuple[str, ...]
    """Frames of the one animation; a single frame stands still."""
    ok: str
    failed: str
    refused: str
    warning: str
    critical: str
    over: str
    stopped: str
    """Ended by a guard."""
    arrow: str
    cut: str
    offloaded: str
    recalled: str
    dream: str
    summary: str
    masked: str
    pinned: str
    fixed: str
    pending: str
    open: str
    closed: str
    prompt: str
    undo: str
    tick: str
    warning_tick: str
    mark: str
    """A tick inside a bar."""
    thin_full: str
    thin_rest: str
    reserve: str
    none: str
    """No value, not known."""
    plot: str
    """ASCII plot levels, lowest first; empty where plots are braille."""

    @property
    def running(self) -> str:
        """The spinner's first frame, for where it does not move."""
        return self.spinner[0]


UNICODE = Glyphs(
    ascii=False,
    product="❖",
    needs_you="⚑",
    spinner=tuple("⠋⠙⠹⠸⠼⠴⠦⠧"),
    ok="✓",
    failed="✗",
    refused="⊘",
    warning="▴",
    critical="!!",
    over="✕",
    stopped="∎",
    arrow="⇢",
    cut="⋯",
    offloaded="⇣",
    recalled="⇡",
    dream="☾",
    summary="✎",
    masked="⊘",
    pinned="✱",
    fixed="⊡",
    pending="◦",
    open="▾",
    closed="▸",
    prompt="❯",
    undo="↺",
    tick="▵",
    warning_tick="▴",
    mark="❘",
    thin_full="⠶",
    thin_rest="⠒",
    reserve="/",
    none="-",
    plot="",
)

ASCII = Glyphs(
    ascii=True,
    product="*",
    needs_you="?",
    spinner=("~",),
    ok="+",
    failed="x",
    refused="/",
    warning="!",
    critical="!!",
    over="X",
    stopped="#",
    arrow="->",
    cut="..",
    offloaded="v",
    recalled="^",
    dream="z",
    summary="w",
    masked="/",
    pinned="*",
    fixed="P",
    pending="o",
    open="v",
    closed=">",
    prompt=">",
    undo="u",
    tick="'",
    warning_tick="!",
    mark="|",
    thin_full="=",
    thin_rest="-",
    reserve="/",
    none="-",
    plot="_.-=^*#",
)


def still(glyphs: Glyphs) -> Glyphs:
    """The same glyphs with a spinner that does not move (``--no-motion``)."""
    return msgspec.structs.replace(glyphs, spinner=ASCII.spinner)


def glyphs_for(environ: Mapping[str, str], encoding: str, *, force_ascii: bool = False) -> Glyphs:
    """The form this terminal can draw (SCREENS.md 3). ``encoding`` is the locale's, for example ``utf-8``."""
    utf8 = encoding.lower().replace("-", "") == "utf8"
    plain = force_ascii or environ.get("GEODE_ASCII", "") not in {"", "0"} or environ.get("TERM") == "linux" or not utf8
    return ASCII if plain else UNICODE
