"""The help: every key by where it works, and every slash command, made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.dom import DOMNode

from geode_tui.tui.keys import shown
from geode_tui.tui.look import Look
from geode_tui.tui.slash import COMMANDS


def help_lines(panes: Iterable[type[DOMNode]], look: Look) -> list[tuple[str, str]]:
    """Pairs of (keys, what they do); a pair with an empty second part is a heading. Raises nothing: a binding without
    a text of its own shows its description.
    """
    out: list[tuple[str, str]] = []
    for pane in panes:
        rows = [_row(b, look) for b in pane.__dict__.get("BINDINGS", ()) if isinstance(b, Binding) and b.id]
        if rows:
            area = rows[0][0].partition(".")[0]
            heading = look.t(f"help.{area}") if look.strings.has(f"help.{area}") else area
            out += [(heading, ""), *((keys, text) for _, keys, text in rows), ("", " ")]
    out.append((look.t("help.commands"), ""))
    out += [(f"/{name}", look.t(f"slash.help_{name}")) for name in COMMANDS]
    return out


def _row(binding: Binding, look: Look) -> tuple[str, str, str]:
    keys = [key for key in binding.key.split(",") if key.isascii()]
    key = f"key.{binding.id}"
    text = look.t(key) if look.strings.has(key) else binding.description
    return binding.id or "", "  ".join(shown(k) for k in keys), text
