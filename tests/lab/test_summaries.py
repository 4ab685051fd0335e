"""Answers to requests for a summary, over the wires: what a client sees of each."""

from __future__ import annotations

import pytest

from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.core.messages import TextBlock, user_text
from geode_tui.providers.base import Finished, SystemPart
from geode_tui.providers.errors import ErrorKind, ProviderError
from tests.lab import Lab, Say, ScriptStep
from tests.lab.summaries import BAD, broken_off, by_kind, cut_off, good, in_turn
from tests.providers.wires import ANTHROPIC, GO, Route, adapter, answer, every_wire, request

SYSTEM = (SystemPart("You write a summary."),)
SOURCE = user_text("user: read `src/a.py` and count 42 ledgers\n" + "assistant: reading\n" * 200)
TASK = "read `src/a.py` and count 42 ledgers"


async def summary(route: Route, step: ScriptStep) -> Finished:
    async with Lab(otherwise=by_kind({"summary": step})) as lab, adapter(lab, route) as provider:
        return await answer(provider, request(route, SOURCE, system=SYSTEM))


def text_of(made: Finished) -> str:
    return "".join(b.text for b in made.blocks if isinstance(b, TextBlock))


@every_wire
async def test_a_good_summary_has_all_headings_and_the_task(route: Route) -> None:
    text = text_of(await summary(route, good(TASK, "`src/a.py` was read")))
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(SUMMARY_HEADINGS)
    assert text.count(TASK) == 2


@every_wire
@pytest.mark.parametrize("name", sorted(BAD.keys() - {"refusal", "empty", "thoughts only"}))
async def test_each_bad_summary_is_bad_in_its_own_way(route: Route, name: str) -> None:
    made = await summary(route, BAD[name]())
    text = text_of(made)
    facts = {
        "blank": bool(made.blocks) and not text.strip(),
        "cut before text": not text and made.stop_reason == "max_tokens",
        "longer than its source": len(text) > 2 * len(SOURCE.text),
        "echo": text == SOURCE.text,
        "skeleton": text.count("- none") == len(SUMMARY_HEADINGS),
        "call as text": text.startswith("<tool_call>"),
        "forgetful": "## Active Task" in text and "ledgers" not in text,
    }
    assert facts[name]


@every_wire
@pytest.mark.parametrize("name", ["empty", "thoughts only"])
async def test_nothing_to_read_is_no_answer(route: Route, name: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await summary(route, BAD[name]())
    assert caught.value.kind is ErrorKind.EMPTY


async def test_a_refusal_and_a_cut_end_as_such() -> None:
    refused = await summary(ANTHROPIC, BAD["refusal"]())
    cut = await summary(ANTHROPIC, cut_off(TASK))
    assert (refused.stop_reason, cut.stop_reason) == ("refusal", "max_tokens")
    assert TASK in text_of(cut)


@every_wire
async def test_a_broken_connection_is_an_error(route: Route) -> None:
    with pytest.raises(ProviderError):
        await summary(route, broken_off(TASK))


async def test_steps_go_by_kind_and_in_turn() -> None:
    step = by_kind({"summary": in_turn(Say("first"), Say("later"))}, otherwise=Say("other"))
    async with Lab(otherwise=step) as lab, adapter(lab, ANTHROPIC) as provider:
        said = [text_of(await answer(provider, request(ANTHROPIC, GO, system=s))) for s in (SYSTEM, (), SYSTEM, SYSTEM)]
    assert said == ["first", "other", "later", "later"]
