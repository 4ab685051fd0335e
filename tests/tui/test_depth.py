"""B093: few colours. What a terminal is really sent, and that everything still says what it says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor

from geode_tui.tui.depth import Depth, Sixteen, depth_of, filter_for, quantised
from geode_tui.tui.palette import GAUGE_KINDS, PLANES, READABLE, TEXT_ROLES, contrast
from geode_tui.tui.themes import load_themes
from tests.tui.terminals import terminal

THEMES = load_themes()[0]
BLACK = TextualColor(0, 0, 0)


def shown(number: int) -> str:
    """``#rrggbb`` of one of 256 colours."""
    return Color.from_ansi(number).get_truecolor().hex


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "full"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "screen"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
    ],
)
def test_the_environment_says_how_many_colours_there_are(environ: dict[str, str], depth: Depth) -> None:
    assert depth_of(environ) == depth


@pytest.mark.parametrize("name", THEMES)
def test_in_256_colours_text_reads_on_every_plane_and_regions_stay_apart(name: str) -> None:
    palette = THEMES[name].palette
    planes, inks = quantised(palette)
    for role in TEXT_ROLES:
        for plane in PLANES:
            pair = shown(inks[getattr(palette, role)]), shown(planes[getattr(palette, plane)])
            assert contrast(*pair) >= READABLE, (role, plane)
    regions = [planes[getattr(palette, plane)] for plane in ("base", "surface", "panel", "raised", "select")]
    assert len(set(regions)) == len(regions)
    states = [inks[getattr(palette, role)] for role in ("ok", "warn", "crit", "accent")]
    assert len(set(states)) == len(states)
    assert all(number >= 16 for number in (*planes.values(), *inks.values()))


@pytest.mark.parametrize("name", THEMES)
def test_in_256_colours_letters_read_on_their_segments_and_words_on_their_chips(name: str) -> None:
    palette = THEMES[name].palette
    fitted = filter_for("256", palette)
    assert fitted is not None
    for fill in (*(palette.gauge[kind] for kind in GAUGE_KINDS), palette.accent, palette.warn, palette.crit):
        style = fitted.apply([Segment("x", palette.style(palette.ink(fill), fill))], BLACK)[0].style
        assert style is not None
        assert style.color is not None
        assert style.bgcolor is not None
        assert contrast(style.color.get_truecolor().hex, style.bgcolor.get_truecolor().hex) >= READABLE, fill


def sixteen(name: str, style: Style) -> Style:
    found = Sixteen(THEMES[name].palette).apply([Segment("x", style)], BLACK)[0].style
    assert found is not None
    return found


@pytest.mark.parametrize("name", THEMES)
def test_in_16_colours_planes_vanish_and_states_keep_their_colours(name: str) -> None:
    palette = THEMES[name].palette
    wanted = {"accent": "bright_magenta", "ok": "green", "warn": "yellow", "crit": "red"}
    for plane in set(PLANES) - {"select"}:
        for role in ("text", "muted", *wanted):
            found = sixteen(name, palette.style(getattr(palette, role), getattr(palette, plane), bold=True))
            assert found.bgcolor is None
            assert found.bold
            assert (found.color.name if found.color else None) == wanted.get(role)
    for role, color in wanted.items():
        chip = sixteen(name, palette.style(palette.ink(getattr(palette, role)), getattr(palette, role)))
        assert chip.reverse
        assert chip.color is not None
        assert chip.color.name == color
    assert sixteen(name, palette.style(palette.text, palette.select)).reverse


@pytest.mark.parametrize("name", THEMES)
def test_in_16_colours_neighbours_in_the_bar_differ(name: str) -> None:
    palette = THEMES[name].palette
    found = [sixteen(name, palette.style(palette.ink(palette.gauge[k]), palette.gauge[k])) for k in GAUGE_KINDS]
    grounds = [style.color if style.reverse else style.bgcolor for style in found]
    assert all(ground is not None and ground.type is ColorType.STANDARD for ground in grounds)
    assert all(one != other for one, other in itertools.pairwise(grounds))
    assert sixteen(name, palette.style(palette.text, palette.gauge["free"])).bgcolor is None


# -- on a real pty ----------------------------------------------------------------------------------------------------
class Cell(NamedTuple):
    """A character and what it was written with: SGR codes of its text and its background."""

    text: str
    ink: str
    ground: str
    reverse: bool


_WRITTEN = re.compile(r"\x1b\[([0-9;:?<>=]*)([@-~])|([^\x00-\x1f\x7f])")


def cells(data: bytes) -> Iterator[Cell]:
    """The characters that were written, each with the colours in force."""
    ink = ground = ""
    reverse = False
    for match in _WRITTEN.finditer(data.decode(errors="replace")):
        codes, final, char = match.groups()
        if char:
            yield Cell(char, ink, ground, reverse)
        elif final == "m":
            parts = (codes or "0").split(";")
            while parts:
                code = parts.pop(0)
                if code in {"0", ""}:
                    ink = ground = ""
                    reverse = False
                elif code == "7":
                    reverse = True
                elif code in {"38", "48"}:
                    taken = 2 if parts[0] == "5" else 4
                    value = ";".join([code, *parts[:taken]])
                    del parts[:taken]
                    ink, ground = (value, ground) if code == "38" else (ink, value)
                elif 30 <= int(code) <= 39 or 90 <= int(code) <= 97:
                    ink = code
                elif 40 <= int(code) <= 49 or 100 <= int(code) <= 107:
                    ground = code


def seen(term: str, theme: str) -> list[Cell]:
    """All that the run screen writes on a terminal that says no more of itself than ``term``."""
    with terminal("running", "still", theme, size=(120, 40), env={"TERM": term, "COLORTERM": ""}) as screen:
        screen.until(b"round 37")
        screen.until(b"first to stop it")
        screen.quiet()
        return list(cells(screen.seen))


BANDS = ("▵50", "▴70", "!!90", "▴ warning", "72 %")


def says_its_bands(written: list[Cell]) -> bool:
    text = "".join(cell.text for cell in written)
    return all(band in text for band in BANDS)


@pytest.mark.parametrize("theme", ["geode-dark", "geode-light"])
def test_b093_with_256_colours_all_that_is_written_reads(theme: str) -> None:
    everything = seen("xterm-256color", theme)
    assert says_its_bands(everything)
    written = [cell for cell in everything if cell.text.strip()]
    pairs = {(cell.ink, cell.ground) for cell in written if cell.ink and cell.ground}
    assert len(pairs) > 8
    for ink, ground in pairs:
        assert ink.startswith("38;5;"), ink
        assert ground.startswith("48;5;"), ground
        ratio = contrast(*(shown(int(code.rsplit(";", 1)[1])) for code in (ink, ground)))
        assert ratio >= READABLE, (ink, ground, [c.text for c in written if (c.ink, c.ground) == (ink, ground)][:9])


@pytest.mark.parametrize("term", ["xterm", "linux", "screen"])
def test_b093_with_16_colours_bands_are_told_by_symbol_and_word(term: str) -> None:
    written = seen(term, "geode-dark")
    assert says_its_bands(written)
    assert {cell.ink for cell in written} <= {"", "30", "31", "32", "33", "36", "95"}
    grounds = {cell.ground for cell in written}
    assert all(ground in {"", *map(str, (*range(40, 48), *range(100, 108)))} for ground in grounds)
    assert any(cell.reverse and cell.ink == "33" for cell in written)
