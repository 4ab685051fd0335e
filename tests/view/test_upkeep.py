"""What the window's upkeep cost and saved: figures worked out by hand, and against a plain recomputation."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core import events as ev
from geode_tui.core.layers import CacheCause
from geode_tui.core.strings import Strings
from geode_tui.core.usage import Usage
from geode_tui.view.cost import cost_lines, signed, step_name, upkeep_lines
from geode_tui.view.reduce import decode_state, encode_state, fold
from geode_tui.view.reports import cost_report
from geode_tui.view.state import RunState, frozen_copy
from geode_tui.view.upkeep import STEPS, Verdict, total_of, verdict_of
from geode_tui.view.upkeep_step import Step
from tests.view.runs import figures, row

EN, KO = Strings("en"), Strings("ko")
READ = 300_000
"""$0.30 a million tokens: 20,000 tokens are 6,000 micro-dollars, 50,000 are 15,000."""


class Log:
    """Events of one run, each at the turn and round that the log stands at."""

    def __init__(self) -> None:
        self.rows: list[ev.EventRow] = []
        self.turn, self.round, self.version = 1, 0, 0

    def add(self, *payloads: ev.Payload) -> Log:
        for payload in payloads:
            self.rows.append(row(len(self.rows) + 1, payload, self.turn, self.round))
        return self

    def answers(self, count: int = 1, read: int | None = READ, **more: Any) -> Log:
        for _ in range(count):
            self.round += 1
            self.add(ended(self.call, read=read, **more))
        return self

    @property
    def call(self) -> str:
        return f"c{self.turn}-{self.round}"

    def change(self, before: int, after: int, *, cause: str = "warning", first: int = 1, **more: Any) -> Log:
        self.version += 1
        operations = more.pop("operations", {"mask": 3})
        return self.add(
            ev.ViewChanged(
                self.version, self.version - 1, cause, "text", operations, before, after, first, figures(after), **more
            )
        )

    def breaks(self, tokens: int, cost: int | None, cause: CacheCause = "message") -> Log:
        return self.add(ev.CacheBroken(self.call, cause, tokens, cost))

    def starts(self) -> Log:
        return self.add(ev.MaintenanceStarted("warning", False, figures(100_000)))

    def ends(self) -> Log:
        return self.add(ev.MaintenanceEnded("warning", "compact", "changed", 90, 20, 100_000, 30_000))

    @property
    def state(self) -> RunState:
        return fold(RunState(), self.rows)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The rows of ``cost --json``."""
        return report(self.state)["upkeep"]  # type: ignore[no-any-return]


def ended(call: str, purpose: str = "turn", cost: int | None = 9_000, **more: Any) -> ev.LlmCallEnded:
    read, used = more.pop("read", None), more.pop("used", 30_000)
    route = ("m-1", "anthropic", "payg")
    gauge = figures(used, "confirmed")
    return ev.LlmCallEnded(
        call, 1, purpose, *route, 900, Usage(10, 5, used), cost, "end_turn", gauge, read_micro=read, **more
    )


def failed(call: str, cost: int | None) -> ev.LlmCallFailed:
    return ev.LlmCallFailed(call, 1, "summary", "m-1", "anthropic", "payg", "overloaded", "warning", "no", None, cost)


def report(state: RunState) -> dict[str, Any]:
    return cost_report(
        session_id="s-1", month=None, money=state.money, by_model={}, by_purpose={}, simulated=False,
        upkeep=state.upkeep, place=(state.turn, state.round),
    )  # fmt: skip


def part(found: dict[str, Any], names: str) -> tuple[Any, ...]:
    return tuple(found[name] for name in names.split())


def compacted_once() -> Log:
    """Five rounds; then a masking (20,000 tokens) and a summary (50,000) in one pass, and the next answer's break."""
    log = Log().answers(5).starts()
    log.change(100_000, 80_000, first=12)
    log.add(failed("s", 1_000), ended("s", "summary", 30_000))
    log.change(80_000, 30_000, first=2, operations={"summarise": 1}, upto=60)
    return log.ends().answers().breaks(25_000, 80_000, "removed")


# -- worked out by hand -----------------------------------------------------------------------------------------------
MONEY = "own_usd break_tokens break_usd saved_tokens saved_usd net_usd"
WHEN = "state pays_back_turn pays_back_round rounds_left"


