"""Which parts of the run screen there is room for (SCREENS.md 6)."""

from __future__ import annotations

import msgspec


class Form(msgspec.Struct, frozen=True):
    """The screen's form at one size; widths in cells, heights in rows, 0 for a part that is left out."""

    side: int = 0
    strip: int = 0
    tabs: bool = True
    roomy: bool = False
    """Whether the composer has a row above and the policy below it."""
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
    if width >= 110 and height >= 30:
        return Form(side=40 if width >= 120 else 36, roomy=True)
    return Form(strip=2, roomy=height >= 30, notices=3, composer=4 if height >= 20 else 2)


def panel_height(height: int, wanted: int, *, whole: bool) -> int:
    """Rows of the approval panel on a screen of ``height`` rows: what it wants up to about half, or nearly all."""
    most = height - 4 if whole else height // 2 + 1
    return max(2, min(wanted, most, height - 3))
