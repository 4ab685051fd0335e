"""Random conversations under random maintenance: what must hold of what is sent, whatever was done to the window."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.called import calls_of
from geode_tui.context.conversation import Conversation
from geode_tui.context.mask import maskable, masked
from geode_tui.context.native_step import joins
from geode_tui.context.protect import batches, boundary, has_native, kept, latest_input, protected, result_of
from geode_tui.context.rendering import Renderer, is_bound
from geode_tui.context.shrink import shrunk
from geode_tui.context.trim import max_turns, trimmed
from geode_tui.context.view import Item
from geode_tui.core.messages import Message, OpaqueBlock, answered
from geode_tui.core.native import compacts, is_native
from geode_tui.core.views import (
    Cause,
    Clear,
    Native,
    Offload,
    Operation,
    Pin,
    Replay,
    Stub,
    Summarise,
    Unpin,
    Version,
)
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.auxiliary import up_to
from tests.context.histories import histories

LOOSE = Catalog().route("claude-opus-4-6", "anthropic", "payg")
BOUND = Catalog().route("claude-fable-5-1", "anthropic", "payg")
STEPS = (
    "mask",
    "shrink",
    "offload",
    "summarise",
    "trim",
    "clear",
    "max_turns",
    "native",
    "native",
    "pin",
    "unpin",
    "undo",
    "redo",
    "any_undo",
)
Script: TypeAlias = list[tuple[str, int]]
"""Steps, each with a number that its particulars are taken from."""


def tokens(item: Item) -> int:
    return 1 + sum(len(str(block)) for block in item.message.blocks) // 4


class Driven:
    """A conversation that grows and is worked on; it remembers under which messages each answer was written."""

    def __init__(self, *, bound: bool) -> None:
        self.bound = bound
        self.conversation = Conversation(BOUND if bound else LOOSE)
        self.before: dict[int, tuple[Message, ...]] = {}
        self.pinned: dict[int, Message] = {}
        self.versions: list[Version] = []
        self.stood: dict[str, tuple[Message, ...]] = {}
        """What each block of the provider stands for, as it was sent when the block was written."""

    def grow(self, batch: Sequence[Item]) -> None:
        for item in batch:
            if item.message.role == "assistant":
                self.before[item.seq] = tuple(self.conversation.messages)
            self.conversation.append(item)
            if compacts(item.message):
                made = self.conversation.version("provider", [Replay(item.seq)])
                self._take(msgspec.structs.replace(made, newest=item.seq, mode="threshold"))

    def work(self, name: str, number: int) -> None:
        conversation = self.conversation
        view, items = conversation.view, conversation.items
        match name:
            case "undo" if view.undoable:
                self.go(takes_back=view.undoable)
            case "any_undo" if not self.bound:
                numbers = [n for n in view.active if view.version(n).cause not in {"arrival", "pin"}]
                self.go(takes_back=tuple(numbers[number % len(numbers) :][:1])) if numbers else None
            case "redo" if view.undone:
                self.go(gives_back=view.undone[-1])
            case "pin" | "unpin" if items:
                item = items[number % len(items)]
                sent = next((s.message for s in conversation.sent if s.seq == item.seq), None)
                if sent is not None:
                    self._do("pin", Pin((item.seq,)) if name == "pin" else Unpin((item.seq,)))
                    self.pinned.pop(item.seq, None)
                    self.pinned |= {item.seq: sent} if name == "pin" else {}
            case _:
                operation = self._operation(name, number)
                if operation is not None:
                    newest = view.newest
                    same = newest is not None and newest.cause == "manual" and number % 3 == 0
                    self._do("manual", operation, newest.group if newest is not None and same else None)

    def _operation(self, name: str, number: int) -> Operation | None:
        items, view = self.conversation.items, self.conversation.view
        keep = number % 6
        if view.native is not None and name not in {"native", "max_turns"}:
            return None  # no text of ours stands for anything beside a block of the provider
        match name:
            case "native" if not has_native(items, view):
                upto = boundary(items, view, keep)
                return self._native(upto) if upto else None
            case "mask":
                stale = maskable(items, view, keep_rounds=1 + keep)
                refs = {item.seq: f"call_{item.seq}" for item in stale[::2]}
                return masked(stale, refs, tokens, calls_of(items))
            case "shrink":
                threshold = (20, 200, 2_000)[number % 3]
                return shrunk(items, view, threshold=threshold, tokens=tokens, keep_last_batch=number % 2 == 0)
            case "offload":
                spared = protected(items, view)
                free = [i.seq for i in items if result_of(i) and i.seq not in spared and not view.hides(i.seq)]
                return Offload((Stub(free[number % len(free)], '{"_offloaded":true}', "r"),)) if free else None
            case "summarise" if not has_native(items, view):
                upto = boundary(items, view, keep)
                stays = kept(items, view, upto)
                return Summarise(1, upto, f"up to {upto}", local=number % 2 == 0, kept=stays) if upto else None
            case "trim" if not has_native(items, view):
                sizes = {s.seq: tokens(Item(s.seq, 0, 0, s.message)) for s in self.conversation.sent}
                return trimmed(
                    items,
                    view,
                    sizes=lambda item: sizes.get(item.seq, 0),
                    fixed=50,
                    room=(100, 1_000, 5_000)[number % 3],
                    note=lambda first, upto: f"[left out: {first} to {upto}]",
                )
            case "clear" if items:
                upto = max(item.seq for item in items)
                return Clear(upto, kept(items, view, upto))
            case "max_turns":
                return max_turns(items, view, 1 + keep)
        return None

    def _native(self, upto: int) -> Native:
        conversation = self.conversation
        items, view = conversation.items, conversation.view
        stays = kept(items, view, upto)
        raw = json.dumps({"type": "compaction", "content": f"up to {upto}, {len(self.stood)}"})
        self.stood[raw] = up_to(conversation.sent, upto)
        seamless = not stays and joins(items, view, upto)
        return Native(1, upto, raw, "anthropic", kept=stays, seamless=seamless)

    def forms(self, messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
        """``messages``, and what they become when the block at their head gives way to what it stands for."""
        made = tuple(messages)
        yield made
        while made and is_native(made[0].blocks[0]):
            block = made[0].blocks[0]
            assert isinstance(block, OpaqueBlock)
            made = (*self.stood[block.raw], *made[1:])
            yield made

    def _do(self, cause: Cause, operation: Operation, group: int | None = None) -> None:
        candidate = self.conversation.candidate([operation])
        made = self.conversation.version(cause, [operation], group)
        self._take(msgspec.structs.replace(made, first_changed=candidate.first_changed))
        assert list(candidate.sent) == self.conversation.sent

    def go(self, *, takes_back: tuple[int, ...] = (), gives_back: tuple[int, ...] = ()) -> None:
        conversation = self.conversation
        candidate = conversation.without(takes_back) if takes_back else conversation.again(gives_back)
        made = conversation.version("undo" if takes_back else "redo", ())
        self._take(
            msgspec.structs.replace(
                made, takes_back=takes_back, gives_back=gives_back, first_changed=candidate.first_changed
            )
        )
        self.pinned = {seq: sent for seq, sent in self.pinned.items() if not self._toggled(seq, takes_back, gives_back)}
        assert list(candidate.sent) == conversation.sent

    def _toggled(self, seq: int, *groups: tuple[int, ...]) -> bool:
        """Whether the person's own undo or redo changes how a pinned message looks."""
        numbers = {n for group in groups for n in group}
        return any(seq in _touched(v) for v in self.versions if v.number in numbers)

    def _take(self, version: Version) -> None:
        self.versions.append(version)
        self.conversation.take(version)


