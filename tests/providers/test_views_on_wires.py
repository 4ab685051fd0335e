"""Random conversations under random maintenance, sent over every wire: what their vendors take and what arrives.

Each conversation comes about through the lab, so that its thinking is signed over what was really sent before it; what
is done to the window between two requests is what `tests.context.test_window_properties` does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from geode_tui.context.conversation import Conversation
from geode_tui.context.prompt import cache_marks
from geode_tui.context.protect import batches, is_result_of, last_batch, latest_input, result_of
from geode_tui.context.rendering import is_bound
from geode_tui.context.view import Item
from geode_tui.core.messages import (
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_text,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Edits, Provider, Request
from geode_tui.routes.catalog import Catalog
from tests.context.histories import TOOLS, Turn, histories, written
from tests.context.histories import Call as RoughCall
from tests.context.histories import Round as RoughRound
from tests.context.test_window_properties import Driven, Script, holds, scripts
from tests.lab import Answer, Call, Lab, Say, Think
from tests.lab import Block as RawBlock
from tests.lab.compaction import compaction, opening
from tests.lab.planner import neutral
from tests.lab.scripts import Part
from tests.lab.server import SECRET
from tests.providers.wires import BOUND, ROUTES, SHORT, Route, adapter, answer, request

ALL = (*ROUTES, *BOUND)
NOT_LONG = {*SHORT, BOUND[0]}
SPECS = tuple(ToolSpec(name, "Does it.", {"type": "object"}) for name in TOOLS)
GO_ON = user_text("go on", "runtime")
NEVER = Edits(compact_at=900_000)
"""A vendor reads the blocks that it wrote by itself only where it may write another."""


class Wired(Driven):
    """A conversation whose answers come from the lab over a wire, and whose every state is sent there."""

    def __init__(self, route: Route, lab: Lab, provider: Provider) -> None:
        found = Catalog().route(route.model, provider.name, provider.source)
        super().__init__(bound=found.thinking_bound)
        self.conversation = Conversation(found)
        self.route = route
        self.lab = lab
        self.provider = provider

    async def play(self, batch: Sequence[Item]) -> None:
        """Take in a batch as it comes about: an answer is asked for, where there is something to answer."""
        first = batch[0]
        if first.message.role == "assistant":
            if not self.conversation.messages or self.conversation.messages[-1].role == "assistant":
                return
            self.lab.script(Answer(tuple(self._parts(first.message))))
            made = await answer(self.provider, self._request())
            shown = [b for b in first.message.blocks if isinstance(b, ThinkingBlock) and b.raw is None]
            batch = (msgspec.structs.replace(first, message=Message("assistant", (*shown, *made.blocks))), *batch[1:])
        elif first.message.origin == "user_input":
            batch = [msgspec.structs.replace(item, message=_marked(item)) for item in batch]
        self.grow(batch)

    def _parts(self, message: Message) -> Iterator[Part]:
        """What the model is to answer, as far as this wire can say it."""
        own = [block for block in message.blocks if _sayable(block, self.route)]
        for block in own:
            match block:
                case ThinkingBlock():
                    yield Think(block.text)
                case ToolCallBlock():
                    yield Call(block.name, block.arguments, block.call_id)
                case OpaqueBlock(kind="compaction"):
                    start, delta = opening(compaction(SECRET, json.loads(block.raw)["content"]))
                    yield RawBlock(start, (delta,))
                case OpaqueBlock():
                    yield RawBlock(json.loads(block.raw))
                case TextBlock():
                    yield Say(block.text, chunk=1_000)
        if not any(isinstance(block, TextBlock | ToolCallBlock) for block in own):
            yield Say("done")

    def _request(self) -> Request:
        messages = tuple(self.conversation.messages)
        if messages[-1].role == "assistant":
            messages = (*messages, GO_ON)
        return request(self.route, *messages, tools=SPECS, cache_messages=cache_marks(messages), edits=NEVER)

    async def accepted(self) -> None:
        """The lab takes what would be sent now, and it arrived with everything that is protected."""
        if not self.conversation.messages:
            return
        await answer(self.provider, self._request())
        body = self.lab.requests[-1].body
        self._latest_input_is_there(body)
        self._last_skill_is_whole(body)
        self._thinking_is_as_it_was(body)

    def _latest_input_is_there(self, body: Mapping[str, Any]) -> None:
        latest = latest_input(self.conversation.items)
        if latest is not None:
            assert [text for text in _texts(body) if text == latest.message.text] == [latest.message.text]

    def _last_skill_is_whole(self, body: Mapping[str, Any]) -> None:
        view = self.conversation.view
        blocks = (block for message in neutral(body).messages for block in message.blocks)
        arrived = {block.call_id: block.text for block in blocks if isinstance(block, ToolResultBlock)}
        for item in last_batch(self.conversation.items, view):
            result = result_of(item)
            if result is not None and is_result_of(item, "use_skill") and item.seq not in view.stubs:
                assert result.text in arrived[result.call_id]

    def _thinking_is_as_it_was(self, body: Mapping[str, Any]) -> None:
        own = (block for sent in self.conversation.sent for block in sent.message.blocks)
        signed = [block for block in own if isinstance(block, ThinkingBlock | OpaqueBlock) and is_bound(block)]
        sent = [json.loads(block.raw) for block in signed if block.raw is not None]
        if self.provider.name == "anthropic":
            thoughts = {"thinking", "redacted_thinking"}
            assert [each for each in _objects(body["messages"]) if each.get("type") in thoughts] == sent
        else:
            objects = list(_objects(body))
            assert all(any(fields.items() <= each.items() for each in objects) for fields in sent)


def _sayable(block: Block, route: Route) -> bool:
    if isinstance(block, ThinkingBlock):
        return block.raw is not None and route.thinks
    return not isinstance(block, OpaqueBlock) or route.name.startswith("anthropic")


def _marked(item: Item) -> Message:
    """What was typed, so that it can be told from everything else that was."""
    *images, text = item.message.blocks
    assert isinstance(text, TextBlock)
    return msgspec.structs.replace(item.message, blocks=(*images, TextBlock(f"입력 {item.seq}: {text.text}")))


def _texts(value: Any) -> Iterator[str]:
    """Every text inside ``value``."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside ``value``."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


