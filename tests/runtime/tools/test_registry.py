"""What all tools have in common: their schema, their reading of arguments, their one-line form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.core.tools import Safety
from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.registry import builtin_tools

NAMES = ["update_plan", "read_file", "list_dir", "glob", "grep", "write_file", "edit_file", "run_shell"]


def test_tools_come_in_a_stable_order_with_their_safety() -> None:
    tools = builtin_tools()
    assert list(tools) == NAMES
    assert [tool.safety for tool in tools.values()] == [
        Safety.NOTE, Safety.READ, Safety.READ, Safety.READ, Safety.READ, Safety.WRITE, Safety.WRITE, Safety.EXECUTE
    ]  # fmt: skip
    assert not any(tool.polls for tool in tools.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_plain_object(name: str) -> None:
    schema = builtin_tools()[name].spec.schema
    text = json.dumps(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "$ref" not in text
    assert "$defs" not in text
    assert '"title"' not in text


def test_nested_steps_are_written_out_in_the_schema() -> None:
    items = builtin_tools()["update_plan"].spec.schema["properties"]["steps"]["items"]
    assert set(items["properties"]) == {"step", "status"}
    assert items["properties"]["status"]["enum"] == ["active", "done", "pending"]


@pytest.mark.parametrize(
    ("arguments", "quoted"),
    [
        ("", "required field"),
        ('{"path": "Par', "truncated"),
        ('{"path":"1"}{"path":"2"}', "trailing characters"),
        ('"{\\"path\\":\\"a\\"}"', "got `str`"),
        ("[1]", "got `array`"),
        ("null", "got `null`"),
        ('{"path": NaN}', "invalid character"),
        ('{"path": "a", "nonsense": 1}', "nonsense"),
        ('{"path": "a\udc88"}', "surrogates"),
        pytest.param('{"path": "' + "a" * 10_000_000 + '"}', "limit", id="10 MB"),
        pytest.param('{"path": ' + "[" * 100_000, "Expected `str`", id="deep"),
    ],
)
async def test_unusable_arguments_are_refused_with_the_parse_error(
    arguments: str, quoted: str, context: ToolContext
) -> None:
    """B104."""
    with pytest.raises(ToolRefused) as refused:
        await builtin_tools()["read_file"].prepare(arguments, context)
    assert quoted in str(refused.value)
    assert len(str(refused.value)) < 500


async def test_empty_arguments_count_as_an_empty_object_where_nothing_is_required(context: ToolContext) -> None:
    prepared = await builtin_tools()["list_dir"].prepare("", context)
    assert (await prepared.run()).text == "[empty folder]"


@settings(deadline=None)
@given(name=st.sampled_from(NAMES), arguments=st.text(max_size=40) | st.from_type(dict).map(str))
def test_a_brief_is_one_line_and_never_raises(name: str, arguments: str) -> None:
    brief = builtin_tools()[name].brief(arguments)
    assert "\n" not in brief
    assert len(brief) <= 120


@pytest.mark.parametrize(
    ("name", "arguments", "brief"),
    [
        ("read_file", {"path": "소스/가.py", "start_line": 7}, "소스/가.py from line 7"),
        ("list_dir", {}, "."),
        ("glob", {"pattern": "*.py", "path": "src"}, '"*.py" in src'),
        ("grep", {"pattern": "def f"}, '"def f"'),
        ("write_file", {"path": "a.txt", "content": ""}, "a.txt"),
        ("edit_file", {"path": "a.txt", "old": "a", "new": "b"}, "a.txt"),
        ("run_shell", {"command": "git status\nrm x"}, "git status …"),
        ("update_plan", {"steps": [{"step": "look", "status": "active"}]}, "look"),
    ],
)
def test_a_brief_names_the_target(name: str, arguments: dict[str, object], brief: str) -> None:
    assert builtin_tools()[name].brief(json.dumps(arguments)) == brief
