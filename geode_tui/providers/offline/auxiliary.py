"""Answers to requests that are not turns: summaries, dreams and titles, drawn from the text they are given."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from geode_tui.core.messages import Message
from geode_tui.providers.base import Request
from geode_tui.providers.offline.evidence import Step, read_turns
from geode_tui.providers.offline.mentions import scan

SUMMARY_HEADINGS: Final = (
    "Active Task",
    "Goal",
    "Constraints & Preferences",
    "Completed Actions",
    "Active State",
    "Blocked",
    "Key Decisions",
    "Pending User Asks",
    "Relevant Files",
    "Remaining Work",
    "Critical Context",
)
"""RUNTIME.md 3.3, in its order."""
DREAM_HEADINGS: Final = (
    "Durable Facts",
    "Decisions",
    "Unresolved Tasks",
    "Stale Risks",
    "Useful Recall Queries",
    "Citations",
)
"""RUNTIME.md 5.1, in its order."""
_NONE: Final = "- none"
_RELEVANT: Final = re.compile(r"^#*\s*Relevant Files\s*$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_USER: Final = re.compile(
    r"^\W{0,4}(?:\d+\W{1,3})?(?:user|you|사용자)\b[^:\n]{0,40}[:\]]\s*(.+)$", re.IGNORECASE | re.MULTILINE
)
_RANGE: Final = re.compile(r"\bseq\s*[=:]?\s*(\d+)(?:\s*-\s*(\d+))?", re.IGNORECASE)


def auxiliary_text(request: Request) -> str:
    """The text for a summary, dream or title request. Only what the request contains is stated."""
    source = "\n".join(m.text for m in request.messages if m.role == "user")
    if request.purpose == "title":
        return _title(source)
    facts = _Facts(request, source)
    if request.purpose == "dream":
        return _sections(DREAM_HEADINGS, facts.dream())
    return _sections(SUMMARY_HEADINGS, facts.summary())


def covered_files(messages: tuple[Message, ...]) -> frozenset[str]:
    """Files that a summary in the conversation names as relevant: read before it, so not read for the first time."""
    texts = [m.text for m in messages if m.role == "user" and m.origin != "user_input"]
    found = [section for text in texts for section in _RELEVANT.findall(text)]
    return frozenset(p for section in found for p in re.findall(r"^\s*[-*] `([^`\n]+)`", section, re.MULTILINE))


def _title(source: str) -> str:
    line = next((x.strip() for x in source.splitlines() if x.strip()), "")
    return line if len(line) <= 60 else line[:59] + "…"


def _sections(headings: tuple[str, ...], rows: dict[str, list[str]]) -> str:
    return "\n\n".join(f"## {h}\n\n" + ("\n".join(f"- {r}" for r in rows.get(h, [])) or _NONE) for h in headings) + "\n"


class _Facts:
    """What can be read off a transcript, given as messages or as rendered text."""

    def __init__(self, request: Request, source: str) -> None:
        turns = read_turns(request.messages)
        self._steps: list[Step] = [s for t in turns for s in t.steps]
        asked = [" ".join(m.split())[:300] for m in _USER.findall(source)]
        self._asked = asked or [" ".join(source.split())[-300:]]
        _, mentions = scan(source[:200_000])
        named = Counter(m.text for m in mentions if m.kind == "file")
        named.update(s.path for s in self._steps if s.path)
        self._files = [p for p, _ in sorted(named.items(), key=lambda x: (-x[1], x[0]))][:40]
        self._calls = Counter(re.findall(r"\b(read_file|list_dir|glob|grep|write_file|edit_file|run_shell)\b", source))
        self._calls.update(s.name for s in self._steps)
        self._errors = [
            " ".join(x.split())[:200]
            for x in re.findall(r"^.*\b(?:refused|denied|not found|error:).*$", source, re.MULTILINE)
        ][:5]
        self._ranges = [(a, b or a) for a, b in _RANGE.findall(source)]

    def _actions(self) -> list[str]:
        return [f"{name}: {count} mentions" for name, count in sorted(self._calls.items()) if count]

    def summary(self) -> dict[str, list[str]]:
        """Rows by heading of a compaction summary."""
        return {
            "Active Task": self._asked[-1:],
            "Goal": self._asked[:1],
            "Completed Actions": self._actions(),
            "Blocked": self._errors,
            "Pending User Asks": self._asked[-1:],
            "Relevant Files": [f"`{p}`" for p in self._files],
            "Critical Context": ["Written by the offline planner from the transcript; no language model was used."],
        }

    def dream(self) -> dict[str, list[str]]:
        """Rows by heading of a dream."""
        cited = [f"seq {a}-{b}" for a, b in (self._ranges[:1] + self._ranges[-1:])]
        return {
            "Durable Facts": [f"`{p}` was looked at" for p in self._files[:12]],
            "Unresolved Tasks": self._asked[-1:],
            "Stale Risks": ["Files may have changed since they were read."] if self._files else [],
            "Useful Recall Queries": [p.rsplit("/", 1)[-1] for p in self._files[:5]],
            "Citations": list(dict.fromkeys(cited)),
        }
