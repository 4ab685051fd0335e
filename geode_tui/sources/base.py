"""What a foreign run is made of, whoever wrote it: the words, answers and boundaries of one conversation in order."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from geode_tui.core.messages import Message
from geode_tui.core.usage import Usage


class Said(msgspec.Struct, frozen=True):
    """A message that is no answer: a person's words, a tool's result, a note of the program. ``at`` in epoch seconds,
    0 where the source does not say.
    """

    message: Message
    at: float


class Answer(msgspec.Struct, frozen=True):
    """One answer of a model, put together from all its records. ``usage`` is None where the source has no figures.

    ``prompt_tokens`` is the size of the conversation that was sent, 0 where it is not known: of an answer that took
    several calls at the provider, that of its last ``message`` call.
    """

    answer_id: str
    model: str
    message: Message
    usage: Usage | None
    prompt_tokens: int
    stop_reason: str
    at: float
    ended_at: float


class Compacted(msgspec.Struct, frozen=True):
    """What came before is not sent any more; a summary follows as a message. Tokens as the source gives them."""

    trigger: str
    tokens_before: int | None
    tokens_after: int | None
    at: float


Item: TypeAlias = Said | Answer | Compacted


class Thread(msgspec.Struct, frozen=True):
    """One conversation. ``agent_id`` is empty for the main one."""

    agent_id: str
    items: tuple[Item, ...]

    @property
    def usage(self) -> Usage:
        """The tokens of all its answers."""
        total = Usage()
        for item in self.items:
            if isinstance(item, Answer) and item.usage is not None:
                total = total.plus(item.usage)
        return total


class ForeignRun(msgspec.Struct, frozen=True):
    """A transcript file as read.

    Attributes:
        format: Its origin, as `sessions` names it: ``claude-code`` ...
        session_id: The id that its program gave the session; empty where the file has none.
        title: One line, possibly empty.
        cwd: The folder it ran in, possibly empty.
        main: The conversation with the person. In a sub-agent's own file, the sub-agent's.
        agents: Conversations of sub-agents that stand in the same file.
        rows: Lines that are not blank.
        skipped: Lines, or torn pieces of lines, that could not be read.
        unknown: Record types that this program does not know, and how many rows have them.
    """

    format: str
    session_id: str
    title: str
    cwd: str
    main: Thread
    agents: tuple[Thread, ...]
    rows: int
    skipped: int
    unknown: dict[str, int]
