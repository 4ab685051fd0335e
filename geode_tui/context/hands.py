"""What a person does to single messages of the view: mask, offload now, pin. Each is a `window.WindowManager.by_hand`.

Nothing is begun before it is known to be possible; why it is not stands in the pass as one line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from geode_tui.context.mask import shortens
from geode_tui.context.mode import ways
from geode_tui.context.offload import stub_text
from geode_tui.context.protect import Rule, last_batch, protected, result_of
from geode_tui.context.steps import Pass
from geode_tui.context.view import Item
from geode_tui.core.views import Offload, Operation, Pin, Stub, Unpin

Work = Callable[[Pass], Awaitable[None]]
RULES: dict[Rule, str] = {
    "latest_input": "it is what you typed last",
    "pinned": "it is pinned: unpin it first",
    "native": "a block of the provider stands in its answer",
    "skill": "it is a skill that is being followed",
    "last_batch": "the model has not read it yet",
}


def mask(seqs: Sequence[int], keep_rounds: int) -> Work:
    """The results in ``seqs`` give way to markers; without any, all before the ``keep_rounds``-th last answer."""

    async def work(step: Pass) -> None:
        if why := ways(step.conversation, step.need.route).why:
            step.status, step.line = "unsupported", why
        elif not seqs:
            await step.mask(keep_rounds)
            if step.status == "unchanged":
                step.line = "there is nothing to mask: the newest results stay, and older ones are short or masked"
        elif (items := _results(step, seqs)) is not None:
            await step.mask_these(items)
            if step.status == "unchanged":
                step.line = step.line or "a marker would not be shorter than the result"

    return work


def offload(seqs: Sequence[int]) -> Work:
    """The results in ``seqs`` go into files."""

    async def work(step: Pass) -> None:
        if why := ways(step.conversation, step.need.route).why:
            step.status, step.line = "unsupported", why
            return
        items = _results(step, seqs)
        if items is None:
            return
        await step.begin()
        refs = await step.ports.keep(items)
        stubs = tuple(stub for item in items if (stub := _stub(step, item, refs.get(item.seq, ""))) is not None)
        if not stubs:
            step.line = "the result could not be stored, or is hardly longer than what would stand for it"
            return
        await step.commit([Offload(stubs)], "mask")

    return work


def pin(seqs: Sequence[int]) -> Work:
    """No automatic step may touch these messages."""
    return _marking(seqs, pinned=False, make=lambda chosen: Pin(chosen), line="the message is pinned already")


def unpin(seqs: Sequence[int]) -> Work:
    """They may be touched again."""
    return _marking(seqs, pinned=True, make=lambda chosen: Unpin(chosen), line="the message is not pinned")


def _marking(seqs: Sequence[int], *, pinned: bool, make: Callable[[tuple[int, ...]], Operation], line: str) -> Work:
    async def work(step: Pass) -> None:
        conversation = step.conversation
        known = {item.seq for item in conversation.items if not conversation.view.hides(item.seq)}
        if unknown := [seq for seq in seqs if seq not in known]:
            step.status, step.line = "unsupported", f"message {unknown[0]} is not sent any more"
            return
        chosen = tuple(seq for seq in seqs if (seq in conversation.view.pinned) is pinned)
        if not chosen:
            step.line = line
            return
        candidate = conversation.candidate([make(chosen)])
        version = conversation.version(step.cause, candidate.operations)
        if await step.activate(version, candidate, step.before, step.figures(candidate)):
            step.status = "changed"

    return work


def _results(step: Pass, seqs: Sequence[int]) -> list[Item] | None:
    """The results in these messages; None, with the reason in the pass, where one of them has to stay as it is."""
    conversation = step.conversation
    items, view = conversation.items, conversation.view
    by_seq = {item.seq: item for item in items if not view.hides(item.seq)}
    rules = protected(items, view)
    newest = {item.seq for item in last_batch(items, view)}
    for seq in seqs:
        why = ""
        if seq not in by_seq:
            why = "it is not sent any more"
        elif result_of(by_seq[seq]) is None:
            why = "it is no result of a tool"
        elif seq in view.stubs:
            why = "its result has given way already"
        elif seq in rules:
            why = RULES[rules[seq]]
        elif seq in newest:
            why = "it is of the newest calls"
        if why:
            step.status, step.line = "unsupported", f"message {seq} stays as it is: {why}"
            return None
    return [by_seq[seq] for seq in dict.fromkeys(seqs)]


def _stub(step: Pass, item: Item, ref: str) -> Stub | None:
    result = result_of(item)
    if result is None or not ref:
        return None
    tokens = step.conversation.size(item.message)
    text = stub_text(ref, result.name, tokens, result.text)
    return Stub(item.seq, text, ref, tokens) if shortens(text, item) else None
