"""Claude Code transcripts as conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import (
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    answered,
)
from geode_tui.core.usage import Usage
from geode_tui.sources.base import Answer, Compacted, Said, Thread
from geode_tui.sources.claude_code import read_claude_code
from geode_tui.sources.detect import is_claude_code
from tests.sources.records import answer, boundary, call, lines, read, real, result, row, said, text, told


def answers(thread: Thread) -> list[Answer]:
    return [item for item in thread.items if isinstance(item, Answer)]


# -- answers --------------------------------------------------------------------------------------------------------
def test_the_records_of_one_answer_are_one_answer_with_results_after_it() -> None:
    run = read(
        said("go"),
        answer("m-1", text("Looking.")),
        answer("m-1", call("c-1")),
        result("c-1"),
        answer("m-1", call("c-2", "Read", file_path="a.py")),
        result("c-2"),
        answer("m-2", text("Done.")),
    )
    assert told(run.main.items) == [
        ("user", "go"), ("assistant", "Looking."), ("tool", "c-1"), ("tool", "c-2"), ("assistant", "Done."),
    ]  # fmt: skip
    first = answers(run.main)[0].message
    assert [c.name for c in first.calls] == ["Bash", "Read"]
    assert answered(tuple(i.message for i in run.main.items if not isinstance(i, Compacted)))


def test_usage_is_the_largest_of_each_figure_of_its_records() -> None:
    """B011: the first record has a placeholder, the sum of all would be several times what was billed."""
    early: dict[str, Any] = {
        "input_tokens": 3,
        "output_tokens": 8,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 50,
    }
    late: dict[str, Any] = {
        **early,
        "output_tokens": 641,
        "thinking_tokens": 500,
        "cache_creation": {"ephemeral_1h_input_tokens": 50},
    }
    run = read(*(answer("m-1", text(str(n)), usage=u) for n, u in enumerate((early, late, early))))
    assert run.main.usage == Usage(3, 641, 900, 0, 50, 500)
    assert answers(run.main)[0].prompt_tokens == 953


def test_cache_writes_without_a_lifetime_are_five_minute_ones() -> None:
    """B057."""
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 60_120}
    known = {"input_tokens": 3, "cache_creation_input_tokens": 60_120, "cache_creation": split}
    assert read(answer("m-1", usage=known)).main.usage == Usage(3, 0, None, 0, 60_120)
    assert read(answer("m-1", usage={**known, "cache_creation": None})).main.usage == Usage(3, 0, None, 60_120, None)


def test_an_answer_of_several_calls_has_the_size_of_its_last_message() -> None:
    steps = [
        {"type": "compaction", "input_tokens": 180_000},
        {"type": "message", "input_tokens": 10, "cache_read_input_tokens": 23_000},
        {"type": "message", "input_tokens": 10, "cache_read_input_tokens": 24_000},
    ]
    run = read(answer("m-1", usage={"input_tokens": 47_020, "output_tokens": 9, "iterations": steps}))
    assert answers(run.main)[0].prompt_tokens == 24_010
    assert run.main.usage.input_tokens == 47_020


@pytest.mark.parametrize("usage", [{}, {"input_tokens": 0, "output_tokens": 0}, "none", {"input_tokens": "many"}])
def test_an_answer_without_figures_has_no_usage(usage: Any) -> None:
    made = row("assistant", message={"id": "m-1", "model": "<synthetic>", "content": [text("Error")], "usage": usage})
    found = answers(read(made).main)[0]
    assert (found.usage, found.prompt_tokens, found.message.text) == (None, 0, "Error")


def test_every_kind_of_block_is_kept() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    run = read(
        answer("m-1", thinking, {**thinking, "signature": ""}, sealed, text("\n\n"), text("yes"), call("c-1", x=1))
    )
    blocks = answers(run.main)[0].message.blocks
    assert blocks == (
        ThinkingBlock("hm", "anthropic", json.dumps(thinking)),
        ThinkingBlock("hm", "anthropic", None),
        OpaqueBlock("anthropic", "redacted_thinking", json.dumps(sealed)),
        TextBlock("yes"),
        ToolCallBlock("c-1", "Bash", '{"x": 1}'),
    )


# -- what is said ---------------------------------------------------------------------------------------------------
def test_results_may_be_text_or_blocks_and_know_their_tool() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    run = read(
        answer("m-1", call("c-1"), call("c-2"), call("c-3")),
        said(
            [
                {"type": "tool_result", "tool_use_id": "c-1", "content": "", "is_error": True},
                {"type": "tool_result", "tool_use_id": "c-2", "content": [text("seen"), image]},
                {"type": "tool_result", "tool_use_id": "c-3"},
                text("and look at this"),
            ]
        ),
    )
    blocks = [item.message.blocks for item in run.main.items if isinstance(item, Said)]
    assert blocks == [
        (ToolResultBlock("c-1", "Bash", (TextBlock("(no output)"),), is_error=True),),
        (ToolResultBlock("c-2", "Bash", (TextBlock("seen"), ImageBlock("image/png", "AAAA"))),),
        (ToolResultBlock("c-3", "Bash", (TextBlock("(no output)"),)),),
        (TextBlock("and look at this"),),
    ]


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (said("fix it"), "user_input"),
        (said("a caveat", isMeta=True), "runtime"),
        (said("<command-name>/compact</command-name>"), "runtime"),
        (said([text("[Request interrupted by user]")]), "runtime"),
        (said("what was", isCompactSummary=True, isVisibleInTranscriptOnly=True), "runtime"),
    ],
)
def test_only_what_a_person_typed_is_theirs(record: dict[str, Any], origin: str) -> None:
    (item,) = read(record).main.items
    assert isinstance(item, Said)
    assert item.message.origin == origin


def test_what_only_the_transcript_shows_was_not_sent() -> None:
    assert read(said("local", isVisibleInTranscriptOnly=True)).main.items == ()


def test_words_typed_while_the_agent_works_stand_after_the_results() -> None:
    run = read(
        said("go"),
        answer("m-1", call("c-1"), call("c-2")),
        row("queue-operation", operation="enqueue", content="an older notice"),
        result("c-1"),
        row("queue-operation", operation="enqueue", content="check again"),
        row("queue-operation", operation="remove"),
        result("c-2"),
        answer("m-2", text("Checking.")),
        said("an older notice"),
    )
    assert told(run.main.items) == [
        ("user", "go"), ("assistant", "c-1 c-2"), ("tool", "c-1"), ("tool", "c-2"), ("user", "check again"),
        ("assistant", "Checking."), ("user", "an older notice"),
    ]  # fmt: skip


def test_words_that_are_recorded_twice_join_once() -> None:
    run = read(
        row("queue-operation", operation="enqueue", content="check again"),
        row("queue-operation", operation="remove"),
        row("attachment", attachment={"type": "queued_command", "prompt": "check again", "commandMode": "prompt"}),
    )
    assert told(run.main.items) == [("user", "check again")]


def test_attachments_that_the_model_is_shown_are_notes() -> None:
    run = read(
        row("attachment", attachment={"type": "todo_reminder", "content": [{"content": "write tests"}]}),
        row("attachment", attachment={"type": "hook_success", "content": "quiet"}),
        row("attachment", attachment={"type": "queued_command", "prompt": "and the docs"}),
    )
    origins = [(i.message.text, i.message.origin) for i in run.main.items if isinstance(i, Said)]
    assert origins == [("write tests", "runtime"), ("and the docs", "user_input")]


def test_a_compaction_is_one_boundary() -> None:
    run = read(said("go"), boundary(trigger="auto", preTokens=167_094), said("what was", isCompactSummary=True))
    (found,) = (item for item in run.main.items if isinstance(item, Compacted))
    assert (found.trigger, found.tokens_before, found.tokens_after) == ("auto", 167_094, None)
    odd = read(row("system", subtype="compact_boundary", compactMetadata=5), row("system", subtype="turn_duration"))
    assert [type(item) for item in odd.main.items] == [Compacted]


# -- sub-agents -----------------------------------------------------------------------------------------------------
def test_sub_agents_between_the_rows_are_threads_of_their_own() -> None:
    first = said("look there", isSidechain=True, parentUuid=None)
    reply = answer("m-9", text("Found."), isSidechain=True, parentUuid=first["uuid"])
    run = read(said("go"), first, reply, answer("m-1", text("Done.")))
    assert told(run.main.items) == [("user", "go"), ("assistant", "Done.")]
    (agent,) = run.agents
    assert told(agent.items) == [("user", "look there"), ("assistant", "Found.")]
    assert run.main.usage.output_tokens == agent.usage.output_tokens == 7


def test_sub_agents_inside_progress_rows_are_read_and_not_counted_twice() -> None:
    def progress(inner: dict[str, Any]) -> dict[str, Any]:
        return row("progress", data={"type": "agent_progress", "agentId": "a1", "message": inner})

    asked, replied = said("look there"), answer("m-9", text("Found."))
    run = read(said("go"), progress(asked), progress(replied), progress(replied), answer("m-1", text("Done.")))
    (agent,) = run.agents
    assert (agent.agent_id, told(agent.items)) == ("a1", [("user", "look there"), ("assistant", "Found.")])
    assert run.main.usage.output_tokens == 7


def test_a_file_of_one_sub_agent_is_that_conversation() -> None:
    run = read(
        said("look", isSidechain=True, agentId="a1"), answer("m-1", text("Yes."), isSidechain=True, agentId="a1")
    )
    assert (run.main.agent_id, run.agents) == ("a1", ())
    assert [i.message.origin for i in run.main.items if isinstance(i, Said)] == ["import"]


# -- damage ---------------------------------------------------------------------------------------------------------
WHOLE = lines(said("whole"))[0]


@pytest.mark.parametrize(
    ("damaged", "skipped", "found"),
    [
        (b'{"type":"user","sessionId":"s-1","mess\n', 1, 0),
        (b"not json at all\n", 1, 0),
        (b"[1, 2]\n", 1, 0),
        (b"\xff\xfe\xfa\n", 1, 0),
        (b"\0\0\0" + WHOLE, 0, 1),
        (b'{"type":"assist' + WHOLE, 1, 1),
        (WHOLE.strip() + WHOLE, 0, 1),
        (WHOLE.strip() + b'{"type":"user","mess\n', 1, 1),
        (b'{"type":"user","message":{"content":[{"type":"text","text":"x"},{"type":"te\n', 1, 0),
        (b"\n  \n", 0, 0),
    ],
)
def test_torn_and_glued_lines_give_what_can_be_read(damaged: bytes, skipped: int, found: int) -> None:
    run = read(damaged, answer("m-1", text("after")))
    assert run.skipped == skipped
    assert len([i for i in run.main.items if isinstance(i, Said)]) == found
    assert answers(run.main)[0].message.text == "after"


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    made = json.dumps(said("one \ud83d two \ud83d\ude00")).encode()
    (item,) = read(made).main.items
    assert isinstance(item, Said)
    assert item.message.text == "one \ufffd two \U0001f600"
    in_a_block = read(json.dumps(answer("m-1", text("half \udc00"))).encode())
    assert answers(in_a_block.main)[0].message.text == "half \ufffd"


def test_unknown_records_and_fields_survive_and_are_counted() -> None:
    run = read(
        row("hologram", depth=3), row("hologram"), row("ai-title", aiTitle="A tidy title"), {"sessionId": "s-1"},
        said("go", somethingNew={"deep": [1, {}]}), row("user"), row("progress", data="odd"), row("progress"),
    )  # fmt: skip
    assert run.unknown == {"hologram": 2, "(none)": 1}
    assert (run.rows, run.skipped, run.title, run.session_id) == (8, 0, "A tidy title", "s-1")
    assert told(run.main.items) == [("user", "go")]


def test_a_record_that_stands_twice_counts_once() -> None:
    """A resumed session's file repeats the history of the one before."""
    first, second = said("go"), answer("m-1", text("Done."))
    assert told(read(first, second, first, second).main.items) == [("user", "go"), ("assistant", "Done.")]