def test_a_pass_of_two_steps_has_its_cost_its_break_and_what_it_saved() -> None:
    mask, summary = compacted_once().steps
    assert part(mask, "version cause kind turn round") == (1, "warning", "masked", 1, 5)
    assert part(mask, MONEY) == ("0.00", 0, "0.00", 20_000, "0.006", "0.006")
    assert part(mask, WHEN) == ("paid_back", 1, 6, None)
    assert part(summary, "version cause kind turn round") == (2, "warning", "summarised", 1, 5)
    assert part(summary, MONEY) == ("0.031", 25_000, "0.08", 50_000, "0.015", "-0.096")
    assert part(summary, WHEN) == ("expected", 1, 13, 7)


def test_it_pays_back_in_the_very_round_that_was_expected() -> None:
    """111,000 micro-dollars at 15,000 a round: the eighth request after it."""
    log = compacted_once().answers(6)
    assert part(log.steps[1], f"net_usd {WHEN}") == ("-0.006", "expected", 1, 13, 1)
    log.answers()
    assert part(log.steps[1], f"net_usd requests {WHEN}") == ("0.009", 8, "paid_back", 1, 13, None)
    log.answers(20)
    assert part(log.steps[1], WHEN) == ("paid_back", 1, 13, None)


def test_the_sum_is_that_of_its_steps() -> None:
    total = report(compacted_once().state)["upkeep_total"]
    assert part(total, MONEY) == ("0.031", 25_000, "0.08", 70_000, "0.021", "-0.09")
    assert part(total, "steps tokens_per_round unpriced_steps") == (2, 70_000, 0)


def test_until_the_next_answer_nothing_is_foretold() -> None:
    log = Log().answers().starts().change(100_000, 80_000).ends()
    assert part(log.steps[0], f"saved_tokens net_usd {WHEN}") == (0, "0.00", "not_yet", None, None, None)


def test_the_prices_are_those_of_each_request() -> None:
    log = Log().answers().change(100_000, 0).answers(2, read=READ).answers(1, read=600_000)
    assert part(log.steps[0], "saved_tokens saved_usd") == (300_000, "0.12")


def test_a_break_that_comes_to_light_takes_back_that_it_has_paid() -> None:
    log = Log().answers().change(100_000, 80_000).answers()
    assert log.steps[0]["state"] == "paid_back"
    log.breaks(30_000, 100_000)
    assert part(log.steps[0], "net_usd state") == ("-0.094", "expected")


@pytest.mark.parametrize("cause", ["model", "tools", "system", "dynamic", "settings", "key", "expired", "unknown"])
def test_a_cache_that_broke_for_another_reason_is_no_cost_of_a_step(cause: CacheCause) -> None:
    log = Log().answers().change(100_000, 80_000).answers().breaks(30_000, 100_000, cause)
    assert part(log.steps[0], "break_tokens break_usd") == (0, "0.00")


def test_only_the_answer_after_it_can_blame_a_step() -> None:
    log = Log().answers().change(100_000, 80_000).answers(2).breaks(30_000, 100_000)
    assert log.steps[0]["break_tokens"] == 0


def test_the_break_is_laid_to_the_earliest_change() -> None:
    log = Log().answers().change(100_000, 80_000, first=5).change(80_000, 70_000, first=30).answers().breaks(9_000, 7)
    assert [step["break_tokens"] for step in log.steps] == [9_000, 0]
    log.change(70_000, 60_000, first=30).change(60_000, 99_000, first=4, cause="undo", takes_back=(9,))
    log.answers().breaks(50_000, 8)
    assert [step["break_tokens"] for step in log.steps] == [9_000, 0, 0], "the undo broke it"


@pytest.mark.parametrize("cause", ["arrival", "pin", "undo", "redo"])
def test_what_is_no_upkeep_has_no_row(cause: str) -> None:
    assert Log().answers().change(100_000, 80_000, cause=cause).answers().steps == []


def test_an_undone_step_counts_until_then_and_again_after_a_redo() -> None:
    log = Log().answers().change(100_000, 80_000, first=3).answers(2)
    log.change(80_000, 100_000, cause="undo", takes_back=(1,), operations={}).answers(3)
    assert part(log.steps[0], "saved_tokens saved_usd state") == (40_000, "0.012", "undone")
    assert part(log.steps[0], "pays_back_turn pays_back_round") == (1, 2), "it had paid before"
    assert report(log.state)["upkeep_total"]["tokens_per_round"] == 0
    log.change(100_000, 80_000, cause="redo", gives_back=(1,), operations={}).answers(1)
    assert part(log.steps[0], "saved_tokens saved_usd state") == (60_000, "0.018", "paid_back")


