"""What a compaction by hand would do, as a screen shows it before anybody pays for it. Values only.

Tokens are estimates, texts from data are raw.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.core.events import ContextFigures

Strategy: TypeAlias = Literal["threshold", "on_demand", "client_summary", "local_summary", "mask_only", "prune", "none"]
Obstacle: TypeAlias = Literal["", "recorded", "empty", "native", "on_demand", "unknown", "nothing", "no_gain"]
"""Why nothing would be done: another program recorded the run, nothing was sent yet, the provider's own block stands in
an answer, or first and cannot be compacted again; the model's rules are not known; there is nothing old enough; it
would not make the prompt smaller.
"""
KeepNote: TypeAlias = Literal["", "window", "batch"]
"""Why other than the asked number of messages stay: a small window keeps fewer, or an answer goes with its results."""
Fate: TypeAlias = Literal["summarised", "left_out", "native", "changed", "new"]
"""What becomes of a message: something stands for it, it is sent in another form, or it stands for others."""


class KeptPart(msgspec.Struct, frozen=True):
    """Messages that stay as they are. ``rule`` is ``prefix`` (system text and tools), ``recent``, or the rule of
    `context.protect` that keeps them.
    """

    rule: str
    messages: int
    tokens: int


class GonePart(msgspec.Struct, frozen=True):
    """What would not be sent any more of one kind of the gauge; ``count`` messages, 0 where they are not counted."""

    kind: str
    count: int
    tokens: int


class Span(msgspec.Struct, frozen=True):
    """The messages that would not be sent any more: seqs, how many, and the rounds (turn, round) they are of."""

    first: int
    upto: int
    messages: int
    first_round: tuple[int, int] = (0, 0)
    last_round: tuple[int, int] = (0, 0)


class Results(msgspec.Struct, frozen=True):
    """Tool results among them: those that can be recalled by reference, those whose file is gone, and those that no
    file holds. ``tokens`` are those of the whole results that have or had a file.
    """

    recallable: int = 0
    expired: int = 0
    unstored: int = 0
    tokens: int = 0


class CacheBreak(msgspec.Struct, frozen=True):
    """What the next request reads anew instead of from its provider's cache, and what that costs more, micro-dollars;
    None without a price.
    """

    tokens: int
    micro: int | None


class Masking(msgspec.Struct, frozen=True):
    """What masking old results alone would come to: how many would be, and the tokens of the prompt then."""

    results: int = 0
    tokens: int = 0


class MessageChange(msgspec.Struct, frozen=True):
    """A message that would be sent in another form; seq 0 is what would stand for others. ``text`` is raw and short."""

    seq: int
    turn: int
    round: int
    kind: str
    text: str
    before: int
    after: int
    fate: Fate


class Refusal(msgspec.Struct, frozen=True):
    """Why nothing would be done, and what is still possible.

    ``line`` says it in English. The provider's block stands in round ``block`` and ``model`` wrote it; a fork can begin
    after round ``fork`` (both (turn, round), zeros for none); the provider compacts again at ``compacts_at`` tokens, 0
    where it does not by itself. ``undo``: an undo takes the block back.
    """

    obstacle: Obstacle
    line: str
    detail: str = ""
    block: tuple[int, int] = (0, 0)
    model: str = ""
    fork: tuple[int, int] = (0, 0)
    compacts_at: int = 0
    undo: bool = False


class CompactionPreview(msgspec.Struct, frozen=True):
    """Everything that the compaction's screen shows.

    ``keep`` is what was asked for (0: the default), ``keep_recent`` what that comes to, ``keep_default`` the default
    before the window's own bound. ``cost_micro`` is the summary's: 0 where no model is asked, None without a price;
    ``seconds`` is None where nothing is known of the model's pace. ``written`` are the tokens of what would stand for
    the older messages.
    """

    allowed: bool
    strategy: Strategy
    reason: str
    keep: int = 0
    keep_recent: int = 0
    keep_default: int = 0
    keep_note: KeepNote = ""
    refusal: Refusal | None = None
    mode: str = "text"
    tokens_before: int = 0
    tokens_after: int = 0
    written: int = 0
    before: ContextFigures | None = None
    after: ContextFigures | None = None
    span: Span | None = None
    kept: tuple[KeptPart, ...] = ()
    gone: tuple[GonePart, ...] = ()
    results: Results = Results()
    cost_micro: int | None = 0
    seconds: int | None = None
    cache: CacheBreak | None = None
    masking: Masking = Masking()
    changes: tuple[MessageChange, ...] = ()
