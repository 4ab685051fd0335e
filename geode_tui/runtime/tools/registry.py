"""The tools every run has."""

from __future__ import annotations

from geode_tui.runtime.tools.base import Tool
from geode_tui.runtime.tools.grep import grep_tool
from geode_tui.runtime.tools.listing import glob_tool, list_dir_tool
from geode_tui.runtime.tools.plan import update_plan_tool
from geode_tui.runtime.tools.read import read_file_tool
from geode_tui.runtime.tools.shell import run_shell_tool
from geode_tui.runtime.tools.writing import edit_file_tool, write_file_tool


def builtin_tools() -> dict[str, Tool]:
    """The built-in tools by name. The order never changes: it is part of what a provider caches."""
    tools = (
        update_plan_tool(),
        read_file_tool(),
        list_dir_tool(),
        glob_tool(),
        grep_tool(),
        write_file_tool(),
        edit_file_tool(),
        run_shell_tool(),
    )
    return {tool.spec.name: tool for tool in tools}
