"""A session's conversation out of the log, with the figures that its worker has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import msgspec

from geode_tui.context.conversation import Confirmed, Conversation
from geode_tui.context.prefix import Prefix
from geode_tui.context.view import Item
from geode_tui.core.events import LlmCallEnded, ProviderCleared, decode_payload, event_name
from geode_tui.core.tokens import TokenCounter
from geode_tui.core.views import Version
from geode_tui.log import views
from geode_tui.log.rows import StoredMessage
from geode_tui.log.transcript import Transcript
from geode_tui.routes.catalog import Route

CONFIRMED_READ = 200
"""Confirmed calls that are read to learn again how a route counts."""


class Stored(msgspec.Struct, frozen=True):
    """What the log holds of a conversation. ``answered`` are its newest answered calls with the time of their end,
    ``cleared`` the tokens that a provider took off a call's prompt, by its id.
    """

    items: tuple[Item, ...]
    versions: tuple[Version, ...]
    answered: tuple[tuple[float, LlmCallEnded], ...]
    cleared: Mapping[str, int] = {}


def read_stored(transcript: Transcript, session_id: str, number: int) -> Stored:
    """Everything of session ``session_id``, whose row is ``number``. Raises `StoreError`."""
    rows = transcript.newest_named(number, event_name(LlmCallEnded), CONFIRMED_READ)
    calls = ((row.ts, decode_payload(row.event, row.payload)) for row in rows)
    ended = tuple((ts, call) for ts, call in calls if isinstance(call, LlmCallEnded) and call.purpose == "turn")
    items = tuple(item_of(stored) for stored in in_call_order(transcript.messages(session_id)))
    rows = transcript.newest_named(number, event_name(ProviderCleared), CONFIRMED_READ)
    events = (decode_payload(row.event, row.payload) for row in rows)
    cleared = {event.call_id: event.tokens for event in events if isinstance(event, ProviderCleared)}
    return Stored(items, tuple(views.versions(transcript, number)), ended, cleared)


def loaded(stored: Stored, route: Route, counter: TokenCounter | None) -> Conversation:
    """The conversation as a worker on ``route`` knows it."""
    here = (call for _, call in stored.answered if (call.model, call.provider, call.source) == route.key)
    confirmed = {
        call.message_seq: Confirmed(call.usage, prefix_before(call), stored.cleared.get(call.call_id, 0))
        for call in here
        if call.message_seq and call.original
    }
    made = Conversation(route, counter)
    made.load(stored.items, stored.versions, confirmed, route)
    return made


def prefix_before(call: LlmCallEnded) -> Prefix:
    """What stood before the conversation in the request of ``call``; without its size where that was not noted."""
    system, tools = call.counted_prefix or (0, 0)
    return Prefix(system, tools, call.prefix)


def item_of(stored: StoredMessage) -> Item:
    """A stored message as an item of its conversation."""
    row = stored.row
    return Item(row.seq, row.turn, row.round, stored.message, row.result)


def in_call_order(stored: Sequence[StoredMessage]) -> list[StoredMessage]:
    """The results of a batch in the order of its calls, as they were sent; their rows stand in the order they came."""
    order = {call.call_id: n for n, call in enumerate(c for item in stored for c in item.message.calls)}
    made: list[StoredMessage] = []
    for _, group in groupby(stored, key=lambda item: item.row.role == "tool"):
        made += sorted(group, key=lambda item: order.get(item.row.call_id, 0))
    return made
