"""The preview of a compaction over the run: figures, wishes, buttons, and what comes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from geode_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from geode_tui.tui.screens.compact import CompactScreen
from geode_tui.tui.widgets.compact_body import Wish
from geode_tui.view.compaction import (
    CacheBreak,
    CompactionPreview,
    GonePart,
    KeptPart,
    Masking,
    MessageChange,
    Refusal,
    Results,
    Span,
)
from tests.tui.driving import Driven, opened
from tests.tui.fakes import FIGURES, running_state

AFTER = msgspec.structs.replace(
    FIGURES,
    used=91_200,
    measured="estimated",
    parts={
        "system": 6_100,
        "tools": 9_800,
        "summaries": 12_000,
        "user": 3_000,
        "agent": 9_300,
        "thinking": 6_200,
        "results": 42_500,
        "images": 2_300,
    },
)
PREVIEW = CompactionPreview(
    True,
    "client_summary",
    "the conversation's own model writes a summary of the older messages",
    keep_recent=8,
    keep_default=10,
    keep_note="window",
    tokens_before=264_900,
    tokens_after=91_200,
    written=12_000,
    before=FIGURES,
    after=AFTER,
    span=Span(31, 176, 146, (3, 16), (3, 29)),
    kept=(
        KeptPart("prefix", 0, 15_900),
        KeptPart("latest_input", 1, 300),
        KeptPart("recent", 8, 60_000),
        KeptPart("pinned", 2, 3_000),
    ),
    gone=(GonePart("results", 62, 143_000), GonePart("agent", 84, 22_100), GonePart("summaries", 0, 8_600)),
    results=Results(9, 2, 51, 12_000),
    cost_micro=140_000,
    seconds=20,
    cache=CacheBreak(75_300, 130_000),
    masking=Masking(24, 249_700),
    changes=(
        MessageChange(0, 0, 0, "summaries", "", 0, 12_000, "new"),
        *(MessageChange(n, 3, 16, "results", f"read_file part{n}.py", 1_000, 0, "summarised") for n in range(31, 177)),
    ),
)
NATIVE = CompactionPreview(
    False,
    "none",
    "the history holds a compaction block",
    keep_recent=8,
    refusal=Refusal("native", "the history holds a block", "", (3, 31), "claude-opus-4-8", (3, 30), 784_000, True),
    mode="threshold",
    tokens_before=264_900,
    tokens_after=264_900,
    before=FIGURES,
)


ORDER = ("compact", {"keep": 0, "focus": "", "prune": False})


def the_screen(driven: Driven) -> CompactScreen:
    screen = driven.app.screen
    assert isinstance(screen, CompactScreen)
    return screen


async def ready(driven: Driven) -> CompactScreen:
    """The modal, once it shows a preview or an error."""
    await driven.until(lambda: isinstance(driven.app.screen, CompactScreen))
    screen = the_screen(driven)
    await driven.until(lambda: not screen.body.pending)
    await driven.pilot.pause()
    return screen


@asynccontextmanager
async def previewing(
    preview: CompactionPreview = PREVIEW, size: tuple[int, int] = (120, 40), key: str = "c", **options: Any
) -> AsyncIterator[tuple[Driven, CompactScreen]]:
    state = running_state(turn_open=False, termination_reason="natural")
    async with opened(state, size=size, **options) as driven:
        driven.source.preview = preview
        driven.screen.conversation.focus()
        await driven.pilot.press(key)
        yield driven, await ready(driven)


def orders(driven: Driven) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, payload) for kind, payload, _ in driven.source.sent]


def closed(driven: Driven) -> bool:
    return not isinstance(driven.app.screen, CompactScreen)


async def click(driven: Driven, screen: CompactScreen, deed: str) -> None:
    spot = next(spot for spot in screen.body._spots if spot.deed == deed)
    await driven.pilot.click(screen.body, offset=(spot.start + 1, spot.y))


# -- what is shown ----------------------------------------------------------------------------------------------------
SAID = {
    "en": (
        "Compact the context", "preview, nothing has changed yet", "264.9k ⇢ ~91.2k", "24 % of 367.2k", "✓ ok",
        "summary costs ~$0.14, takes ~20 s", "79.2k", "173.7k", "rounds 16-29", "146 messages", "62 tool results",
        "recall by ref", "✗ expired", "summary only", "10 by default, 8 here", "alone reaches ~67 %",
        "re-reads ~75.3k tok at full price, ~$0.13 more", "enter compact",
    ),
    "ko": (
        "컨텍스트 압축", "미리 보기, 아직 바뀐 것 없음", "요약 비용 ~$0.14", "모델이 못 봄", "메시지 146개",
        "참조로 되부름", "기본 10개, 여기는 8개", "~67 %", "enter 압축",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_the_preview_says_what_stays_what_goes_and_what_it_costs(language: str) -> None:
    async with previewing(language=language) as (driven, _):
        for part in SAID[language]:
            assert driven.sees(part), part
        assert orders(driven) == []


@pytest.mark.parametrize("key", ["c", "ㅊ"])
async def test_the_key_opens_it_and_enter_compacts(key: str) -> None:
    async with previewing(key=key) as (driven, _):
        assert driven.source.previews == [(0, "", False)]
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [ORDER]
        assert closed(driven)


async def test_the_palette_and_the_bare_command_open_it_too() -> None:
    async with opened(size=(120, 40)) as driven:
        driven.source.preview = PREVIEW
        await driven.pilot.press("ctrl+p", *"compact the context", "enter")
        await ready(driven)
        await driven.pilot.press("escape")
        await driven.until(lambda: closed(driven))
        await driven.type("/compact")
        await ready(driven)
        assert driven.source.previews == [(0, "", False)] * 2
        assert orders(driven) == []


async def test_a_command_with_wishes_opens_it_filled_in() -> None:
    async with opened(size=(120, 40)) as driven:
        driven.source.preview = PREVIEW
        await driven.type("/compact keep 6 focus the [b]parser[/b]")
        await ready(driven)
        assert driven.source.previews == [(6, "the [b]parser[/b]", False)]
        assert driven.sees("focus  the [b]parser[/b]")
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("compact", {"keep": 6, "focus": "the [b]parser[/b]", "prune": False})]


async def test_while_it_is_worked_out_it_says_so_and_can_be_closed() -> None:
    async with opened(size=(120, 40)) as driven:
        driven.source.preview = PREVIEW
        driven.source.may_preview.clear()
        driven.screen.conversation.focus()
        await driven.pilot.press("c")
        await driven.until(lambda: driven.source.previews)
        assert driven.sees("working out the preview")
        await driven.pilot.press("enter")  # the only button closes
        await driven.until(lambda: closed(driven))
        driven.source.may_preview.set()
        await driven.pilot.pause()
        assert orders(driven) == []


async def test_an_error_of_the_source_is_a_line_in_it() -> None:
    async with opened(size=(120, 40)) as driven:
        driven.source.fails = "the log is damaged \x1b[31mhunter2hunter2"
        driven.screen.conversation.focus()
        await driven.pilot.press("c")
        await ready(driven)
        assert driven.sees("The preview could not be worked out.")
        assert driven.sees("the log is damaged")
        assert not driven.sees("hunter2")
        await driven.pilot.press("m", "d", "f", "plus")
        assert not closed(driven)
        await driven.pilot.press("escape")
        await driven.until(lambda: closed(driven))
        assert orders(driven) == []


async def test_a_run_that_goes_on_says_when_it_takes_effect() -> None:
    async with opened(size=(120, 40), notifications=True) as driven:
        driven.source.preview = PREVIEW
        driven.screen.conversation.focus()
        await driven.pilot.press("c")
        await ready(driven)
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.toasts)
        assert driven.toasts == ["compaction: takes effect at the next round boundary."]


# -- wishes -----------------------------------------------------------------------------------------------------------
async def test_another_number_of_messages_is_worked_out_once_the_keys_rest() -> None:
    async with previewing() as (driven, screen):
        driven.source.may_preview.clear()
        await driven.pilot.press("minus", "minus", "plus", "minus")
        assert screen.body.wish.keep == 6
        assert driven.sees("working out the preview")
        assert driven.sees("264.9k ⇢ ~91.2k"), "the figures of before stay until the new ones come"
        await driven.pilot.press("enter")
        assert not closed(driven), "nothing is done by figures that do not hold"
        driven.source.may_preview.set()
        await ready(driven)
        assert driven.source.previews == [(0, "", False), (6, "", False)]
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("compact", {"keep": 6, "focus": "", "prune": False})]


async def test_it_never_keeps_less_than_one_message_nor_more_than_a_thousand() -> None:
    async with previewing(msgspec.structs.replace(PREVIEW, keep_recent=1)) as (driven, screen):
        await driven.pilot.press("minus")
        assert screen.body.wish.keep == 1
        screen._wish(Wish(keep=1_000))
        await driven.pilot.press("plus")
        assert screen.body.wish.keep == 1_000


async def test_a_focus_is_typed_in_a_line_and_changes_no_figure() -> None:
    async with previewing() as (driven, screen):
        await driven.pilot.press("f", *"parser, mdq", "enter")
        assert screen.body.wish.focus == "parser, mdq"
        assert not screen.body.field.display
        assert not screen.body.pending
        assert driven.sees("focus  parser, mdq")
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("compact", {"keep": 0, "focus": "parser, mdq", "prune": False})]
        assert driven.source.previews == [(0, "", False)]


async def test_esc_in_the_line_leaves_the_focus_as_it_was() -> None:
    async with previewing() as (driven, screen):
        await driven.pilot.press("f", *"no", "escape")
        assert screen.body.wish.focus == ""
        assert not closed(driven)
        assert driven.sees("nothing in particular")


async def test_leaving_out_instead_of_a_summary_is_previewed_first() -> None:
    async with previewing() as (driven, _):
        driven.source.preview = msgspec.structs.replace(PREVIEW, strategy="prune", written=0, cost_micro=0)
        await driven.pilot.press("p")
        await ready(driven)
        assert driven.source.previews[-1] == (0, "", True)
        assert driven.sees("Left out")
        assert driven.sees("no model is asked, it is free")
        await driven.pilot.press("enter")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("compact", {"keep": 0, "focus": "", "prune": True})]


# -- buttons ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["key", "tab", "click"])
async def test_masking_alone_is_one_key_button_or_click(way: str) -> None:
    async with previewing() as (driven, screen):
        if way == "key":
            await driven.pilot.press("m")
        elif way == "tab":
            await driven.pilot.press("tab", "enter")
        else:
            await click(driven, screen, "mask")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("mask", {})]
        assert closed(driven)


async def test_where_masking_changes_nothing_it_is_not_offered() -> None:
    async with previewing(msgspec.structs.replace(PREVIEW, masking=Masking())) as (driven, screen):
        assert "mask" not in screen.body.buttons
        assert driven.sees("would change nothing.")
        await driven.pilot.press("m")
        assert not closed(driven)


async def test_the_mouse_reaches_the_number_the_focus_and_the_buttons() -> None:
    async with previewing() as (driven, screen):
        await click(driven, screen, "less")
        assert screen.body.wish.keep == 7
        await ready(driven)
        await click(driven, screen, "focus")
        assert screen.body.field.display
        assert screen.body.field.size.height == 1
        await driven.pilot.press("escape")
        await click(driven, screen, "close")
        await driven.until(lambda: closed(driven))
        assert orders(driven) == []


async def test_the_changes_are_a_list_that_scrolls_and_esc_goes_back() -> None:
    async with previewing() as (driven, screen):
        await driven.pilot.press("d")
        assert driven.sees("read_file part31.py")
        assert driven.sees("what stands for them")
        assert not driven.sees("part176.py")
        await driven.pilot.press("G")
        assert driven.sees("part176.py")
        await driven.pilot.press("g")
        assert driven.sees("read_file part31.py")
        await driven.pilot.press("escape")
        assert not closed(driven)
        assert driven.sees("264.9k ⇢ ~91.2k")
        assert screen.body.has_focus


# -- where nothing can be done ----------------------------------------------------------------------------------------
async def test_a_native_block_is_refused_with_what_is_possible() -> None:
    async with previewing(NATIVE) as (driven, _):
        for part in (
            "not possible here", "This history holds a native compaction block.", "claude-opus-4-8", "round 3.31",
            "fork from round 3.30", "undo takes the block back", "wait: the provider compacts again at 784.0k",
        ):  # fmt: skip
            assert driven.sees(part), part
        assert not driven.sees("enter compact")
        await driven.pilot.press("m", "d", "p", "plus")
        assert not closed(driven)
        await driven.pilot.press("w")
        await driven.until(lambda: closed(driven))
        assert orders(driven) == []


async def test_from_a_refusal_one_can_fork_or_undo() -> None:
    async with previewing(NATIVE) as (driven, _):
        await driven.pilot.press("f")
        await driven.until(lambda: driven.source.forked)
        assert driven.source.forked == [(3, 30)]
    async with previewing(NATIVE) as (driven, _):
        await driven.pilot.press("u")
        await driven.until(lambda: driven.source.sent)
        assert orders(driven) == [("undo", {})]


REFUSALS = {
    "recorded": "This run was recorded by claude_code.",
    "empty": "Nothing was sent of this conversation yet.",
    "unknown": "It is not known what claude_code accepts.",
    "on_demand": "This history begins with a compaction block of its provider.",
    "nothing": "There is nothing old enough to be replaced.",
    "no_gain": "It would not make the prompt smaller.",
}


@pytest.mark.parametrize("obstacle", REFUSALS)
async def test_each_obstacle_is_said_and_only_some_can_be_helped_by_keeping_fewer(obstacle: Any) -> None:
    refused = CompactionPreview(False, "none", "", keep_recent=8, refusal=Refusal(obstacle, "", "claude_code"))
    async with previewing(refused) as (driven, screen):
        assert driven.sees(REFUSALS[obstacle])
        assert screen.body.can("less") is (obstacle in {"nothing", "no_gain"})
        await driven.pilot.press("enter")
        await driven.until(lambda: closed(driven))


# -- sizes, languages, hostile texts ----------------------------------------------------------------------------------
HOSTILE = msgspec.structs.replace(
    PREVIEW,
    changes=tuple(
        MessageChange(n, 1, n, "user", text, 10, 0, "summarised")
        for n, text in enumerate(
            ("\x1b[2J[bold]x", "가" * 200, "a\nb\tc\r", "\u202egnp", "hunter2hunter2", "👩‍👩‍👧" * 40), 1
        )
    ),
)


@pytest.mark.parametrize(
    ("size", "language", "glyphs"),
    [
        ((200, 60), "en", UNICODE),
        ((120, 40), "ko", ASCII),
        ((80, 24), "ko", UNICODE),
        ((60, 16), "en", ASCII),
        ((40, 12), "ko", UNICODE),
        ((40, 12), "en", ASCII),
        ((23, 7), "ko", UNICODE),
    ],
)
async def test_every_row_is_as_wide_as_the_screen_at_every_size(
    size: tuple[int, int], language: str, glyphs: Glyphs
) -> None:
    for preview in (HOSTILE, NATIVE):
        state = running_state(turn_open=False)
        async with opened(state, size=size, language=language, glyphs=glyphs) as driven:
            driven.source.preview = preview
            driven.app.push_screen(CompactScreen(driven.screen.look, driven.source, Wish(focus="가" * 90)))
            screen = await ready(driven)
            shown = [screen.body.build(screen.body.size), screen.diff.build(screen.body.size)]
            widths = {strip.cell_length for strips in shown for strip in strips}
            assert widths <= {screen.body.size.width}
            text = "\n".join(strip.text for strips in shown for strip in strips)
            assert "hunter2" not in text
            assert not {c for c in text if ord(c) < 32 and c != "\n"}
            await driven.pilot.press("d", "j", "G", "k", "tab", "pagedown")
            assert not closed(driven)
            assert screen.footer.size.height == 1


async def test_without_colours_the_chosen_button_is_still_told() -> None:
    async with previewing(glyphs=ASCII) as (driven, _):
        assert driven.sees("[enter compact]")
        await driven.pilot.press("tab")
        assert driven.sees("[m mask only, free]")


async def test_nothing_moves_while_nothing_changes() -> None:
    async with previewing() as (_, screen):
        assert screen._settle is None
        assert not [worker for worker in screen.workers if worker.is_running]
