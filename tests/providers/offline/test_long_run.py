"""Runs that outlive their context: the planner goes on where it was, whatever of its earlier rounds is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from geode_tui.context.rendering import ACK_MARKER, ACK_SUMMARY, marker_text, summary_text
from geode_tui.context.summary_source import source
from geode_tui.context.view import Item
from geode_tui.core.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, tool_text, user_text
from geode_tui.core.tokens import text_tokens
from geode_tui.core.views import Summarise
from geode_tui.providers.base import Request, SystemPart
from geode_tui.providers.offline.answer import answer
from geode_tui.providers.offline.auxiliary import auxiliary_text
from geode_tui.providers.offline.earlier import Earlier, earlier_of, section
from geode_tui.providers.offline.usage import block_tokens
from geode_tui.runtime.guards import REPEAT_NOTE, Done, repetition
from tests.lab.long_run import FILES, Tree, prompt, tree
from tests.providers.offline.driving import SPECS, Drive

CONTEXT = 60_000
"""Tokens after which the head of the conversation is replaced."""
HEAD = 4
"""Messages that stand for the earlier ones."""
KEPT = 4
"""Messages that are kept at least."""


def tail_of(messages: Sequence[Message]) -> list[Message]:
    """The newest messages, from a call on where there are results."""
    start = len(messages) - KEPT
    while messages[start].role == "tool":
        start -= 1
    return list(messages[start:])


def head(messages: Sequence[Message], text: str) -> list[Message]:
    """What stands for the earlier messages."""
    done = Summarise(1, len(messages), text)
    return [
        user_text(summary_text(done), "summary"),
        Message("assistant", (TextBlock(ACK_SUMMARY),), "runtime"),
        user_text(marker_text(done), "runtime"),
        Message("assistant", (TextBlock(ACK_MARKER),), "runtime"),
    ]


def written(messages: Sequence[Message]) -> str:
    """The planner's own summary of messages, of which the first may be what stands for earlier ones."""
    before, own = "", list(messages)
    if own[0].origin == "summary":
        before = own[0].text.partition("\n\n")[2].removesuffix("\n</conversation_summary>")
        own = own[HEAD:]
    latest = next((m.text for m in reversed(own) if m.origin == "user_input"), "")
    items = [Item(seq, 1, 1, message) for seq, message in enumerate(own, 1)]
    made = source(items, before, "", latest, 100_000, window=200_000, count=text_tokens)
    asked = (user_text(made.text, "runtime"),)
    return auxiliary_text(Request("offline", (SystemPart(made.system),), asked, purpose="summary"))


def summarised(messages: Sequence[Message]) -> list[Message]:
    """A summary, the instruction and the newest messages."""
    tail = tail_of(messages)
    earlier = messages[: len(messages) - len(tail)]
    asked = [m for m in earlier if m.origin == "user_input"][-1:]
    return [*head(earlier, written(earlier)), *asked, *tail]


def told_only(messages: Sequence[Message]) -> list[Message]:
    """A summary and the newest messages: the instruction is in the summary alone."""
    tail = tail_of(messages)
    earlier = messages[: len(messages) - len(tail)]
    return [*head(earlier, written(earlier)), *tail]


def forgotten(messages: Sequence[Message]) -> list[Message]:
    """A summary that says nothing, the instruction and the newest messages."""
    tail = tail_of(messages)
    earlier = messages[: len(messages) - len(tail)]
    return [*head(earlier, "Much was done."), *(m for m in earlier if m.origin == "user_input"), *tail]


def untold(messages: Sequence[Message]) -> list[Message]:
    """A note that earlier messages are left out, the instruction and the newest messages, as a wire carries them: what
    a person typed is not marked."""
    asked = next(m for m in messages if m.text == prompt())
    note = user_text("[An earlier part of the conversation is left out here: messages 2 to 9.]")
    return [msgspec.structs.replace(m, origin="agent") for m in (note, asked, *tail_of(messages))]


def masked(stub: str) -> Callable[[Sequence[Message]], list[Message]]:
    """All results but the newest give way to ``stub``."""

    def change(messages: Sequence[Message]) -> list[Message]:
        newest = tail_of(messages)
        return [m if m in newest or m.role != "tool" else _stubbed(m, stub) for m in messages]

    return change


def _stubbed(message: Message, stub: str) -> Message:
    block = message.blocks[0]
    assert isinstance(block, ToolResultBlock)
    return tool_text(ToolCallBlock(block.call_id, block.name, ""), stub)


