"""The vendor's own compaction: a block that stands for everything before it, and what the model then reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tests.lab.sealing import mac

Seal: TypeAlias = Literal["good", "edited", "forged"]
_PREFIX = "cmp_"


def compaction(secret: bytes, content: str) -> dict[str, Any]:
    """A block with that text, as it is to be sent back."""
    return {
        "type": "compaction",
        "content": content,
        "encrypted_content": mac(secret, content)[:16],
        "signature": _signature(secret, content),
    }


def failed_compaction() -> dict[str, Any]:
    """A block without a text: it changes nothing, and is to be sent back as well."""
    return {"type": "compaction", "content": None, "encrypted_content": None, "signature": None}


def opening(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``block`` as it is streamed: the opening object, and the one delta that holds its text."""
    text = {name: block[name] for name in ("content", "encrypted_content")}
    return {**block, **dict.fromkeys(text)}, {"type": "compaction_delta", **text}


def seal_of(secret: bytes, block: Mapping[str, Any]) -> Seal:
    """What the signature of a block with a text says of it."""
    content = str(block["content"])
    given = str(block.get("signature", "")).removeprefix(_PREFIX)
    named, _, sealed = given.partition(".")
    if sealed != mac(secret, named):
        return "forged"
    whole = named == _digest(content) and block.get("encrypted_content") == mac(secret, content)[:16]
    return "good" if whole else "edited"


def still_read(blocks: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Of a conversation's blocks, each with its role, those from the last compaction with a text on."""
    for at in reversed(range(len(blocks))):
        if blocks[at][1].get("type") == "compaction" and blocks[at][1].get("content"):
            return blocks[at:]
    return blocks


def _signature(secret: bytes, content: str) -> str:
    digest = _digest(content)
    return f"{_PREFIX}{digest}.{mac(secret, digest)}"


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
