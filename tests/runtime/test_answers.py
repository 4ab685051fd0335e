"""What answers give away: a prompt that was cut, a call written as text, an output limit, and a wait cut short."""

from __future__ import annotations

import pytest

from geode_tui.core.messages import Message, TextBlock
from geode_tui.core.usage import Usage
from geode_tui.log import commands as cmd
from geode_tui.providers.errors import ErrorKind
from geode_tui.runtime.answers import NUDGE, ends_in_written_call, was_cut
from geode_tui.runtime.retries import LEAST_OUTPUT, smaller_output
from tests.runtime.harness import Held, ScriptedProvider, bench, call, fail, say, stub, toolbox

WRITTEN = [
    '<tool_call>{"name":"wait","arg',
    'I will look.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    '<function_call> {"name": "look"}',
    '<|tool_call|>[{"name": "look"}]',
    '[TOOL_CALLS] [{"name": "look", "arguments": {}}]',
    '<invoke name="look"><parameter name="path">a</parameter></invoke>',
]
PROSE = [
    "done",
    "The tag <tool_call> opens a call in that format, and the parser closes it.",
    'It prints `<tool_call>{"name": "x"}</tool_call>`, as the README says.',
    '```\n<tool_call>{"name": "x"}</tool_call>\n```\nThat is the format.',
    "",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_b109_a_call_written_as_text_is_seen(text: str) -> None:
    assert ends_in_written_call(Message("assistant", (TextBlock(text),)))


@pytest.mark.parametrize("text", PROSE)
def test_b109_words_about_calls_are_words(text: str) -> None:
    assert not ends_in_written_call(Message("assistant", (TextBlock(text),)))


async def test_b109_such_an_answer_is_nudged_once_and_never_run() -> None:
    look = toolbox(stub("look"))
    with bench(ScriptedProvider(say(WRITTEN[0]), call("look"), say(WRITTEN[1])), tools=look) as run:
        await run.turn("the task")
        assert (run.ending, run.end["rounds"]) == ("natural", 3)
        notes = [row for row in run.rows() if row.origin == "runtime"]
        assert [run.stored(row).message.text for row in notes] == [NUDGE]
        assert len(run.payloads("tool_exec_started")) == 1
        assert run.messages()[-1].text == WRITTEN[1], "it is kept as it came"


# -- a prompt that was cut ------------------------------------------------------------------------------------------
async def test_a_backend_that_reads_a_part_and_answers_all_the_same_is_found_out() -> None:
    answer = say("as you said", usage=Usage(4_096, 10))
    with bench(ScriptedProvider(answer, name="local"), tools={}, model="small") as run:
        await run.turn("word " * 40_000)
        assert (run.ending, run.end["error_type"]) == ("context_exhausted", "silent_overflow")
        assert "read 4096 tokens" in run.end["detail"]
        assert run.messages()[-1].text == "as you said"


async def test_a_prompt_that_stops_growing_at_the_backends_window_is_found_out() -> None:
    steps = [call("look") for _ in range(4)]
    sizes = [Usage(5_000, 10), Usage(9_800, 10), Usage(10_000, 10), Usage(10_000, 10)]
    steps = [type(s)(s.blocks, s.stop_reason, usage) for s, usage in zip(steps, sizes, strict=True)]
    look = toolbox(stub("look", "some words " * 2_000))
    with bench(ScriptedProvider(*steps, name="local"), tools=look, model="small") as run:
        await run.turn("x" * 18_000)
        assert (run.ending, run.end["error_type"], run.end["rounds"]) == ("context_exhausted", "silent_overflow", 3)


async def test_an_honest_count_is_believed_however_it_differs_from_the_estimate() -> None:
    with bench(ScriptedProvider(say("ok", usage=Usage(24_000, 1)), name="local"), tools={}, model="small") as run:
        await run.turn("word " * 40_000)
        assert run.ending == "natural"


def test_providers_that_refuse_what_does_not_fit_are_not_doubted() -> None:
    assert was_cut("local", 4_096, 10_000)
    assert not was_cut("anthropic", 4_096, 10_000)
    assert not was_cut("local", 0, 10_000), "no figure is no word"


# -- an output limit --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("limit", "asked", "lower"),
    [(8_192, 32_768, 8_192), (None, 32_768, 16_384), (65_536, 32_768, 16_384), (None, 2 * LEAST_OUTPUT - 1, None)],
)
def test_the_named_limit_else_half(limit: int | None, asked: int, lower: int | None) -> None:
    assert smaller_output(fail(ErrorKind.OUTPUT_TOO_LARGE, limit=limit), asked) == lower


async def test_a_model_that_gives_less_output_is_asked_for_less_from_then_on() -> None:
    refused = fail(ErrorKind.OUTPUT_TOO_LARGE, "max_tokens: 32768 > 8192", limit=8_192)
    with bench(ScriptedProvider(refused, call("look"), say("done")), tools=toolbox(stub("look"))) as run:
        await run.turn()
        assert run.ending == "natural"
        assert [r.max_tokens for r in run.provider.requests] == [32_000, 8_192, 8_192]
        retried = run.named("llm_call_retried")
        assert (retried["error_type"], retried["delay_s"]) == ("output_too_large", 0.0)
        assert run.clock.slept == []


# -- the person asks for it now ---------------------------------------------------------------------------------------
async def test_a_countdown_is_cut_short_by_the_person() -> None:
    held = Held("back")
    with bench(ScriptedProvider(fail(ErrorKind.RATE_LIMIT, retry_after=600.0), held), tools={}) as run:
        run.clock.hold()
        run.submit()
        async with run.serving():
            await run.seen("llm_call_retried")
            assert await run.settled(run.send(cmd.Retry())) == "done"
            await held.reached.wait()
            key = run.send(cmd.Retry())
            assert await run.settled(key) == "refused"
            assert run.detail(key) == "no attempt is being waited for"
            held.release.set()
            run.clock.release()
        assert (run.ending, len(run.provider.requests)) == ("natural", 2)
