"""What only the lab's model can have written: signatures of thinking, and sealed reasoning that has to come back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from tests.lab.tokens import canonical, text_blocks

_PREFIX = "gAAAAAB"
"""What the vendor's sealed texts begin with."""


def sign(secret: bytes, thinking: str, before: list[Any], beside: list[Any]) -> str:
    """The signature of a thinking block: an HMAC of its text, a dot, and one of its text and its place.

    ``before`` are the messages before its own, ``beside`` the blocks before it in its own message.
    """
    place = [{"role": m["role"], "content": text_blocks(m["content"])} for m in before]
    return f"{mac(secret, thinking)}.{mac(secret, canonical([place, beside]) + thinking)}"


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
