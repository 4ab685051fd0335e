"""What the window's upkeep cost and saved in runs over the real adapter and a lab: `cost --json` against the log."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from geode_tui.__main__ import main
from geode_tui.core.usage import MICRO, Usage, usd
from geode_tui.log import commands as cmd
from geode_tui.routes.catalog import Catalog
from geode_tui.routes.prices import cost_micro
from tests.providers.wires import ANTHROPIC
from tests.runtime.harness import SESSION, Bench
from tests.runtime.test_window_wires import TASK, TEXTS, Works, working

OPUS = replace(ANTHROPIC, name="claude-opus-4-8", model="claude-opus-4-8")
READ = 100_000
"""A million tokens of claude-haiku-4-5 read from the cache: $0.10, micro-dollars."""


def report(run: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *more: str) -> str:
    """What ``cost`` of the run's session prints."""
    monkeypatch.chdir(run.root)
    monkeypatch.setenv("GEODE_TUI_HOME", str(run.root.parent / "own"))
    monkeypatch.setattr(sys, "argv", ["geode-tui", "cost", SESSION, *more])
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    return capsys.readouterr().out


def turns_after(events: list[tuple[str, dict[str, Any]]], at: int) -> list[dict[str, Any]]:
    return [p for name, p in events[at:] if name == "llm_call_ended" and p["purpose"] == "turn"]


def expected(events: list[tuple[str, dict[str, Any]]], at: int, change: dict[str, Any]) -> dict[str, Any]:
    """A version's figures from the raw events, by the list price alone."""
    start = max(i for i in range(at) if events[i][0] in {"maintenance_started", "view_changed"})
    asked = [p for name, p in events[start:at] if name in {"llm_call_ended", "llm_call_failed"}]
    own = sum(p["cost_micro"] or 0 for p in asked if p["purpose"] == "summary")
    after = turns_after(events, at)
    low = max(i for i in range(at) if events[i][0] == "llm_call_ended" and events[i][1]["purpose"] == "turn")
    high = next(i for i in range(at, len(events)) if events[i][1].get("call_id") == after[0]["call_id"])
    changes = [p for name, p in events[low:high] if name == "view_changed" and p["first_changed"]]
    first = min(changes, key=lambda p: (p["first_changed"], p["version"]))["version"] == change["version"]
    broken = [
        p
        for name, p in events
        if name == "cache_broken" and p["call_id"] == after[0]["call_id"] and first
        if p["cause"] in {"message", "removed", "compacted"}
    ]
    lost = sum(p["cost_micro"] for p in broken)
    won = change["tokens_before"] - change["tokens_after"]
    saved = won * len(after) * READ // MICRO
    return {
        "version": change["version"],
        "cause": change["cause"],
        "own_usd": usd(own),
        "break_tokens": sum(p["tokens"] for p in broken),
        "break_usd": usd(lost),
        "saved_tokens": won * len(after),
        "saved_usd": usd(saved),
        "net_usd": usd(saved - own - lost),
    }


async def test_the_account_of_a_run_that_masks_and_summarises_is_that_of_its_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Works(20, words=400)
    async with working(TEXTS, model, words=700, window=76_000) as (run, lab):
        await run.turn(TASK)
        assert run.ending == "natural", run.end
        key = run.send(cmd.Compact(keep=2))
        await run.serve()
        assert run.outcome(key) == "done", run.detail(key)
        model.rounds = 4
        await run.turn("go on")
        said = json.loads(report(run, capsys, monkeypatch, "--json"))
        events = run.events()
        changes = [(i, p) for i, (name, p) in enumerate(events) if name == "view_changed"]
        assert {name for _, p in changes for name in p["operations"]} >= {"mask", "summarise"}
        wanted = [expected(events, i, p) for i, p in changes if p["cause"] not in {"arrival", "pin", "undo", "redo"}]
        assert [{name: step[name] for name in wanted[0]} for step in said["upkeep"]] == wanted
        assert any(float(step["own_usd"]) > 0 for step in wanted)
        assert any(step["break_tokens"] for step in wanted)
        total = said["upkeep_total"]
        assert total["steps"] == len(wanted)
        for name in ("own_usd", "break_usd", "saved_usd", "net_usd"):
            assert float(total[name]) == pytest.approx(sum(float(step[name]) for step in wanted))
        lines = report(run, capsys, monkeypatch).splitlines()
        assert any(line.startswith(f"Upkeep: {len(wanted)} steps") for line in lines)
        assert {r.status for r in lab.requests} == {200}


async def test_a_compaction_of_the_provider_has_the_cost_of_its_own_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(OPUS, Works(14, words=2_500), words=100, window=100_000) as (run, _lab):
        await run.turn(TASK)
        (step,) = json.loads(report(run, capsys, monkeypatch, "--json"))["upkeep"]
        (told,) = run.payloads("provider_compacted")
        (changed,) = run.payloads("view_changed")
        answers = [e for e in run.payloads("llm_call_ended") if e["purpose"] == "turn"]
        at = next(i for i, e in enumerate(answers) if e["call_id"] == told["call_id"])
        answer = answers[at]
        route = Catalog().route("claude-opus-4-8", "anthropic", "payg")
        own = cost_micro(route, Usage(**answer["beside"]), run.clock.now())
        assert own is not None
        assert answer["beside_micro"] == own > 0
        assert answer["cost_micro"] == own + (cost_micro(route, Usage(**answer["usage"]), run.clock.now()) or 0)
        won = told["tokens_before"] - told["tokens_after"]
        assert (step["version"], step["cause"], step["kind"]) == (changed["version"], "provider", "native")
        assert (step["own_usd"], step["saved_tokens"]) == (usd(own), won * (len(answers) - at))
