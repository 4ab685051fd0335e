from rich.style import Style
from textual.pilot import Pilot

from geode_tui.core.messages import Message, TextBlock, ThinkingBlock, ToolCallBlock
from geode_tui.log.rows import MessageRow, ResultMeta, StoredMessage
from geode_tui.tui.conversation.drawing import KEEP_LINES
from geode_tui.tui.conversation.finding import FindState
from geode_tui.tui.conversation.marks import hit_style
from geode_tui.tui.conversation.search import MOST
from geode_tui.tui.conversation.view import Conversation
from geode_tui.tui.source import SourceError
from geode_tui.view.follow import Added, Completed
from tests.tui.conversation.kit import Store, screen, settled
from tests.tui.conversation.test_view import long_run, standing


def marked(view: Conversation, *, current: bool) -> list[str]:
    """The pieces of the view that are marked, line by line."""
    style = hit_style(view.ink, current=current)
    strips = [view.render_line(y) for y in range(view.size.height)]
    return ["".join(s.text for s in strip if shows(s.style, style)) for strip in strips if _any(strip, style)]


def shows(style: Style | None, wanted: Style) -> bool:
    return style is not None and style.bgcolor == wanted.bgcolor and style.color == wanted.color


def _any(strip: object, style: Style) -> bool:
    return any(shows(segment.style, style) for segment in strip)  # type: ignore[attr-defined]


async def find(pilot: Pilot[None], view: Conversation, query: str) -> FindState:
    view.find(query)
    await settled(pilot, view)
    assert view.found is not None
    return view.found


async def step(pilot: Pilot[None], view: Conversation, by: int) -> int:
    view.action_find_step(by)
    await settled(pilot, view)
    assert view.found is not None
    return view.found.at


async def test_every_match_of_a_million_characters_is_counted_and_the_first_round_is_reached() -> None:
    store = Store()
    rows = long_run(store, 500)
    assert sum(row.chars for row in rows) > 800_000
    async with standing(store, rows, (100, 40)) as (pilot, view):
        state = await find(pilot, view, "PART 3")
        assert state == FindState(at=500, of=500)
        assert view.loaded_messages < 150
        assert any("part 3" in piece for piece in marked(view, current=True))
        assert await step(pilot, view, 1) == 1
        assert any("round 1 part 3" in line for line in screen(view))
        assert marked(view, current=True) == ["part 3"]
        assert await step(pilot, view, -1) == 500
        assert view.stage is not None
        assert sum(view.stage.transcript.heights[index] for index in view.stage.loaded) < 2 * KEEP_LINES


async def test_the_search_begins_at_the_place_of_the_view_and_says_how_far_it_is() -> None:
    store = Store()
    rows = long_run(store, 300)
    async with standing(store, rows) as (pilot, view):
        view.action_top()
        await settled(pilot, view)
        seen: list[int | None] = []
        view.find("part 0")
        assert view.found is not None
        assert view.found.percent is not None
        while view.busy:
            seen.append(view.found.percent)
            await pilot.pause(0.001)
        assert view.found == FindState(at=1, of=300)
        assert seen == sorted(p for p in seen if p is not None) + [None] * seen.count(None)
        assert await step(pilot, view, 1) == 2


async def test_next_goes_on_from_where_the_person_has_gone_meanwhile() -> None:
    store = Store()
    rows = long_run(store, 60)
    async with standing(store, rows) as (pilot, view):
        await find(pilot, view, "part 0")
        assert view.stage is not None
        view.scroll_to(y=view.stage.transcript.heights.top(30), animate=False, immediate=True)
        await settled(pilot, view)
        assert await step(pilot, view, 1) == 30
        assert await step(pilot, view, -1) == 29


async def test_it_looks_in_prompts_answers_thoughts_calls_and_results_in_the_order_they_are_read() -> None:
    store = Store()
    call = ToolCallBlock("c1", "run_shell", '{"command": "echo needle"}')
    rows = [
        store.user("Where is the Needle?"),
        store.add(Message("assistant", (ThinkingBlock("a needle?"), TextBlock("A **need**le it is."), call)), round=1),
        store.result(call, "one\nneedle\nthree needle\n", ResultMeta("3 lines", 10, 5), round=1),
    ]
    async with standing(store, rows) as (pilot, view):
        view.action_top()
        state = await find(pilot, view, "needle")
        assert (state.at, state.of) == (1, 6)
        lines = []
        for _ in range(6):
            shown = [y for y in range(view.size.height) if _any(view.render_line(y), hit_style(view.ink, current=True))]
            lines.append(view.render_line(shown[0]).text.strip())
            await step(pilot, view, 1)
        assert lines[0].startswith("Where is the Needle?")
        assert lines[1:3] == ["a needle?", "A needle it is."]
        assert "needle" in lines[3]
        assert lines[4:] == ["needle", "three needle"]


async def test_all_of_a_large_result_is_looked_through_though_little_of_it_is_shown() -> None:
    store = Store()
    call = ToolCallBlock("c1", "run_shell", '{"command": "cat log"}')
    text = "".join(f"line {n} of a log with a needle\n" for n in range(10_000)) + "x" * 200_000 + " last needle"
    rows = [
        store.agent("", call, round=1),
        store.result(call, text, ResultMeta("10001 lines", 10, 5), round=1),
    ]
    async with standing(store, rows) as (pilot, view):
        state = await find(pilot, view, "needle")
        assert state.of == 10_001
        assert await step(pilot, view, -1) == 10_001
        assert any("more lines" in line or "line 199 " in line for line in screen(view))


