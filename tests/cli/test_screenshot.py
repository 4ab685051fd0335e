"""`screenshot`: the real screen of a real run, drawn without a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from geode_tui.tui.widgets.tabs import TABS
from tests.cli.conftest import Here
from tests.cli.place import Place, until
from tests.tui.pictures import Picture

KOREAN = "문서.md 를 읽고 요약해 줘"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One place for the module, with a run that has ended and whose worker is gone."""
    made = Place(tmp_path_factory.mktemp("screenshot"))
    (made.root / "문서.md").write_text("# 제목\n\n안녕하세요, 세계. ⚑ é 漢字\n")
    assert made.cli("run", KOREAN, "--provider", "offline", "--approve", "reads").status == 0
    made.kill_worker(made.newest)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ended(place: Place) -> str:
    return place.newest


def drawn(here: Here, tmp_path: Path, *arguments: str) -> Picture:
    file = tmp_path / "picture.svg"
    done = here("screenshot", *arguments, "-o", str(file))
    assert done.status == 0, done.err
    assert str(file) in done.out
    return Picture(file.read_text(encoding="utf-8"))


def test_the_picture_shows_what_the_screen_shows(here: Here, ended: str, tmp_path: Path) -> None:
    picture = drawn(here, tmp_path, ended)
    assert picture.size == (120, 40)
    assert picture.title == KOREAN
    for text in (
        "Conversation",
        "Context",
        "Cost",
        "Guards",
        "안녕하세요, 세계.",
        "done round",
        "simulated",
        "f1 help",
    ):
        assert picture.sees(text), text


def test_the_same_run_gives_the_same_picture_to_the_byte(here: Here, ended: str, tmp_path: Path) -> None:
    first, second = drawn(here, tmp_path, ended), drawn(here, tmp_path, ended)
    assert first.source == second.source


@pytest.mark.parametrize(("size", "language"), [("40x12", "ko"), ("80x24", "en"), ("120x40", "ko"), ("200x60", "ko")])
def test_at_any_size_every_column_holds(here: Here, ended: str, tmp_path: Path, size: str, language: str) -> None:
    picture = drawn(here, tmp_path, ended, "--size", size, "--lang", language)
    assert "x".join(map(str, picture.size)) == size
    rows = picture.rows()  # fails where two pieces overlap
    assert max(p.x + p.width for p in picture.pieces) <= picture.size[0]
    assert any(KOREAN[:3] in row for row in rows)


@pytest.mark.parametrize("tab", TABS)
def test_any_tab_can_be_drawn(here: Here, ended: str, tmp_path: Path, tab: str) -> None:
    picture = drawn(here, tmp_path, ended, "--tab", tab)
    assert picture.sees("turn_completed") == (tab == "events")
    assert picture.sees("안녕하세요") == (tab == "conversation")


def test_a_theme_decides_the_colours(here: Here, ended: str, tmp_path: Path) -> None:
    assert drawn(here, tmp_path, ended, "--theme", "geode-light").ground == "#fcfbfd"
    assert drawn(here, tmp_path, ended, "--theme", "high-contrast").ground == "#000000"


def test_a_theme_of_one_s_own_can_be_named(place: Place, here: Here, ended: str, tmp_path: Path) -> None:
    folder = place.home / "own" / "config" / "themes"
    folder.mkdir(parents=True)
    rose = Path(__file__).parents[2] / "themes" / "rose.toml"
    (folder / "mine.toml").write_text(rose.read_text().replace("#1c1418", "#010203"))
    assert drawn(here, tmp_path, ended, "--theme", "mine").ground == "#010203"


def test_language_and_glyphs_can_be_chosen(here: Here, ended: str, tmp_path: Path) -> None:
    korean = drawn(here, tmp_path, ended, "--lang", "ko")
    assert korean.sees("대화")
    assert not korean.sees("Conversation")
    plain = drawn(here, tmp_path, ended, "--ascii", "--tab", "events")
    assert plain.sees("[2 Events]")
    glyphs = {c for row in plain.rows() for c in row if not c.isascii()}
    assert glyphs
    assert all("가" <= c <= "힣" for c in glyphs), "only what the run itself says"


def test_colours_can_be_refused(here: Here, ended: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    assert here("screenshot", ended, "-o", str(file), env={"NO_COLOR": "1"}).status == 0
    picture = Picture(file.read_text(encoding="utf-8"))
    assert {p.fill for p in picture.pieces} <= {"#ece7f4", "#14121a"}


def test_a_run_that_waits_for_the_person_shows_so_and_does_not_count_as_watched(tmp_path: Path) -> None:
    live = Place(tmp_path / "live")
    try:
        session = live.submit("run `echo one`", approve="ask")
        live.client(session).start_worker()
        until(lambda: live.events(session, "tool_approval_requested"), "the question")
        file = tmp_path / "picture.svg"
        assert live.cli("screenshot", session, "-o", str(file)).status == 0
        picture = Picture(file.read_text(encoding="utf-8"))
        assert picture.sees("1 needs you")
        assert picture.sees("allow once")
        assert list(live.geode.rglob("*.watch")) == []
        assert live.status(session) == "waiting"
    finally:
        live.close()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--size", "120"), "'120' is no size: write it as 120x40, columns by rows"),
        (("--size", "10x4"), "the size 10x4 cannot be drawn: choose one from 20x5 to 400x200"),
        (("--size", "9999x40"), "the size 9999x40 cannot be drawn: choose one from 20x5 to 400x200"),
        (("--theme", "plaid"), "there is no theme plaid: choose one of colour-blind-safe, geode-dark"),
        (("--tab", "nothing"), "there is no tab nothing: choose one of conversation"),
        (("--lang", "fr"), "fr"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    here: Here, ended: str, tmp_path: Path, arguments: tuple[str, ...], line: str
) -> None:
    done = here("screenshot", ended, *arguments, "-o", str(tmp_path / "picture.svg"))
    assert done.status == 2
    assert line in done.line
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_is_not_there_is_said(here: Here, tmp_path: Path) -> None:
    done = here("screenshot", "nobody", "-o", str(tmp_path / "picture.svg"))
    assert (done.status, "there is no session nobody" in done.line) == (2, True)


def test_a_file_that_cannot_be_written_is_named(here: Here, ended: str, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "picture.svg"
    done = here("screenshot", ended, "-o", str(file))
    assert done.status == 1
    assert f"{file} cannot be written" in done.line
