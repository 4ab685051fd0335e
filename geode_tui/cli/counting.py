"""What counts the tokens of a route: the same for the worker that sends them and for whoever looks ahead."""

from __future__ import annotations

import logging

from geode_tui.context.estimate import vocabulary_of
from geode_tui.core.tokens import ScriptCounter, TokenCounter, VocabularyError, load_vocabulary
from geode_tui.routes.catalog import Route

_log = logging.getLogger(__name__)


def counter_of(route: Route) -> TokenCounter:
    """Counts the tokens of what is sent on ``route``; by script where its vocabulary cannot be loaded."""
    name, _ = vocabulary_of(route)
    if name is None:
        return ScriptCounter()
    try:
        return load_vocabulary(name)
    except VocabularyError as error:
        _log.warning("%s; tokens are estimated by their script", error)
        return ScriptCounter()