async def test_a_match_that_is_wrapped_is_marked_in_both_lines() -> None:
    store = Store()
    rows = [store.agent("word " * 14 + "here it begins and ends", round=1)]
    async with standing(store, rows, (80, 10)) as (pilot, view):
        assert (await find(pilot, view, "here it begins and")).of == 1
        assert " ".join(marked(view, current=True)) == "here it begins and"
        assert len(marked(view, current=True)) == 2


async def test_every_match_in_view_is_marked_and_only_the_current_one_reversed() -> None:
    store = Store()
    async with standing(store, [store.agent("a fox, a fox and a fox", round=1)]) as (pilot, view):
        await find(pilot, view, "fox")
        assert (marked(view, current=False), marked(view, current=True)) == (["foxfox"], ["fox"])
        view.end_find()
        assert marked(view, current=False) == marked(view, current=True) == []


async def test_another_query_ends_the_search_that_went_on() -> None:
    store = Store()
    rows = long_run(store, 400)
    async with standing(store, rows) as (pilot, view):
        view.find("part")
        before = len(store.reads)
        view.end_find()
        await settled(pilot, view)
        assert view.found is None
        assert len(store.reads) - before < 100
        assert (await find(pilot, view, "nowhere to be found")).of == 0


async def test_an_answer_that_is_completed_meanwhile_is_looked_through_too() -> None:
    store = Store()
    rows = long_run(store, 3)
    async with standing(store, rows) as (pilot, view):
        assert (await find(pilot, view, "part 5")).of == 3
        answer = store.agent("", status="open", round=4, number=90)
        view.apply([Added(answer)])
        done = store.agent("part 5 and part 5", round=4, number=90)
        view.apply([Completed(done)])
        await settled(pilot, view)
        assert view.found is not None
        assert view.found.of == 5


async def test_what_cannot_be_read_is_counted_as_such() -> None:
    class Broken(Store):
        def load(self, message_id: int) -> StoredMessage:
            if message_id == 2:
                raise SourceError("message 2 is damaged")
            return super().load(message_id)

    store = Broken()
    async with standing(store, long_run(store, 5)) as (pilot, view):
        assert await find(pilot, view, "part 5") == FindState(at=4, of=4, unread=1)


async def test_a_search_with_too_many_matches_ends_and_says_so() -> None:
    store = Store()
    rows = long_run(store, 300)
    async with standing(store, rows) as (pilot, view):
        state = await find(pilot, view, "a")
        assert state.more
        assert state.of >= MOST
        assert state.percent is None


def reading_run(store: Store, *, failed: frozenset[int] = frozenset(), count: int = 5) -> list[MessageRow]:
    calls = [ToolCallBlock(f"c{n}", "read_file", f'{{"path": "src/part{n}.py"}}') for n in range(count)]
    rows = [store.user("Read"), store.agent("I read.", *calls, round=1)]
    for n, call in enumerate(calls):
        meta = ResultMeta("no such file" if n in failed else "3 lines", 100, 50, is_error=n in failed)
        rows.append(store.result(call, f"text of file {n}", meta, round=1))
    return [*rows, store.agent("Done.", round=2)]


async def test_like_calls_fold_to_one_row_that_opens() -> None:
    store = Store()
    async with standing(store, reading_run(store)) as (pilot, view):
        lines = [line for line in screen(view) if line]
        assert len(lines) == 6
        assert lines[3].split()[:4] == ["✓", "read_file", "5", "files"]
        assert lines[3].split()[-5:] == ["done", "0.5", "s", "250", "tok"]
        view.focus()
        await pilot.press("g", "j", "j", "j", "j", "enter")
        await settled(pilot, view)
        lines = [line for line in screen(view) if line]
        assert len(lines) == 11
        assert [line.split()[2] for line in lines[4:9]] == [f"src/part{n}.py" for n in range(5)]
        await pilot.press("enter")
        await settled(pilot, view)
        assert len([line for line in screen(view) if line]) == 6


async def test_failed_calls_are_never_folded_and_part_a_run() -> None:
    store = Store()
    async with standing(store, reading_run(store, failed=frozenset({3}), count=6)) as (_, view):
        rows = [line.split() for line in screen(view) if "read_file" in line]
        assert [row[:4] for row in rows[:2]] == [
            ["✓", "read_file", "3", "files"],
            ["✗", "read_file", "src/part3.py", "no"],
        ]
        assert [row[2] for row in rows[1:]] == ["src/part3.py", "src/part4.py", "src/part5.py"]


async def test_calls_fold_as_the_third_of_them_succeeds() -> None:
    store = Store()
    rows = reading_run(store, count=3)
    async with standing(store, rows[:4]) as (pilot, view):
        assert sum("read_file" in line for line in screen(view)) == 3
        view.apply([Added(rows[4])])
        await settled(pilot, view)
        assert [line.split()[1:4] for line in screen(view) if "read_file" in line] == [["read_file", "3", "files"]]


async def test_a_match_in_a_folded_call_opens_what_hides_it() -> None:
    store = Store()
    async with standing(store, reading_run(store)) as (pilot, view):
        assert (await find(pilot, view, "text of file 2")).of == 1
        assert marked(view, current=True) == ["text of file 2"]
        assert sum("read_file" in line for line in screen(view)) == 6
