from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from geode_tui.runtime.mcp.names import look_alike, tool_name
from geode_tui.runtime.tools.registry import builtin_tools

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
names = st.text(min_size=1, max_size=80)


def test_an_ordinary_name_stays_readable() -> None:
    assert tool_name("git", "git_log") == "mcp__git__git_log"
    assert tool_name("file-system", "readFile") == "mcp__file-system__readFile"


@given(names, names)
def test_every_provider_takes_the_name(server: str, tool: str) -> None:
    assert VALID.match(tool_name(server, tool))
    assert tool_name(server, tool) not in builtin_tools()


@given(names, names, names, names)
@example("a__b", "c", "a", "b__c")
@example("a_", "b", "a", "_b")
@example("ünï", "x", "_n_", "x")
@example("s", "t" * 90, "s", "t" * 91)
def test_two_tools_never_have_the_same_name(server: str, tool: str, other: str, another: str) -> None:
    if (server, tool) != (other, another):
        assert tool_name(server, tool) != tool_name(other, another)


def test_names_that_look_alike_are_told_apart_by_a_hash() -> None:
    alike = look_alike(["getUser", "get_user", "GETUSER", "list"])
    assert alike == {"getUser", "get_user", "GETUSER"}
    marked = {tool_name("s", name, marked=name in alike) for name in (*alike, "list")}
    assert len({name.casefold() for name in marked}) == 4
    assert "mcp__s__list" in marked


def test_a_cyrillic_twin_is_no_twin_in_requests() -> None:
    assert tool_name("s", "search") == "mcp__s__search"
    assert tool_name("s", "seаrch").isascii()
    assert tool_name("s", "seаrch") != tool_name("s", "search")
