"""Servers as real processes over their pipes and over loopback HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from geode_tui.core.events import McpCallProgress, McpServerConnected, McpServerFailed, McpServerLogged
from geode_tui.core.servers import McpServer
from geode_tui.core.tools import Safety
from geode_tui.log.receipts import opened
from geode_tui.runtime.mcp.server import GIVE_UP
from geode_tui.runtime.tools.base import ToolOutcome, ToolRefused
from tests.runtime.mcp.place import HERE, Place, place, server
from tests.runtime.mcp.server import BIG


def arguments(text: str) -> str:
    return json.dumps({"text": text})


def untouched(here: Place, outcome: ToolOutcome) -> bytes:
    assert outcome.untouched is not None
    with opened(here.root / ".geode", outcome.untouched.sha256) as file:
        return file.read()


def processes(root: Path) -> list[psutil.Process]:
    """The servers that run for the test in ``root``."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MCP_TEST_COUNT") == str(root / "count"):
                found.append(process)
        except psutil.Error:
            continue
    return found


async def test_a_server_offers_its_tools_and_answers(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        tools = here.hub.tools()
        assert (await here.call("mcp__hand__echo", arguments("hello"))).text == "hello"
        assert tools["mcp__hand__echo"].safety is Safety.READ
        assert tools["mcp__hand__write"].safety is Safety.EXECUTE
        [connected] = here.all(McpServerConnected)
        assert [tool.tool for tool in connected.tools][:2] == ["echo", "answer"]
        assert all(tool.tokens > 0 for tool in connected.tools)
        assert connected.left_out == ("the tool bad is left out: its schema is not that of an object",)
        assert processes(tmp_path)
    assert not processes(tmp_path)


async def test_a_servers_word_that_a_tool_only_reads_counts_in_a_trusted_folder_only(tmp_path: Path) -> None:
    async with place(tmp_path, hints=False) as here:
        assert {tool.safety for tool in here.hub.tools().values()} == {Safety.EXECUTE}


@pytest.mark.parametrize(
    "raw",
    [
        '{"content":[{"type":"text","text":"x"}],  "structuredContent":{"b":1,"a":2.50},"isError":false,"extra":[1]}',
        '{"content": [{"type": "hologram", "v": 1}]}',
        '{"structuredContent":[1,2],"content":[]}',
        '{"structuredContent":false}',
        '{"content":[{"type":"text","text":"\\u00e9\\ud83c\\udf78"}],"isError":true}',
    ],
)
async def test_the_receipt_is_what_the_server_sent_byte_by_byte(tmp_path: Path, raw: str) -> None:
    async with place(tmp_path) as here:
        outcome = await here.call("mcp__hand__answer", arguments(raw))
        assert untouched(here, outcome) == raw.encode()
        assert outcome.is_error == ('"isError":true' in raw)
        assert outcome.text


async def test_a_lone_surrogate_costs_no_answer(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        outcome = await here.call("mcp__hand__answer", arguments('{"content":[{"type":"text","text":"a\\ud800b"}]}'))
        assert outcome.text == "a\ufffdb"


async def test_a_long_line_comes_whole(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        outcome = await here.call("mcp__hand__big", arguments("300000"))
        assert outcome.text == BIG * 300_000


async def test_progress_is_told(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert (await here.call("mcp__hand__slow")).text == "slow and done"
        told = await here.wait(McpCallProgress)
        assert (told.tool_name, told.total) == ("mcp__hand__slow", 3)


async def test_a_late_call_ends_and_the_server_is_told(tmp_path: Path) -> None:
    async with place(tmp_path, server(deadline_s=0.3)) as here:
        outcome = await here.call("mcp__hand__slow", arguments("for ever"))
        assert (outcome.is_error, outcome.text) == (True, "timed out after 0.3 s")
        await told_of_the_end(here)
        assert (await here.call("mcp__hand__echo", arguments("still here"))).text == "still here"


async def test_a_cancelled_call_is_taken_back_at_the_server(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        call = asyncio.create_task(here.call("mcp__hand__slow", arguments("for ever")))
        await here.wait(McpCallProgress)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await told_of_the_end(here)


async def told_of_the_end(here: Place) -> None:
    async with asyncio.timeout(20):
        while not here.seen.exists():
            await asyncio.sleep(0.01)


async def test_a_call_that_died_is_not_made_again_and_the_server_comes_back(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        outcome = await here.call("mcp__hand__die")
        assert outcome.is_error
        assert outcome.text.startswith("outcome unknown: the server hand was lost during the call")
        assert here.count.read_text() == "1"
        failed = await here.wait(McpServerFailed)
        assert (failed.error, failed.retry_in_s) == ("the server ended with status 3", 1.0)
        await here.wait(McpServerConnected, number=2)
        assert (await here.call("mcp__hand__echo", arguments("back"))).text == "back"


async def test_a_call_that_only_reads_is_made_once_more(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert (await here.call("mcp__hand__die_reading")).text == "the second time"
        assert here.count.read_text() == "2"


async def test_tools_leave_with_a_killed_server_and_return(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        tool = here.hub.tools()["mcp__hand__echo"]
        [process] = processes(tmp_path)
        process.kill()
        await here.wait(McpServerFailed)
        if not here.server().up.is_set():
            assert "mcp__hand__echo" not in here.hub.tools()
            with pytest.raises(ToolRefused, match="not connected"):
                await tool.prepare("{}", here.context)
        await here.wait(McpServerConnected, number=2)
        assert here.hub.tools()["mcp__hand__echo"].spec == tool.spec


async def test_a_server_that_cannot_live_is_given_up_until_somebody_asks(tmp_path: Path) -> None:
    async with place(tmp_path, server(mode="exit"), server("other")) as here:
        last = await here.wait(McpServerFailed, lambda p: p.retry_in_s is None)
        waits = [failed.retry_in_s for failed in here.all(McpServerFailed)]
        assert waits == [1.0, 2.0, 4.0, 8.0, None]
        assert last.failures == GIVE_UP
        assert last.error == "the server ended with status 7; it wrote: no database at /nowhere, key [redacted]"
        assert (await here.call("mcp__other__echo", arguments("well"))).text == "well"
        assert here.hub.restart("hand") == ""
        again = await here.wait(McpServerFailed, number=6)
        assert (again.failures, again.retry_in_s) == (1, 1.0)
        assert here.hub.restart("nobody") == "there is no server nobody; the servers are: hand, other"


async def test_a_restart_connects_anew_without_a_failure(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        [before] = processes(tmp_path)
        here.hub.restart("")
        await here.wait(McpServerConnected, number=2)
        assert not here.all(McpServerFailed)
        assert processes(tmp_path) != [before]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (McpServer(name="hand", command="/nowhere/at-all"), "/nowhere/at-all is not there"),
        (
            McpServer(name="hand", command=sys.executable, env={"A": "${NOT_SET_HERE}"}),
            "the variable NOT_SET_HERE is not",
        ),
        (McpServer(name="hand", url="http://127.0.0.1:9/mcp"), "ConnectError"),
    ],
)
async def test_what_cannot_be_reached_is_one_line(tmp_path: Path, config: McpServer, says: str) -> None:
    async with place(tmp_path, config) as here:
        failed = await here.wait(McpServerFailed)
        assert says in failed.error
        assert "ExceptionGroup" not in failed.error


async def test_a_mute_server_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode_tui.runtime.mcp.server.CONNECT_S", 0.4)
    monkeypatch.setattr("geode_tui.runtime.mcp.stdio.LEAVE_S", 0.05)
    async with place(tmp_path, server(mode="mute"), server("other")) as here:
        failed = await here.wait(McpServerFailed)
        assert failed.error == "no answer within 0.4 s"
        await here.wait(McpServerConnected)
        assert (await here.call("mcp__other__echo", arguments("well"))).text == "well"
    assert not processes(tmp_path)


async def test_a_flood_on_standard_error_is_bounded_and_stops_nothing(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert (await here.call("mcp__hand__flood")).text == "said much"
        told = await here.wait(McpServerLogged, lambda p: p.left_out > 0)
        assert len(told.text) < 8_000
        assert (await here.call("mcp__hand__echo", arguments("well"))).text == "well"


async def test_words_on_standard_output_are_told_and_harm_nothing(tmp_path: Path) -> None:
    async with place(tmp_path, server(mode="chatty")) as here:
        assert (await here.wait(McpServerLogged)).text == "Welcome to this server"
        assert (await here.call("mcp__hand__echo", arguments("well"))).text == "well"


async def test_a_changed_list_is_taken_over(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert "mcp__hand__grown" not in here.hub.tools()
        await here.call("mcp__hand__grow")
        changed = await here.wait(McpServerConnected, lambda p: p.changed)
        assert changed.tools[-1].tool == "grown"
        assert "mcp__hand__grown" in here.hub.tools()


async def test_a_server_gets_none_of_our_keys(tmp_path: Path) -> None:
    given = {"ANTHROPIC_API_KEY": "sk-secret-one", "LANG": "C.UTF-8", "WANTED": "w"}
    async with place(tmp_path, server(env={"OWN": "${WANTED}"}), environment=given) as here:
        seen = json.loads((await here.call("mcp__hand__environment")).text)
        assert "ANTHROPIC_API_KEY" not in seen
        assert (seen["OWN"], seen["LANG"], seen["GEODE_INSIDE_RUN"]) == ("w", "C.UTF-8", "s-1")
        assert seen["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("text", ["[1]", "{", '{"a":', "3"])
async def test_arguments_that_are_no_object_are_refused(tmp_path: Path, text: str) -> None:
    async with place(tmp_path) as here:
        with pytest.raises(ToolRefused, match="Send one JSON object"):
            await here.call("mcp__hand__echo", text)


# -- a server that the SDK made --------------------------------------------------------------------------------------
@pytest.mark.long
async def test_a_server_of_the_sdk_answers(tmp_path: Path) -> None:
    async with place(tmp_path, server("sdk", "", script="sdk_server.py")) as here:
        outcome = await here.call("mcp__sdk__steps", arguments("hi"))
        assert outcome.text == '{"said":"hi"}'
        assert (await here.wait(McpCallProgress)).message == "half"
        assert json.loads(untouched(here, outcome))["structuredContent"] == {"said": "hi"}


@pytest.fixture
def port() -> Iterator[tuple[int, Any]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(HERE / "sdk_server.py"), str(number)])
    try:
        yield number, process
    finally:
        process.kill()
        process.wait()


async def test_a_server_over_http_answers_and_its_death_is_seen(tmp_path: Path, port: tuple[int, Any]) -> None:
    number, process = port
    async with place(tmp_path, McpServer(name="web", url=f"http://127.0.0.1:{number}/mcp")) as here:
        connected = here.server("web").up
        while not connected.is_set():  # it starts slower than we do
            here.hub.restart("web")
            await asyncio.sleep(0.1)
        outcome = await here.call("mcp__web__steps", arguments("hi"))
        assert outcome.text == '{"said":"hi"}'
        sent = untouched(here, outcome)
        assert json.loads(sent)["content"] == [{"type": "text", "text": "hi"}]
        assert b" " not in sent
        await here.wait(McpCallProgress)
        process.kill()
        process.wait()
        lost = await here.call("mcp__web__steps", arguments("hi"))
        assert lost.text.startswith("outcome unknown")
        assert "ConnectError" in (await here.wait(McpServerFailed, lambda p: p.failures > 1)).error
