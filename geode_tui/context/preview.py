"""What a compaction by hand would do, before anybody pays for it. Pure: nothing is asked, nothing is changed."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from geode_tui.context.called import calls_of
from geode_tui.context.conversation import Candidate, Conversation
from geode_tui.context.local_summary import local_summary
from geode_tui.context.mask import maskable, masked
from geode_tui.context.mode import ways
from geode_tui.context.native_step import joins
from geode_tui.context.pressure import Need
from geode_tui.context.protect import boundary, kept, latest_input, protected
from geode_tui.context.summary_source import target_tokens
from geode_tui.context.trim import trimmed
from geode_tui.context.view import View
from geode_tui.context.window import KEEP_RECENT, MASK_KEEP_ROUNDS, PRUNE_KEEP, prune_room
from geode_tui.core.views import Native, Summarise, Trim
from geode_tui.routes.budget import keep_recent, max_summary

Strategy: TypeAlias = Literal["threshold", "on_demand", "client_summary", "local_summary", "mask_only", "prune", "none"]
Obstacle: TypeAlias = Literal["", "native", "on_demand", "unknown", "nothing", "no_gain"]
"""What stands in the way: a provider's block in an answer, or first; rules that are not known; nothing that is old
enough; a prompt that would not become smaller.
"""


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


class Plan(msgspec.Struct, frozen=True):
    """A preview, and what it was made from. ``candidate`` is the conversation as it would be sent, None where nothing
    would be done; ``written`` are the tokens of a text in it that is not written yet. ``obstacle`` is why nothing would
    be done, empty where something would.
    """

    preview: Preview
    obstacle: Obstacle = ""
    candidate: Candidate | None = None
    written: int = 0


def preview(
    conversation: Conversation, need: Need, *, keep: int = 0, prune: bool = False, local: bool = False
) -> Preview:
    """The preview of `context.window.WindowManager.compact` with these arguments. ``local`` is where no model can be
    asked for a summary.
    """
    return plan(conversation, need, keep=keep, prune=prune, local=local).preview


def plan(conversation: Conversation, need: Need, *, keep: int = 0, prune: bool = False, local: bool = False) -> Plan:
    """The same with what it was made from."""
    before = conversation.figures(need.budget, need.prefix, simulated=need.simulated).used
    rules = tuple(sorted(protected(conversation.items, conversation.view).items()))
    stays = keep or (PRUNE_KEEP if prune else keep_recent(need.budget.window, KEEP_RECENT))
    made = Preview(False, "none", "", stays, None, rules, before, before)
    way = ways(conversation, need.route)
    if not (way.text or (way.native and not prune)):
        obstacle: Obstacle = "unknown" if way.mode == "text" else "native" if way.mode == "threshold" else "on_demand"
        return _refused(made, obstacle, way.why)
    if way.native and not prune:
        return _native(made, conversation, need)
    return _pruned(made, conversation, need) if prune else _summarised(made, conversation, need, local=local)


def masking(conversation: Conversation) -> tuple[int, Candidate | None]:
    """How many results masking alone would mask (`context.hands.mask` without any named), and what would be sent then;
    none where a marker would be no shorter than its result.
    """
    stale = maskable(conversation.items, conversation.view, keep_rounds=MASK_KEEP_ROUNDS)
    calls = calls_of(conversation.items)
    made = masked(stale, {}, lambda item: conversation.size(item.message), calls)
    return (0, None) if made is None else (len(made.stubs), conversation.candidate([made]))


def _refused(made: Preview, obstacle: Obstacle, reason: str, tokens_after: int | None = None) -> Plan:
    after = made.tokens_after if tokens_after is None else tokens_after
    return Plan(msgspec.structs.replace(made, reason=reason, tokens_after=after), obstacle)


def _pruned(made: Preview, conversation: Conversation, need: Need) -> Plan:
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
        return _refused(made, "nothing", "there is nothing to leave out: the newest messages stay")
    return _with(made, conversation, need, operation, "prune", 0)


def _nothing(made: Preview, view: View) -> Plan:
    reason = (
        f"nothing new to summarise since message {view.stands.upto}"
        if view.stands is not None
        else f"nothing to summarise: the newest {made.keep_recent} messages stay as they are"
    )
    return _refused(made, "nothing", reason)


def _native(made: Preview, conversation: Conversation, need: Need) -> Plan:
    """What the provider's own compaction would come to, with a text of the length that one usually has."""
    items, view = conversation.items, conversation.view
    upto = boundary(items, view, made.keep_recent)
    if not upto:
        return _nothing(made, view)
    stays = kept(items, view, upto)
    head = [i for i in items if i.seq <= upto and not view.hides(i.seq)]
    first = view.stands.first if view.stands is not None else head[0].seq
    more = target_tokens(need.budget.window, sum(conversation.size(i.message) for i in head))
    seamless = not stays and joins(items, view, upto)
    operation = Native(first, upto, BLOCK, need.route.provider, kept=stays, seamless=seamless)
    return _with(made, conversation, need, operation, "on_demand", more)


def _summarised(made: Preview, conversation: Conversation, need: Need, *, local: bool) -> Plan:
    view = conversation.view
    upto = boundary(conversation.items, view, made.keep_recent)
    if not upto:
        return _nothing(made, view)
    stays = kept(conversation.items, view, upto)
    head = [i for i in conversation.items if i.seq <= upto and not view.hides(i.seq)]
    first = view.stands.first if view.stands is not None else head[0].seq
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
    made: Preview,
    conversation: Conversation,
    need: Need,
    operation: Summarise | Trim | Native,
    strategy: Strategy,
    more: int,
) -> Plan:
    candidate = conversation.candidate([operation])
    after = conversation.figures(need.budget, need.prefix, simulated=need.simulated, candidate=candidate).used + more
    before_seqs = [s.seq for s in conversation.sent if s.seq]
    after_seqs = {s.seq for s in candidate.sent}
    gone = [seq for seq in before_seqs if seq not in after_seqs]
    if not gone or after >= made.tokens_before:
        return _refused(made, "no_gain", "it would not make the prompt smaller", after)
    found = msgspec.structs.replace(
        made,
        allowed=True,
        strategy=strategy,
        reason=REASONS[strategy],
        summarised=(gone[0], gone[-1], len(gone)),
        tokens_after=after,
    )
    return Plan(found, "", candidate, more)


BLOCK = '{"type":"compaction","content":" "}'
"""What stands in a preview for a block that is not written yet."""
REASONS: dict[str, str] = {
    "on_demand": "the provider's own server writes a block that stands for the older messages",
    "client_summary": "the conversation's own model writes a summary of the older messages",
    "local_summary": "no model can be asked here, so the summary is put together from the messages",
    "prune": "the older messages are left out without a summary, as asked",
}
"""Why each way of doing it is taken, for a person."""
