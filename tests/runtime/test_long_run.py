"""The long run through a real worker: every file of a large tree is read once, in order, whatever the context holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode_tui.providers.offline import OfflineProvider
from tests.lab import Lab
from tests.lab.kinds import kind_of
from tests.lab.long_run import Tree, prompt, tree
from tests.lab.planner import planner
from tests.lab.test_demo import WIRES
from tests.runtime.harness import Bench, bench

FITS = 10
"""Files that fit into a window of 200,000 tokens all at once."""
NOTES = 2_400
"""Characters that the model writes down of each file: what makes a summary necessary in the end."""


def reads(run: Bench) -> list[str]:
    """The paths that were asked for, in order."""
    calls = (c for m in run.messages() for c in m.calls if c.name == "read_file")
    return [json.loads(c.arguments)["path"] for c in calls]


def assert_complete(run: Bench, made: Tree) -> None:
    """The run read everything once and ended by itself."""
    assert reads(run) == list(made.paths)
    assert run.ending == "natural"
    assert f"{len(made.paths)} files read" in run.messages()[-1].text


async def test_the_offline_planner_reads_a_tree_to_its_end() -> None:
    with bench(OfflineProvider()) as run:
        made = tree(run.root, files=FITS)
        await run.turn(prompt())
        assert_complete(run, made)


@pytest.mark.parametrize("model", ["claude-opus-5-5", pytest.param("claude-sonnet-5", marks=pytest.mark.long)])
async def test_a_thinking_model_reads_a_tree_to_its_end(model: str) -> None:
    make: Any = WIRES["anthropic"][1]
    async with Lab(otherwise=planner(thinks=True), window=1_000_000) as lab:
        provider = make(lab)
        with bench(provider, model=model) as run:
            made = tree(run.root, files=FITS)
            await run.turn(prompt())
            assert_complete(run, made)
            assert (lab.sent.count("turn"), lab.sent.rejections) == (lab.sent.requests, 0)
        await provider.aclose()


def told(run: Bench, name: str, operation: str) -> list[int]:
    """How many messages each version of the view that has that operation touches."""
    return [p["operations"][operation] for p in run.payloads(name) if operation in p["operations"]]


def appended(run: Bench) -> int:
    """Tokens that joined the conversation: results as they were, and what the model wrote."""
    results = sum(p["tokens"] for p in run.payloads("tool_exec_ended"))
    return results + sum(p["usage"]["output_tokens"] for p in run.payloads("llm_call_ended") if p["purpose"] == "turn")


async def read_through(run: Bench, files: int) -> Tree:
    """Have every file of a tree read by one worker, however long it takes."""
    made = tree(run.root, files=files)
    run.submit(prompt())
    async with run.worker() as worker:
        await worker.run()
    assert_complete(run, made)
    return made


@pytest.mark.parametrize("files", [30, pytest.param(300, marks=pytest.mark.long)])
async def test_a_run_far_longer_than_its_window_is_never_refused_and_keeps_its_instruction(files: int) -> None:
    make: Any = WIRES["anthropic"][1]
    async with Lab(otherwise=planner(thinks=True, notes=NOTES), window=200_000) as lab:
        provider = make(lab)
        with bench(provider, model="claude-haiku-4-5") as run:
            await read_through(run, files)
            assert lab.sent.rejections == 0
            assert all(keeps(request.body) for request in lab.requests if kind_of(request.body) == "turn")
            assert told(run, "view_changed", "mask")
            if files == 300:
                assert run.end["rounds"] >= 300
                assert appended(run) >= 1_500_000
                assert len(told(run, "view_changed", "summarise")) >= 3
                assert sum(told(run, "view_changed", "mask")) >= 20
                assert len(run.payloads("tool_result_offloaded")) >= 5
        await provider.aclose()


@pytest.mark.parametrize("files", [24, pytest.param(120, marks=pytest.mark.long)])
async def test_a_provider_that_refuses_at_less_than_it_states_is_recovered_from(files: int) -> None:
    make: Any = WIRES["anthropic"][1]
    async with Lab(otherwise=planner(thinks=True), window=200_000, reject_at=0.6) as lab:
        provider = make(lab)
        with bench(provider, model="claude-haiku-4-5") as run:
            await read_through(run, files)
            assert 1 <= lab.sent.rejections <= 2, "what was learned from the first is kept to"
            assert [p["limit"] for p in run.payloads("window_observed")] == [120_000]
        await provider.aclose()


async def test_a_provider_that_always_refuses_ends_the_turn_after_two_recoveries() -> None:
    make: Any = WIRES["anthropic"][1]
    async with (
        Lab(otherwise=planner(thinks=True), window=200_000) as lab,
        Lab(otherwise=planner(thinks=True), window=200_000, always_overflow=True) as refusing,
    ):
        takes, refuses = make(lab), make(refusing)
        with bench(takes, model="claude-haiku-4-5") as run:
            await read_through(run, 8)
            run.provider = refuses
            await run.turn("and now the first one again")
            assert run.ending == "context_exhausted"
            asked = refusing.sent.kinds
            assert 2 <= asked.count("turn") <= 3
            assert asked[-1] == "turn", "no model is asked for the notice"
            assert len([p for p in run.payloads("maintenance_started") if p["trigger"] == "provider_overflow"]) <= 2
            assert "Nothing was reset" in run.end["detail"]
        await takes.aclose()
        await refuses.aclose()


def keeps(body: dict[str, Any]) -> bool:
    """Whether the person's instruction stands in a request, word for word."""
    return any(
        block.get("text") == prompt()
        for message in body["messages"]
        if message["role"] == "user"
        for block in (message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}])
    )
