"""One result that is looked at: finding, going, selecting, turning; and what is still on its way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.text import Redactor
from geode_tui.tui.viewer.search import Search
from geode_tui.tui.viewer.tree import PART, NoTree, Tree
from geode_tui.tui.viewer.viewer import Page, Viewer
from tests.tui.viewer.held import Held

Order = Callable[[Viewer], None]


def on(data: bytes, *orders: Order, size: tuple[int, int] = (80, 10), piece: int = 0) -> tuple[Viewer, Page]:
    viewer = Viewer(Held(data, piece), Redactor())
    page = viewer.carry_out([lambda v: v.resize(*size)])
    return viewer, done(viewer, *orders) if orders else page


def done(viewer: Viewer, *orders: Order) -> Page:
    page = viewer.carry_out(orders)
    while viewer.busy:
        page = viewer.carry_out([])
    return page


def texts(page: Page) -> list[str]:
    return [one.row.text for one in page.rows]


LINES = b"".join(b"line %d\n" % n for n in range(1, 1_001))


def test_the_first_page_is_there_before_the_rest_has_come() -> None:
    viewer, page = on(LINES, piece=100)
    assert texts(page)[:2] == ["line 1", "line 2"]
    assert page.of is None
    assert page.percent < 100
    assert done(viewer).of == 1_000


def test_a_line_that_has_not_come_yet_is_gone_to_when_it_has() -> None:
    viewer, page = on(LINES, piece=100)
    assert page.of is None
    assert done(viewer, lambda v: v.go_to(900)).at == 900
    viewer, _ = on(LINES, piece=100)
    assert done(viewer, Viewer.last).at == 1_000
    viewer, _ = on(LINES, piece=100)
    assert done(viewer, Viewer.last, lambda v: v.move(-1)).at is not None
    assert done(viewer).at != 1_000


def test_what_is_looked_for_is_found_once_it_has_come() -> None:
    viewer, _ = on(LINES, piece=100)
    page = done(viewer, lambda v: v.find("line 99"))
    assert page.found is not None
    assert (page.found.at, page.found.of, page.found.percent) == (1, 11, None)
    assert [one.row.text for one in page.rows if one.hit] == ["line 99"]
    page = done(viewer, lambda v: v.step_match(-1))
    assert [one.row.text for one in page.rows if one.hit] == ["line 999"]


def test_the_search_begins_at_the_cursor_and_comes_round() -> None:
    viewer, _ = on(LINES)
    page = done(viewer, lambda v: v.go_to(500), lambda v: v.find("LINE 1"))
    assert page.found is not None
    assert page.found.of == 0
    page = done(viewer, lambda v: v.find("line 1000"))
    assert page.at == 1_000
    page = done(viewer, lambda v: v.step_match(1))
    assert page.at == 1_000
    assert done(viewer, lambda v: v.find("line 3")).at == 3
    page = done(viewer, lambda v: v.step_match(1))
    assert page.at == 30


@given(st.text("ab\n가", max_size=60), st.text("ab가", min_size=1, max_size=2), st.integers(0, 60))
def test_a_search_finds_what_find_finds(text: str, wanted: str, origin: int) -> None:
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geode_tui.tui.viewer.search.PIECE", 5)
        search = Search(Held(data), wanted, min(origin, len(data)))
        while not search.over:
            search.step()
    overlapping = [at for at in range(len(data)) if data.startswith(wanted.encode(), at)]
    assert set(search.matches) <= set(overlapping)
    assert list(search.matches) == sorted(search.matches)
    assert bool(search.matches) == bool(overlapping)


def test_a_match_far_to_the_side_is_brought_into_view() -> None:
    data = b"x" * 1_000_000 + b"needle" + b"x" * 1_000_000
    viewer, _ = on(data)
    page = done(viewer, lambda v: v.find("needle"))
    assert "needle" in texts(page)[0]
    page = done(viewer, lambda v: v.find(""), lambda v: v.first())
    assert page.left == 0


def test_a_selection_is_told_in_characters() -> None:
    viewer, _ = on("가나\nab\n다\n".encode())
    page = done(viewer, lambda v: v.move(1), lambda v: v.select(1))
    assert [one.marked for one in page.rows] == [False, True, True]
    assert viewer.marked_characters() == (3, 5)
    assert viewer.copied() == "ab\n다\n"
    assert done(viewer, Viewer.deselect).marked == 0
    assert viewer.marked_characters() == (0, 0)


def test_the_place_is_kept_when_it_is_wrapped_or_turned() -> None:
    viewer, _ = on(LINES)
    page = done(viewer, lambda v: v.go_to(400), Viewer.wrap)
    assert page.at == 400
    page = done(viewer, Viewer.turn)
    assert page.shape == "hex"
    page = done(viewer, Viewer.turn)
    assert (page.shape, page.at) == ("text", 400)


def test_a_page_turns_by_what_is_shown() -> None:
    viewer, _ = on(LINES)
    assert done(viewer, lambda v: v.turn_page(1)).at == 10
    assert done(viewer, Viewer.last).at == 1_000
    assert done(viewer, lambda v: v.turn_page(-1)).at == 991


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b"x", b"\xff\xfe", b"\r\n"])
def test_nothing_much_can_be_looked_at_in_every_way(data: bytes) -> None:
    viewer, _ = on(data)
    for order in (Viewer.last, Viewer.wrap, Viewer.turn, Viewer.last, Viewer.turn, Viewer.first, Viewer.open):
        page = done(viewer, order, lambda v: v.move(3), lambda v: v.select(-2))
        assert page.trouble == ""
        assert len(page.rows) <= 10


def test_what_cannot_be_read_is_said() -> None:
    viewer = Viewer(Held(LINES, 100, "the stored result call_1 was changed"), Redactor())
    page = done(viewer)
    assert page.trouble == "the stored result call_1 was changed"


# -- the tree ----------------------------------------------------------------------------------------------------------
def rows(tree: Tree) -> list[tuple[int, str, str]]:
    found = [tree.row(at) for at in range(tree.last() + 1)]
    return [(row.depth, row.key, row.text) for row in found]


def test_a_tree_opens_what_is_asked_for() -> None:
    tree = Tree(b'{"a": [1, {"b": null}], "c": "\\ud55c"}', Redactor(), 80)
    assert rows(tree) == [(0, "", "{} 2"), (1, "a", "[]"), (1, "c", '"한"')]
    tree.toggle(1)
    assert rows(tree)[1:4] == [(1, "a", "[] 2"), (2, "0", "1"), (2, "1", "{}")]
    tree.toggle(3)
    assert (3, "b", "null") in rows(tree)
    tree.toggle(1)
    assert len(rows(tree)) == 3


def test_a_long_list_comes_in_parts() -> None:
    tree = Tree(b"[" + b",".join(b"%d" % n for n in range(PART * 2 + 3)) + b"]", Redactor(), 80)
    assert tree.last() == PART + 1
    assert tree.row(tree.last()).text == f"+{PART + 3:,}"
    tree.toggle(tree.last())
    tree.toggle(tree.last())
    assert tree.last() == PART * 2 + 3


def test_secrets_and_controls_in_a_tree_are_inert() -> None:
    tree = Tree(b'{"k\\u001b[31m": "sk-ant-abcdefghij \\u001b]52;c;x\\u0007"}', Redactor(), 80)
    text = str(rows(tree))
    assert "abcdefghij" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("data", [b"{", b"nul", b"", b"[" * 100_000, b'{"a": 1} x'])
def test_what_is_no_json_has_no_tree(data: bytes) -> None:
    with pytest.raises(NoTree):
        Tree(data, Redactor(), 80)


def test_text_that_only_begins_like_json_turns_between_text_and_hex() -> None:
    viewer, _ = on(b"{ not json\n")
    assert done(viewer, Viewer.turn).shape == "hex"
    assert done(viewer, Viewer.turn).shape == "text"
