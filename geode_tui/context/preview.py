"""What a compaction by hand would do, before anybody pays for it. Pure: nothing is asked, nothing is changed."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.context.conversation import Conversation
from geode_tui.context.local_summary import local_summary
from geode_tui.context.pressure import Need
from geode_tui.context.protect import boundary, kept, latest_input, protected
from geode_tui.context.summary_source import target_tokens
from geode_tui.context.trim import trimmed
from geode_tui.context.window import KEEP_RECENT, PRUNE_KEEP, prune_room, unsupported
from geode_tui.core.views import Operation, Summarise, Trim
from geode_tui.routes.budget import keep_recent, max_summary

Strategy: TypeAlias = Literal["threshold", "on_demand", "client_summary", "local_summary", "mask_only", "prune", "none"]


class Preview(msgspec.Struct, frozen=True):
    """``summarised`` is (first seq, last seq, messages) of what would not be sent any more; ``protected`` are the
    messages that stay in spite of standing in it or in the tail, with their rule. Tokens are estimates by one counter.
    """

    allowed: bool
    strategy: Strategy
    reason: str
    keep_recent: int
    summarised: tuple[int, int, int] | None = None
    protected: tuple[tuple[int, str], ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0


def preview(
    conversation: Conversation, need: Need, *, keep: int = 0, prune: bool = False, local: bool = False
) -> Preview:
    """The preview of `context.window.WindowManager.compact` with these arguments. ``local`` is where no model can be
    asked for a summary.
    """
    before = conversation.figures(need.budget, need.prefix, simulated=need.simulated).used
    rules = tuple(sorted(protected(conversation.items, conversation.view).items()))
    stays = keep or (PRUNE_KEEP if prune else keep_recent(need.budget.window, KEEP_RECENT))
    made = Preview(False, "none", "", stays, None, rules, before, before)
    if why := unsupported(conversation, need.route):
        return msgspec.structs.replace(made, reason=why)
    return _pruned(made, conversation, need) if prune else _summarised(made, conversation, need, local=local)


def _pruned(made: Preview, conversation: Conversation, need: Need) -> Preview:
    sizes = {s.seq: conversation.size(s.message) for s in conversation.sent if s.seq}
    operation = trimmed(
        conversation.items,
        conversation.view,
        sizes=lambda item: sizes.get(item.seq, 0),
        fixed=made.tokens_before - sum(sizes.values()),
        room=prune_room(conversation, made.tokens_before, made.keep_recent),
        note=lambda first, upto: f"{first}-{upto}",
    )
    if operation is None:
        return msgspec.structs.replace(made, reason="there is nothing to leave out: the newest messages stay")
    return _with(made, conversation, need, operation, "prune", 0)


def _summarised(made: Preview, conversation: Conversation, need: Need, *, local: bool) -> Preview:
    view = conversation.view
    upto = boundary(conversation.items, view, made.keep_recent)
    if not upto:
        reason = (
            f"nothing new to summarise since message {view.summary.upto}"
            if view.summary is not None
            else f"nothing to summarise: the newest {made.keep_recent} messages stay as they are"
        )
        return msgspec.structs.replace(made, reason=reason)
    stays = kept(conversation.items, view, upto)
    head = [i for i in conversation.items if i.seq <= upto and not view.hides(i.seq)]
    first = view.summary.first if view.summary is not None else head[0].seq
    whole = sum(conversation.size(i.message) for i in head)
    latest = latest_input(conversation.items)
    text, more = "", target_tokens(need.budget.window, whole)
    if local:
        more = 0
        text = local_summary(
            head,
            previous=view.summary.text if view.summary is not None else "",
            latest=latest.message.text if latest is not None else "",
            limit_tokens=min(max_summary(need.budget.window), whole // 2),
            count=conversation.meter.counter.count,
        )
    operation = Summarise(first, upto, text, "", local, stays)
    return _with(made, conversation, need, operation, "local_summary" if local else "client_summary", more)


def _with(
    made: Preview, conversation: Conversation, need: Need, operation: Operation, strategy: Strategy, more: int
) -> Preview:
    candidate = conversation.candidate([operation])
    after = conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=candidate).used + more
    before_seqs = [s.seq for s in conversation.sent if s.seq]
    after_seqs = {s.seq for s in candidate.sent}
    gone = [seq for seq in before_seqs if seq not in after_seqs]
    if not gone or after >= made.tokens_before:
        reason = "it would not make the prompt smaller"
        return msgspec.structs.replace(made, reason=reason, tokens_after=after)
    assert isinstance(operation, Summarise | Trim)
    return msgspec.structs.replace(
        made,
        allowed=True,
        strategy=strategy,
        reason=REASONS[strategy],
        summarised=(gone[0], gone[-1], len(gone)),
        tokens_after=after,
    )


REASONS: dict[str, str] = {
    "client_summary": "the conversation's own model writes a summary of the older messages",
    "local_summary": "no model can be asked here, so the summary is put together from the messages",
    "prune": "the older messages are left out without a summary, as asked",
}
"""Why each way of doing it is taken, for a person."""
