"""The home screen: moving in the list, opening and starting runs, and coming back."""

from __future__ import annotations

import msgspec

from geode_tui.tui.screens.run import RunScreen
from geode_tui.view.state import Money
from tests.tui.fakes import HELD, FakeSource, running_state, screen_text
from tests.tui.homes import ORDER, FakeHome, Home, at_home, fleet, listed, make_home


async def test_an_empty_composer_works_the_list_and_one_with_words_does_not() -> None:
    async with at_home() as home:
        assert home.screen.composer.entry.has_focus
        await home.press("down", "down", "up")
        assert home.selected == "also"
        assert home.screen.runs.lit
        await home.press("x", "down")
        assert home.selected == "also"
        assert not home.screen.runs.lit
        await home.press("backspace", "enter")
        assert (await home.run()).source.session_id == "also"


async def test_the_cursor_stays_on_its_run_while_others_move() -> None:
    async with at_home() as home:
        await home.press("down", "down", "down")
        assert home.selected == "done"
        await home.show(listed("newest", HELD), *fleet())
        assert home.selected == "done"
        await home.show(*[run for run in fleet() if run.session_id != "done"])
        assert home.selected in ORDER


async def test_letters_move_in_the_list_also_in_hangul_mode() -> None:
    async with at_home() as home:
        await home.press("tab")
        while not home.screen.runs.has_focus:
            await home.press("tab")
        await home.press("j", "ㅓ", "k")
        assert home.selected == "also"
        await home.press("G")
        assert home.selected == "stopped"
        await home.press("ㅎ")
        assert home.selected == "asks"
        await home.press("pagedown")
        assert home.selected == "stopped"


async def test_a_click_selects_and_a_second_opens() -> None:
    async with at_home() as home:
        y = next(i for i, line in enumerate(screen_text(home.app)) if "Run done" in line)
        await home.pilot.click(offset=(20, y))
        await home.until(lambda: home.selected == "done")
        assert not home.source.sources
        await home.pilot.click(offset=(20, y))
        assert (await home.run()).source.session_id == "done"


async def test_the_wheel_moves_the_cursor() -> None:
    async with at_home() as home:
        home.screen.runs.on_mouse_scroll_down(_Wheel())  # type: ignore[arg-type]
        assert home.selected == "done"
        home.screen.runs.on_mouse_scroll_up(_Wheel())  # type: ignore[arg-type]
        assert home.selected == "asks"


class _Wheel:
    def stop(self) -> None:
        """As an event does."""


async def test_ctrl_g_opens_the_next_run_that_needs_you_round_and_round() -> None:
    async with at_home() as home:
        for expected in ("also", "asks", "also"):
            await home.press("ctrl+g")
            assert (await home.run()).source.session_id == expected
            await home.press("f2")
            await home.until(lambda: home.app.shown is home.screen)
            await home.pilot.pause()
            assert home.selected == expected


async def test_ctrl_g_says_when_nothing_waits() -> None:
    async with at_home((listed("done"),), notifications=True) as home:
        await home.press("ctrl+g")
        assert home.toasts == ["Nothing waits for you."]


async def test_what_is_written_starts_a_run_that_is_shown() -> None:
    async with at_home() as home:
        await home.press(*"do it", "enter")
        run = await home.run()
        assert run.source.session_id == "new"
        sent = home.source.sources[0].sent
        await home.until(lambda: sent)
        assert [(kind, payload) for kind, payload, _ in sent] == [("submit", {"text": "do it", "later": False})]
        assert home.screen.composer.entry.text == ""


async def test_words_that_could_not_start_a_run_come_back() -> None:
    async with at_home(notifications=True) as home:
        home.source.fails = "the provider anthropic needs a key in ANTHROPIC_API_KEY"
        await home.press(*"do it", "enter")
        await home.until(lambda: home.toasts)
        assert home.toasts == [home.source.fails]
        assert home.screen.composer.entry.text == "do it"
        assert home.app.shown is home.screen


