"""Runs the app over a fake run on a real terminal. Arguments: idle | running, then optional words: no-color, crash."""

from __future__ import annotations

import sys

from geode_tui.tui.glyphs import UNICODE
from tests.tui.fakes import FREE, HELD, FakeSource, make_app, running_state


def main(words: list[str]) -> int:
    source = FakeSource(running_state(turn_open="running" in words), HELD if "running" in words else FREE)
    if "crash" in words:
        source.clock = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    app = make_app(source, glyphs=UNICODE, motion="running" in words, no_color="no-color" in words)
    notice = app.run()
    sys.stdout.write(f"typed {app.run_screen.composer.entry.text!r} sent {source.sent!r}\n")
    if notice:
        sys.stdout.write(notice + "\n")
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
