"""Whole runs with MCP servers that others wrote. They are installed by ``make third-party`` and skipped elsewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from geode_tui.log.receipts import opened
from tests.cli.place import Place, until
from tests.lab import Call, Say, lab_thread

NAMED = os.environ.get("GEODE_TEST_MCP", "")
"""A folder with commands of servers that run on Node.js. Read before every test forgets the person's variables."""
BESIDE = Path(__file__).parents[2] / ".third-party" / "node_modules" / ".bin"

pytestmark = pytest.mark.long


def node_server(name: str) -> str:
    """The command of a server that runs on Node.js; the test is skipped where there is none."""
    found = shutil.which(name, path=NAMED or str(BESIDE)) or shutil.which(name)
    if not found or not shutil.which("node"):
        pytest.skip(f"{name} is not installed: make third-party")
    return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def settings(place: Place, name: str, command: list[str]) -> None:
    file = Path(place.environment["GEODE_TUI_HOME"]) / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    table = f"[mcp.{name}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"
    file.write_text(f"[tool_offload]\nthreshold = 2000\n\n{table}")


def run(place: Place, *calls: Call) -> list[dict[str, Any]]:
    """The events of a run whose model makes ``calls`` one after the other."""
    with lab_thread(script=[*calls, Say("done")]) as lab:
        env = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": lab.base_url, "PATH": os.environ["PATH"]}
        done = place.cli("run", "use the tools", "--json", "--approve", "all", env=env)
    assert done.status == 0, done.err
    return done.events


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in events if event["event"] == name]


def raw(place: Place, ended: dict[str, Any]) -> bytes:
    with opened(place.geode, ended["receipt"]["sha256"]) as file:
        return file.read()


def test_the_server_that_has_everything(place: Place) -> None:
    settings(place, "everything", [node_server("mcp-server-everything"), "stdio"])
    events = run(
        place,
        Call("mcp__everything__echo", {"message": "MARK"}),
        Call("mcp__everything__get-structured-content", {"location": "New York"}),
        Call("mcp__everything__get-tiny-image", {}),
        Call("mcp__everything__trigger-long-running-operation", {"duration": 1, "steps": 3}),
    )
    assert named(events, "mcp_server_connected")[0]["server_name"] == "everything"
    ended = named(events, "tool_exec_ended")
    assert [p["has_error"] for p in ended] == [False] * 4
    assert raw(place, ended[0]) == b'{"content":[{"type":"text","text":"Echo: MARK"}]}'
    assert json.loads(raw(place, ended[1])).keys() >= {"content", "structuredContent"}
    assert named(events, "mcp_call_progress")[-1]["progress"] == 3


def test_the_server_of_files_and_a_result_that_is_offloaded_and_recalled(place: Place) -> None:
    (place.root / "big.txt").write_text("".join(f"{n} a line of the file\n" for n in range(4_000)))
    settings(place, "files", [node_server("mcp-server-filesystem"), str(place.root)])
    recall = Call("recall_tool_result", {"ref_id": "toolu_big", "offset": 40_000, "limit": 400})
    events = run(
        place,
        Call("mcp__files__read_text_file", {"path": str(place.root / "big.txt")}, "toolu_big"),
        recall,
        Call("mcp__files__read_text_file", {"path": "/etc/passwd"}),
    )
    [offloaded] = named(events, "tool_result_offloaded")
    stored = json.loads((place.geode / offloaded["path"]).read_bytes())["result"]
    assert json.loads(stored)["content"] == (place.root / "big.txt").read_text()
    whole, page, refused = named(events, "tool_exec_ended")
    assert json.loads(raw(place, whole))["structuredContent"] == json.loads(stored)
    assert (page["has_error"], refused["has_error"]) == (False, True)
    assert named(events, "tool_result_recalled")[0]["ref_id"] == "toolu_big"


def test_the_server_of_git_is_killed_and_comes_back(place: Place) -> None:
    if importlib.util.find_spec("mcp_server_git") is None:
        pytest.skip("mcp-server-git is not installed: make third-party")
    subprocess.run(["git", "init", "-q", str(place.root)], check=True)
    settings(place, "git", [sys.executable, "-m", "mcp_server_git", "--repository", str(place.root)])
    status = Call("mcp__git__git_status", {"repo_path": str(place.root)})
    bad = Call("mcp__git__git_log", {"repo_path": "/nowhere"})
    first = named(run(place, status, bad), "tool_exec_ended")
    assert [p["has_error"] for p in first] == [False, True]
    session = place.newest
    [server] = [c for c in place.worker(session).children() if "mcp_server_git" in c.cmdline()]
    server.kill()
    until(lambda: len(place.payloads(session, "mcp_server_connected")) == 2, "the server's return")
    [failed] = place.payloads(session, "mcp_server_failed")
    assert failed["error"].startswith("the server ended with status -9")
    assert [c for c in place.worker(session).children() if "mcp_server_git" in c.cmdline() and psutil.pid_exists(c.pid)]