async def test_esc_leaves_an_ended_run_with_an_empty_composer_and_its_follower_stops() -> None:
    async with at_home() as home:
        await home.press("enter")
        run = await home.run()
        assert home.source.feeds[0].state == "rests"
        await home.press("x", "escape")
        assert home.app.shown is run
        await home.press("backspace", "escape")
        await home.until(lambda: home.app.shown is home.screen)
        await home.until(lambda: not run.is_attached)
        assert [feed.state for feed in home.source.feeds] == ["works"]
        assert len(home.app.screen_stack) == 1
        assert home.selected == "asks"
        assert home.screen.composer.entry.has_focus


async def test_esc_in_a_run_that_goes_on_arms_the_interrupt_and_never_leaves() -> None:
    async with at_home() as home:
        await home.press("enter")
        run = await home.run()
        source = home.source.sources[0]
        source.show(running_state())
        await home.until(lambda: run.newest and run.newest.state.turn_open)
        await home.press("escape")
        assert run._armed
        source.show(running_state(turn_open=False))
        await home.until(lambda: run.newest and not run.newest.state.turn_open)
        await home.press("escape")
        assert home.app.shown is run
        await home.press("alt+0")
        await home.until(lambda: home.app.shown is home.screen)


async def test_a_resting_list_draws_nothing_and_shows_the_newest_when_it_is_back() -> None:
    async with at_home() as home:
        await home.press("enter")
        await home.run()
        await home.pilot.pause()
        home.source.show(listed("asks", HELD), listed("later", HELD))
        await home.until(lambda: home.screen.listing and len(home.screen.listing.runs) == 2)
        assert [row.session_id for row in home.screen.runs.rows] == ORDER
        await home.press("f2")
        await home.until(lambda: home.sees("Run later"))


async def test_the_cursor_comes_to_a_new_run_once_it_is_listed_unless_the_person_moved_it() -> None:
    for moves, expected in (((), "new"), (("down",), "also")):
        async with at_home() as home:
            await home.press(*"do it", "enter")
            await home.run()
            await home.press("f2")
            await home.until(lambda home=home: home.app.shown is home.screen)
            await home.press(*moves)
            await home.show(listed("new", HELD), *fleet())
            assert home.selected == expected


async def test_a_run_opened_first_has_a_home_screen_to_go_to() -> None:
    source, run = FakeHome(fleet()), FakeSource(running_state(turn_open=False), HELD)
    run.session_id = "done"
    app = make_home(source, run=run)
    async with app.run_test(size=(120, 40)) as pilot:
        home = Home(app, pilot, source)
        left = await home.run()
        assert any(hint.key == "f2" for hint in left.footer.view.hints)
        await home.press("escape")
        await home.until(lambda: app._home is not None and home.screen.listing is not None)
        await home.until(lambda: home.selected == "done")
        assert not left.is_attached
        await home.press("enter")
        assert (await home.run()) is not left


async def test_without_a_home_screen_esc_and_its_key_do_nothing() -> None:
    run = FakeSource(running_state(turn_open=False), HELD)
    app = make_home(FakeHome(), run=run)
    app.run_screen.has_home = False
    async with app.run_test(size=(120, 40)) as pilot:
        home = Home(app, pilot, FakeHome())
        shown = await home.run()
        await home.press("escape", "f2")
        assert app.shown is shown
        assert not any(hint.key == "f2" for hint in shown.footer.view.hints)


async def test_leaving_says_that_runs_go_on_only_where_some_do() -> None:
    for runs, line in ((fleet(), "3 live. geode-tui shows them again."), ((listed("done"),), None)):
        async with at_home(runs) as home:
            await home.press("ctrl+q")
        assert home.app.return_value == line


async def test_a_theme_is_worn_by_both_screens() -> None:
    async with at_home(notifications=True) as home:
        await home.press(*"/theme rose", "enter")
        await home.until(lambda: home.app.theme == "rose")
        assert home.screen.runs.look.palette == home.app.themes["rose"].palette
        await home.press("enter")
        run = await home.run()
        run.post_message(RunScreen.ThemeChosen("geode-light"))
        await home.until(lambda: home.screen.runs.look.palette == home.app.themes["geode-light"].palette)
        assert run.header.look.palette == home.screen.header.look.palette


