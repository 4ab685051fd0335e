"""MCP servers: tools that other programs offer to a run (RUNTIME.md 4.7)."""
