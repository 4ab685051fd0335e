"""The offline planner behind the wires: it sees in every wire's request what it would see in a neutral one."""

from __future__ import annotations

from typing import Any

import pytest

from geode_tui.context.prompt import static_prompt
from geode_tui.context.rendering import ACK_SUMMARY, marker_text, summary_text
from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.core.messages import Message, TextBlock, user_text
from geode_tui.core.views import Summarise
from geode_tui.providers.base import SystemPart
from tests.lab import Lab
from tests.lab.kinds import kind_of
from tests.lab.long_run import prompt, tree
from tests.lab.planner import neutral, planner
from tests.lab.test_demo import WIRES
from tests.providers.wires import READ, Route, adapter, answer, every_route, every_wire, request
from tests.runtime.harness import bench


@pytest.mark.parametrize(
    "wire", [w if w in {"anthropic", "responses"} else pytest.param(w, marks=pytest.mark.long) for w in WIRES]
)
async def test_it_reads_a_folder_to_its_end_over_every_wire(wire: str) -> None:
    model, make = WIRES[wire]
    async with Lab(otherwise=planner(thinks=True)) as lab:
        provider = make(lab)
        with bench(provider, model=model) as run:
            made = tree(run.root, files=8)
            await run.turn(prompt())
            reads = [e["arguments"] for e in run.payloads("tool_exec_started") if e["tool_name"] == "read_file"]
            assert [next(p for p in made.paths if p in arguments) for arguments in reads] == list(made.paths)
            assert run.ending == "natural"
            assert "8 files read" in run.messages()[-1].text
            assert lab.sent.count("turn") == lab.sent.requests
        await provider.aclose()


@every_route
async def test_a_conversation_that_begins_with_a_summary_is_understood(route: Route) -> None:
    row = "- Last file read: `library/part_00/module_003.py`"
    text = f"## Active Task\n\n- {prompt()}\n\n## Active State\n\n{row}\n\n## Relevant Files\n\n- none"
    done = Summarise(1, 9, text)
    messages = (
        user_text(summary_text(done), "summary"),
        Message("assistant", (TextBlock(ACK_SUMMARY),), "runtime"),
        user_text(marker_text(done), "runtime"),
    )
    async with Lab(otherwise=planner()) as lab, adapter(lab, route) as provider:
        made = await answer(provider, request(route, *messages, system=(SystemPart(static_prompt()),), tools=(READ,)))
        assert "The tool list_dir is not offered." in str(made.blocks)
        assert [m.origin for m in neutral(lab.requests[0].body).messages] == ["agent", "agent", "agent"]


@every_wire
async def test_a_request_for_a_summary_gets_one(route: Route) -> None:
    asked = request(route, user_text("user: look at a.py"), system=(SystemPart("You write summaries."),))
    async with Lab(otherwise=planner()) as lab, adapter(lab, route) as provider:
        made = await answer(provider, asked)
    text = next(b.text for b in made.blocks if isinstance(b, TextBlock))
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(SUMMARY_HEADINGS)


async def test_a_limit_of_the_output_is_kept() -> None:
    body: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "hello"}],
    }
    step: Any = planner()(body)
    assert (step.stop_reason, kind_of(body)) == ("max_tokens", "other")
