"""What of a message takes room in a prompt, as counts that a route's calibration turns into tokens. Pure.

A `Load` is linear: loads add up, and the tokens of a sum are the sum of the tokens. So a conversation needs one running
sum, and what joined or left it is a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import add, sub
from typing import Any, TypeAlias

import msgspec

from geode_tui.context.images import by_area, by_tiles
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
from geode_tui.core.tokens import CHARS_PER_TOKEN, TokenCounter

Load: TypeAlias = tuple[float, ...]
Category: TypeAlias = str

FEATURES = (
    "text", "thinking", "arguments", "results",
    "messages", "thoughts", "calls", "fields", "returns",
    "sealed", "pixels", "tiles",
)  # fmt: skip
"""What is counted: tokens of four kinds of text as the counter sees them, the frames that a wire puts around them
(``thoughts`` thinking blocks, ``fields`` arguments of calls, ``returns`` results), tokens of content that only its
provider can read, and tokens of images by each of two rules."""
NOTHING: Load = (0.0,) * len(FEATURES)
_AT = {name: index for index, name in enumerate(FEATURES)}


def load(**counts: float) -> Load:
    """A load of these features."""
    made = [0.0] * len(FEATURES)
    for name, count in counts.items():
        made[_AT[name]] = count
    return tuple(made)


_MESSAGE = load(messages=1)


def plus(a: Load, b: Load) -> Load:
    """Both together."""
    return tuple(map(add, a, b))


def minus(a: Load, b: Load) -> Load:
    """What of ``a`` is not in ``b``."""
    return tuple(map(sub, a, b))


def total(loads: Iterable[Load]) -> Load:
    """All together."""
    return tuple(map(sum, zip(*loads, strict=True))) or NOTHING


def join(loads: dict[Category, Load], category: Category, part: Load) -> None:
    """Add ``part`` to ``loads``."""
    loads[category] = plus(loads[category], part) if category in loads else part


def block_load(block: Block, counter: TokenCounter) -> tuple[Category, Load]:
    """(category, load) of a block of an answer, without the images in a result.

    Thinking that was never signed is shown and never sent. Signed thinking whose text its provider keeps to itself
    takes the room of what is sealed in it.
    """
    match block:
        case TextBlock():
            return "agent", load(text=counter.count(block.text))
        case ThinkingBlock():
            if block.raw is None:
                return "thinking", NOTHING
            if not block.text:
                return "thinking", load(sealed=_sealed(block.raw), thoughts=1)
            return "thinking", load(thinking=counter.count(block.text), thoughts=1)
        case ToolCallBlock():
            texts = _argument_texts(block.arguments)
            fields = len(texts) // 2
            return "agent", load(
                arguments=counter.count(block.name) + sum(map(counter.count, texts)), calls=1, fields=fields
            )
        case ImageBlock():
            return "images", load(pixels=by_area(block), tiles=by_tiles(block))
        case OpaqueBlock():
            return "native", load(sealed=_sealed(block.raw))
        case ToolResultBlock():
            return "results", load(results=counter.count(block.text), returns=1)


def message_loads(message: Message, counter: TokenCounter, *, summary: bool = False) -> dict[Category, Load]:
    """Loads of a message by category; a ``summary`` stands for messages that are not sent any more."""
    made: dict[Category, Load] = {}
    own = "summaries" if summary or message.origin == "summary" else "user"
    for block in message.blocks:
        category, part = block_load(block, counter)
        if message.role == "user" and category == "agent":
            category = own
        join(made, category, part)
        if isinstance(block, ToolResultBlock):
            for image in (b for b in block.content if isinstance(b, ImageBlock)):
                join(made, *block_load(image, counter))
    if message.role != "tool":
        join(made, own if message.role == "user" else "agent", _MESSAGE)
    return made


def _sealed(raw: str) -> int:
    return -(-len(raw) // CHARS_PER_TOKEN)


def _argument_texts(arguments: str) -> list[str]:
    """Names and values of a call's arguments in turn, as the model wrote them: a text without its JSON escapes."""
    try:
        fields: Any = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        fields = None
    if not isinstance(fields, dict):
        return ["", arguments]
    texts: list[str] = []
    for name, value in fields.items():
        texts += [str(name), value if isinstance(value, str) else msgspec.json.encode(value).decode()]
    return texts
