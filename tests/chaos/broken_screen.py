"""The program, with a screen that fails where and when the test says so.

The first argument says where: ``widget`` or ``thread``; the file ``break`` in the project says when. The rest are the
program's own arguments.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from geode_tui.__main__ import main
from geode_tui.log import lease
from geode_tui.tui.widgets.header import Header
from geode_tui.view import follow

SECRET = "-".join(("sk", "ant", "api03", "TESTTEST", "TESTTEST"))


def failing(work: Any) -> Any:
    """``work`` until the file is there."""

    def guarded(*arguments: Any, **options: Any) -> Any:
        if Path("break").exists():
            raise ValueError(f"broken by \x1b[31m {SECRET}")
        return work(*arguments, **options)

    return guarded


if __name__ == "__main__":
    where = sys.argv.pop(1)
    if where == "widget":
        Header.build = failing(Header.build)  # type: ignore[method-assign]
    else:
        vars(follow)["probe"] = failing(lease.probe)
    main()
