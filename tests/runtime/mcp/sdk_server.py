"""A server made with the SDK's own server side: `python sdk_server.py`, or with a port over streamable HTTP."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    reads = types.ToolAnnotations(read_only_hint=True)
    echo = types.Tool(name="echo", description="Say it again", input_schema=SCHEMA, annotations=reads)
    return types.ListToolsResult(tools=[echo, types.Tool(name="steps", input_schema=SCHEMA)])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    said = str((params.arguments or {}).get("text", ""))
    if params.name == "steps":
        await context.session.report_progress(1, 2, "half")
    content: list[Any] = [types.TextContent(type="text", text=said)]
    return types.CallToolResult(content=content, structured_content={"said": said})


def made() -> Server[Any]:
    return Server("sdk", version="2", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_pipes() -> None:
    server = made()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1]:
        import uvicorn

        uvicorn.run(made().streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
    else:
        anyio.run(over_pipes)
