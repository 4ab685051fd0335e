"""A session's conversation as its worker has it, for whoever looks ahead: nothing is asked, nothing is written."""

from __future__ import annotations

import msgspec

from geode_tui.cli.counting import counter_of
from geode_tui.context.conversation import Conversation
from geode_tui.context.prefix import Prefix
from geode_tui.context.pressure import Need
from geode_tui.core.events import ContextFigures
from geode_tui.log.rows import SessionRow
from geode_tui.log.transcript import Transcript
from geode_tui.routes.budget import Budget
from geode_tui.routes.catalog import Catalog, Provenance, Route
from geode_tui.runtime.stored import Stored, loaded, prefix_before, read_stored


class Window(msgspec.Struct, frozen=True):
    """What the log holds of a conversation, the conversation that this makes, and what its next request may take by
    the gauge ``figures``.
    """

    stored: Stored
    conversation: Conversation
    need: Need
    figures: ContextFigures


def window_of(transcript: Transcript, row: SessionRow, figures: ContextFigures) -> Window:
    """The conversation of session ``row`` by now; ``figures`` is its gauge. Raises `StoreError`."""
    return _opened(read_stored(transcript, row.session_id, row.number), _route(row, figures), figures)


def before_version(window: Window, number: int) -> Window:
    """The same conversation just before version ``number`` of its view was made."""
    made = next(version for version in window.stored.versions if version.number == number)
    stored = Stored(
        tuple(item for item in window.stored.items if item.seq <= made.newest),
        tuple(version for version in window.stored.versions if version.number < number),
        tuple((at, call) for at, call in window.stored.answered if (call.message_seq or 0) <= made.newest),
        window.stored.cleared,
    )
    return _opened(stored, window.need.route, window.figures)


def _opened(stored: Stored, route: Route, figures: ContextFigures) -> Window:
    conversation = loaded(stored, route, counter_of(route))
    need = Need(route, _budget(figures), _prefix(stored, conversation, figures), figures.simulated)
    return Window(stored, conversation, need, figures)


def _route(row: SessionRow, figures: ContextFigures) -> Route:
    """The session's route, with the window that its last request was planned for."""
    route = Catalog().route(row.model, row.provider, row.source)
    provenance = msgspec.convert(figures.provenance, Provenance)
    return msgspec.structs.replace(route, window=figures.window, provenance=provenance, input_cap=figures.input_cap)


def _budget(figures: ContextFigures) -> Budget:
    return Budget(
        window=figures.window,
        reserve=figures.output_reserve,
        prompt=figures.budget,
        warning=figures.warning,
        critical=figures.critical,
        warning_percent=figures.warning_percent,
        input_cap=figures.input_cap,
    )


def _prefix(stored: Stored, conversation: Conversation, figures: ContextFigures) -> Prefix:
    """What stands before the conversation: as in the newest answered call, so that its provider's count of it holds.

    Without one the gauge tells its size, in the route's tokens; the meter wants it in its counter's.
    """
    route = conversation.route
    calls = [call for _, call in stored.answered if (call.model, call.provider, call.source) == route.key]
    if calls and calls[-1].counted_prefix is not None:
        return prefix_before(calls[-1])
    ratio = conversation.meter.calibration(route).text_ratio
    system, tools = (round(figures.parts.get(name, 0) / ratio) for name in ("system", "tools"))
    return Prefix(system, tools, calls[-1].prefix if calls else "")
