"""What a planned compaction is made of: what stays and what goes, message by message, and what it costs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from geode_tui.cli.window import Window
from geode_tui.context.cache import loss_micro
from geode_tui.context.called import about, calls_of
from geode_tui.context.conversation import Candidate, Conversation
from geode_tui.context.protect import protected, result_of
from geode_tui.context.summary_source import source_limit
from geode_tui.context.view import Item, Sent
from geode_tui.core.events import ContextFigures, LlmCallEnded
from geode_tui.core.messages import Message
from geode_tui.core.usage import Usage
from geode_tui.core.views import Native
from geode_tui.routes.prices import cost_micro
from geode_tui.view.compaction import CacheBreak, Fate, GonePart, KeptPart, MessageChange, Results, Span

FIXED = ("system", "tools")
STANDING = ("summaries", "native")
"""Parts of the gauge that stand before the conversation, and for messages of it."""
KINDS = ("results", "agent", "thinking", "user", "images", *STANDING)
TEXT_CHARS = 300
"""Characters that a message's line begins with."""
RULES = ("prefix", "latest_input", "recent")
PACE_CALLS = 20
"""Newest answers by which a model's pace is told."""
RULES_TOKENS = 1_000
"""About what a request for a summary says beside its material."""


class Planned(msgspec.Struct, frozen=True):
    """A plan's candidate with its gauges; ``after`` holds the text that is not written yet."""

    window: Window
    candidate: Candidate
    strategy: str
    before: ContextFigures
    after: ContextFigures
    written: int

    @property
    def conversation(self) -> Conversation:
        """As it stands."""
        return self.window.conversation

    @property
    def replaces(self) -> bool:
        """Whether something stands for the older messages, and for what stood for them before."""
        return self.strategy != "prune"

    @property
    def gone(self) -> tuple[Item, ...]:
        """The messages that would not be sent any more."""
        sent = {s.seq for s in self.conversation.sent if s.seq} - {s.seq for s in self.candidate.sent}
        return tuple(item for item in self.conversation.items if item.seq in sent)


def with_written(figures: ContextFigures, written: int, *, native: bool) -> ContextFigures:
    """``figures`` with ``written`` tokens more of what stands for messages."""
    kind = "native" if native else "summaries"
    parts = {**figures.parts, kind: figures.parts.get(kind, 0) + written} if written else figures.parts
    return msgspec.structs.replace(figures, used=figures.used + written, parts=parts)


# -- what stays, what goes ---------------------------------------------------------------------------------------------
def kept_parts(planned: Planned) -> tuple[KeptPart, ...]:
    """What stays as it is, by the rule that keeps it: all that is sent afterwards but for what stands for others."""
    conversation, parts = planned.conversation, planned.after.parts
    rules = protected(conversation.items, conversation.view)
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for sent in planned.candidate.sent:
        if sent.seq:
            rule = rules.get(sent.seq, "recent")
            counts[rule] += 1
            tokens[rule] += conversation.size(sent.message)
    fixed = sum(parts.get(name, 0) for name in FIXED)
    whole = planned.after.used - sum(parts.get(name, 0) for name in STANDING)
    shares = {"prefix": fixed, **shared(tokens, max(0, whole - fixed))}
    order = sorted(shares, key=lambda rule: RULES.index(rule) if rule in RULES else len(RULES))
    return tuple(KeptPart(rule, counts[rule], shares[rule]) for rule in order if counts[rule] or shares[rule])


def gone_parts(planned: Planned) -> tuple[GonePart, ...]:
    """What is not sent any more, by kind, the largest first; with what is written in its stead it is the difference."""
    before, after = planned.before.parts, planned.after.parts
    went: Counter[str] = Counter()
    for kind in KINDS:
        stays = 0 if kind in STANDING and planned.replaces else after.get(kind, 0)
        went[kind] = max(0, before.get(kind, 0) - stays)
    standing = sum(after.get(kind, 0) for kind in STANDING) if planned.replaces else 0
    whole = max(0, planned.before.used - planned.after.used + standing)
    counts: Counter[str] = Counter(kind_of(item.message) for item in planned.gone)
    shares = shared({kind: n for kind, n in went.items() if n}, whole)
    return tuple(GonePart(kind, counts[kind], n) for kind, n in sorted(shares.items(), key=lambda part: -part[1]))


def shared(weights: Mapping[str, int], whole: int) -> dict[str, int]:
    """``whole`` shared out by ``weights``: cumulative sums are rounded, so that nothing is lost."""
    total, reached, made = sum(weights.values()), 0, {}
    given = 0
    for name, weight in weights.items():
        reached += weight
        edge = reached * whole // total if total else 0
        made[name], given = edge - given, edge
    return made


def span_of(gone: tuple[Item, ...]) -> Span:
    """The messages of ``gone``, of which there is at least one."""
    rounds = [(item.turn, item.round) for item in gone if item.round]
    first, last = (rounds[0], rounds[-1]) if rounds else ((0, 0), (0, 0))
    return Span(gone[0].seq, gone[-1].seq, len(gone), first, last)


