"""recall_tool_result: whole, by pages, and what it refuses (RUNTIME.md 4.4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.tokens import text_tokens
from geode_tui.core.tools import Safety
from geode_tui.log import offloads
from geode_tui.providers.offline.evidence import recalled_text
from geode_tui.runtime.tools.base import ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.recall import RecallArguments, RecallPage, excerpt, page_of, places, recall_tool, recalled

S = "s-1"
mixed = st.lists(
    st.tuples(st.sampled_from(["x", "한", "a b\n", "\\\"'\x1b", "👩‍💻"]), st.integers(1, 300)), min_size=1
).map(lambda runs: "".join(text * count for text, count in runs))


def page(text: str, room: int) -> RecallPage:
    """The first page of ``text``."""
    return page_of(excerpt("call_1", [text], 5, 0, room * 4), 0, room)


def cut_up(text: str) -> list[str]:
    """``text`` in pieces of 7 characters."""
    return [text[at : at + 7] for at in range(0, len(text), 7)]


class Recall:
    """The tool over a folder of its own."""

    def __init__(self, geode: Path, page: int) -> None:
        self.geode = geode
        self.tool = recall_tool(geode, S)
        self.context = ToolContext(geode.parent, (geode,), S, page_tokens=lambda: page)

    def keep(self, text: str, call_id: str = "call_1", session: str = S) -> None:
        offloads.keep(self.geode, session, call_id, text, tokens=text_tokens(text), now=1.0)

    async def __call__(self, ref_id: str = "call_1", **arguments: Any) -> ToolOutcome:
        prepared = await self.tool.prepare(json.dumps({"ref_id": ref_id, **arguments}), self.context)
        return await prepared.run()

    async def pages(self) -> list[dict[str, Any]]:
        """Every page, by following next_offset."""
        found: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            outcome = await self(offset=offset)
            assert not outcome.is_error
            found.append(json.loads(outcome.text))
            offset = found[-1]["next_offset"]
        return found


@pytest.fixture
def recall(tmp_path: Path) -> Recall:
    return Recall(tmp_path / ".geode", 500)


async def test_a_short_result_comes_back_as_it_is(recall: Recall) -> None:
    text = 'exactly this: {"a": 1}\n'
    recall.keep(text)
    outcome = await recall()
    assert (outcome.text, outcome.is_error, outcome.summary) == (text, False, "1 line")
    assert await recall() == outcome


@pytest.mark.parametrize("result", [{"rows": [1, 2]}, ["a"], "text"])
async def test_objects_lists_and_texts_come_back_alike(recall: Recall, result: object) -> None:
    file = recall.geode / offloads.path_of(S, "toolu_1")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"ref_id": "toolu_1", "result": result, "offloaded_at": 5.5}))
    outcome = await recall("toolu_1")
    assert outcome.text == result or json.loads(outcome.text) == result


LONG = {
    "one line": "A" * 100_000,
    "lines": "line of a log\n" * 8_000,
    "Korean": "한글 결과\n" * 2_000,
    "JSON": json.dumps(["x" * 50] * 900),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
async def test_b046_every_character_is_reached_page_by_page(recall: Recall, text: str) -> None:
    recall.keep(text)
    pages = await recall.pages()
    assert "".join(page["content"] for page in pages) == text
    assert [page["offset"] for page in pages[1:]] == [page["next_offset"] for page in pages[:-1]]
    assert {(page["ref_id"], page["total_tokens"]) for page in pages} == {("call_1", text_tokens(text))}
    assert len(pages) > 1


@given(mixed, st.integers(0, 2_000), st.integers(0, 2_000), st.integers(200, 700))
def test_b047_a_page_with_its_envelope_fits_whatever_the_text(text: str, offset: int, limit: int, room: int) -> None:
    outcome = recalled(cut_up(text), 9, RecallArguments("call_1", offset, limit), room)
    if offset >= len(text):
        assert outcome.is_error
        return
    assert text_tokens(outcome.text) <= room
    if outcome.text == text and not offset:
        return
    page = json.loads(outcome.text)
    end = offset + len(page["content"])
    assert page["content"] == text[offset:end] != ""
    assert page["next_offset"] == (end if end < len(text) else None)
    assert not limit or len(page["content"]) <= limit


def test_a_page_is_nearly_full_and_ends_with_a_line() -> None:
    text = "".join(f"line {n} of the file\n" for n in range(5_000))
    first = page(text, 1_000)
    assert first.content.endswith("\n")
    assert text_tokens(first.content) > 900
    assert len(page("x" * 50_000, 1_000).content) > 3_800


async def test_a_range_may_be_asked_for(recall: Recall) -> None:
    recall.keep("0123456789" * 1_000)
    page = json.loads((await recall(offset=15, limit=10)).text)
    assert (page["content"], page["offset"], page["next_offset"]) == ("5678901234", 15, 25)
    end = json.loads((await recall(offset=9_990, limit=500)).text)
    assert (end["content"], end["next_offset"]) == ("0123456789", None)
    past = await recall(offset=10_000)
    assert (past.text, past.is_error) == ("the result has 10,000 characters: offset 10,000 is past its end", True)


@pytest.mark.parametrize("arguments", [{"offset": -1}, {"limit": -1}, {"offset": "a"}, {"query": 7}, {"ref_id": 5}])
async def test_arguments_that_do_not_fit_are_refused(recall: Recall, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolRefused):
        await recall(**{"ref_id": "call_1", **arguments})


BAD_REFS = ["tr_deadbeef", "../other/call_9", "call_9", "/etc/passwd", "a" * 5_000, "tr_1\x00", ""]


@pytest.mark.parametrize("ref_id", BAD_REFS, ids=range(len(BAD_REFS)))
async def test_b048_an_unknown_reference_is_an_error_result_that_names_the_known_ones(
    recall: Recall, ref_id: str
) -> None:
    recall.keep("theirs", "call_9", "other")
    recall.keep("mine")
    outcome = await recall(ref_id)
    assert outcome.is_error
    assert outcome.text.endswith("those that there are: call_1")
    assert str(recall.geode.parent) not in outcome.text


async def test_a_damaged_file_says_what_to_do(recall: Recall) -> None:
    recall.keep("x")
    (recall.geode / offloads.path_of(S, "call_1")).write_text("{")
    outcome = await recall()
    assert (outcome.text, outcome.is_error) == (
        "the stored result call_1 is damaged: call the tool again instead",
        True,
    )


def test_it_needs_no_leave_since_it_reaches_nothing_outside_the_conversation(recall: Recall) -> None:
    assert recall.tool.safety is Safety.NOTE
    assert recall.tool.spec.name == "recall_tool_result"
    assert recall.tool.spec.schema["required"] == ["ref_id"]
    assert recall.tool.brief('{"ref_id": "call_1", "offset": 5000}') == "call_1 from 5,000"


async def test_a_page_reads_back_for_the_offline_planner(recall: Recall) -> None:
    recall.keep("one\ntwo\nthree\n" * 500)
    assert recalled_text((await recall()).text).startswith("two\nthree\none")


# -- searching --------------------------------------------------------------------------------------------------------
async def test_with_a_query_the_lines_that_hold_it_come_with_their_offsets(recall: Recall) -> None:
    text = "".join(f"line {n}{' Fehler 한글' if n % 500 == 7 else ''}\n" for n in range(3_000))
    recall.keep(text)
    page = json.loads((await recall(query="fehler")).text)
    lines = page["content"].splitlines()
    assert [line.split("] ")[1] for line in lines] == [f"line {n} Fehler 한글" for n in range(7, 3_000, 500)]
    offset = int(lines[3][1:].split("]")[0])
    assert text[offset:].startswith("line 1507 Fehler")
    assert page["next_offset"] is None
    later = json.loads((await recall(query="Fehler", offset=offset)).text)
    assert later["content"].splitlines() == lines[3:]


async def test_what_is_found_comes_page_by_page(recall: Recall) -> None:
    recall.keep("".join(f"hit number {n}\n" for n in range(2_000)))
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        outcome = await recall(query="HIT", offset=offset)
        assert text_tokens(outcome.text) <= 500
        page = json.loads(outcome.text)
        found += [line.split("] ")[1] for line in page["content"].splitlines()]
        offset = page["next_offset"]
    assert found == [f"hit number {n}" for n in range(2_000)]


async def test_a_text_that_is_not_there_is_no_error(recall: Recall) -> None:
    recall.keep("some text\n" * 900)
    outcome = await recall(query="other")
    assert (outcome.text, outcome.is_error) == ("no line from character 0 on holds that text", False)


@given(st.lists(st.sampled_from(["ab", "b", "a", "\n", "x" * 300]), max_size=30).map("".join), st.integers(1, 50))
def test_every_line_that_holds_the_text_is_found_however_it_comes(text: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = list(places(pieces, "AB"))
    assert all(text[at : at + len(part)] == part and "ab" in part for at, part in found)
    lines = [line for line in text.split("\n") if "ab" in line and len(line) < 200]
    assert len(found) >= len(lines)
    assert sum(part.count("ab") for _, part in found) == text.count("ab")
