"""What a tool is to the runtime: check, prepare, run, or abandon.

The two steps exist for the log's sake: `prepare` does nothing that matters, its outcome (the process group, if there
is one) is committed as the intent, and only then does `run` have an effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from geode_tui.core.events import BlobRef
from geode_tui.core.messages import ImageBlock
from geode_tui.core.tools import Safety, ToolSpec
from geode_tui.log.receipts import Spool


class ToolRefused(Exception):
    """The call cannot be made: the message says what is wrong and what to do; it goes to the model as an error."""


class ProcessMark(msgspec.Struct, frozen=True):
    """A process group by which a call's processes can be found and ended later: pgid, and the leader's start time in
    epoch seconds so that a reused number is never taken for it.
    """

    group: int
    started: float


class ToolOutcome(msgspec.Struct, frozen=True):
    """What a call gave. ``text`` goes to the model; ``summary`` is one short line for the card (``exit 1``,
    ``214 lines``); ``facts`` are small figures for the record (exit_code, lines, bytes, path ...). ``whole`` is the
    receipt of all of it, where ``text`` holds only its beginning and its end, or says what it is.
    ``untouched`` is the receipt of what the tool really gave where ``text`` is one representation of it; ``images`` go
    to the model beside the text.
    """

    text: str
    is_error: bool = False
    summary: str = ""
    facts: dict[str, str | int | float | bool] = {}
    whole: BlobRef | None = None
    untouched: BlobRef | None = None
    images: tuple[ImageBlock, ...] = ()


class FileStamp(msgspec.Struct, frozen=True):
    """A file's identity when it was read: modification time in ns, size in bytes, sha-256 of the content."""

    mtime_ns: int
    size: int
    sha256: str


class ToolContext(msgspec.Struct):
    """What a call may know of its run. ``seen`` maps real paths to what was read, and is the one thing tools share."""

    root: Path
    """The project root, resolved."""
    denied: tuple[Path, ...]
    """Resolved folders and files no tool may reach, not even by a link: .geode, .git/hooks, user folders, key files."""
    session_id: str
    deadline_s: float = 120.0
    """Wall-clock bound of one call, seconds (RUNTIME.md 8.7)."""
    secret_names: tuple[str, ...] = ()
    """Environment variables that commands must not see."""
    seen: dict[str, FileStamp] = {}
    page_tokens: Callable[[], int] | None = None
    """Tokens that one page of a stored result may take."""
    receipts: Callable[[], Mapping[str, BlobRef]] | None = None
    """Reference -> receipt of the results that were cut and have no file of their own."""
    spool: Callable[[], Spool] | None = None
    """Begins a receipt of an output that is too large for memory. Raises ``OSError``, `StoreError`."""
    plan: Callable[[tuple[tuple[str, str], ...]], Awaitable[None]] | None = None
    """Records the task list: ((step, status), ...)."""


class Prepared(Protocol):
    """A checked call that has had no effect yet."""

    process: ProcessMark | None

    async def run(self) -> ToolOutcome:
        """Have the effect. Cancelling ends every process of the call before it returns."""
        ...

    async def abandon(self) -> None:
        """Give it up without effect."""
        ...


class Tool(Protocol):
    """A tool the agent may call."""

    spec: ToolSpec
    safety: Safety
    polls: bool
    """Waiting for something by asking again is its normal use: judged by time, not by repetition."""

    def brief(self, arguments: str) -> str:
        """One line that says what the call is about (the path, the pattern, the command); never raises."""
        ...

    async def prepare(self, arguments: str, context: ToolContext) -> Prepared:
        """Check ``arguments`` (JSON text as the model sent it). Raises `ToolRefused`."""
        ...


@runtime_checkable
class Foreign(Protocol):
    """A tool that another program describes. What was allowed of it holds for the tool as it was described then."""

    fingerprint: str
    """Changes with everything that is told of the tool."""


class Simple:
    """A `Prepared` for tools without a process: runs one coroutine function."""

    process: ProcessMark | None = None

    def __init__(self, effect: Callable[[], Awaitable[ToolOutcome]]) -> None:
        self._effect = effect

    async def run(self) -> ToolOutcome:
        """Have the effect."""
        return await self._effect()

    async def abandon(self) -> None:
        """Nothing was begun."""