def test_times_never_run_backwards() -> None:
    later, earlier = said("one"), said("two")
    earlier["timestamp"] = "2001-01-01T00:00:00Z"
    timeless = {**said("three"), "timestamp": None}
    at = [item.at for item in read(later, earlier, timeless).main.items]
    assert at == sorted(at)
    assert at[0] > 1_700_000_000


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_no_bytes_make_it_fail(found: list[bytes]) -> None:
    run = read_claude_code([b.replace(b"\n", b"") for b in found])
    assert run.skipped <= run.rows


@given(st.integers(0, 2_000))
def test_a_file_cut_anywhere_is_read_up_to_there(at: int) -> None:
    whole = b"".join(
        lines(said("go"), answer("m-1", text("a"), call("c-1", command="ls")), result("c-1"), answer("m-2"))
    )
    run = read_claude_code(whole[:at].splitlines(keepends=True))
    assert run.skipped <= 1
    assert told(run.main.items) == told(read_claude_code(whole.splitlines()).main.items)[: len(run.main.items)]


# -- which files ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("head", "right"),
    [
        (lines(said("go")), True),
        (lines({"type": "summary", "summary": "A title", "leafUuid": "u"}), True),
        (lines({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {}}), False),
        (lines({"role": "user", "content": "hi"}), False),
        ([b"plain text\n"], False),
        ([], False),
    ],
)
def test_a_transcript_is_known_by_its_first_lines(head: list[bytes], right: bool) -> None:
    assert is_claude_code(head) is right