async def lived_through(route: Route, history: Sequence[Item], script: Sequence[Script]) -> None:
    """The history comes about on ``route``, with what ``script`` does to its window in between."""
    async with Lab(window=10_000_000, otherwise=Say("seen")) as lab, adapter(lab, route) as provider:
        driven = Wired(route, lab, provider)
        for number, batch in enumerate(batches(history)):
            await driven.play(batch)
            for name, value in script[number % len(script)]:
                driven.work(name, value)
                holds(driven)
            await driven.accepted()
        for _ in range(len(driven.conversation.view.active)):
            driven.work("undo", 0)
            await driven.accepted()
        assert all(received.status == 200 for received in lab.requests)


def _routes(*, long: bool = False) -> pytest.MarkDecorator:
    """All routes, those that differ little from others in the long form only; with ``long`` all of them there."""
    values = [pytest.param(r, id=r.name, marks=pytest.mark.long if long or r not in NOT_LONG else ()) for r in ALL]
    return pytest.mark.parametrize("route", values)


CALLS = (
    RoughCall("read_file", extent="long"),
    RoughCall("tickets_find", arguments="long", extent="middle", wording="korean", images=2),
)
ROUND = RoughRound("both", says="middle", calls=CALLS, shuffled=True)
TURN = Turn(images=1, wording="korean", rounds=(ROUND, ROUND, ROUND))


@_routes()
async def test_a_step_and_its_undo_leave_no_byte_changed_with_thoughts_and_images_in_the_history(route: Route) -> None:
    async with Lab(window=10_000_000, otherwise=Say("seen")) as lab, adapter(lab, route) as provider:
        driven = Wired(route, lab, provider)
        for batch in batches(written([TURN, TURN])):
            await driven.play(batch)
        for step in ("summarise", "mask", "shrink", "trim"):
            await driven.accepted()
            driven.work(step, 0)
            await driven.accepted()
            driven.work("undo", 0)
            await driven.accepted()
            before, between, after = (received.raw for received in lab.requests[-3:])
            assert before == after
            assert len(between) < len(before), step


@_routes()
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(turns=3), script=scripts(native=False))
def test_whatever_was_done_to_the_window_is_taken(route: Route, history: list[Item], script: list[Script]) -> None:
    asyncio.run(lived_through(route, history, script))


@_routes(long=True)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(native=True), script=scripts(native=False))
def test_whatever_was_done_to_a_long_one_is_taken(route: Route, history: list[Item], script: list[Script]) -> None:
    asyncio.run(lived_through(route, history, script))
