"""A run whose model calls a server's tools: approvals, offloads, receipts, restarts, changes between two rounds."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from geode_tui.core.events import McpServerConnected, McpServerFailed
from geode_tui.core.limits import ResultBounds
from geode_tui.core.messages import ImageBlock, ToolCallBlock, ToolResultBlock
from geode_tui.core.tools import Safety
from geode_tui.log import commands as cmd
from geode_tui.log.offloads import ref_of
from geode_tui.log.receipts import opened
from geode_tui.runtime.approvals import grant_of
from geode_tui.runtime.tools.base import Tool, ToolOutcome
from geode_tui.runtime.tools.recall import recall_tool
from tests.runtime.harness import SESSION, Bench, ScriptedProvider, StubTool, asks, bench, call, calls, say
from tests.runtime.mcp.place import Place, place, server

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@contextlib.asynccontextmanager
async def served(run: Bench, here: Place) -> AsyncIterator[None]:
    """A worker whose session has the servers of ``here``; it serves what waits."""
    async with run.worker() as worker:
        session = run.session
        assert session is not None

        async def emit(payload: Any) -> None:
            await session.journal.write(lambda tx: tx.event(payload))

        async def tools() -> Mapping[str, Tool]:
            return {**run.tools, **here.hub.tools()}

        session.tool_source, session.restart_server = tools, here.hub.restart
        yield
        await worker.run()


def advertised(provider: ScriptedProvider) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in provider.requests]


async def test_a_call_of_a_server_is_a_call_of_the_run(tmp_path: Path) -> None:
    provider = ScriptedProvider(call("mcp__hand__echo", text="MARK"), say("done"))
    with bench(provider) as run:
        async with place(tmp_path) as here, served(run, here):
            run.submit("go")
        assert run.ending == "natural"
        assert [text for _, text, _ in run.results()] == ["MARK"]
        assert "mcp__hand__echo" in advertised(provider)[0]
        assert "mcp__hand__echo" in provider.requests[0].system[1].text
        with opened(run.geode, run.named("tool_exec_ended")["receipt"]["sha256"]) as file:
            assert json.loads(file.read()) == {"content": [{"type": "text", "text": "MARK"}]}


async def test_an_error_stays_an_error_and_images_reach_the_model(tmp_path: Path) -> None:
    picture = {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}], "structuredContent": {"a": 1}}
    provider = ScriptedProvider(
        call("mcp__hand__answer", text='{"content":[{"type":"text","text":"boom"}],"isError":true}'),
        call("mcp__hand__answer", text=json.dumps(picture)),
        say("done"),
    )
    with bench(provider) as run:
        async with place(tmp_path) as here, served(run, here):
            run.submit("go")
        assert [(text, is_error) for _, text, is_error in run.results()] == [("boom", True), ('{"a":1}', False)]
        [block] = provider.requests[2].messages[-1].blocks
        assert isinstance(block, ToolResultBlock)
        assert block.content[1] == ImageBlock("image/png", PIXEL)


async def test_a_large_result_is_offloaded_as_it_is_shown_and_its_receipt_is_what_came(tmp_path: Path) -> None:
    provider = ScriptedProvider(
        calls(asks("mcp__hand__big", "call_big", text="9000")),
        lambda request: call("recall_tool_result", ref_id=ref_of("call_big"), offset=0, limit=2_000),
        say("done"),
    )
    with bench(provider) as run:
        run.bounds = ResultBounds(2_000, 0)
        run.tools["recall_tool_result"] = recall_tool(run.geode, SESSION)
        async with place(tmp_path) as here, served(run, here):
            assert run.session is not None
            run.submit("go")
        offloaded = run.named("tool_result_offloaded")
        assert offloaded["tool_name"] == "mcp__hand__big"
        stored = msgspec.json.decode((run.geode / offloaded["path"]).read_bytes())
        assert stored["result"] == "a line of 가나다\n" * 9000
        receipt = run.payloads("tool_exec_ended")[0]["receipt"]
        with opened(run.geode, receipt["sha256"]) as file:
            raw = json.loads(file.read())
        assert raw == {"content": [{"type": "text", "text": stored["result"]}]}
        assert "a line of 가나다" in run.results()[1][1]


async def test_an_always_lapses_when_the_tool_is_described_otherwise(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        described = here.hub.tools()["mcp__hand__write"]
        asked = ToolCallBlock("c", "mcp__hand__write", '{"text":"x"}')
        before = grant_of(asked, described)
        assert grant_of(asked, described) == before
        described.fingerprint = "another"  # type: ignore[attr-defined]
        assert grant_of(asked, described) != before
        assert grant_of(asked, here.hub.tools()["mcp__hand__echo"]) is not Safety.READ


async def test_a_writing_tool_asks_and_a_reading_one_does_not(tmp_path: Path) -> None:
    provider = ScriptedProvider(call("mcp__hand__echo", text="a"), call("mcp__hand__write", text="b"), say("done"))
    with bench(provider, approve="reads") as run:
        async with place(tmp_path) as here, run.worker() as worker:
            assert run.session is not None

            async def tools() -> Mapping[str, Tool]:
                return here.hub.tools()

            run.session.tool_source = tools
            run.submit("go")
            task = asyncio.create_task(worker.run())
            asked = await run.seen("tool_approval_requested")
            assert [question["tool_name"] for question in asked] == ["mcp__hand__write"]
            run.decide("deny")
            await task
        assert [is_error for _, _, is_error in run.results()] == [False, True]


async def test_tools_that_changed_are_offered_from_the_next_round_on(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        provider = ScriptedProvider(call("mcp__hand__grow"), call("wait_for_it"), say("done"))
        with bench(provider) as run:

            async def effect(_arguments: str) -> ToolOutcome:
                await here.wait(McpServerConnected, lambda p: p.changed)
                return ToolOutcome("it came")

            run.tools["wait_for_it"] = StubTool("wait_for_it", effect)
            async with served(run, here):
                run.submit("go")
            offered = advertised(provider)
            assert "mcp__hand__grown" not in offered[0]
            assert "mcp__hand__grown" in offered[2]


async def test_a_person_restarts_a_server(tmp_path: Path) -> None:
    with bench(ScriptedProvider(say("done"))) as run:
        async with place(tmp_path, server(mode="exit")) as here, served(run, here):
            await here.wait(McpServerFailed, lambda p: p.retry_in_s is None)
            again, wrong = run.send(cmd.Mcp("hand")), run.send(cmd.Mcp("nobody"))
        assert (run.outcome(again), run.outcome(wrong)) == ("done", "refused")
        assert run.detail(wrong) == "there is no server nobody; the servers are: hand"


async def test_a_run_without_servers_says_so(tmp_path: Path) -> None:
    with bench(ScriptedProvider(say("done"))) as run:
        key = run.send(cmd.Mcp())
        await run.serve()
        assert run.detail(key) == "this run has no MCP servers"


async def test_a_result_of_a_lost_server_is_one_error_result(tmp_path: Path) -> None:
    provider = ScriptedProvider(call("mcp__hand__die"), say("done"))
    with bench(provider) as run:
        async with place(tmp_path) as here, served(run, here):
            run.submit("go")
        [(_, text, is_error)] = run.results()
        assert is_error
        assert text.startswith("outcome unknown")
        assert here.count.read_text() == "1"