async def test_commands_that_need_a_run_are_refused_and_come_back() -> None:
    async with at_home(notifications=True) as home:
        await home.press(*"/cost", "enter")
        await home.until(lambda: home.toasts)
        assert home.toasts == ["That command works inside a run. A space before / sends it as text"]
        assert home.screen.composer.entry.text == "/cost"
        await home.press("escape", "escape")  # the offers that /cost has, then the toast
        await home.until(lambda: not home.toasts)
        await home.press("ctrl+c", *"/nonsense", "enter")
        await home.until(lambda: home.toasts)
        assert not home.source.sources


async def test_earlier_prompts_are_searched_and_files_offered_as_in_a_run() -> None:
    async with at_home() as home:
        entry = home.screen.composer.entry
        entry.remember("the prompt before")
        await home.press("ctrl+r", *"before")
        await home.until(lambda: home.sees("the prompt before"))
        await home.press("ctrl+c")
        assert not entry.searching
        assert entry.placeholder == "Start a run: say what you want done"
        await home.press(*"see @pars")
        await home.until(lambda: home.sees("src/parser.py"))
        await home.press("tab")
        assert entry.text == "see src/parser.py "


async def test_help_and_palette_list_what_can_be_done_here() -> None:
    async with at_home() as home:
        await home.press("f1")
        await home.until(lambda: home.sees("To the next run that needs you"))
        await home.press("escape", "ctrl+p")
        await home.until(lambda: home.sees("Theme rose"))
        await home.press(*"answer", "enter")
        assert (await home.run()).source.session_id == "also"


async def test_words_filter_the_list_and_esc_shows_all_runs_again() -> None:
    async with at_home() as home:
        await home.press("tab", "slash", *"run b")
        await home.until(lambda: [r.session_id for r in home.screen.runs.rows] == ["broke"])
        assert home.selected == "broke"
        assert any("/ run b" in line for line in screen_text(home.app))
        await home.press("enter")
        assert home.screen.runs.has_focus
        await home.press("slash", *"absent")
        await home.until(lambda: any("No run holds these words." in line for line in screen_text(home.app)))
        assert home.screen.header.view.needs == 2
        await home.press("escape")
        await home.until(lambda: len(home.screen.runs.rows) == len(ORDER))


async def test_ctrl_g_reaches_a_run_that_the_filter_hides() -> None:
    async with at_home() as home:
        await home.press("tab", "slash", *"stopped by nobody", "enter", "ctrl+g")
        assert (await home.run()).source.session_id == "asks"


async def test_each_group_is_sorted_and_those_that_need_you_stay_first() -> None:
    money = {"done": 1, "broke": 3, "stopped": 2}
    runs = []
    for run in fleet():
        assert run.state is not None
        state = msgspec.structs.replace(run.state, money=Money(money.get(run.session_id, 0), 1))
        runs.append(msgspec.structs.replace(run, state=state))
    async with at_home(tuple(runs)) as home:
        await home.press("tab", "s")
        assert [r.session_id for r in home.screen.runs.rows] == ["asks", "also", "works", "broke", "stopped", "done"]
        assert any("dearest first" in line for line in screen_text(home.app))
        await home.press("s", "s", "s")
        assert home.screen.runs.order == "newest"


async def test_marked_runs_are_copied_together_and_without_a_mark_the_one_under_the_cursor() -> None:
    async with at_home() as home:
        await home.press("tab", "j", "y")
        assert home.app.clipboard == "also"
        await home.press("space", "space", "y")
        assert home.app.clipboard == "also\nworks"
        assert any("2 marked" in line for line in screen_text(home.app))
        assert sum("✱" in line for line in screen_text(home.app)) == 2
        home.source.show(*(run for run in fleet() if run.session_id != "also"))
        await home.until(lambda: home.screen.runs.marked == {"works"})


async def test_the_palette_offers_what_the_list_can_do() -> None:
    async with at_home() as home:
        await home.press("ctrl+p", *"another order", "enter")
        await home.until(lambda: home.screen.runs.order == "cost")
