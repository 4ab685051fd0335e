"""How many tokens a prompt takes, by category, before its provider has counted it.

Script-aware: about one token for a CJK or Hangul syllable, four characters for one of the rest (RUNTIME.md 1.6). Once
a provider has confirmed a figure, only what was appended since is estimated.
"""

from __future__ import annotations

import re

import msgspec

from geode_tui.core.events import ContextFigures, Measured
from geode_tui.core.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.routes.budget import Budget
from geode_tui.routes.catalog import Route

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1_600
"""An image of common size; images by pixel size come with the route's own rule."""
MESSAGE_OVERHEAD = 4
CATEGORIES = (
    "system",
    "tools",
    "native",
    "summaries",
    "user",
    "agent",
    "thinking",
    "results",
    "images",
    "unattributed",
)
SURE_SHARE = 0.4
"""Of an estimate by characters: no tokeniser in use needs fewer tokens."""
_ELUSIVE = frozenset({"thinking", "native", "images"})
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")


def text_tokens(text: str) -> int:
    """Estimated tokens of ``text``."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // CHARS_PER_TOKEN)


def block_part(block: Block) -> tuple[str, int]:
    """(category, estimated tokens) of one block of an answer."""
    match block:
        case TextBlock():
            return "agent", text_tokens(block.text)
        case ThinkingBlock():
            return "thinking", text_tokens(block.text) if block.raw is None else text_tokens(block.raw)
        case ToolCallBlock():
            return "agent", text_tokens(block.name) + text_tokens(block.arguments)
        case ImageBlock():
            return "images", IMAGE_TOKENS
        case OpaqueBlock():
            return "native", text_tokens(block.raw)
        case ToolResultBlock():
            return "results", text_tokens(block.text)


def message_parts(message: Message) -> dict[str, int]:
    """Tokens of a message by category."""
    parts: dict[str, int] = {}
    for block in message.blocks:
        name, tokens = block_part(block)
        if message.role == "user" and name == "agent":
            name = "user"
        parts[name] = parts.get(name, 0) + tokens
        if isinstance(block, ToolResultBlock):
            images = sum(isinstance(b, ImageBlock) for b in block.content)
            if images:
                parts["images"] = parts.get("images", 0) + images * IMAGE_TOKENS
    home = {"user": "user", "assistant": "agent", "tool": "results"}[message.role]
    parts[home] = parts.get(home, 0) + MESSAGE_OVERHEAD
    return parts


def tools_tokens(tools: tuple[ToolSpec, ...]) -> int:
    """Tokens of the real schemas, as they are sent."""
    return sum(text_tokens(msgspec.json.encode(tool).decode()) for tool in tools)


def _solid(parts: dict[str, int]) -> int:
    return sum(tokens for name, tokens in parts.items() if name not in _ELUSIVE)


class Anchor(msgspec.Struct, frozen=True):
    """The provider's own count of a prompt of ``messages`` messages, and what it was counted for."""

    tokens: int
    messages: int
    route: tuple[str, str, str]
    fixed: tuple[int, int]
    """Estimated tokens of system and tools then: another size means another prefix, and no anchor."""


class PromptMeter:
    """Running sums over a conversation that only grows: an estimate costs what was appended."""

    def __init__(self) -> None:
        self._parts: list[dict[str, int]] = []
        self._totals: dict[str, int] = {}
        self.anchor: Anchor | None = None

    def append(self, message: Message) -> int:
        """Count a message in; returns its estimated tokens."""
        parts = message_parts(message)
        self._parts.append(parts)
        for name, tokens in parts.items():
            self._totals[name] = self._totals.get(name, 0) + tokens
        return sum(parts.values())

    def confirm(self, tokens: int, messages: int, route: Route, fixed: tuple[int, int]) -> None:
        """The provider counted ``tokens`` for the first ``messages`` messages and these fixed parts."""
        if 0 < tokens <= route.window:
            self.anchor = Anchor(tokens, messages, (route.model, route.provider, route.source), fixed)

    def least(self, route: Route, fixed: tuple[int, int]) -> int:
        """The fewest tokens that a prompt of the whole conversation can take, whatever its tokeniser: well under half
        of what is estimated, or nearly what was confirmed before. Thinking, native items and images are left out, as a
        provider may drop or count them in its own way.
        """
        anchor = self.anchor
        if anchor is None or anchor.route != (route.model, route.provider, route.source) or anchor.fixed != fixed:
            return int((sum(fixed) + _solid(self._totals)) * SURE_SHARE)
        elusive = sum(self._totals.get(name, 0) for name in _ELUSIVE)
        appended = sum(_solid(parts) for parts in self._parts[anchor.messages :])
        return int(anchor.tokens * 0.95 - 1.5 * elusive + appended * SURE_SHARE)

    def figures(self, route: Route, budget: Budget, fixed: tuple[int, int], *, simulated: bool) -> ContextFigures:
        """The gauge for the next request: ``fixed`` is the estimate of (system, tools)."""
        parts = {"system": fixed[0], "tools": fixed[1], **self._totals}
        used, measured = sum(parts.values()), "estimated"
        anchor = self.anchor
        if anchor and anchor.route == (route.model, route.provider, route.source) and anchor.fixed == fixed:
            appended = self._parts[anchor.messages :]
            used = anchor.tokens + sum(sum(p.values()) for p in appended)
            measured = "estimated" if appended else "confirmed"
        return figures(used, parts, route, budget, measured, simulated=simulated)  # type: ignore[arg-type]


def figures(
    used: int, parts: dict[str, int], route: Route, budget: Budget, measured: Measured, *, simulated: bool
) -> ContextFigures:
    """A gauge of ``used`` tokens whose parts add up to it."""
    return ContextFigures(
        used=used,
        window=budget.window,
        output_reserve=budget.reserve,
        budget=budget.prompt,
        warning=budget.warning,
        critical=budget.critical,
        warning_percent=budget.warning_percent,
        critical_percent=90,
        provenance=route.provenance,
        measured=measured,
        parts=balanced(parts, used),
        input_cap=budget.input_cap,
        simulated=simulated,
    )


def balanced(parts: dict[str, int], used: int) -> dict[str, int]:
    """``parts`` made to add up to ``used``: what is missing is "unattributed", what is too much is scaled away."""
    kept = {name: tokens for name, tokens in parts.items() if tokens > 0}
    total = sum(kept.values())
    if total < used:
        return {**kept, "unattributed": used - total}
    if total == used or not total:
        return kept
    scaled = {name: tokens * used // total for name, tokens in kept.items()}
    largest = max(scaled, key=lambda name: scaled[name])
    scaled[largest] += used - sum(scaled.values())
    return scaled