def test_what_a_failed_summary_cost_is_borne_by_the_pass() -> None:
    log = Log().answers().starts().change(100_000, 80_000).add(failed("s", 4_000), ended("s", "summary", 5_000)).ends()
    assert log.steps[0]["own_usd"] == "0.009"
    log.starts().add(ended("t", "summary", 6_000)).ends()
    assert log.steps[0]["own_usd"] == "0.009", "another pass is not its"
    total = report(log.state)["upkeep_total"]
    assert (total["fruitless"], total["own_usd"]) == ({"passes": 1, "usd": "0.006"}, "0.015")


def test_a_summary_outside_a_pass_is_no_ones() -> None:
    log = Log().answers().add(ended("s", "summary", 5_000)).starts().change(100_000, 80_000).ends()
    assert log.steps[0]["own_usd"] == "0.00"


def test_a_step_that_saves_nothing_never_pays() -> None:
    log = Log().answers().change(100_000, 100_000).answers(3)
    assert part(log.steps[0], "saved_tokens state") == (0, "never")


def test_where_the_pace_leads_nowhere_soon_nothing_is_foretold() -> None:
    log = Log().answers().change(100_000, 99_999).answers().breaks(30_000, 10**9)
    assert log.steps[0]["state"] == "not_yet"
    free = Log().answers(read=0).starts().add(ended("s", "summary", 5)).change(9_000, 8_000).ends().answers(2, read=0)
    assert part(free.steps[0], "saved_usd state") == ("0.00", "not_yet")


@pytest.mark.parametrize(
    ("read", "own", "lost"), [(None, 0, 0), (READ, None, 0), (READ, 0, None)], ids=["read", "own", "break"]
)
def test_without_a_price_there_are_tokens_only(read: int | None, own: int | None, lost: int | None) -> None:
    log = Log().answers(read=read).starts().add(ended("s", "summary", own)).change(100_000, 80_000).ends()
    log.answers(read=read).breaks(7_000, lost).answers(read=read)
    found = log.steps[0]
    assert part(found, "saved_tokens net_usd state") == (40_000, None, "unpriced")
    assert found["saved_usd"] == (None if read is None else "0.012")
    total = report(log.state)["upkeep_total"]
    assert part(total, "saved_tokens net_usd own_usd unpriced_steps") == (40_000, None, None, 1)
    assert upkeep_lines(log.state, EN)[0] == "Upkeep: steps: 1, 40.0k tok saved, unpriced"


# -- the provider -----------------------------------------------------------------------------------------------------
def test_the_providers_own_compaction_and_its_version_are_one_row() -> None:
    """Its own prompt is smaller already, and what it did beside the answer is what it cost."""
    log = Log().answers(2).answers(beside=Usage(0, 900, 150_000), beside_micro=60_000)
    log.add(ev.ProviderCompacted(log.call, 9, 150_000, 50_000)).breaks(45_000, 5_000, "compacted")
    log.change(150_000, 50_000, cause="provider", first=0, operations={"replay": 1})
    (step,) = log.steps
    assert part(step, "version cause kind round") == (1, "provider", "native", 3)
    assert part(step, MONEY) == ("0.06", 45_000, "0.005", 100_000, "0.03", "-0.035")
    assert part(step, WHEN) == ("expected", 1, 5, 2)
    log.answers(2)
    assert part(log.steps[0], "saved_usd state pays_back_round") == ("0.09", "paid_back", 5)
    log.change(50_000, 150_000, cause="undo", takes_back=(1,), operations={}).answers()
    assert part(log.steps[0], "saved_usd state") == ("0.09", "undone")


def test_a_compaction_that_was_not_counted_is_measured_by_the_next_answer() -> None:
    log = Log().answers(used=150_000, beside_micro=60_000)
    log.add(ev.ProviderCompacted(log.call, 9, 150_000, 0))
    log.change(150_000, 150_000, cause="provider", first=0, operations={"replay": 1})
    assert part(log.steps[0], "tokens_per_round state") == (0, "not_yet")
    log.answers(2, used=50_000)
    assert part(log.steps[0], "tokens_per_round saved_tokens saved_usd") == (100_000, 200_000, "0.06")


def test_results_that_the_provider_clears_from_request_to_request_are_one_row() -> None:
    log = Log().answers(2)
    for tokens in (10_000, 12_000):
        log.answers().add(ev.ProviderCleared(log.call, 4, tokens))
        log.breaks(20_000, 15_000)
    (step,) = log.steps
    assert part(step, "version cause kind round") == (None, "provider", "cleared", 3)
    assert part(step, MONEY) == ("0.00", 40_000, "0.03", 22_000, "0.0066", "-0.0234")
    assert part(step, WHEN) == ("expected", 1, 11, 7), "23,400 at 3,600 a round"
    log.answers(2)
    assert part(log.steps[0], "saved_tokens state") == (22_000, "never"), "it does so no more"
    log.answers().add(ev.ProviderCleared(log.call, 4, 10_000))
    assert [step["state"] for step in log.steps] == ["never", "paid_back"]