def _touched(version: Version) -> set[int]:
    made: set[int] = set()
    for op in version.operations:
        made |= {stub.seq for stub in getattr(op, "stubs", ())} | {cut.seq for cut in getattr(op, "cuts", ())}
    return made


def scripts(*, native: bool = True) -> st.SearchStrategy[list[Script]]:
    """What is done after each batch, in turn; with ``native`` also what a provider's server does when it is asked."""
    names = [name for name in STEPS if native or name != "native"]
    step = st.tuples(st.sampled_from(names), st.integers(0, 97))
    return st.lists(st.lists(step, max_size=3), min_size=1, max_size=8)


def holds(driven: Driven) -> None:
    """Everything that must be so between two requests."""
    conversation = driven.conversation
    messages = tuple(conversation.messages)
    assert answered(messages)
    native = conversation.view.native
    assert not messages or messages[0].role == "user" or native is not None
    blocks = [b for m in messages for b in m.blocks if isinstance(b, OpaqueBlock) and native and b.raw == native.raw]
    assert len(blocks) == (native is not None), "the block stands once"
    assert native is None or messages[0].blocks == tuple(blocks), "first, and alone"
    sent = {s.seq: s for s in conversation.sent if s.seq}
    latest = latest_input(conversation.items)
    assert latest is None or [m for m in messages if m is latest.message] == [latest.message]
    for seq, as_pinned in driven.pinned.items():
        stays = [block for block in as_pinned.blocks if not is_bound(block)]
        now = [block for block in sent[seq].message.blocks if not is_bound(block)] if seq in sent else []
        assert now == stays
    for item in conversation.items:
        # The thinking of a pinned answer is judged like that of any other.
        if item.seq in sent and item.message.role == "assistant":
            _thinking_is_whole(item.message, sent[item.seq].message, bound=driven.bound)
    assert conversation.sent == list(Renderer().render(conversation.items, conversation.view, bound=driven.bound))


