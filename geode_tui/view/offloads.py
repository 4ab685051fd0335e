"""Results that left the context, as the Offloads tab and ``geode-tui offloads`` tell of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.view.reports import iso

Standing: TypeAlias = Literal["stored", "damaged", "gone"]
"""Whether its file is there and is what it says."""
Order: TypeAlias = Literal["newest", "largest", "recalled"]
ORDERS: tuple[Order, ...] = ("newest", "largest", "recalled")


class OffloadRow(msgspec.Struct, frozen=True):
    """A result of a run that has a file. ``at`` is when it was stored (epoch seconds), ``about`` what its call was
    about, ``recalled`` the rounds in which it was read again. ``bytes`` and ``sha256`` are known once its file was
    looked at; ``expires_at`` is None where it does not expire.
    """

    ref_id: str
    at: float = 0.0
    tool: str = ""
    about: str = ""
    round: int = 0
    tokens: int = 0
    extrapolated: bool = False
    bytes: int | None = None
    sha256: str = ""
    standing: Standing = "stored"
    referenced: bool = False
    pinned: bool = False
    expires_at: float | None = None
    recalls: int = 0
    recalled: tuple[int, ...] = ()


class OffloadTable(msgspec.Struct, frozen=True):
    """All of a run, the newest first, and how many files were set aside because they were damaged."""

    rows: tuple[OffloadRow, ...] = ()
    set_aside: int = 0

    @property
    def kept_out(self) -> int:
        """Tokens that the model is not sent because of them."""
        return sum(row.tokens for row in self.rows if row.referenced)


def arranged(rows: Iterable[OffloadRow], order: Order) -> tuple[OffloadRow, ...]:
    """``rows``, which come newest first, in ``order``."""
    if order == "largest":
        return tuple(sorted(rows, key=lambda row: -row.tokens))
    if order == "recalled":
        return tuple(sorted(rows, key=lambda row: -row.recalls))
    return tuple(rows)


def matches(row: OffloadRow, wanted: str) -> bool:
    """Whether the row says every word of ``wanted``; ``r12`` is a round."""
    text = f"{row.ref_id} {row.tool} {row.about}".casefold()
    return all(word in text or word == f"r{row.round}" for word in wanted.casefold().split())


def offload_report(row: OffloadRow) -> dict[str, Any]:
    """One of ``offloads`` (PRODUCT.md, "JSON shapes")."""
    return {
        "ref_id": row.ref_id,
        "tool": row.tool,
        "tokens": row.tokens,
        "bytes": row.bytes,
        "sha256": row.sha256,
        "created_at": iso(row.at),
        "expires_at": iso(row.expires_at) if row.expires_at is not None else None,
        "pinned": row.pinned,
        "referenced": row.referenced,
        "recalls": row.recalls,
        "state": row.standing,
    }
