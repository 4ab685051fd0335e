"""The preview of a compaction out of a real log: its figures are those of the command."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from geode_tui.cli.compaction_parts import shared
from geode_tui.cli.compaction_preview import CompactionReader
from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.log.commands import Compact, Undo
from geode_tui.log.fork import ended_rounds
from geode_tui.log.store import connect
from geode_tui.view.compaction import CompactionPreview
from tests.cli.conftest import Here
from tests.cli.place import Place, until
from tests.cli.test_compacting import by_model
from tests.lab import Call, Say, lab_thread
from tests.runtime.harness import SESSION
from tests.runtime.test_native import OPUS, WINDOW
from tests.runtime.test_window_wires import TASK, Works, working


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One place for the module: a run that has ended, which tests copy or only read."""
    made = Place(tmp_path_factory.mktemp("preview"))
    for number in range(6):
        (made.root / f"part{number}.py").write_text(f"def part{number}(): return {number}  # a word or two\n" * 90)
    assert made.cli("run", "survey this project", "--provider", "offline", "--approve", "reads").status == 0
    yield made
    made.close()


@pytest.fixture(scope="module")
def base(place: Place) -> str:
    return place.sessions()[-1]


def source_of(place: Place, session_id: str) -> StoreSource:
    return StoreSource(Env(place.root, place.environment), session_id)


def whole(preview: CompactionPreview) -> int:
    assert preview.after is not None
    standing = sum(preview.after.parts.get(kind, 0) for kind in ("summaries", "native"))
    return sum(part.tokens for part in preview.gone) - standing


@pytest.mark.parametrize(("keep", "prune"), [(0, False), (3, False), (1_000, False), (0, True), (4, True)])
def test_its_figures_are_those_of_a_dry_run(place: Place, here: Here, base: str, keep: int, prune: bool) -> None:
    arguments = [*(("--keep", str(keep)) if keep else ()), *(("--prune",) if prune else ())]
    said = here("compact", base, "--dry-run", "--json", *arguments).json
    found = source_of(place, base).compaction(keep, "", prune=prune)
    for name in ("allowed", "strategy", "reason", "keep_recent", "tokens_before", "tokens_after"):
        assert getattr(found, name) == said[name], name
    if found.span is None:
        assert said["summarised"] is None
        assert found.refusal is not None
        assert (found.refusal.obstacle, found.refusal.line) == ("nothing", said["reason"])
        return
    span = {"from_seq": found.span.first, "to_seq": found.span.upto, "messages": found.span.messages}
    assert span == said["summarised"]
    assert found.before is not None
    assert found.after is not None
    assert (found.before.used, found.after.used) == (found.tokens_before, found.tokens_after)


@pytest.mark.parametrize("prune", [False, True])
def test_what_stays_and_what_goes_add_up_to_the_gauges(place: Place, base: str, prune: bool) -> None:
    found = source_of(place, base).compaction(prune=prune)
    assert found.before is not None
    assert found.after is not None
    assert sum(found.after.parts.values()) == found.after.used
    if not prune:
        assert found.tokens_before - found.tokens_after == whole(found)
    assert sum(part.tokens for part in found.kept) <= found.after.used
    assert {part.rule for part in found.kept} >= {"prefix", "latest_input", "recent"}
    gone = [change for change in found.changes if change.fate in {"summarised", "left_out"}]
    assert found.span is not None
    assert (len(gone), gone[0].seq, gone[-1].seq) == (found.span.messages, found.span.first, found.span.upto)
    assert all(change.before > 0 == change.after for change in gone)
    results = found.results
    assert results.recallable + results.expired + results.unstored == sum(change.kind == "results" for change in gone)


def test_without_a_model_it_is_free_and_a_small_window_keeps_fewer(place: Place, base: str) -> None:
    found = source_of(place, base).compaction()
    assert (found.strategy, found.cost_micro, found.seconds) == ("local_summary", 0, None)
    assert (found.keep_recent, found.keep_default, found.keep_note) == (5, 10, "window")


def test_what_masking_alone_would_do_is_what_it_does(place: Place, here: Here, base: str) -> None:
    session = str(here("fork", base, "--json").json["session_id"])
    source = source_of(place, session)
    found = source.compaction()
    assert found.masking.results > 0
    assert found.masking.tokens < found.tokens_before
    source.send("mask", {})
    until(lambda: place.payloads(session, "view_changed"), "the masking")
    (changed,) = place.payloads(session, "view_changed")
    assert changed["operations"] == {"mask": found.masking.results}
    assert abs(changed["tokens_after"] - found.masking.tokens) < 300, "the markers then name their files"
    again = source.compaction()
    assert again.masking.results == 0
    assert again.results.recallable == found.masking.results
    assert again.results.tokens > 0
    for file in (place.geode / "tool-offload" / session).glob("*.json"):
        file.unlink()
    expired = source.compaction().results
    assert (expired.recallable, expired.expired) == (0, found.masking.results)


