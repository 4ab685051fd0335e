"""A Claude Code transcript as a conversation. Pure: lines in, a `ForeignRun` out, in one pass.

A record holds one block of an answer; the records of one answer share its id and repeat its usage, possibly with
results of its first calls in between. Sub-agents stand in files of their own, inside progress rows, or between the
rows of the conversation, by version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from geode_tui.core.messages import Block, Message, Origin, TextBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.text import clean_line
from geode_tui.sources.base import Answer, Compacted, ForeignRun, Item, Said, Thread
from geode_tui.sources.claude_blocks import (
    answer_blocks,
    conversation_tokens,
    merged,
    neutral_usage,
    spoken,
)
from geode_tui.sources.claude_rows import CompactMetadata, Progress, RawMessage, RawUsage, Row, part, read_rows

FORMAT = "claude-code"
_OTHER_TYPES = frozenset(
    {"file-history-snapshot", "pr-link", "last-prompt", "mode", "permission-mode", "agent-name", "agent-color", "tag"}
)
"""Records that say nothing of the conversation."""
_SILENT_ATTACHMENTS = ("hook_success", "hook_cancelled", "hook_non_blocking_error", "hook_error_during_execution")
"""Attachments that no model is shown."""
_TITLE_CHARS = 80


def read_claude_code(lines: Iterable[bytes]) -> ForeignRun:
    """Decode a whole transcript. Never raises on what is in it."""
    reader = _Reader()
    for row in read_rows(lines):
        reader.take(row)
    return reader.finish()


class _OpenAnswer:
    """An answer of which more records may come."""

    def __init__(self, answer_id: str, at: float) -> None:
        self.answer_id = answer_id
        self.model = ""
        self.stop_reason = ""
        self.blocks: list[Block] = []
        self.usage: RawUsage | None = None
        self.at = self.ended_at = at

    def take(self, message: RawMessage, at: float) -> list[Block]:
        """Take one more record; returns the blocks that it brings."""
        blocks = answer_blocks(message)
        self.model = self.model or message.model or ""
        self.stop_reason = message.stop_reason or self.stop_reason
        self.blocks += blocks
        self.ended_at = max(self.ended_at, at)
        usage = part(message.usage, RawUsage)
        if usage is not None:
            self.usage = usage if self.usage is None else merged(self.usage, usage)
        return blocks

    def finish(self) -> Answer:
        message = Message("assistant", tuple(self.blocks), "agent")
        prompt = 0 if self.usage is None else conversation_tokens(self.usage)
        usage = neutral_usage(self.usage) if self.usage is not None and prompt else None
        return Answer(
            self.answer_id, self.model, message, usage, prompt, self.stop_reason, self.at, self.ended_at
        )  # fmt: skip


class _Conversation:
    """One thread while it is read. Words that come while calls are unanswered stand after the results, as they are
    sent.
    """

    def __init__(self, agent_id: str = "") -> None:
        self.agent_id = agent_id
        self.items: list[Item | _OpenAnswer] = []
        self._answers: dict[str, _OpenAnswer] = {}
        self._tools: dict[str, str] = {}
        self._unanswered: set[str] = set()
        self._held: list[Said] = []
        self._at = 0.0

    def answer(self, answer_id: str, message: RawMessage, at: float) -> None:
        answer = self._answers.get(answer_id)
        if answer is None:
            self._release()
            self._unanswered.clear()
            answer = self._answers[answer_id] = _OpenAnswer(answer_id, self._later(at))
            self.items.append(answer)
        for block in answer.take(message, at):
            if isinstance(block, ToolCallBlock):
                self._tools[block.call_id] = block.name
                self._unanswered.add(block.call_id)

    def says(self, message: RawMessage, origin: Origin, at: float) -> None:
        at = self._later(at)
        for made in spoken(message, origin, self._tools):
            if made.role == "tool":
                self.items.append(Said(made, at))
                self._unanswered -= {b.call_id for b in made.blocks if isinstance(b, ToolResultBlock)}
            else:
                self._held.append(Said(made, at))
        if not self._unanswered:
            self._release()

    def note(self, text: str, origin: Origin, at: float) -> None:
        if text.strip():
            self.says(RawMessage(content=text), origin, at)

    def compacted(self, facts: CompactMetadata, at: float) -> None:
        self._release()
        self._unanswered.clear()
        self.items.append(Compacted(facts.trigger or "", facts.pre_tokens, facts.post_tokens, self._later(at)))

    def finish(self) -> Thread:
        self._release()
        items = tuple(i.finish() if isinstance(i, _OpenAnswer) else i for i in self.items)
        return Thread(self.agent_id, items)

    def _release(self) -> None:
        self.items += self._held
        self._held = []

    def _later(self, at: float) -> float:
        """Times of a conversation never run backwards, though those of its records do."""
        self._at = max(self._at, at)
        return self._at


class _Reader:
    """The state of one pass over a file."""

    def __init__(self) -> None:
        self._main = _Conversation()
        self._agents: dict[str, _Conversation] = {}
        self._side: dict[str, str] = {}
        """Record of a sub-agent -> its agent, where its records stand between others."""
        self._queued: list[str] = []
        """Words typed while the agent worked, of which it is not known yet how they join the conversation."""
        self._joined: list[str] = []
        """Such words that joined it when they were taken from the queue."""
        self._seen: set[str] = set()
        self._unknown: Counter[str] = Counter()
        self._session_id = self._cwd = ""
        self._titles: dict[str, str] = {}
        self._rows = self._skipped = 0

    def take(self, row: Row | None) -> None:
        self._rows += 1
        if row is None:
            self._skipped += 1
            return
        self._session_id = self._session_id or row.session_id or ""
        self._cwd = self._cwd or row.cwd or ""
        if row.uuid:
            if row.uuid in self._seen:
                return
            self._seen.add(row.uuid)
        self._dispatch(row)

    def _dispatch(self, row: Row) -> None:
        if row.type == "progress":
            self._progress(row)
            return
        at = _epoch(row.timestamp)
        match row.type:
            case "user" | "assistant":
                self._record(self._thread(row), row, at)
            case "system":
                if row.subtype == "compact_boundary":
                    facts = part(row.compact_metadata, CompactMetadata) or CompactMetadata()
                    self._thread(row).compacted(facts, at)
            case "queue-operation":
                self._queue(row, at)
            case "attachment":
                self._attachment(row, at)
            case "summary" | "ai-title" | "custom-title":
                self._titles[row.type] = row.custom_title or row.ai_title or row.summary or ""
            case kind if kind not in _OTHER_TYPES:
                self._unknown[clean_line(kind or "(none)", 60)] += 1

    def _record(self, thread: _Conversation, row: Row, at: float) -> None:
        message = row.message
        if message is None:
            return
        if row.type == "assistant":
            thread.answer(message.id or row.uuid or str(self._rows), message, at)
            return
        if row.is_visible_in_transcript_only and not row.is_compact_summary:
            return
        origin: Origin = "runtime" if row.is_meta or row.is_compact_summary else "user_input"
        if thread is not self._main and origin == "user_input":
            origin = "import"
        if isinstance(message.content, str) and message.content in self._queued:
            self._queued.remove(message.content)
        thread.says(message, origin, at)

    def _thread(self, row: Row) -> _Conversation:
        if not row.is_sidechain:
            return self._main
        agent = row.agent_id or self._side.get(row.parent_uuid or "") or (row.uuid or "side")[:8]
        if row.uuid:
            self._side[row.uuid] = agent
        return self._agent(agent)

    def _agent(self, agent_id: str) -> _Conversation:
        if agent_id not in self._agents:
            self._agents[agent_id] = _Conversation(agent_id)
        return self._agents[agent_id]

    def _progress(self, row: Row) -> None:
        progress = part(row.data, Progress)
        if progress is None or progress.type != "agent_progress" or not progress.agent_id:
            return
        record = part(progress.message, Row)
        if record is None or (record.uuid and record.uuid in self._seen):
            return
        self._seen.add(record.uuid or "")
        self._record(self._agent(progress.agent_id), record, _epoch(record.timestamp) or _epoch(row.timestamp))

    def _queue(self, row: Row, at: float) -> None:
        """Words taken from the queue join the conversation; older versions write no other record of that."""
        text = part(row.content, str)
        if row.operation == "enqueue" and text:
            self._queued.append(text)
        elif row.operation == "remove" and self._queued:
            words = self._queued.pop()
            self._joined.append(words)
            self._main.note(words, "user_input", at)

    def _attachment(self, row: Row, at: float) -> None:
        facts = part(row.attachment, dict[str, Any]) or {}
        kind, words = facts.pop("type", None), facts.get("prompt")
        if kind == "queued_command" and isinstance(words, str):
            if words in self._joined:
                self._joined.remove(words)
                return
            self._thread(row).note(words, "user_input", at)
        elif kind not in _SILENT_ATTACHMENTS:
            self._thread(row).note("\n".join(_texts(facts)), "runtime", at)

    def finish(self) -> ForeignRun:
        main = self._main.finish()
        agents = [agent.finish() for agent in self._agents.values()]
        session_id = self._session_id
        if not main.items and len(agents) == 1:
            main, agents = agents[0], []
        given = self._titles.get("custom-title") or self._titles.get("ai-title")
        title = given or _first_words(main) or self._titles.get("summary", "")
        return ForeignRun(
            FORMAT, session_id, clean_line(title, _TITLE_CHARS), self._cwd, main, tuple(agents), self._rows,
            self._skipped, dict(self._unknown),
        )  # fmt: skip


def _first_words(thread: Thread) -> str:
    for item in thread.items:
        if isinstance(item, Said) and item.message.role == "user" and item.message.origin != "runtime":
            return next((b.text for b in item.message.blocks if isinstance(b, TextBlock)), "")
    return ""


def _epoch(timestamp: str | None) -> float:
    try:
        return datetime.fromisoformat(timestamp or "").timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _texts(value: Any) -> list[str]:
    """Every text in ``value``, in order."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
        case list():
            return [text for each in value for text in _texts(each)]
    return []
