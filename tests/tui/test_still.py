"""A picture of a screen that no terminal shows."""

from __future__ import annotations

from geode_tui.tui.still import picture
from tests.tui.fakes import FakeSource, make_app, running_state
from tests.tui.pictures import Picture


def test_a_screen_is_drawn_once_its_run_was_read() -> None:
    app = make_app(FakeSource(running_state()))
    drawn = Picture(picture(app, (120, 40), "conversation", lambda batch: batch.state.round == 37) or "")
    assert drawn.title == "Streaming parser"
    assert drawn.sees("round 37")
    assert drawn.sees("264.9k")


def test_a_run_that_never_comes_to_rest_is_drawn_as_it_stands() -> None:
    app = make_app(FakeSource(running_state()))
    drawn = Picture(picture(app, (80, 24), "events", lambda _: False, patience_s=0.3) or "")
    assert drawn.size == (80, 24)
    assert drawn.sees("round 37")


def test_a_bad_theme_leaves_no_toast_in_the_picture() -> None:
    app = make_app(FakeSource(running_state()), theme="plaid")
    drawn = Picture(picture(app, (80, 24), "conversation", lambda _: True) or "")
    assert not drawn.sees("plaid")
    assert drawn.ground == "#14121a"
