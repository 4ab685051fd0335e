"""Random conversations as transcripts hold them: what the steps over the window have to get right.

Everything a wire can be asked for is in them: parallel calls whose results came in another order, several turns, inputs
that joined while an agent worked, skills, recalled results, signed, unsigned and redacted thinking, a provider's own
tools, images, Korean, errors, malformed and very long arguments, interrupted calls, a provider's own compaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
from hypothesis import strategies as st

from geode_tui.context.view import Item
from geode_tui.core.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from geode_tui.log.rows import ResultMeta

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PROVIDER = "anthropic"

Extent: TypeAlias = Literal["none", "short", "middle", "long"]
Wording: TypeAlias = Literal["english", "korean", "repeated"]
_CHARS: dict[Extent, int] = {"none": 0, "short": 40, "middle": 700, "long": 6_000}
_WORDS: dict[Wording, str] = {
    "english": "the parser reads {n} and writes src/part_{n}.py before the next pass; ",
    "korean": "구문 분석기는 {n}번째 파일을 읽고 결과를 기록한다. ",
    "repeated": "the same log line, again and again; ",
}


class Call(msgspec.Struct, frozen=True):
    """A call and its result, in the rough."""

    tool: str
    arguments: Literal["plain", "long", "malformed", "empty"] = "plain"
    extent: Extent = "short"
    wording: Wording = "english"
    images: int = 0
    is_error: bool = False
    fate: Literal["", "interrupted"] = ""


class Round(msgspec.Struct, frozen=True):
    """An answer, its calls, and what joined after them."""

    thinking: Literal["none", "signed", "unsigned", "redacted", "both"] = "none"
    says: Extent = "short"
    calls: tuple[Call, ...] = ()
    hosted: bool = False
    native: bool = False
    shuffled: bool = False
    joined: tuple[Literal["user_input", "runtime"], ...] = ()


class Turn(msgspec.Struct, frozen=True):
    """What was asked, and the rounds that it took."""

    says: Extent = "short"
    wording: Wording = "english"
    images: int = 0
    resumed: bool = False
    rounds: tuple[Round, ...] = ()


TOOLS = (
    "read_file", "grep", "run_shell", "edit_file", "update_plan", "use_skill", "recall_tool_result", "tickets_find",
)  # fmt: skip


def histories(
    *, native: bool = False, running: bool = False, imported: bool = False, turns: int = 4
) -> st.SearchStrategy[list[Item]]:
    """Conversations of one to ``turns`` turns.

    Args:
        native: A provider's own compaction may be among them.
        running: The last answer's calls may have only some of their results.
        imported: No message has the mark of a person's input; they came from another program.
        turns: How many turns at most.
    """
    rough = st.lists(_turns(native=native), min_size=1, max_size=turns)
    made = rough.map(lambda turns: written(turns, origin="import" if imported else "user_input"))
    return st.builds(_still_running, made, st.integers(1, 3)) if running else made


def _turns(*, native: bool) -> st.SearchStrategy[Turn]:
    return st.builds(
        Turn,
        says=st.sampled_from(["short", "short", "middle", "long"]),
        wording=st.sampled_from(["english", "korean", "repeated"]),
        images=st.sampled_from([0, 0, 0, 1]),
        resumed=st.booleans(),
        rounds=st.lists(_rounds(native=native), max_size=5).map(tuple),
    )


def _rounds(*, native: bool) -> st.SearchStrategy[Round]:
    return st.builds(
        Round,
        thinking=st.sampled_from(["none", "signed", "signed", "unsigned", "redacted", "both"]),
        says=st.sampled_from(["none", "short", "middle"]),
        calls=st.lists(_calls(), max_size=3).map(tuple),
        hosted=st.sampled_from([False, False, False, True]),
        native=st.sampled_from([False] * 9 + [native]),
        shuffled=st.booleans(),
        joined=st.sampled_from([(), (), (), ("user_input",), ("runtime",), ("runtime", "user_input")]),
    )


def _calls() -> st.SearchStrategy[Call]:
    return st.builds(
        Call,
        tool=st.sampled_from(TOOLS),
        arguments=st.sampled_from(["plain", "plain", "long", "malformed", "empty"]),
        extent=st.sampled_from(["short", "middle", "middle", "long"]),
        wording=st.sampled_from(["english", "korean", "repeated"]),
        images=st.sampled_from([0, 0, 0, 0, 2]),
        is_error=st.sampled_from([False, False, False, True]),
        fate=st.sampled_from(["", "", "", "interrupted"]),
    )


def written(turns: Sequence[Turn], origin: Origin = "user_input") -> list[Item]:
    """The transcript of these turns. Results stand in the order of their calls; their seqs in the order they came."""
    return list(_Writer(origin).turns(turns))


def _still_running(items: list[Item], missing: int) -> list[Item]:
    """Without the last results, where the conversation ends with some."""
    ending = next((n for n, item in enumerate(reversed(items)) if item.message.role != "tool"), 0)
    return items[: len(items) - min(missing, ending)]


class _Writer:
    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._seq = 0

    def turns(self, turns: Sequence[Turn]) -> Iterator[Item]:
        for turn, each in enumerate(turns, 1):
            blocks: list[Block] = [
                *self._images(each.images),
                TextBlock(self._text(each.says, each.wording) or "go on"),
            ]
            if each.resumed and turn > 1:
                yield self._item(turn, 0, Message("user", (TextBlock("the run goes on"),), "resume"))
            yield self._item(turn, 0, Message("user", tuple(blocks), self._origin))
            for number, round_ in enumerate(each.rounds, 1):
                yield from self._round(turn, number, round_)

    def _round(self, turn: int, number: int, round_: Round) -> Iterator[Item]:
        answer = self._item(turn, number, Message("assistant", self._answer(round_), "agent"))
        yield answer
        seqs = [self._next() for _ in answer.message.calls]
        came = reversed(seqs) if round_.shuffled else seqs
        for seq, call, rough in zip(came, answer.message.calls, round_.calls, strict=True):
            yield self._result(seq, turn, number, call, rough)
        for origin in round_.joined:
            text = self._text("short", "english") if origin == "user_input" else "a file changed on disk"
            mark = self._origin if origin == "user_input" else origin
            yield self._item(turn, number, Message("user", (TextBlock(text),), mark))

    def _answer(self, round_: Round) -> tuple[Block, ...]:
        at = self._seq + 1
        blocks: list[Block] = []
        if round_.thinking in {"signed", "both"}:
            text = f"step {at}: {self._text('middle', 'english')}"
            raw = json.dumps({"type": "thinking", "thinking": text, "signature": f"sig-{at}"})
            blocks.append(ThinkingBlock(text, PROVIDER, raw))
        if round_.thinking == "unsigned":
            blocks.append(ThinkingBlock(f"half a thought {at}", PROVIDER, None))
        if round_.thinking in {"redacted", "both"}:
            raw = json.dumps({"type": "redacted_thinking", "data": f"sealed-{at}"})
            blocks.append(OpaqueBlock(PROVIDER, "redacted_thinking", raw))
        if round_.native:
            raw = json.dumps({"type": "compaction", "content": f"what was before {at}"})
            blocks.append(OpaqueBlock(PROVIDER, "compaction", raw))
        if round_.hosted:
            used = {"type": "server_tool_use", "id": f"srvtoolu_{at}", "name": "web_search", "input": {}}
            found = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{at}", "content": []}
            blocks += [OpaqueBlock(PROVIDER, str(b["type"]), json.dumps(b)) for b in (used, found)]
        text = self._text(round_.says, "english")
        if text or not (blocks or round_.calls):
            blocks.append(TextBlock(text or "done"))
        calls = [self._call(f"call_{at}_{n}", rough) for n, rough in enumerate(round_.calls)]
        return (*blocks, *calls)

    def _call(self, call_id: str, rough: Call) -> ToolCallBlock:
        fields: dict[str, object] = {
            "read_file": {"path": "src/app.py", "start_line": 1},
            "grep": {"pattern": "TODO", "path": "src"},
            "run_shell": {"command": "make test"},
            "edit_file": {"path": "src/app.py", "old": "a", "new": "b"},
            "use_skill": {"name": "review"},
            "recall_tool_result": {"ref_id": "call_1_0"},
        }.get(rough.tool, {"query": "open", "limit": 5})  # type: ignore[assignment]
        if rough.arguments == "long":
            fields = {
                **fields,
                "note": self._text("long", "korean"),
                "more": [{"deep": self._text("middle", "english")}],
            }
        text = json.dumps(fields, ensure_ascii=False)
        match rough.arguments:
            case "malformed":
                text = text[:-1] + ', "note": "' + self._text("long", "english")
            case "empty":
                text = ""
        return ToolCallBlock(call_id, rough.tool, text, PROVIDER)

    def _result(self, seq: int, turn: int, number: int, call: ToolCallBlock, rough: Call) -> Item:
        text = self._text(rough.extent, rough.wording)
        if rough.fate:
            text = "interrupted: outcome unknown"
        content: tuple[TextBlock | ImageBlock, ...] = (TextBlock(text), *self._images(rough.images))
        is_error = rough.is_error or bool(rough.fate)
        block = ToolResultBlock(call.call_id, call.name, content, is_error)
        meta = ResultMeta(
            "exit 0", is_error=is_error, fate=rough.fate, facts={"lines": text.count(";"), "exit_code": 0}
        )
        return Item(seq, turn, number, Message("tool", (block,), "tool"), meta)

    def _item(self, turn: int, number: int, message: Message) -> Item:
        return Item(self._next(), turn, number, message)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _text(self, extent: Extent, wording: Wording) -> str:
        chars, words = _CHARS[extent], _WORDS[wording].replace("{n}", str(self._seq))
        return (words * (chars // len(words) + 1))[:chars]

    @staticmethod
    def _images(count: int) -> list[ImageBlock]:
        return [ImageBlock("image/png", PIXEL)] * count
