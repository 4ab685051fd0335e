"""The prefix that a provider caches, over every wire: byte-stable within a turn, and each break told with its price."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from geode_tui.core.usage import Usage
from tests.lab import Call, Lab, Say, ScriptStep, Think
from tests.lab.cache import PromptCache
from tests.lab.chat_rules import prompt_parts as chat_parts
from tests.lab.prefix_cache import PrefixCache
from tests.lab.responses_rules import prompt_parts as responses_parts
from tests.lab.tokens import canonical, prompt_text
from tests.providers.wires import ANTHROPIC, CHAT, CODEX, LOCAL, RESPONSES, Route, adapter
from tests.runtime.harness import Bench, FakeClock, ScriptedProvider, bench, say, stub, toolbox

WIRES = (ANTHROPIC, RESPONSES, CODEX, CHAT)
every_wire = pytest.mark.parametrize("route", WIRES, ids=lambda route: route.name)
PAGE = "a line of the file that was read\n" * 150
"""Enough for every wire to cache what it stands in."""
TOOLS = toolbox(stub("look", PAGE), stub("see"))


@contextlib.asynccontextmanager
async def run_on(route: Route, *script: ScriptStep, **options: Any) -> AsyncIterator[tuple[Bench, Lab]]:
    """A run over ``route``, shortly before midnight."""
    clock = FakeClock()
    tomorrow = datetime.fromtimestamp(clock.wall + 86_400, tz=UTC).astimezone()
    clock.wall = tomorrow.replace(hour=0, minute=0, second=0).timestamp() - 60
    async with Lab(clock=clock.now, script=script) as lab, adapter(lab, route) as provider:
        with bench(provider, model=route.model, tools=TOOLS, **options) as run:
            run.clock = clock
            yield run, lab


def layers(body: dict[str, Any]) -> tuple[str, str, str, list[str]]:
    """Canonical JSON, without cache marks, of a request's tools, static system, dynamic system, and each message."""
    tools = canonical(body["tools"])
    if "input" in body:
        first, *rest = body["input"]
        return tools, canonical(body["instructions"]), canonical(first), [canonical(item) for item in rest]
    if "system" in body:
        static, dynamic = body["system"]
        return tools, canonical(static), canonical(dynamic), [canonical(m) for m in body["messages"]]
    first, *rest = body["messages"]
    static, tag, dynamic = first["content"].partition("<dynamic_context>")
    return tools, static, tag + dynamic, [canonical(m) for m in rest]


def turns_of(lab: Lab, rounds: list[int]) -> Iterator[list[dict[str, Any]]]:
    """The requests' bodies by turn."""
    bodies = iter(r.body for r in lab.requests)
    for count in rounds:
        yield list(itertools.islice(bodies, count))


def served(route: Route, lab: Lab, clock: float) -> list[tuple[int, int, int]]:
    """(prompt, read, written) of each request, as a cache of its own makes of what the server received."""
    if route is ANTHROPIC:
        marked = PromptCache(lambda: clock, 1_024)
        splits = [marked.serve(r.body) for r in lab.requests]
        return [(s.total, s.read, s.written_5m + s.written_1h) for s in splits]
    cache = PrefixCache(lambda: clock)
    parts = chat_parts if route is CHAT else responses_parts
    made = []
    for body in (r.body for r in lab.requests):
        prefix = cache.serve(f"{body['model']}\0{body.get('prompt_cache_key', '')}", prompt_text(parts(body)))
        made.append((prefix.total, prefix.cached, prefix.written))
    return made


SCRIPT: list[ScriptStep] = [
    (Think("hm"), Say("Both."), Call("look", {"n": 1}), Call("look", {"n": 2})),
    Call("look", "{malformed"),
    Call("teleport", {}),
    Say("하나 done"),
    Call("see", {}),
    Say("two done"),
]


