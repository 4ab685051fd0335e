from __future__ import annotations

from geode_tui.core.events import EventRow, McpServerConnected, McpServerFailed, McpTool, SessionEnded, encode_payload
from geode_tui.core.events.base import Payload
from geode_tui.core.events.catalogue import event_name
from geode_tui.core.strings import Strings
from geode_tui.view.event_line import event_level, event_line
from geode_tui.view.reduce import fold
from geode_tui.view.servers import MAX_SERVERS, server_lines, server_report
from geode_tui.view.state import RunState

TOOLS = (McpTool("mcp__git__log", "log", 120, "read"), McpTool("mcp__git__commit", "commit", 300, "execute"))


def connected(name: str = "git") -> McpServerConnected:
    return McpServerConnected(name, "stdio", "mcp-git -v", TOOLS, version="git 1")


def folded(*payloads: Payload) -> RunState:
    rows = [EventRow(n, 100.0 + n, 1, 1, event_name(type(p)), encode_payload(p)) for n, p in enumerate(payloads, 1)]
    return fold(RunState(), rows)


def test_a_connected_server_has_its_tools_and_their_cost() -> None:
    server = folded(connected()).servers["git"]
    assert (server.mood, server.tokens, len(server.tools)) == ("connected", 420, 2)


def test_a_lost_server_keeps_its_name_and_loses_its_tools() -> None:
    server = folded(connected(), McpServerFailed("git", "the server ended with status 3", 1, 2.0)).servers["git"]
    assert (server.mood, server.tools, server.retry_at) == ("waiting", (), 104.0)
    assert server.error == "the server ended with status 3"


def test_a_server_that_came_back_still_tells_its_last_error() -> None:
    state = folded(connected(), McpServerFailed("git", "gone", 1, 2.0), connected())
    assert (state.servers["git"].mood, state.servers["git"].error) == ("connected", "gone")
    assert state.warnings == 1


def test_servers_end_with_their_worker() -> None:
    assert folded(connected(), SessionEnded("s", "natural", 1)).servers["git"].mood == "ended"


def test_a_run_remembers_a_bounded_number_of_servers() -> None:
    state = folded(*(connected(f"s{n}") for n in range(MAX_SERVERS + 9)))
    assert len(state.servers) == MAX_SERVERS


def test_hostile_text_is_inert() -> None:
    server = folded(McpServerConnected("g\x1b[31m", "stdio", "p\x1b]0;x\x07", TOOLS, ("l\x1b[2J",))).servers.popitem()[
        1
    ]
    assert "\x1b" not in "".join("".join(pair) for pair in server_lines(server, Strings("en")))


def test_a_server_is_told_in_both_languages_dearest_tool_first() -> None:
    failed = folded(McpServerFailed("git", "gone", 5, None)).servers["git"]
    assert any("/mcp restart git" in right for _, right in server_lines(failed, Strings("en")))
    assert any("/mcp restart git" in right for _, right in server_lines(failed, Strings("ko")))
    rows = server_lines(folded(connected()).servers["git"], Strings("en"))
    assert [left.strip() for left, _ in rows] == ["git", "mcp__git__commit", "mcp__git__log"]
    assert "asks first" in rows[1][1]
    assert "asks first" not in rows[2][1]


def test_a_report_holds_what_programs_need() -> None:
    report = server_report(folded(connected()).servers["git"])
    assert report["state"] == "connected"
    assert report["tools"][0] == {"name": "mcp__git__log", "tool": "log", "tokens": 120, "safety": "read"}
    assert report["error"] is None


def test_the_events_are_lines() -> None:
    failed = encode_payload(McpServerFailed("git", "gone", 5, None))
    assert event_line("mcp_server_failed", failed) == "git, gone, not tried again"
    assert event_level("mcp_server_failed", failed) == "warning"
    assert event_line("mcp_server_connected", encode_payload(connected())) == "git, 2 tools"
