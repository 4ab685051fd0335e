"""Where in a conversation signed thinking stands, and what becomes of that where a compaction takes what was before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.lab.compaction import is_on_demand, swap_of
from tests.lab.sealing import mac
from tests.lab.tokens import canonical, text_blocks


class Place:
    """A position: what was said before it, cache marks and thinking aside.

    Thinking is no part of it because a client may leave that out, of any message; nor are the borders between messages
    of one role, which no model sees.

    A position has one name, and more behind a compaction that was asked for: thinking that was written before it goes
    by what really was said, where it directly follows on that; thinking that is written after it goes by the block.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.names: tuple[str, ...] = ("",)
        """The last one is the name for what is written here; what was written earlier may go by another."""
        self._role = ""
        self._swapped = False

    def add(self, role: str, block: Mapping[str, Any]) -> None:
        """``block`` comes next."""
        if block.get("type") in {"thinking", "redacted_thinking"}:
            return
        swap = swap_of(self._secret, block) if is_on_demand(block) else None
        if swap is not None:
            self.names = (*swap.names, mac(self._secret, canonical(block)))
            self._role, self._swapped = swap.role, True
            return
        said = mac(self._secret, canonical([role, block]))
        self.names = tuple(mac(self._secret, name + said) for name in self._names_of(role))
        self._role, self._swapped = role, False

    def signatures(self, thinking: str) -> list[str]:
        """The signatures that thinking may have here: an HMAC of its text, a dot, and one of a name and its text."""
        text = mac(self._secret, thinking)
        return [f"{text}.{mac(self._secret, name + thinking)}" for name in self._names_of("assistant")]

    def _names_of(self, role: str) -> tuple[str, ...]:
        """The names of what ``role`` says here: directly behind a block two messages of one role would be one, so what
        was kept is not what followed on the summarised messages any more."""
        return self.names[-1:] if self._swapped and role == self._role else self.names


def place_of(secret: bytes, messages: Iterable[Mapping[str, Any]]) -> Place:
    """The position after ``messages``."""
    place = Place(secret)
    for message in messages:
        for block in text_blocks(message["content"]):
            place.add(message["role"], block)
    return place


def sign(secret: bytes, thinking: str, before: Iterable[Mapping[str, Any]], beside: Iterable[Mapping[str, Any]]) -> str:
    """The signature of a thinking block after the messages ``before`` and the blocks ``beside`` of its own message."""
    return place_of(secret, [*before, {"role": "assistant", "content": list(beside)}]).signatures(thinking)[-1]
