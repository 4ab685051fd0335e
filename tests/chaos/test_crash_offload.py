"""A worker is killed around the moment at which a large result becomes a file, a row and a stub."""

from __future__ import annotations

import pytest

from geode_tui.core.messages import ToolResultBlock
from geode_tui.core.views import Offload
from geode_tui.log import commands as cmd
from geode_tui.log import offloads
from tests.chaos.driving import crash, finish
from tests.chaos.invariants import check, seen, versions
from tests.cli.place import Place

PROMPT = "read big.log and say which codes appear"


@pytest.mark.parametrize("point", ["offload: before file", "offload: after file", "tool: after row"])
def test_what_is_sent_in_short_can_always_be_brought_back_whole(place: Place, point: str) -> None:
    (place.root / "big.log").write_text("".join(f"{n} an event with code {n * 37 % 911}\n" for n in range(2_000)))
    place.geode.mkdir(exist_ok=True)
    (place.geode / "config.toml").write_text("[tool_offload]\nthreshold = 1500\n")
    session = place.submit(PROMPT, approve="reads")
    crash(place, session, point, 1 if point.startswith("offload") else 4)
    before = seen(place, session)

    finish(place, session)

    assert before.items() <= seen(place, session).items()
    check(place, session)
    texts = {m.row.seq: m.message.blocks[0] for m in place.read(lambda t: t.messages(session)) if m.row.role == "tool"}
    told = place.payloads(session, "tool_result_offloaded")
    stubs = [s for v in versions(place, session) for op in v.operations if isinstance(op, Offload) for s in op.stubs]
    assert [p["ref_id"] for p in told] == [s.ref for s in stubs]
    assert stubs or point != "tool: after row"
    for made in stubs:
        block = texts[made.seq]
        assert isinstance(block, ToolResultBlock)
        assert block.text.startswith(offloads.load(place.geode, session, made.ref).text)
    assert [p["version"] for p in place.payloads(session, "view_changed")] == list(range(1, len(stubs) + 1))


@pytest.mark.parametrize("point", ["recall: before row", "recall: after row"])
def test_a_result_that_is_told_again_is_told_once(place: Place, point: str) -> None:
    """A worker that comes after the one that died takes the command up again, unless it was done."""
    (place.root / "big.log").write_text("".join(f"{n} an event with code {n * 37 % 911}\n" for n in range(2_000)))
    place.geode.mkdir(exist_ok=True)
    (place.geode / "config.toml").write_text("[tool_offload]\nthreshold = 1500\n")
    session = place.submit(PROMPT, approve="reads")
    finish(place, session)
    ref = place.payloads(session, "tool_result_offloaded")[0]["ref_id"]
    place.send(session, cmd.Recall(ref, 10, 200))
    crash(place, session, point)

    finish(place, session)

    check(place, session)
    notes = [m.message.text for m in place.read(lambda t: t.messages(session)) if m.row.origin == "note"]
    whole = offloads.load(place.geode, session, ref).text
    assert [note.endswith(whole[10:210]) for note in notes] == [True]
    assert [p["by"] for p in place.payloads(session, "tool_result_recalled")][-1] == "person"
    assert [p["outcome"] for p in place.payloads(session, "command_finished") if p["kind"] == "recall"] == ["done"]