@every_wire
async def test_within_a_turn_each_request_only_adds_messages(route: Route) -> None:
    async with run_on(route, *SCRIPT) as (run, lab):
        await run.turn("한글 task")
        run.clock.advance(120)
        await run.turn("the next day")
        assert [p["rounds"] for p in run.payloads("turn_completed")] == [4, 2]
        first, second = ([layers(body) for body in turn] for turn in turns_of(lab, [4, 2]))
        for earlier, later in itertools.pairwise(first + second):
            assert later[:2] == earlier[:2], "tools and static system"
            assert later[3][: len(earlier[3])] == earlier[3], "messages"
        assert len({made[2] for made in first}) == len({made[2] for made in second}) == 1
        assert first[0][2] != second[0][2], "the date is another"


@every_wire
async def test_a_difference_across_turns_is_a_cache_break_with_tokens_and_dollars(route: Route) -> None:
    async with run_on(route, *SCRIPT) as (run, lab):
        await run.turn("한글 task")
        run.clock.advance(120)
        await run.turn("the next day")
        ended = run.payloads("llm_call_ended")
        broken = run.named("cache_broken")
        assert (broken["cause"], broken["call_id"]) == ("dynamic", ended[4]["call_id"])
        _, read, written = served(route, lab, run.clock.now())[3]
        again = read + written - ended[4]["usage"]["cache_read_tokens"]
        assert abs(broken["tokens"] - again) < 128
        assert broken["tokens"] > 2_000
        assert broken["cost_micro"] == pytest.approx(broken["tokens"] * DEARER[route.name], abs=1)
        (kept,) = run.state.cache_breaks
        assert (kept.cause, kept.tokens, kept.cost_micro) == ("dynamic", broken["tokens"], broken["cost_micro"])
        assert run.state.cache_loss.breaks == 1


async def test_a_worker_that_goes_on_compares_as_one_that_comes_after_it() -> None:
    async with run_on(ANTHROPIC) as (run, lab):

        def last(_body: dict[str, Any]) -> Say:
            run.submit("the next day", later=True)
            run.clock.advance(120)
            return Say("one done")

        lab.script(Call("look", {"n": 1}), last, Say("two done"))
        await run.turn("task")
        assert len(run.payloads("turn_completed")) == 2
        assert len(run.payloads("session_started")) == 1
        assert run.named("cache_broken")["cause"] == "dynamic"


DEARER = {"anthropic": 2.5 - 0.2, "responses": 2.5 - 0.2, "codex": 2.5 - 0.2, "chat": 2.5 - 0.25}
"""USD per million tokens by which writing (where it is billed) or plain input costs above a read (RUNTIME.md 1.5)."""


@every_wire
async def test_the_meter_sums_what_the_cache_served(route: Route) -> None:
    async with run_on(route, *SCRIPT) as (run, lab):
        await run.turn("한글 task")
        await run.turn("more")
        usage = run.state.money.usage
        prompt, read, written = map(sum, zip(*served(route, lab, run.clock.now()), strict=True))
        assert read > 5_000
        assert (usage.prompt_tokens, usage.cache_read_tokens) == (prompt, read)
        billed = (usage.cache_write_5m_tokens or 0) + (usage.cache_write_1h_tokens or 0)
        assert billed == (0 if route is CHAT else written)
        assert run.state.cache_breaks == []


@every_wire
async def test_another_list_of_tools_is_told_as_such(route: Route) -> None:
    async with run_on(route, *SCRIPT) as (run, _):
        await run.turn("task")
        run.tools = toolbox(stub("look", PAGE))
        await run.turn("task")
        assert run.named("cache_broken")["cause"] == "tools"


async def test_a_cache_that_was_not_used_in_time_has_expired() -> None:
    async with run_on(ANTHROPIC, *SCRIPT) as (run, _):
        run.clock.advance(-7_200)
        await run.turn("task")
        run.clock.advance(400)
        await run.turn("later")
        broken = run.named("cache_broken")
        assert (broken["cause"], broken["position"]) == ("expired", 0)


