from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.servers import McpServer
from geode_tui.core.tokens import text_tokens
from geode_tui.core.tools import Safety
from geode_tui.runtime.mcp.described import MAX_DESCRIPTION, MAX_TOOLS, Listing, described

SERVER = McpServer(name="s", command="x")
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def listed(*tools: Any, server: McpServer = SERVER, hints: bool = True) -> Listing:
    return described(server, tools, text_tokens, hints=hints)


def tool(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": OBJECT, **more}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = dict(OBJECT)
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (tool(inputSchema=None), "its schema is not that of an object"),
        (tool(inputSchema={"type": "array"}), "its schema is not that of an object"),
        (tool(inputSchema={"type": "object", "properties": []}), "the properties in its schema"),
        (tool(inputSchema=deep(40)), "levels deep"),
        (tool(annotations={"title": "\ud800"}), "a character that cannot be sent"),
        (tool(inputSchema={**OBJECT, "description": "x" * 70_000}), "65,536 are allowed"),
    ],
)
def test_a_tool_that_cannot_be_used_is_one_line(entry: dict[str, Any], says: str) -> None:
    found = listed(tool("good"), entry)
    assert [d.tool for d in found.tools] == ["good"]
    [line] = found.left_out
    assert line.startswith("the tool t is left out: ")
    assert says in line


def test_what_a_server_says_is_cleaned_and_bounded() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "string", "description": "b\x1b[2Jc"}}, "$schema": "x"}
    [found] = listed(tool(description="red\x1b[31m" + "y" * 9_000, inputSchema=schema)).tools
    assert "\x1b" not in found.spec.description
    assert len(found.spec.description) <= MAX_DESCRIPTION
    assert "\x1b" not in found.spec.schema["properties"]["a"]["description"]
    assert "$schema" not in found.spec.schema


def test_any_change_of_what_is_told_changes_the_fingerprint() -> None:
    entries = [
        tool(),
        tool(description="other"),
        tool(inputSchema={"type": "object", "properties": {"a": {}}}),
        tool(annotations={"readOnlyHint": True}),
    ]
    prints = {listed(entry).tools[0].fingerprint for entry in entries}
    moved = listed(tool(), server=McpServer(name="s", command="y")).tools[0].fingerprint
    assert len(prints | {moved}) == 5
    assert listed(tool()).tools[0].fingerprint in prints


@pytest.mark.parametrize("hint", [True, False, None, "true", 1])
def test_only_a_plain_yes_says_that_a_tool_reads(hint: Any) -> None:
    [found] = listed(tool(annotations={"readOnlyHint": hint})).tools
    assert found.safety is (Safety.READ if hint is True else Safety.EXECUTE)
    assert found.repeatable == (hint is True)


def test_tools_that_look_alike_are_both_there() -> None:
    names = [d.spec.name for d in listed(tool("getIt"), tool("get_it"), tool("GETIT"), tool("list")).tools]
    assert len({name.casefold() for name in names}) == 4
    assert "mcp__s__list" in names


def test_a_tool_listed_twice_is_there_once_and_too_many_are_not_taken() -> None:
    assert listed(tool(), tool()).left_out == ("the tool t is left out: it is listed twice",)
    many = listed(*(tool(f"t{n}") for n in range(MAX_TOOLS + 5)))
    assert len(many.tools) == MAX_TOOLS
    assert len(many.left_out) == 5


def test_the_settings_choose() -> None:
    server = McpServer(name="s", command="x", exclude=("b",))
    assert [d.tool for d in listed(tool("a"), tool("b"), server=server).tools] == ["a"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
entries = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("name", "description", "inputSchema", "annotations"), json_values)
)


@given(st.lists(json_values | entries, max_size=5))
def test_no_list_of_a_server_is_too_odd(tools: list[Any]) -> None:
    found = described(SERVER, tools, text_tokens, hints=True)
    assert len({d.spec.name for d in found.tools}) == len(found.tools)
