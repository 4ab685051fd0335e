"""Small text helpers the tools share: sizes, and one-line forms."""

from __future__ import annotations


def size_text(count: int) -> str:
    """``count`` bytes in decimal units, e.g. ``812 B``, ``1.2 kB``, ``2.0 MB``."""
    if count < 1_000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1_000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1_000:.1f} TB"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 line``, ``2,000 lines``; ``plural`` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def one_line(text: str, limit: int = 120) -> str:
    """``text`` on one line, cut to ``limit`` characters with an ellipsis."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def quoted(given: str) -> str:
    """A name as the model gave it, in quotes, control characters escaped, cut to 200 characters."""
    return repr(given if len(given) <= 200 else given[:199] + "…")


def without_surrogates(text: str) -> str:
    """``text`` as it may go into the log: a file name's undecodable bytes become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def binary_text(size: int, sha256: str) -> str:
    """What stands for binary content of ``size`` bytes; ``sha256`` is empty where it is not known."""
    return f"[binary {size_text(size)} sha256={sha256}]" if sha256 else f"[binary {size_text(size)}]"
