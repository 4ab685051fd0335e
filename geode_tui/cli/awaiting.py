"""Waiting for the outcome of a command that takes its time: a round has to end, a summary has to be written."""

from __future__ import annotations

import time

from geode_tui.cli.client import Client, fresh_key
from geode_tui.cli.errors import CliError
from geode_tui.core.endings import EXIT_CANCELLED, EXIT_DIED
from geode_tui.log.commands import Command

LOOK_S = 0.5
"""Between two looks at the worker's lock."""
GONE_S = 2.0
"""A lock that is free for this long while a command waits: the worker died."""


class Refused(CliError):
    """The command ended without having done anything; ``reason`` is why, without the command's name."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}", EXIT_DIED)
        self.reason = reason


def carried_out(client: Client, command: Command, what: str) -> tuple[str, str]:
    """Have ``command``, which is called ``what``, done: its key, and what is said of it.

    Waits as long as it takes. Ctrl-C leaves, and the command stays. Raises `Refused` where nothing was done, `CliError`
    where nobody is there to do it.
    """
    key = fresh_key()
    try:
        client.send(command, key)
        return key, awaited(client, key, what)
    except KeyboardInterrupt:
        where = f"geode-tui status {client.session_id} shows what becomes of it"
        raise CliError(f"left; {what} goes on: {where}", EXIT_CANCELLED) from None


def awaited(client: Client, key: str, what: str) -> str:
    """What is said of the command with ``key`` once it is done. Raises as `carried_out`."""
    outcome, detail = _outcome(client, key)
    if outcome != "done":
        raise Refused(what, detail or outcome.replace("_", " "))
    return detail


def _outcome(client: Client, key: str) -> tuple[str, str]:
    """The command's outcome, waited for. Where the worker dies the next one takes the command up, once."""
    alive, died = time.monotonic(), False
    while True:
        found = client.wait(key, LOOK_S)
        if found is not None:
            return found
        now = time.monotonic()
        if client.liveness().state != "free":
            alive = now
        elif now - alive > GONE_S:
            if died:
                raise CliError(f"the worker stopped again; its log is in {client.env.folders.logs}", EXIT_DIED)
            client.start_worker()
            alive, died = time.monotonic(), True
