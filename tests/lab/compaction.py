"""The vendor's own compactions: blocks that stand for everything before them, and what the model then reads.

One kind it writes by itself, within an answer. The other is asked for; it carries, sealed, where the conversation
stood that it summarises, so that thinking in what follows can still be told to belong there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tests.lab.sealing import mac

Seal: TypeAlias = Literal["good", "edited", "forged"]
_BY_ITSELF, _ON_DEMAND = "cmp_", "ond_"


@dataclass(frozen=True)
class Swap:
    """Where the conversation stood that a block summarises: the names of that place, and whose the last message was."""

    names: tuple[str, ...]
    role: str


def compaction(secret: bytes, content: str) -> dict[str, Any]:
    """A block that the vendor writes by itself, as it is to be sent back."""
    return {
        "type": "compaction",
        "content": content,
        "encrypted_content": mac(secret, content)[:16],
        "signature": _sealed(secret, _BY_ITSELF, _digest(content)),
    }


def asked_compaction(secret: bytes, content: str, swap: Swap) -> dict[str, Any]:
    """A block that was asked for, as it is to be sent back first of all."""
    named = ",".join((_digest(content), swap.role, *swap.names))
    return {"type": "compaction", "content": content, "signature": _sealed(secret, _ON_DEMAND, named)}


def failed_compaction() -> dict[str, Any]:
    """A block without a text: it changes nothing, and is to be sent back as well."""
    return {"type": "compaction", "content": None, "encrypted_content": None, "signature": None}


def opening(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block that the vendor wrote by itself as it is streamed: the opening object, and the one delta that holds its
    text."""
    text = {name: block[name] for name in ("content", "encrypted_content")}
    return {**block, **dict.fromkeys(text)}, {"type": "compaction_delta", **text}


def is_on_demand(block: Mapping[str, Any]) -> bool:
    """Whether ``block`` says of itself that it was asked for."""
    return block.get("type") == "compaction" and str(block.get("signature")).startswith(_ON_DEMAND)


def seal_of(secret: bytes, block: Mapping[str, Any]) -> Seal:
    """What the signature of a block with a text says of it."""
    content = str(block["content"])
    prefix = _ON_DEMAND if is_on_demand(block) else _BY_ITSELF
    named = _named(secret, prefix, block)
    if named is None:
        return "forged"
    beside = None if prefix == _ON_DEMAND else mac(secret, content)[:16]
    whole = named.partition(",")[0] == _digest(content) and block.get("encrypted_content") == beside
    return "good" if whole else "edited"


def swap_of(secret: bytes, block: Mapping[str, Any]) -> Swap | None:
    """What a block that was asked for carries; None for one whose signature does not verify."""
    named = _named(secret, _ON_DEMAND, block)
    if named is None:
        return None
    _, role, *names = named.split(",")
    return Swap(tuple(names), role)


def still_read(blocks: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Of a conversation's blocks, each with its role, those from the last compaction with a text on."""
    for at in reversed(range(len(blocks))):
        if blocks[at][1].get("type") == "compaction" and blocks[at][1].get("content"):
            return blocks[at:]
    return blocks


def _sealed(secret: bytes, prefix: str, named: str) -> str:
    return f"{prefix}{named}.{mac(secret, prefix + named)}"


def _named(secret: bytes, prefix: str, block: Mapping[str, Any]) -> str | None:
    """What a signature of that kind seals; None for one that was not made here."""
    named, _, sealed = str(block.get("signature") or "").removeprefix(prefix).partition(".")
    return named if sealed == mac(secret, prefix + named) else None


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
