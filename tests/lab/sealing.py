"""What only the lab's model can have written: keyed digests, and sealed reasoning that has to come back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

_PREFIX = "gAAAAAB"
"""What the vendor's sealed texts begin with."""


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
