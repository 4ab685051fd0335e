"""Which parts of the run screen there is room for (SCREENS.md 6)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Part: TypeAlias = Literal["main", "middle", "side"]
"""A column of the run screen: the conversation, the tab beside it, gauge and figures."""

MIDDLE = 62
"""Cells of the middle column."""


class Form(msgspec.Struct, frozen=True):
    """The screen's form at one size; widths in cells, heights in rows, 0 for a part that is left out."""

    side: int = 0
    middle: int = 0
    """The chosen tab beside the conversation instead of in its place."""
    strip: int = 0
    tabs: bool = True
    roomy: bool = False
    """Whether the composer has a row above and the policy below it, and the panes a blank row above them."""
    footer: bool = True
    notices: int = 4
    composer: int = 6
    """Most rows of text in the composer."""
    too_small: bool = False


def form_for(width: int, height: int) -> Form:
    """The form for a terminal of ``width`` by ``height`` cells."""
    if width < 20 or height < 5:
        return Form(too_small=True)
    if width < 40 or height < 12:
        return Form(tabs=False, footer=False, notices=1 if height >= 8 else 0, composer=1)
    if width < 60 or height < 16:
        return Form(strip=1, tabs=False, notices=2, composer=2)
    if width >= 200 and height >= 40:
        return Form(side=42, middle=MIDDLE, roomy=True)
    if width >= 110 and height >= 30:
        return Form(side=40 if width >= 120 else 36, roomy=True)
    return Form(strip=2, roomy=height >= 30, notices=3, composer=4 if height >= 20 else 2)


def columns_for(form: Form, tab: str, *, hidden: bool = False, zoomed: Part | None = None) -> dict[Part, int]:
    """The columns to show, left first, with their widths in cells; 0 is what the others leave.

    ``tab`` is the one in view, ``hidden`` whether the person hid the middle, ``zoomed`` the column that is to have
    the whole width.
    """
    if form.middle:
        widths: dict[Part, int] = {"main": 0, "middle": 0 if hidden else form.middle, "side": form.side}
        shown = {part: width for part, width in widths.items() if width or part == "main"}
    else:
        shown = {"main" if tab == "conversation" else "middle": 0}
        shown |= {"side": form.side} if form.side else {}
    return {zoomed: 0} if zoomed in shown and zoomed is not None else shown


def panel_height(height: int, wanted: int, *, whole: bool) -> int:
    """Rows of the approval panel on a screen of ``height`` rows: what it wants up to about half, or nearly all."""
    most = height - 4 if whole else height // 2 + 1
    return max(2, min(wanted, most, height - 3))
