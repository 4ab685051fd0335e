"""Runs the app over a fake run on a real terminal.

Arguments: idle | running, then optional words: no-color; crash, crash-thread, crash-task (where an error comes from);
still (no motion), end (the turn ends after the first paint), bell, notify; a theme's name;
stream (an answer that comes letter by letter).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from itertools import cycle

from geode_tui.log.rows import ChunkRow, MessageRow
from geode_tui.tui.app import GeodeApp
from geode_tui.tui.depth import depth_of
from geode_tui.tui.glyphs import UNICODE
from geode_tui.tui.themes import load_themes
from geode_tui.view.follow import Added, Chunks, Index
from tests.tui.fakes import FREE, HELD, FakeSource, make_app, running_state

DELTAS = 500
BEFORE = "a line of what was said before\n\n" * 200


def break_something(app: GeodeApp, source: FakeSource, words: list[str]) -> None:
    """Have an error raised once the run is on screen."""
    asked = {"crash-thread": lambda: threading.Thread(target=lambda: 1 / 0).start(), "crash-task": loop_error}
    for word, work in asked.items():
        if word in words:
            app.call_later(work)
    if "crash" in words:
        source.clock = lambda: 1 / 0  # type: ignore[method-assign]


async def end_turn(app: GeodeApp, source: FakeSource) -> None:
    """Let the turn end once the run was on screen."""
    while app.run_screen.newest is None:
        await asyncio.sleep(0.01)
    source.show(running_state(turn_open=False, termination_reason="natural"), FREE)


async def stream(app: GeodeApp, source: FakeSource) -> None:
    """A long answer that is there, and one that comes letter by letter, about a thousand letters a second."""
    while app.run_screen.newest is None:
        await asyncio.sleep(0.01)
    threading.Thread(target=_letters, args=(source,), daemon=True).start()


def _letters(source: FakeSource) -> None:
    state = running_state()
    earlier = source.add_message(1, BEFORE)
    source.show(state, ops=[Index((earlier,)), Added(MessageRow(2, 2, 3, 37, "assistant", "agent", "open", 0, 0.0))])
    letters = cycle("words of an answer\n")
    for number in range(DELTAS):
        source.show(state, ops=[Chunks(2, (ChunkRow(2, number, 0, "text", next(letters)),))])
        time.sleep(0.001)
    source.show(state, ops=[Chunks(2, (ChunkRow(2, DELTAS, 0, "text", "\n\nthe-end"),))])


def loop_error() -> None:
    """An error in a callback that is none of Textual's."""
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)


def main(words: list[str]) -> int:
    source = FakeSource(running_state(turn_open="running" in words), HELD if "running" in words else FREE)
    environ = {**os.environ, **({"NO_COLOR": "1"} if "no-color" in words else {})}
    app = make_app(
        source,
        glyphs=UNICODE,
        theme=next((word for word in words if "-" in word and word in load_themes()[0]), "geode-dark"),
        motion="running" in words and "still" not in words,
        depth=depth_of(environ),
        bell="bell" in words,
        notify="notify" in words,
    )
    if "end" in words:
        app.call_later(lambda: app.run_worker(end_turn(app, source)))
    if "stream" in words:
        app.call_later(lambda: app.run_worker(stream(app, source)))
    break_something(app, source, words)
    with app.watching_threads():
        notice = app.run()
    sys.stdout.write(f"typed {app.run_screen.composer.entry.text!r} sent {source.sent!r}\n")
    if notice:
        sys.stdout.write(notice + "\n")
    if app.failure is not None:
        sys.stdout.write(f"failed: {app.failure!r}\n")
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
