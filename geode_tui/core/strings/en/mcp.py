"""English texts: MCP servers."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "command.mcp": "restarting the server",
    "mcp.asks": "asks first",
    "mcp.connected": "connected",
    "mcp.cost": "{tokens} tok in every request",
    "mcp.do_restart": "Once that is put right: /mcp restart {name}",
    "mcp.ended": "ended with its run",
    "mcp.error": "last error: {error}",
    "mcp.failed": "failed",
    "mcp.none": "This run has no MCP servers: [mcp.NAME] in config.toml adds one.",
    "mcp.title": "MCP servers",
    "mcp.tools": "{n} tools, {tokens} tok",
    "mcp.waiting": "lost, tried again soon",
    "slash.help_mcp": "MCP servers and their tools; restart NAME connects one anew",
    "slash.mcp": "/mcp takes nothing, or restart and the name of a server",
}
