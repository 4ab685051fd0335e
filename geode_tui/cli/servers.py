"""MCP servers from settings to a running hub. The SDK is imported only where a server is set: it takes about 1 s."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from geode_tui.cli.env import Env
from geode_tui.core.events import Payload
from geode_tui.core.servers import Declared, declared
from geode_tui.core.settings import ToolSettings

if TYPE_CHECKING:
    from geode_tui.runtime.mcp.hub import Hub
    from geode_tui.runtime.session import Session
    from geode_tui.runtime.tools.base import Tool


def declared_servers(env: Env) -> Declared:
    """The servers that the settings in force name."""
    return declared(env.settings.mcp)


def make_hub(
    env: Env, session_id: str, emit: Callable[[Payload], Awaitable[None]], count: Callable[[str], int]
) -> Hub | None:
    """The hub over the enabled servers, not started; None where there is none.

    A server's word that a tool only reads counts unless the folder has settings that wait for the person's trust.
    """
    found = declared_servers(env)
    if not any(server.enabled for server in found.servers):
        return None
    from geode_tui.runtime.clock import SystemClock
    from geode_tui.runtime.mcp.hub import Hub
    from geode_tui.runtime.mcp.server import Surroundings

    around = Surroundings(
        session_id=session_id,
        root=env.project.root,
        environment=env.environment,
        clock=SystemClock(),
        redact=env.redact,
        emit=emit,
        count=count,
        hints=not env.resolved.untrusted,
    )
    return Hub(found.servers, around)


def attach(env: Env, session: Session) -> Hub | None:
    """Start the servers of a worker and offer their tools to its session, beside those that it has."""

    async def emit(payload: Payload) -> None:
        await session.journal.write(lambda tx: tx.event(payload))

    hub = make_hub(env, session.id, emit, session.meter.counter.count)
    if hub is None:
        return None
    own = dict(session.tools)

    async def tools() -> Mapping[str, Tool]:
        await hub.ready()
        return {**own, **hub.tools(lambda name: is_offered(env.settings.tools, name))}

    session.tool_source = tools
    session.restart_server = hub.restart
    hub.start()
    return hub


def is_offered(wanted: ToolSettings, name: str) -> bool:
    """Whether the settings leave the tool ``name``."""
    return (not wanted.allow or name in wanted.allow) and name not in wanted.deny