# -- real files -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "usage", "messages", "calls"),
    [
        ("cc-spotter-258c7280.jsonl", Usage(180, 38_899, 14_771_617, 0, 349_474), 152, 186),
        ("cc-spotter-4d5611e5.jsonl", Usage(177, 28_755, 11_618_567, 479_537, 0), 139, 150),
        ("cc-spotter-ae4a77f8.jsonl", Usage(242, 49_467, 16_553_628, 237_121, 0), 217, 242),
    ],
)
def test_real_transcripts_to_the_token(name: str, usage: Usage, messages: int, calls: int) -> None:
    """B011."""
    path = real(name)
    with path.open("rb") as file:
        run = read_claude_code(file)
    assert (run.main.usage, run.skipped, run.unknown) == (usage, 0, {})
    assert sum(isinstance(item, Compacted) for item in run.main.items) == 1
    assert len(answers(run.main)) == messages
    said_ = [item.message for item in run.main.items if not isinstance(item, Compacted)]
    assert sum(len(m.calls) for m in said_) == sum(m.role == "tool" for m in said_) == calls
    assert answered(tuple(said_))


def test_a_folder_of_samples_is_read_without_a_failure() -> None:
    for path in sorted(Path(real("FORMATS.md")).parent.rglob("*.jsonl")):
        with path.open("rb") as file:
            assert read_claude_code(file).rows > 0
