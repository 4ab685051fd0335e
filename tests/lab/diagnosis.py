"""Why a prompt was not read from the cache, as both vendors tell those who ask: by comparing it with one before."""

from __future__ import annotations

from dataclasses import dataclass

from tests.lab.tokens import count_text


@dataclass(frozen=True)
class Sent:
    """A request by what a cache goes by: ``settings`` are (what it is called when it changed, its text), ``entries``
    the texts of the conversation, to which a later request only appends."""

    settings: tuple[tuple[str, str], ...]
    entries: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt, as far as it is known here."""
        return sum(count_text(text) for text in self.entries)


@dataclass(frozen=True)
class Finding:
    """What changed since the request before, None where nothing did, and the tokens that this cost of those that could
    have been read."""

    changed: str | None
    lost: int = 0
    reusable: int = 0


class Diagnosis:
    """The requests that were answered, by the answer's id."""

    def __init__(self, entries_changed: str) -> None:
        self._entries_changed = entries_changed
        self._sent: dict[str, Sent] = {}

    def keep(self, answer_id: str, sent: Sent) -> None:
        """Remember what ``answer_id`` answered."""
        self._sent[answer_id] = sent

    def compare(self, answer_id: str, sent: Sent) -> Finding | None:
        """``sent`` beside what ``answer_id`` answered; None where that is not known."""
        before = self._sent.get(answer_id)
        if before is None:
            return None
        old, new = dict(before.settings), dict(sent.settings)
        changed = next((name for name in old if old[name] != new[name]), None)
        if changed:
            return Finding(changed, before.tokens, before.tokens)
        same = 0
        while same < len(before.entries) and before.entries[same : same + 1] == sent.entries[same : same + 1]:
            same += 1
        if same == len(before.entries):
            return Finding(None, 0, before.tokens)
        return Finding(self._entries_changed, sum(map(count_text, before.entries[same:])), before.tokens)
