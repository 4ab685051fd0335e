"""The provider's contract: streaming, usage, limits, and that the request is its only state."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geode_tui.core.headings import SUMMARY_HEADINGS
from geode_tui.core.messages import (
    Message,
    TextBlock,
    ToolCallBlock,
    answered,
    tool_text,
    user_text,
)
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Delta, Finished, Opened, Provider, Request
from geode_tui.providers.offline import OfflineProvider
from geode_tui.providers.offline.answer import answer
from geode_tui.providers.offline.auxiliary import DREAM_HEADINGS
from geode_tui.providers.offline.usage import text_tokens
from tests.providers.offline.driving import SPECS, Drive, ask
from tests.providers.offline.projects import PYTHON, make


def request(*messages: Message, **more: Any) -> Request:
    return Request("offline", (), messages, more.pop("tools", SPECS), **more)


def drive(root: Path, **more: Any) -> Drive:
    return Drive(make(root, PYTHON), messages=[], requests=[], plans=[], **more)


def test_it_is_a_simulated_adapter() -> None:
    provider: Provider = OfflineProvider()
    assert (provider.name, provider.source, provider.simulated) == ("offline", "adapter", True)


async def test_deltas_add_up_to_the_finished_blocks() -> None:
    events = [e async for e in OfflineProvider().stream(request(user_text("Read README.md")))]
    assert isinstance(events[0], Opened)
    assert isinstance(events[-1], Finished)
    texts: dict[int, str] = {}
    names: dict[int, str] = {}
    for event in events[1:-1]:
        assert isinstance(event, Delta)
        assert len(event.text) <= 24
        texts[event.block] = texts.get(event.block, "") + event.text
        names[event.block] = names.get(event.block, "") or event.name
    expected = [b.text if isinstance(b, TextBlock) else b.arguments for b in events[-1].blocks]  # type: ignore[union-attr]
    assert [texts[i] for i in sorted(texts)] == expected
    assert [n for n in names.values() if n] == [b.name for b in events[-1].blocks if isinstance(b, ToolCallBlock)]


async def test_every_request_of_a_run_is_answered_the_same_again(tmp_path: Path) -> None:
    played = drive(tmp_path)
    await played.turn("survey the project", typed={3: "src/ledger/cli.py도 봐줘"})
    await played.turn("그럼 테스트는?")
    said = [m for m in played.messages if m.role == "assistant"]
    for sent, message in zip(played.requests, said, strict=True):
        assert (await ask(sent)).blocks == message.blocks


async def test_call_ids_are_unique_within_a_conversation(tmp_path: Path) -> None:
    played = drive(tmp_path)
    for prompt in ("survey the project", "search for Entry", "search for Entry"):
        await played.turn(prompt)
    ids = [c.call_id for c in played.calls]
    assert len(ids) == len(set(ids))


async def test_seed_varies_words_and_order_only(tmp_path: Path) -> None:
    reads = []
    texts = []
    for seed in (1, 2):
        played = drive(tmp_path, seed=seed)
        await played.turn("survey the project")
        reads.append({c.arguments for c in played.named("read_file")})
        texts.append([m.text for m in played.messages if m.role == "assistant"][:-1])
    assert reads[0] == reads[1]
    assert texts[0] != texts[1]


async def test_usage_reads_from_the_cache_what_was_sent_before(tmp_path: Path) -> None:
    played = drive(tmp_path)
    await played.turn("Read README.md")
    usages = [(await ask(r)).usage for r in played.requests]
    assert usages[0].cache_read_tokens == 0
    for before, after in pairwise(usages):
        assert after.cache_read_tokens == before.prompt_tokens
        assert after.prompt_tokens > before.prompt_tokens
    assert all(u.output_tokens > 0 for u in usages)


def test_estimate_counts_a_syllable_as_a_token_and_four_letters_as_one() -> None:
    assert text_tokens("비용") == 2
    assert text_tokens("cost") == 1
    assert text_tokens("비용 cost") == 2 + 2


async def test_without_tools_allowed_it_reports_what_it_has(tmp_path: Path) -> None:
    played = drive(tmp_path)
    await played.turn("survey the project")
    finished = await ask(msgspec.structs.replace(played.requests[4], tool_choice="none"))
    assert finished.stop_reason == "end_turn"
    assert [type(b) for b in finished.blocks] == [TextBlock]
    assert "pyproject.toml" in finished.blocks[0].text  # type: ignore[union-attr]
    assert "Stopped before everything was looked at." in finished.blocks[0].text  # type: ignore[union-attr]


async def test_report_shrinks_to_fit_the_output_limit(tmp_path: Path) -> None:
    played = drive(tmp_path)
    await played.turn("survey the project")
    full = await ask(played.requests[-1])
    tight = await ask(msgspec.structs.replace(played.requests[-1], max_tokens=full.usage.output_tokens - 20))
    assert tight.stop_reason == "end_turn"
    assert tight.usage.output_tokens < full.usage.output_tokens


@pytest.mark.parametrize("limit", [1, 20, 60])
async def test_an_answer_over_the_limit_is_cut_and_says_so(tmp_path: Path, limit: int) -> None:
    played = drive(tmp_path)
    await played.turn("survey the project")
    for sent in (played.requests[0], played.requests[-1]):
        finished = await ask(msgspec.structs.replace(sent, max_tokens=limit))
        assert finished.stop_reason == "max_tokens"
        assert finished.usage.output_tokens <= limit


async def test_a_turn_goes_on_after_an_interruption(tmp_path: Path) -> None:
    played = drive(tmp_path)
    await played.turn("run `make`")
    first = played.messages[1]
    lost = [tool_text(c, "interrupted: outcome unknown", is_error=True) for c in first.calls]
    finished = await ask(played.request(messages=(played.messages[0], first, *lost)))
    names = [b.name for b in finished.blocks if isinstance(b, ToolCallBlock)]
    assert "run_shell" not in names


async def test_a_brief_that_no_person_typed_is_worked_on(tmp_path: Path) -> None:
    finished = await ask(request(user_text("Read README.md", "agent"), purpose="subagent"))
    assert [b.name for b in finished.blocks if isinstance(b, ToolCallBlock)] == ["update_plan", "glob"]


async def test_summary_has_the_headings_and_marks_files_as_covered() -> None:
    transcript = "user: survey the project\ntool read_file src/ledger/store.py\nuser: now the docs"
    text = (await ask(request(user_text(transcript, "agent"), purpose="summary"))).blocks[0].text  # type: ignore[union-attr]
    assert [x[3:] for x in text.splitlines() if x.startswith("## ")] == list(SUMMARY_HEADINGS)
    assert "- `src/ledger/store.py`" in text
    assert "- now the docs" in text


async def test_files_of_a_summary_are_not_read_as_new_in_a_survey(tmp_path: Path) -> None:
    played = drive(tmp_path)
    played.messages = [
        user_text("## Relevant Files\n\n- `README.md`\n- `src/ledger/store.py`\n", "agent"),
        Message("assistant", (TextBlock("Understood."),)),
    ]
    await played.turn("survey the project")
    read = {c.arguments for c in played.named("read_file")}
    assert read
    assert not any("README.md" in a or "store.py" in a.replace("test_store.py", "") for a in read)


async def test_dream_has_its_headings_and_title_is_one_short_line() -> None:
    dream = (await ask(request(user_text("seq 1-4 user: look at a.py", "agent"), purpose="dream"))).blocks[0].text  # type: ignore[union-attr]
    assert [x[3:] for x in dream.splitlines() if x.startswith("## ")] == list(DREAM_HEADINGS)
    title = (await ask(request(user_text("x" * 300 + "\nsecond"), purpose="title"))).blocks[0].text  # type: ignore[union-attr]
    assert len(title) <= 60
    assert "\n" not in title


TEXT = """
    read survey find compare run write count src/a.py README.md README를 'q' *.py only skip tests for 9 rounds it and in
    lines 3-9 첫 5줄 찾아 비교 실행 저장 몇 개 문서에서 그만 테스트만 그럼 그것 then ? ！ ... (a|b [z **/ ./ ../x `x,y`
"""
WORDS = st.sampled_from([*TEXT.split(), "\\", "\x00", "\u2028", "`x y`"])
PROMPT = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=9).map(" ".join))
RESULT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "a.py\nb/c.py\n[the newest 200 of 900 shown: narrow the pattern]",
            "src/\n  a.py  2.1 kB\nREADME.md  10 B",
            "    1\tdef f():\n    2\t    return 1\n[lines 1 to 2 of 9 shown, 80 B left: continue with start_line=3]",
            "src/a.py:3: def f():\n[1 match in 1 file, 4 files searched]",
            "[no file matches]",
            "[masked]",
        ]
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompt=PROMPT, later=st.dictionaries(st.integers(1, 5), PROMPT, max_size=2), data=st.data())
def test_any_prompt_ends_with_valid_calls_whatever_the_tools_say(
    prompt: str, later: dict[int, str], data: st.DataObject
) -> None:
    schemas = {s.name: s.schema for s in SPECS}
    messages = [user_text(prompt)]
    for turn_round in range(90):
        sent = request(*messages)
        made = answer(sent)
        assert made == answer(sent)
        message = Message("assistant", made.blocks)
        messages.append(message)
        if not message.calls:
            assert message.text
            assert answered(tuple(messages))
            return
        for call in message.calls:
            assert_fits(msgspec.json.decode(call.arguments), schemas[call.name])
            messages.append(tool_text(call, data.draw(RESULT), is_error=data.draw(st.booleans())))
        if turn_round in later:
            messages.append(user_text(later[turn_round]))
    pytest.fail("the turn did not end")


TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def assert_fits(value: Any, schema: Any) -> None:
    """The part of JSON schema that the tools use."""
    if "anyOf" in schema:
        assert any(fits(value, s) for s in schema["anyOf"])
        return
    if schema.get("type") in TYPES:
        assert isinstance(value, TYPES[schema["type"]])
    if "enum" in schema:
        assert value in schema["enum"]
    assert value >= schema.get("minimum", value) if isinstance(value, int) else True
    assert value <= schema.get("maximum", value) if isinstance(value, int) else True
    if isinstance(value, str):
        assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    if isinstance(value, list):
        assert len(value) <= schema.get("maxItems", len(value))
        for item in value:
            assert_fits(item, schema.get("items", {}))
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"])
        for name, item in value.items():
            assert_fits(item, schema["properties"][name])


def fits(value: Any, schema: Any) -> bool:
    try:
        assert_fits(value, schema)
    except AssertionError:
        return False
    return True


async def test_offloaded_result_is_recalled_and_quoted(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"ref_id": {"type": "string"}}}
    recall = ToolSpec("recall_tool_result", "Bring a stored result back.", schema)
    played = drive(tmp_path, specs=(*SPECS, recall))
    await played.turn("Read src/ledger/store.py")
    call = played.named("read_file")[0]
    at = next(i for i, m in enumerate(played.messages) if m.role == "tool" and "class EntryStore" in str(m.blocks))
    page = msgspec.json.encode({"ref_id": "r1", "content": played.messages[at].blocks[0].text, "offset": 0}).decode()  # type: ignore[union-attr]
    stored = msgspec.json.encode({"_offloaded": True, "_ref_id": "r1", "summary": "14 lines"}).decode()
    messages = [*played.messages[:at], tool_text(call, stored)]
    finished = await ask(played.request(messages=tuple(messages)))
    recalls = [b for b in finished.blocks if isinstance(b, ToolCallBlock) and b.name == "recall_tool_result"]
    assert [msgspec.json.decode(b.arguments) for b in recalls] == [{"ref_id": "r1"}]
    messages += [Message("assistant", (recalls[0],)), tool_text(recalls[0], page)]
    report = await ask(played.request(messages=tuple(messages), tool_choice="none"))
    assert "src/ledger/store.py:8\nclass EntryStore:" in report.blocks[0].text  # type: ignore[union-attr]
