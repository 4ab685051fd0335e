"""Glyphs, themes, palettes."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs, glyphs_for, still
from geode_tui.tui.palette import GAUGE_KINDS, PLANES, TEXT_ROLES, contrast
from geode_tui.tui.themes import ThemeError, faint_pairs, load_theme, load_themes, shipped_folder

SHIPPED = ("colour-blind-safe", "geode-dark", "geode-light", "high-contrast", "rose")


def every_glyph(glyphs: Glyphs) -> str:
    values = (getattr(glyphs, name) for name in glyphs.__struct_fields__ if name != "ascii")
    return "".join("".join(value) for value in values)


def test_no_glyph_has_an_ambiguous_or_double_width() -> None:
    for char in every_glyph(UNICODE) + "".join(map(chr, range(0x2800, 0x2900))):
        assert unicodedata.east_asian_width(char) not in "AWF", char


def test_ascii_glyphs_are_ascii() -> None:
    assert every_glyph(ASCII).isascii()


@pytest.mark.parametrize(
    ("environ", "encoding", "expected"),
    [
        ({}, "utf-8", UNICODE),
        ({}, "UTF8", UNICODE),
        ({}, "ISO-8859-1", ASCII),
        ({"TERM": "linux"}, "utf-8", ASCII),
        ({"GEODE_ASCII": "1"}, "utf-8", ASCII),
        ({"GEODE_ASCII": "0"}, "utf-8", UNICODE),
    ],
)
def test_the_terminal_decides_the_form(environ: dict[str, str], encoding: str, expected: Glyphs) -> None:
    assert glyphs_for(environ, encoding) == expected


def test_ascii_can_be_forced_and_the_spinner_stopped() -> None:
    assert glyphs_for({}, "utf-8", force_ascii=True) == ASCII
    assert len(still(UNICODE).spinner) == 1


def test_five_themes_are_shipped() -> None:
    themes, lines = load_themes()
    assert tuple(sorted(themes)) == SHIPPED
    assert lines == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_text_role_is_readable_on_every_plane(name: str) -> None:
    palette = load_theme(shipped_folder() / f"{name}.toml").palette
    assert list(faint_pairs(palette)) == []
    least = 7.0 if name == "high-contrast" else 4.5
    for role in ("text", "muted"):
        for plane in PLANES:
            assert contrast(getattr(palette, role), getattr(palette, plane)) >= least, (role, plane)


@pytest.mark.parametrize("name", SHIPPED)
def test_letters_are_readable_on_their_segments_and_words_on_their_chips(name: str) -> None:
    palette = load_theme(shipped_folder() / f"{name}.toml").palette
    for kind in GAUGE_KINDS:
        color = palette.gauge[kind]
        assert contrast(palette.ink(color), color) >= 4.5, kind
    for role in ("accent", "warn", "crit"):
        color = getattr(palette, role)
        assert contrast(palette.ink(color), color) >= 7.0, role


@pytest.mark.parametrize("name", SHIPPED)
def test_needing_you_and_a_warning_never_look_alike(name: str) -> None:
    palette = load_theme(shipped_folder() / f"{name}.toml").palette
    assert palette.accent != palette.warn


def test_a_theme_of_ones_own_is_added_and_a_faint_one_names_its_pairs(tmp_path: Path) -> None:
    text = (shipped_folder() / "geode-dark.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.replace('muted = "#a9a1bc"', 'muted = "#555555"'), encoding="utf-8")
    themes, lines = load_themes([tmp_path])
    assert "mine" in themes
    assert any("mine.toml: muted on base has contrast" in line for line in lines)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("not toml [", "broken.toml: "),
        ("[textual]\n[gauge]\n", "the table [roles] is missing"),
        ('[textual]\ndark = true\n[roles]\nbase = "red"\n[gauge]\n', "base must be a colour like #a1b2c3"),
        ('[textual]\ndark = true\nprimary = "#000000"\n[roles]\nbase = "#000000"\n[gauge]\n', "is missing"),
    ],
)
def test_a_broken_theme_is_left_out_with_one_line(tmp_path: Path, broken: str, says: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(ThemeError, match=r"broken\.toml"):
        load_theme(path)
    themes, lines = load_themes([tmp_path, tmp_path / "absent"])
    assert tuple(sorted(themes)) == SHIPPED
    assert len(lines) == 1
    assert says in lines[0]


def test_a_field_that_textual_does_not_know_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    text = (shipped_folder() / "rose.toml").read_text(encoding="utf-8")
    path = tmp_path / "odd.toml"
    path.write_text(text.replace("primary =", "prymary =", 1), encoding="utf-8")
    with pytest.raises(ThemeError, match=r"odd\.toml"):
        load_theme(path)


def test_without_colours_a_style_has_none_but_keeps_its_weight() -> None:
    palette = load_themes()[0]["geode-dark"].palette
    plain = type(palette)(**{**{f: getattr(palette, f) for f in palette.__struct_fields__}, "no_color": True})
    style = plain.style(plain.accent, plain.warn, bold=True, reverse=True)
    assert style.color is None
    assert style.bgcolor is None
    assert style.bold
    assert style.reverse
    assert palette.style(palette.accent, reverse=True).reverse is None


def test_every_role_that_is_checked_exists() -> None:
    palette = load_themes()[0]["rose"].palette
    assert all(getattr(palette, name).startswith("#") for name in (*TEXT_ROLES, *PLANES))
