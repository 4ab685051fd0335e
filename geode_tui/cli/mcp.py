"""`mcp`: the servers that are set, whether they answer, what they offer, and what that costs of every request."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.servers import declared_servers, make_hub
from geode_tui.core.events import EventRow, McpServerConnected, McpServerFailed, Payload
from geode_tui.core.servers import McpServer
from geode_tui.core.tokens import text_tokens
from geode_tui.log.lease import worker_pids
from geode_tui.view import servers as view
from geode_tui.view.follow import state_at
from geode_tui.view.servers import RunServer, server_lines, server_report

LOOK = "look"
"""What stands for a session's id where servers are only looked at."""


def mcp(env: Env, *, json: bool) -> int:
    """Show every server: as a live run sees it, else it is connected for a moment."""
    refuse_inside(env.environment, "mcp")
    for line in env.resolved.ignored:
        env.note(line)
    found = declared_servers(env)
    known = live_servers(env)
    rest = [server.name for server in found.servers if server.enabled and server.name not in known]
    if rest:
        known |= asyncio.run(_looked(env))
    rows = [_row(server, known.get(server.name)) for server in found.servers]
    if json:
        problems = [{"name": name, "state": "unusable", "error": line} for name, line in found.problems]
        env.print_json([*rows, *problems])
        return 0
    for server in found.servers:
        shown = known.get(server.name)
        if shown is None:
            env.print(f"{server.name}  {'not enabled' if not server.enabled else 'no answer'}  {server.place}")
            continue
        for left, right in server_lines(shown, env.strings):
            env.print(f"{left}  {right}".rstrip() if left else right)
    for _, line in found.problems:
        env.print(line)
    if not found.servers and not found.problems:
        env.print(env.strings.t("mcp.none"))
    return 0


def server_rows(env: Env) -> list[dict[str, Any]]:
    """The servers for `status`: nothing is started for it."""
    found, known = declared_servers(env), live_servers(env)
    rows = [_row(server, known.get(server.name)) for server in found.servers]
    return [*rows, *({"name": name, "state": "unusable", "error": line} for name, line in found.problems)]


def live_servers(env: Env) -> dict[str, RunServer]:
    """The servers of the runs that have a live worker, by name; of two runs the one that was told last."""
    if not env.has_store():
        return {}
    transcript = env.transcript()
    alive = worker_pids(env.project.geode)
    found: dict[str, RunServer] = {}
    for row in transcript.sessions():
        if row.session_id in alive:
            for name, server in state_at(transcript, row.number).servers.items():
                if name not in found or server.since > found[name].since:
                    found[name] = server
    return found


async def _looked(env: Env) -> dict[str, RunServer]:
    """Connect to every server once, and leave again."""
    found: dict[str, RunServer] = {}

    async def emit(payload: Payload) -> None:
        row = EventRow(0, time.time(), 0, 0, "", "")
        match payload:
            case McpServerConnected():
                found[payload.server_name] = view.connected(None, payload, row)
            case McpServerFailed():
                found[payload.server_name] = view.failed(None, payload, row)

    hub = make_hub(env, LOOK, emit, text_tokens)
    if hub is not None:
        hub.start()
        await hub.ready()
        await hub.close()
    return found


def _row(server: McpServer, shown: RunServer | None) -> dict[str, Any]:
    if shown is not None:
        return server_report(shown)
    state = "not_started" if server.enabled else "disabled"
    return server_report(RunServer(server.name, "ended", server.transport, server.place)) | {"state": state}