def results_of(planned: Planned, stored: Callable[[str], bool]) -> Results:
    """What becomes of the tool results that go; ``stored`` tells whether a reference still has its file."""
    fates: Counter[str] = Counter()
    tokens = 0
    for item in planned.gone:
        if result_of(item) is None:
            continue
        stub, _ = planned.conversation.view.stubs.get(item.seq, (None, ""))
        if stub is None or not stub.ref:
            fates["unstored"] += 1
            continue
        fates["recallable" if stored(stub.ref) else "expired"] += 1
        tokens += stub.tokens
    return Results(fates["recallable"], fates["expired"], fates["unstored"], tokens)


# -- message by message ------------------------------------------------------------------------------------------------
def changes(planned: Planned) -> tuple[MessageChange, ...]:
    """Every message that would be sent in another form, what would stand for others first."""
    conversation = planned.conversation
    calls, items = calls_of(conversation.items), {item.seq: item for item in conversation.items}
    known = {id(sent.message) for sent in conversation.sent}
    after = {sent.seq: sent for sent in planned.candidate.sent if sent.seq}
    new = [s for s in planned.candidate.sent if not s.seq and s.state != "note" and id(s.message) not in known]
    made = [_new(planned, sent) for sent in new]
    fate: Fate = "left_out" if not planned.replaces else "native" if _native(planned) else "summarised"
    for sent in conversation.sent:
        if not sent.seq:
            continue
        left = after.get(sent.seq)
        if left is not None and (left.message is sent.message or left.message == sent.message):
            continue
        item = items[sent.seq]
        made.append(
            MessageChange(
                seq=sent.seq,
                turn=item.turn,
                round=item.round,
                kind=kind_of(item.message),
                text=line_of(item, lambda one: about(one, calls.get(one.seq))),
                before=conversation.size(sent.message),
                after=conversation.size(left.message) if left is not None else 0,
                fate="changed" if left is not None else fate,
            )
        )
    return tuple(made)


def _new(planned: Planned, sent: Sent) -> MessageChange:
    kind = "native" if sent.state == "native" else "summaries"
    size = planned.conversation.size(sent.message) + (planned.written if sent.state in {"native", "summary"} else 0)
    return MessageChange(0, 0, 0, kind, "", 0, size, "new")


def _native(planned: Planned) -> bool:
    return any(isinstance(operation, Native) for operation in planned.candidate.operations)


def kind_of(message: Message) -> Literal["results", "agent", "user"]:
    """The kind of the gauge that a message mostly is."""
    return "results" if message.role == "tool" else "agent" if message.role == "assistant" else "user"


def line_of(item: Item, called: Callable[[Item], str]) -> str:
    """What a message says, in short."""
    if item.message.role == "tool":
        return called(item)[:TEXT_CHARS]
    names = ", ".join(call.name for call in item.message.calls)
    return (item.message.text or names)[:TEXT_CHARS]


# -- cost --------------------------------------------------------------------------------------------------------------
def summary_micro(planned: Planned, now: float) -> int | None:
    """About what the summary costs, micro-dollars: 0 where no model is asked, None without a price."""
    if planned.strategy not in {"client_summary", "on_demand"}:
        return 0
    need, conversation = planned.window.need, planned.conversation
    told = sum(conversation.size(item.message) for item in planned.gone)
    told += sum(planned.before.parts.get(kind, 0) for kind in STANDING)
    if planned.strategy == "client_summary":
        room = source_limit(need.budget.window, planned.written, need.budget.input_cap)
        return cost_micro(need.route, Usage(min(told + RULES_TOKENS, room), planned.written), now)
    prompt = told + sum(planned.before.parts.get(name, 0) for name in FIXED)
    cached = _caches(planned.window)
    usage = Usage(0 if cached else prompt, planned.written, prompt if cached else None)
    return cost_micro(need.route, usage, now)


def seconds(planned: Planned) -> int | None:
    """How long a model takes to write it, by the pace of its newest answers; None where nothing is asked or known."""
    calls = _answered(planned.window)[-PACE_CALLS:]
    output, latency_ms = sum(call.usage.output_tokens for call in calls), sum(call.latency_ms for call in calls)
    if not planned.written or not output or not latency_ms:
        return None
    return max(1, round(planned.written * latency_ms / output / 1_000))


def cache_break(planned: Planned, now: float) -> CacheBreak | None:
    """What the next request reads anew; None where the last answer says nothing of a cache."""
    if not _caches(planned.window):
        return None
    route, parts = planned.window.need.route, planned.after.parts
    fixed = sum(parts.get(name, 0) for name in FIXED)
    tokens = max(0, planned.after.used - fixed)
    written = route.provider == "anthropic"
    usage = Usage(0 if written else tokens, 0, fixed, tokens if written else None)
    return CacheBreak(tokens, loss_micro(route, usage, tokens, now))


def _caches(window: Window) -> bool:
    calls = _answered(window)
    if not calls:
        return False
    usage = calls[-1].usage
    return any((usage.cache_read_tokens, usage.cache_write_5m_tokens, usage.cache_write_1h_tokens))


def _answered(window: Window) -> list[LlmCallEnded]:
    key = window.need.route.key
    return [call for _, call in _by_time(window) if (call.model, call.provider, call.source) == key]


def _by_time(window: Window) -> Iterable[tuple[float, LlmCallEnded]]:
    return sorted(window.stored.answered, key=lambda pair: pair[0])
