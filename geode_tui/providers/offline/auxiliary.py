"""Answers to requests that are not turns: summaries, dreams and titles, drawn from the text they are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from geode_tui.core.headings import FILES_READ, LAST_READ, LATEST_TAG, NONE_BULLET, ROUNDS_DONE, SUMMARY_HEADINGS
from geode_tui.providers.base import Request
from geode_tui.providers.offline.earlier import (
    ASKED_CHARS,
    Earlier,
    figures,
    is_own,
    section,
    shortened,
    typed,
)
from geode_tui.providers.offline.evidence import Step, Turn, read_turns
from geode_tui.providers.offline.mentions import scan

DREAM_HEADINGS: Final = (
    "Durable Facts",
    "Decisions",
    "Unresolved Tasks",
    "Stale Risks",
    "Useful Recall Queries",
    "Citations",
)
"""RUNTIME.md 5.1, in its order."""
FILES: Final = 40
"""Files that a summary names: the newest."""
SCANNED: Final = 80_000
"""Characters of a transcript that are searched for names, its last."""
_USER: Final = re.compile(
    r"^\W{0,4}(?:(?:seq )?\d+\W{1,3})?(?:user|you|사용자)\b[^:\n]{0,40}[:\]]\s*(.+)$", re.IGNORECASE | re.MULTILINE
)
_ASSISTANT: Final = re.compile(r"^\W{0,4}(?:(?:seq )?\d+\W{1,3})?assistant\b", re.IGNORECASE | re.MULTILINE)
_READ: Final = re.compile(r"read_file\b.{0,200}?\"path\"\s*:\s*\"((?:[^\"\\]|\\.)+)\"", re.DOTALL)
_TOOLS: Final = re.compile(r"\b(read_file|list_dir|glob|grep|write_file|edit_file|run_shell)\b")
_LATEST: Final = re.compile(rf"<{LATEST_TAG}>\n(.+?)\n</{LATEST_TAG}>", re.DOTALL)
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


def _title(source: str) -> str:
    line = next((x.strip() for x in source.splitlines() if x.strip()), "")
    return line if len(line) <= 60 else line[:59] + "…"


def _sections(headings: tuple[str, ...], rows: dict[str, list[str]]) -> str:
    return (
        "\n\n".join(f"## {h}\n\n" + ("\n".join(f"- {r}" for r in rows.get(h, [])) or NONE_BULLET) for h in headings)
        + "\n"
    )


class _Facts:
    """What can be read off a transcript, given as messages or as rendered text."""

    def __init__(self, request: Request, source: str) -> None:
        turns = read_turns(typed(request.messages))
        self._steps: list[Step] = [s for t in turns for s in t.steps]
        said = [m for m in _USER.finditer(source) if not is_own(m.group(1)) and not m.group(1).startswith("<")]
        inputs = [i for t in turns if t.rounds for i in t.inputs]
        calls = _TOOLS.findall(source)
        whole = [source[-ASKED_CHARS:]] if not calls else []
        before = section(source, "Active Task")
        asked = [m.group(1) for m in said] or inputs or before or whole
        self._asked = [shortened(text) for text in [*asked, *_LATEST.findall(source)[-1:]]]
        self._files = self._named(source)
        self._calls = Counter([*calls, *(s.name for s in self._steps)])
        self._errors = [
            " ".join(x.split())[:200]
            for x in re.findall(r"^.*\b(?:refused|denied|not found|error:).*$", source, re.MULTILINE)
        ][:5]
        self._ranges = [(a, b or a) for a, b in _RANGE.findall(source)]
        self._so_far = self._task(source[said[-1].end() if said else 0 :], turns[-1:], before, figures(source))

    def _named(self, source: str) -> list[str]:
        """The files that are named, the newest first; a bare name is left out beside its whole path."""
        _, mentions = scan(source[-SCANNED:])
        named = {row.strip("`"): -i for i, row in enumerate(section(source, "Relevant Files"))}
        named.update((m.text, m.start) for m in mentions if m.kind == "file")
        named.update((s.path, len(source) + i) for i, s in enumerate(self._steps) if s.path)
        newest = sorted(named, key=lambda path: (-named[path], path))[: 4 * FILES]
        return [p for p in newest if not any(q.endswith(f"/{p}") for q in newest)][:FILES]

    def _task(self, text: str, turns: Sequence[Turn], before: list[str], earlier: Earlier) -> Earlier:
        """How far the newest task came: by the part of the transcript that follows it, and by what an earlier summary
        says, where it is the same task's."""
        if before and self._asked[-1:] != before[:1]:
            earlier = Earlier()
        steps = [s for t in turns for s in t.steps]
        reads = [*_READ.findall(text), *(s.path for s in steps if s.name == "read_file" and s.path)]
        rounds = len(_ASSISTANT.findall(text)) + sum(t.rounds for t in turns)
        last = reads[-1] if reads else earlier.last
        return Earlier(earlier.rounds + rounds, earlier.files + len(set(reads)), last)

    def _actions(self) -> list[str]:
        return [f"{name}: {count} mentions" for name, count in sorted(self._calls.items()) if count]

    def _state(self) -> list[str]:
        so_far = self._so_far
        rows = [
            (ROUNDS_DONE, so_far.rounds),
            (FILES_READ, so_far.files),
            (LAST_READ, so_far.last and f"`{so_far.last}`"),
        ]
        return [f"{name}: {value}" for name, value in rows if value]

    def summary(self) -> dict[str, list[str]]:
        """Rows by heading of a compaction summary."""
        return {
            "Active Task": self._asked[-1:],
            "Goal": self._asked[:1],
            "Completed Actions": self._actions(),
            "Active State": self._state(),
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