class Long(msgspec.Struct):
    """A run whose head is replaced by ``change`` whenever the context is full."""

    drive: Drive
    change: Callable[[Sequence[Message]], list[Message]]
    history: list[Done] = []
    appended: int = 0
    rounds: int = 0
    replaced: int = 0
    repeats: int = 0
    largest: int = 0
    held: int = 0

    async def run(self, text: str) -> str:
        """The closing text."""
        self._take(user_text(text))
        context = self.drive.context()
        while True:
            made = answer(Request("offline", (), tuple(self.drive.messages), SPECS))
            message = Message("assistant", made.blocks)
            self.rounds += 1
            self._take(message)
            if not message.calls:
                return message.text
            for call in message.calls:
                self._take(await self.drive.result(call, context))
                if call.name != "update_plan":
                    self.history.append(Done(self.rounds, call.name, call.arguments))
                    self.repeats = max(self.repeats, repetition(self.history))
            if self.held > CONTEXT:
                self.drive.messages[:] = self.change(self.drive.messages)
                self.held = sum(size(m) for m in self.drive.messages)
                self.replaced += 1
                assert self.held < CONTEXT

    def _take(self, message: Message) -> None:
        self.drive.messages.append(message)
        self.appended += size(message)
        self.held += size(message)
        if message.role == "tool":
            self.largest = max(self.largest, size(message))

    @property
    def read(self) -> list[str]:
        """The paths that were read, in order."""
        done = (msgspec.json.decode(d.arguments) for d in self.history if d.tool == "read_file")
        return [d["path"] for d in done]


def size(message: Message) -> int:
    return sum(block_tokens(b) for b in message.blocks)


def long_run(root: Path, change: Callable[[Sequence[Message]], list[Message]], files: int) -> tuple[Long, Tree]:
    made = tree(root, files=files)
    return Long(Drive(root, messages=[], requests=[], plans=[]), change, history=[]), made


@pytest.mark.long
async def test_three_hundred_rounds_read_every_file_once_through_many_summaries(tmp_path: Path) -> None:
    run, made = long_run(tmp_path, summarised, FILES)
    report = await run.run(prompt())
    assert run.read == list(made.paths)
    assert run.rounds >= 300
    assert run.appended >= 2_000_000
    assert run.replaced >= 40
    assert run.largest > 15_000
    assert run.repeats < REPEAT_NOTE
    assert f"{FILES} files read" in report


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (summarised, prompt()),
        (summarised, prompt(korean=True)),
        (told_only, prompt()),
        (forgotten, prompt()),
        (untold, prompt()),
        (masked("[masked: about 900 tokens]"), prompt()),
        (masked("read_file library: 12 lines, 900 chars [summarized from ~900 tokens]"), prompt()),
        (masked('{"_offloaded": true, "_ref_id": "r1", "_original_tokens": 900, "summary": "x"}'), prompt()),
    ],
    ids=["summary", "korean", "no instruction", "empty summary", "trim", "mask", "facts", "offloaded"],
)
async def test_every_file_is_read_once_whatever_is_left_of_the_earlier_rounds(
    tmp_path: Path, change: Callable[[Sequence[Message]], list[Message]], text: str
) -> None:
    run, made = long_run(tmp_path, change, 30)
    await run.run(text)
    assert run.read == list(made.paths)
    assert run.replaced >= 2
    assert run.repeats < REPEAT_NOTE


async def test_a_survey_takes_the_rounds_it_was_asked_for_through_summaries(tmp_path: Path) -> None:
    run, _ = long_run(tmp_path, summarised, 60)
    await run.run("survey the code for 30 rounds")
    assert run.replaced >= 2
    assert 29 <= run.rounds <= 30
    assert run.repeats < REPEAT_NOTE


def test_a_summary_counts_only_the_newest_task() -> None:
    read = ToolCallBlock("c1", "read_file", '{"path": "src/a.py"}')
    first = [user_text("look at src"), Message("assistant", (read,)), tool_text(read, "seen")]
    later = written([*first, user_text("now the docs")])
    assert section(later, "Active Task") == ["now the docs"]
    assert section(later, "Active State") == []
    assert earlier_of(head([], written(first)), ("look at src",)) == Earlier(1, 1, "src/a.py")
    assert earlier_of(head([], written(first)), ("now the docs",)) == Earlier()


def test_a_summary_is_folded_into_the_next_one() -> None:
    def round_of(path: str) -> list[Message]:
        read = ToolCallBlock(path, "read_file", f'{{"path": "{path}"}}')
        return [Message("assistant", (read,)), tool_text(read, "seen")]

    first = written([user_text("look at src"), *round_of("src/a.py"), *round_of("src/b.py")])
    second = written([*head([], first), *round_of("src/c.py")])
    assert earlier_of(head([], second), ("look at src",)) == Earlier(3, 3, "src/c.py")
    assert set(section(second, "Relevant Files")) == {"`src/a.py`", "`src/b.py`", "`src/c.py`"}


def test_the_tree_is_the_same_for_a_seed(tmp_path: Path) -> None:
    first, again, other = (tree(tmp_path / name, seed, 30) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first == again
    assert first.size != other.size
    texts = [(tmp_path / name / first.paths[5]).read_bytes() for name in ("a", "b")]
    assert texts[0] == texts[1]
    assert any(text_tokens((tmp_path / "a" / path).read_text("utf-8")) > 15_000 for path in first.paths)