# -- bounds and equality ----------------------------------------------------------------------------------------------
def many(steps: int) -> Log:
    log = Log().answers()
    for number in range(steps):
        log.starts().add(ended(f"s{number}", "summary", 2_000)).change(50_000, 49_000).ends()
        log.answers().breaks(100, 10)
    return log


def test_old_steps_are_summed_and_go_on_saving() -> None:
    steps = STEPS + 40
    log = many(steps)
    state = log.state
    assert len(state.upkeep.steps) == STEPS
    assert state.upkeep.steps[-1].version == steps
    total = total_of(state.upkeep)
    assert (total.steps, total.per_round, total.own_micro) == (steps, 1_000 * steps, 2_000 * steps)
    assert (total.break_tokens, total.break_micro) == (100 * steps, 10 * steps)
    assert total.saved_tokens == 1_000 * steps * (steps + 1) // 2
    assert total.saved_micro == 300 * steps * (steps + 1) // 2
    assert total_of(log.answers(10).state.upkeep).saved_tokens == total.saved_tokens + 10_000 * steps


def test_a_copy_is_not_changed_by_the_fold() -> None:
    log = compacted_once()
    state = log.state
    copy = frozen_copy(state)
    before = encode_state(copy)
    fold(state, Log().answers().change(100, 50).answers(40).rows)
    assert encode_state(copy) == before


@given(st.integers(0, 2**32), st.data())
def test_wherever_the_log_is_cut_the_account_is_that_of_a_plain_recomputation(seed: int, data: st.DataObject) -> None:
    rows = busy(Random(seed))
    cut = data.draw(st.integers(0, len(rows)))
    state = fold(decode_state(encode_state(fold(RunState(), rows[:cut]))), rows[cut:])
    assert encode_state(state) == encode_state(fold(RunState(), rows))
    wanted = recomputed(rows)
    assert [s.version for s in state.upkeep.steps] == list(wanted)
    for step in state.upkeep.steps:
        assert told(step, state) == wanted[step.version]


def busy(random: Random) -> list[ev.EventRow]:
    """A run with passes, breaks, undos and redos in an order that could be."""
    log, holding, taken = Log().answers(), [], []  # type: ignore[var-annotated]
    for _ in range(random.randrange(1, 25)):
        match random.randrange(6):
            case 0:
                log.starts()
                for _ in range(random.randrange(3)):
                    if random.random() < 0.5:
                        log.add(failed("s", random.randrange(9_000)), ended("s", "summary", random.randrange(90_000)))
                    log.change(90_000, random.randrange(90_001), first=random.randrange(1, 90))
                    holding.append(log.version)
                log.ends()
            case 1 if holding:
                taken.append(holding.pop())
                log.change(1_000, 2_000, cause="undo", takes_back=(taken[-1],), first=random.randrange(1, 90))
            case 2 if taken:
                holding.append(taken.pop())
                log.change(2_000, 1_000, cause="redo", gives_back=(holding[-1],), first=random.randrange(1, 90))
            case _:
                log.answers(read=random.choice([READ, 500_000, 1_000_000]))
                if random.random() < 0.4:
                    log.breaks(random.randrange(9_000), random.randrange(90_000), random.choice(["message", "tools"]))
    return log.rows


def told(step: Step, state: RunState) -> tuple[int | None, ...]:
    saved = step.saved_by(state.upkeep.now)
    paid = step.paid
    return step.own_micro, step.break_tokens, step.break_micro, saved.tokens, saved.micro, *(paid or (0, 0))


def recomputed(rows: list[ev.EventRow]) -> dict[int, tuple[int, ...]]:
    """(own, break tokens, break, saved tokens, saved money, turn and round of paying back) by version, from scratch:
    one step after the other, each over the whole log.
    """
    events = [(one, ev.decode_payload(one.event, one.payload)) for one in rows]
    return {
        p.version: _of_version(at, p, events)
        for at, (_, p) in enumerate(events)
        if isinstance(p, ev.ViewChanged) and p.cause == "warning"
    }


