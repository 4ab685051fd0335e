"""The front door. A bare `geode-tui` opens the dashboard without loading the command line's parser (0.17 s)."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path


def main() -> None:
    """Run, and leave with the exit status. No traceback ever reaches the person."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(_guarded(sys.argv[1:]))


def _guarded(arguments: list[str]) -> int:
    from geode_tui.cli.errors import CliError
    from geode_tui.core.text import Redactor, clean_line, secret_values
    from geode_tui.log.store import StoreError

    safe = Redactor(secret_values(os.environ.items()))
    try:
        return _run(arguments)
    except (CliError, StoreError) as error:
        print(f"geode-tui: {safe(clean_line(str(error), 400))}", file=sys.stderr)
        return getattr(error, "status", 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("GEODE_DEBUG"):
            raise
        kind, line = type(error).__name__, safe(clean_line(str(error), 300))
        print(f"geode-tui: internal error: {kind}: {line} (GEODE_DEBUG=1 shows where)", file=sys.stderr)
        return 1


def _run(arguments: list[str]) -> int:
    if sys.platform == "win32":
        print("geode-tui: Windows is not supported: use WSL", file=sys.stderr)
        return 2
    if not arguments:
        from geode_tui.cli.dashboard import open_new
        from geode_tui.cli.env import Env

        return open_new(Env(Path.cwd(), os.environ), None)
    if arguments[0] == "attach" and len(arguments) <= 2 and not any(a.startswith("-") for a in arguments):
        from geode_tui.cli.dashboard import open_session
        from geode_tui.cli.env import Env

        return open_session(Env(Path.cwd(), os.environ), arguments[1] if len(arguments) == 2 else None)
    from geode_tui.cli.main import main as command_line

    return command_line(arguments)


if __name__ == "__main__":
    main()