@pytest.mark.parametrize(("route", "said"), [(ANTHROPIC, "system_changed"), (RESPONSES, "input_changed")])
async def test_the_provider_is_asked_and_its_word_is_kept(route: Route, said: str) -> None:
    async with run_on(route, *SCRIPT) as (run, lab):
        for words in ("task", "the next day"):
            run.submit(words)
            async with run.worker() as made:
                made.session.cache.diagnosed = True
                await made.run()
            run.clock.advance(120)
        broken = run.named("cache_broken")
        assert (broken["cause"], broken["said"]) == ("dynamic", said)
        asked = [r.body.get("diagnostics") or r.body.get("prompt_cache_options") for r in lab.requests]
        assert asked[0] in ({"previous_message_id": None}, None)
        before = [p["response_id"] for p in run.payloads("llm_call_ended")]
        assert [next(iter(question.values())) for question in asked[1:]] == before[:-1]


@every_wire
async def test_nobody_is_asked_without_leave(route: Route) -> None:
    async with run_on(route, Say("done")) as (run, lab):
        await run.turn("task")
        assert not {"diagnostics", "prompt_cache_options"} & lab.requests[0].body.keys()


async def test_a_session_that_reads_too_little_of_its_cache_is_told_once() -> None:
    """RUNTIME.md 7. The worker after the one that said it does not say it again."""
    wasted, saved = Usage(100, 10, 4_000, 26_000), Usage(100, 10, 900_000, 100)
    steps = [say(word, usage=usage) for word, usage in (("a", wasted), ("b", wasted), ("c", wasted), ("d", saved))]
    with bench(ScriptedProvider(*steps, name="anthropic", source="payg")) as run:
        await run.turn("one")
        assert run.payloads("cache_hit_low") == []
        await run.turn("two")
        assert run.named("cache_hit_low") == {"read_tokens": 8_000, "cacheable_tokens": 60_000}
        assert run.state.cache_low_turn == 2
        for words in ("three", "four"):
            await run.turn(words)
        assert run.named("cache_hit_low")
        assert (run.state.cache_low_turn, run.state.cache_use.low) == (2, False)


async def test_nothing_is_said_of_a_server_that_says_nothing_of_its_cache() -> None:
    async with run_on(LOCAL, *SCRIPT) as (run, lab):
        await run.turn("task")
        run.tools = toolbox(stub("look", PAGE))
        await run.turn("task")
        assert len(lab.requests) == 6
        assert run.payloads("cache_broken") == []


@every_wire
async def test_nothing_is_said_of_prompts_that_are_too_short_to_be_cached(route: Route) -> None:
    async with run_on(route, Say("one"), Say("two")) as (run, _):
        run.tools = toolbox(stub("see"))
        await run.turn("task")
        run.clock.advance(120)
        await run.turn("task")
        assert run.ending == "natural"
        assert run.payloads("cache_broken") == []


@pytest.mark.parametrize("route", [RESPONSES, CHAT], ids=lambda route: route.name)
async def test_the_cache_key_names_the_static_prefix(route: Route) -> None:
    keys = []
    for tools in (TOOLS, TOOLS, toolbox(stub("see"))):
        async with run_on(route, Say("done"), Say("done")) as (run, lab):
            run.tools = tools
            await run.turn("task")
            run.clock.advance(120)
            await run.turn("the next day")
            keys.append({r.body["prompt_cache_key"] for r in lab.requests})
    assert all(len(key) == 1 for key in keys)
    assert keys[0] == keys[1] != keys[2]


async def test_the_layers_are_kept_with_each_answer() -> None:
    async with run_on(ANTHROPIC, *SCRIPT) as (run, _):
        await run.turn("task")
        made = [p["layers"] for p in run.payloads("llm_call_ended")]
        assert [m["messages"] for m in made] == [1, 4, 6, 8]
        assert len({m["history"] for m in made}) == 4
        fixed = [{k: v for k, v in m.items() if k not in {"history", "messages"}} for m in made]
        assert all(m == fixed[0] for m in fixed)
        assert msgspec.convert(run.payloads("llm_call_ended")[0]["usage"], Usage).prompt_tokens > 0