def _of_version(at: int, made: ev.ViewChanged, events: list[tuple[ev.EventRow, Any]]) -> tuple[int, ...]:
    start = max(i for i in range(at) if isinstance(events[i][1], ev.MaintenanceStarted))
    end = min(i for i in range(at, len(events)) if isinstance(events[i][1], ev.MaintenanceEnded))
    versions = [i for i in range(start, end) if isinstance(events[i][1], ev.ViewChanged)]
    own_from = max((i for i in versions if i < at), default=start)
    own_to = end if at == versions[-1] else at
    paid = (
        events[i][1] for i in range(own_from, own_to) if isinstance(events[i][1], ev.LlmCallEnded | ev.LlmCallFailed)
    )
    own = sum(p.cost_micro or 0 for p in paid)

    won, holds, tokens, money, lost, broken = made.tokens_before - made.tokens_after, True, 0, 0, 0, 0
    whole, earliest, blamed, place, answers = 0, _earliest(at, events), False, (0, 0), 0
    for one, p in events[at + 1 :]:
        if isinstance(p, ev.ViewChanged) and made.version in p.takes_back:
            holds, money, whole = False, money + whole // 1_000_000, 0
        elif isinstance(p, ev.ViewChanged) and made.version in p.gives_back:
            holds = True
        elif isinstance(p, ev.LlmCallEnded) and p.purpose == "turn":
            answers += 1
            blamed = answers == 1 and earliest
            if holds:
                tokens, whole = tokens + won, whole + won * (p.read_micro or 0)
        elif isinstance(p, ev.CacheBroken) and blamed and p.cause == "message":
            lost, broken = lost + p.tokens, broken + (p.cost_micro or 0)
            if place != (0, 0) and money + whole // 1_000_000 < own + broken and holds:
                place = (0, 0)
            continue
        else:
            continue
        counts = isinstance(p, ev.LlmCallEnded) and holds and won > 0
        if place == (0, 0) and counts and money + whole // 1_000_000 >= own + broken:
            place = (one.turn, one.round)
    return own, lost, broken, tokens, money + whole // 1_000_000, *place


def _earliest(at: int, events: list[tuple[ev.EventRow, Any]]) -> bool:
    """Whether no other change between the two answers around ``at`` began earlier in the prompt."""

    def answers(p: Any) -> bool:
        return isinstance(p, ev.LlmCallEnded) and p.purpose == "turn"

    low = max((i for i in range(at) if answers(events[i][1])), default=0)
    high = min((i for i in range(at, len(events)) if answers(events[i][1])), default=len(events))
    changes = [i for i in range(low, high) if isinstance(events[i][1], ev.ViewChanged)]
    return min(changes, key=lambda i: (events[i][1].first_changed, i)) == at


# -- words ------------------------------------------------------------------------------------------------------------
def test_the_words_tell_the_sum_and_the_newest_steps_first() -> None:
    state = compacted_once().state
    assert upkeep_lines(state, EN) == [
        "Upkeep: 2 steps, 70.0k tok saved worth $0.02, spent $0.11",
        "t1 r5  v2 summary (warning): own cost $0.03, cache $0.08, 50.0k tok saved, net -$0.10, about t1 r13",
        "t1 r5  v1 masked (warning): own cost $0.00, cache $0.00, 20.0k tok saved, net +<$0.01, paid back t1 r6",
    ]
    assert [line for _, line in cost_lines(state, EN)][-3:] == upkeep_lines(state, EN)
    assert len(upkeep_lines(many(20).state, KO)) == 6
    assert upkeep_lines(RunState(), EN) == []


def test_summaries_that_led_to_nothing_are_told_of() -> None:
    log = Log().answers().starts().add(ended("s", "summary", 250_000)).ends()
    assert upkeep_lines(log.state, EN) == [
        "Upkeep: 0 steps, 0 tok saved worth $0.00, spent $0.25, $0.25 of it for summaries that led to nothing: 1"
    ]


def test_names_from_a_log_are_inert() -> None:
    hostile = msgspec.structs.replace(compacted_once().state.upkeep.steps[0], cause="\x1b[2J[red]", kind="nobody")
    assert step_name(hostile, EN) == "v1 (\u241b[red])"
    assert step_name(msgspec.structs.replace(hostile, cause="provider", kind="cleared"), KO) == "v1 제공자가 비움"


def test_money_won_and_lost_has_a_sign() -> None:
    said = [signed(micro, EN) for micro in (1_250_000, -20_000, 0, None, -400)]
    assert said == ["+$1.25", "-$0.02", "$0.00", "unpriced", "-<$0.01"]


def test_a_verdict_needs_nothing_but_the_step_and_the_account() -> None:
    state = compacted_once().state
    step = state.upkeep.steps[1]
    assert verdict_of(step, state.upkeep, (4, 2)) == Verdict("expected", (4, 9), 7)
