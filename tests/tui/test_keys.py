"""The keys of every pane: named, explained, and working in Hangul mode."""

from __future__ import annotations

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from geode_tui.core.strings import Strings
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.keys import letter
from geode_tui.tui.screens.modal import Reading, ReadScreen
from geode_tui.tui.screens.names import NameList, NamesScreen
from geode_tui.tui.screens.run import RunScreen
from geode_tui.tui.widgets.approval_body import ApprovalBody
from geode_tui.tui.widgets.entry import Entry
from geode_tui.tui.widgets.events import EventsPane
from geode_tui.tui.widgets.field import Field
from geode_tui.tui.widgets.find import FindBar

EVENTS = (EventsPane, Field, NameList, NamesScreen)
PANES = (
    RunScreen,
    Entry,
    Conversation,
    *EVENTS,
    ApprovalBody,
    FindBar,
    Reading,
    ReadScreen,
)


@pytest.mark.parametrize("pane", PANES)
def test_every_binding_has_a_name_and_small_letters_work_as_jamo(pane: type[DOMNode]) -> None:
    names = set()
    for binding in pane.BINDINGS:
        assert isinstance(binding, Binding)
        assert binding.id
        assert binding.id not in names
        names.add(binding.id)
        keys = binding.key.split(",")
        for key in keys:
            if len(key) == 1 and key.isascii() and key.islower():
                assert set(letter(key).split(",")) <= set(keys), binding.key


@pytest.mark.parametrize("pane", [RunScreen, Entry, Conversation, *EVENTS, FindBar])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_help_has_words_for_every_key(pane: type[DOMNode], language: str) -> None:
    strings = Strings("ko" if language == "ko" else "en")
    for binding in pane.__dict__["BINDINGS"]:
        assert strings.has(f"key.{binding.id}"), binding.id
