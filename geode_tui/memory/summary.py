"""What the tiers come to in one short line (RUNTIME.md 6). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode_tui.context.injection import cut, flat

MOST_CHARS: Final = 280
"""Of the whole line."""
IDENTITY_CHARS: Final = MOST_CHARS * 10 // 100
PROFILE_CHARS: Final = IDENTITY_CHARS
ORGANIZATION_CHARS: Final = MOST_CHARS * 25 // 100
PROJECT_CHARS: Final = MOST_CHARS * 25 // 100
SESSION_CHARS: Final = MOST_CHARS - IDENTITY_CHARS - ORGANIZATION_CHARS - PROJECT_CHARS
RESULTS: Final = 3
"""Earlier results, the newest ones."""
_WORTH: Final = 20
"""Characters that must be left for a part of a result to be worth them."""
_BETWEEN: Final = " | "


def llm_summary(values: Mapping[str, Any]) -> str:
    """The line, of at most `MOST_CHARS` characters; empty where no tier has anything for it."""
    return cut(_BETWEEN.join(part for part in _parts(values) if part), MOST_CHARS)


def mission_of(identity: str) -> str:
    """The first line of prose of an identity file: no heading, no quotation, no rule."""
    lines = (line.strip() for line in identity.splitlines())
    return next((line for line in lines if line.strip("-=* ") and line[0] not in "#>"), "")


def _parts(values: Mapping[str, Any]) -> Iterator[str]:
    if values.get("_soul_loaded"):
        yield _labelled("Mission", mission_of(str(values.get("_soul", ""))), IDENTITY_CHARS)
    if values.get("_user_profile_loaded"):
        yield _labelled("", values.get("_user_profile_summary"), PROFILE_CHARS)
    if values.get("_org_loaded"):
        yield _labelled("Org", values.get("organization_strategy"), ORGANIZATION_CHARS)
    if values.get("_project_loaded"):
        yield _labelled("Project", values.get("project_goal"), PROJECT_CHARS)
    if values.get("_session_loaded"):
        yield from _results(values.get("previous_results"))
    yield _labelled("Long context", values.get("_long_context_summary"), SESSION_CHARS)


def _results(found: Any) -> Iterator[str]:
    """The newest of earlier results first, as many as there is room for; the last one may be cut."""
    room = SESSION_CHARS
    for result in reversed(found[-RESULTS:] if isinstance(found, list) else []):
        text = flat(str(result))
        if len(text) > room:
            if room > _WORTH:
                yield _labelled("Prev", text, room)
            return
        yield _labelled("Prev", text, room)
        room -= len(f"Prev: {text}{_BETWEEN}") if text else 0


def _labelled(label: str, value: Any, most: int) -> str:
    """``value`` in one line of at most ``most`` characters behind its label; empty where it says nothing."""
    text = cut(flat(str(value)), most) if value else ""
    return f"{label}: {text}" if label and text else text
