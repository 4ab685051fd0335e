"""geode-tui as it is measured. ``BENCH_PAINT_SLEEP_MS`` slows every paint, to show that a measurement sees it."""

from __future__ import annotations

import os
import time
from typing import Any

VARIABLE = "BENCH_PAINT_SLEEP_MS"


def _slow_down(seconds: float) -> None:
    from textual.app import App

    display = App._display

    def slow(self: App[Any], *arguments: Any) -> None:
        time.sleep(seconds)
        display(self, *arguments)

    App._display = slow  # type: ignore[method-assign]


if __name__ == "__main__":
    if os.environ.get(VARIABLE):
        _slow_down(float(os.environ[VARIABLE]) / 1000)
    from geode_tui.__main__ import main

    main()