def test_a_session_that_has_not_begun_and_an_unknown_one_hold_nothing(place: Place) -> None:
    found = source_of(place, "s-20260101-000000-abcd").compaction()
    assert found.refusal is not None
    assert (found.allowed, found.refusal.obstacle) == (False, "empty")


def test_a_recorded_run_is_refused(place: Place, here: Here, base: str) -> None:
    session = str(here("fork", base, "--json").json["session_id"])
    db = connect(place.store)
    try:
        db.execute("UPDATE sessions SET origin='claude_code' WHERE session_id=?", (session,))
    finally:
        db.close()
    found = source_of(place, session).compaction()
    assert found.refusal is not None
    assert (found.refusal.obstacle, found.refusal.detail) == ("recorded", "claude_code")


def test_a_model_that_writes_the_summary_has_its_price(place: Place, here: Here) -> None:
    steps = [Call("read_file", {"path": f"part{number}.py"}) for number in range(6)]
    with lab_thread(script=[*steps, Say("done")]) as lab:
        asked = ("run", "read part0.py and part1.py and compare them", "--model", "claude-haiku-4-5", "--json")
        done = here(*asked, "--provider", "anthropic", "--approve", "reads", env=by_model(lab))
    found = source_of(place, done.events[0]["session_id"]).compaction(2, "kumquats")
    assert (found.allowed, found.strategy) == (True, "client_summary")
    assert found.cost_micro is not None
    assert found.cost_micro > 0
    assert found.written > 0
    assert found.after is not None
    assert found.after.parts["summaries"] >= found.written
    assert found.refusal is None


async def test_a_providers_own_block_is_refused_with_the_ways_that_are_left() -> None:
    async with working(OPUS, Works(21, words=2_500), words=100, window=WINDOW) as (run, _):
        await run.turn(TASK)
        reader = CompactionReader(run.geode)
        found = reader.read(run.transcript, SESSION, Compact(), 1_790_000_000.0)
        refusal, seq = found.refusal, run.payloads("provider_compacted")[-1]["seq"]
        assert refusal is not None
        row = next(row for row in run.rows() if row.seq == seq)
        assert (found.allowed, found.strategy, found.mode, refusal.obstacle) == (False, "none", "threshold", "native")
        assert (refusal.block, refusal.model) == ((row.turn, row.round), "claude-opus-4-8")
        before = [end for end in ended_rounds(run.rows()) if end.seq < seq][-1]
        assert refusal.fork == (before.turn, before.round)
        assert refusal.compacts_at == 50_000
        assert found.masking.results == 0
        undone = run.send(Undo())
        await run.serve()
        assert refusal.undo is (run.outcome(undone) == "done")


async def test_a_provider_that_compacts_when_asked_is_previewed_and_again_after_its_block() -> None:
    async with working(OPUS, Works(12), words=900, window=WINDOW) as (run, _):
        await run.turn(TASK)
        reader = CompactionReader(run.geode)
        found = reader.read(run.transcript, SESSION, Compact(4), 1_790_000_000.0)
        assert (found.allowed, found.strategy) == (True, "on_demand")
        assert found.after is not None
        assert found.after.parts["native"] >= found.written > 0
        assert found.changes[0].kind == "native"
        assert {change.fate for change in found.changes} >= {"new", "native"}
        key = run.send(Compact(4))
        await run.serve()
        assert run.outcome(key) == "done"
        again = reader.read(run.transcript, SESSION, Compact(4), 1_790_000_000.0)
        assert again.refusal is not None
        assert (again.mode, again.refusal.obstacle) == ("on_demand", "nothing"), "what is in the log is read anew"
        assert again.masking.results == 0


@pytest.mark.parametrize(("whole_", "weights"), [(10, (1, 1, 1)), (0, (3, 4)), (7, (0, 0)), (1_000_003, (5, 9, 2))])
def test_shares_lose_nothing(whole_: int, weights: tuple[int, ...]) -> None:
    made = shared({str(n): weight for n, weight in enumerate(weights)}, whole_)
    assert sum(made.values()) == (whole_ if any(weights) else 0)
