"""What only the lab's model can have written: signatures of thinking, and sealed reasoning that has to come back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.lab.tokens import canonical, text_blocks

_PREFIX = "gAAAAAB"
"""What the vendor's sealed texts begin with."""


class Place:
    """Where in a conversation a thinking block stands: what was said before it, cache marks and other thinking aside.

    Thinking is no part of it because a client may leave that out, of any message; nor are the borders between messages
    of one role, which no model sees.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._before = hmac.new(secret, digestmod=hashlib.sha256)

    def add(self, role: str, block: Mapping[str, Any]) -> None:
        """``block`` comes next."""
        if block.get("type") not in {"thinking", "redacted_thinking"}:
            self._before.update(canonical([role, block]).encode() + b"\n")

    def sign(self, thinking: str) -> str:
        """The signature of a thinking block here: an HMAC of its text, a dot, and one of its place and its text."""
        here = self._before.copy()
        here.update(thinking.encode())
        return f"{mac(self._secret, thinking)}.{here.hexdigest()}"


def sign(secret: bytes, thinking: str, before: Iterable[Mapping[str, Any]], beside: Iterable[Mapping[str, Any]]) -> str:
    """The signature of a thinking block after the messages ``before`` and the blocks ``beside`` of its own message."""
    place = Place(secret)
    for message in (*before, {"role": "assistant", "content": list(beside)}):
        for block in text_blocks(message["content"]):
            place.add(message["role"], block)
    return place.sign(thinking)


def mac(secret: bytes, text: str) -> str:
    """An HMAC of ``text`` in hexadecimal."""
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def seal(secret: bytes, item_id: str, text: str) -> str:
    """``text``, written as item ``item_id``, as a sealed text."""
    payload = json.dumps([item_id, text])
    return _PREFIX + base64.urlsafe_b64encode(f"{mac(secret, payload)}{payload}".encode()).decode()


def unseal(secret: bytes, sealed: str) -> tuple[str, str] | None:
    """The item id and text of a sealed text; None for anything but exactly what `seal` gave."""
    try:
        item_id, text = json.loads(base64.urlsafe_b64decode(sealed.removeprefix(_PREFIX))[64:])
        return (item_id, text) if hmac.compare_digest(seal(secret, item_id, text), sealed) else None
    except (ValueError, TypeError):
        return None