def _thinking_is_whole(written: Message, sent: Message, *, bound: bool) -> None:
    signed = [block for block in written.blocks if is_bound(block)]
    left = [block for block in sent.blocks if is_bound(block)]
    assert left == signed or (bound and not left)


@given(history=histories(native=True), script=scripts(), bound=st.booleans())
def test_what_is_sent_is_valid_and_keeps_its_promises_whatever_was_done(
    history: list[Item], script: list[Script], bound: bool
) -> None:
    driven = Driven(bound=bound)
    for number, batch in enumerate(batches(history)):
        driven.grow(batch)
        for name, value in script[number % len(script)]:
            driven.work(name, value)
            holds(driven)
    holds(driven)


@given(history=histories(), script=scripts())
def test_bound_thinking_is_sent_only_after_what_it_was_written_after(history: list[Item], script: list[Script]) -> None:
    driven = Driven(bound=True)
    for number, batch in enumerate(batches(history)):
        driven.grow(batch)
        for name, value in script[number % len(script)]:
            driven.work(name, value)
            for at, each in enumerate(driven.conversation.sent):
                if any(map(is_bound, each.message.blocks)):
                    assert driven.before[each.seq] in driven.forms(driven.conversation.messages[:at])


def _without_compaction(message: Message) -> Message:
    """What is sent of an answer whose provider's compaction was taken back."""
    if not compacts(message):
        return message
    return msgspec.structs.replace(message, blocks=tuple(b for b in message.blocks if not is_native(b)))


@given(history=histories(native=True), script=scripts())
def test_undoing_everything_sends_the_transcript_itself(history: list[Item], script: list[Script]) -> None:
    driven = Driven(bound=False)
    for number, batch in enumerate(batches(history)):
        driven.grow(batch)
        for name, value in script[number % len(script)]:
            driven.work(name, value)
    for active in reversed(driven.conversation.view.active):
        driven.go(takes_back=(active,))
    assert driven.conversation.messages == [m for item in history if (m := _without_compaction(item.message)).blocks]


@given(history=histories(native=True), script=scripts(), bound=st.booleans())
def test_a_stored_conversation_looks_as_it_did(history: list[Item], script: list[Script], bound: bool) -> None:
    driven = Driven(bound=bound)
    for number, batch in enumerate(batches(history)):
        driven.grow(batch)
        for name, value in script[number % len(script)]:
            driven.work(name, value)
    loaded = Conversation(driven.conversation.route)
    loaded.load(history, driven.versions, {}, driven.conversation.route)
    assert loaded.messages == driven.conversation.messages
    assert loaded.view == driven.conversation.view


@given(history=histories(running=True), script=scripts())
def test_only_the_calls_that_are_being_run_lack_a_result(history: list[Item], script: list[Script]) -> None:
    driven = Driven(bound=False)
    driven.grow(history)
    for name, value in script[0]:
        driven.work(name, value)
        messages = driven.conversation.messages
        ends = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=0)
        running = messages[ends:] if messages and not answered(tuple(messages)) else []
        assert answered(tuple(messages[: len(messages) - len(running)]))
        assert all(m.role != "user" for m in running)


@given(history=histories(imported=True), script=scripts())
def test_of_an_imported_conversation_the_last_user_message_stays(history: list[Item], script: list[Script]) -> None:
    driven = Driven(bound=False)
    driven.grow(history)
    for name, value in script[0]:
        driven.work(name, value)
        holds(driven)


@pytest.mark.parametrize("step", ["mask", "shrink", "trim", "summarise", "max_turns"])
@given(history=histories(native=True), number=st.integers(0, 97))
def test_no_step_touches_what_is_protected_or_makes_anything_larger(
    step: str, history: list[Item], number: int
) -> None:
    driven = Driven(bound=False)
    driven.grow(history)
    spared = protected(history, driven.conversation.view)
    before = {s.seq: s.message for s in driven.conversation.sent}
    if step == "shrink":
        number -= number % 2
    driven.work(step, number)
    after = {s.seq: s.message for s in driven.conversation.sent if s.seq}
    assert all(after[seq] is before[seq] for seq in spared)
    assert all(len(str(m)) <= len(str(before[seq])) for seq, m in after.items())
