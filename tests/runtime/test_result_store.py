"""Results in files: receipts, the quota, what leaves and what never does, and what a person asks of them."""

from __future__ import annotations

import bisect
import json
from hashlib import sha256

import msgspec
import pytest

from geode_tui.context.estimate import PromptMeter
from geode_tui.context.offload import gauge_counter
from geode_tui.core.limits import ResultBounds, Retention
from geode_tui.core.tokens import text_tokens
from geode_tui.core.views import Clear, encode_version
from geode_tui.log import commands as cmd
from geode_tui.log import offloads, receipts
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.tools.base import ToolOutcome
from geode_tui.runtime.tools.registry import builtin_tools
from tests.runtime.harness import SESSION, Bench, StubTool, asks, call, calls, say, stub
from tests.runtime.test_offloading import LARGE, RECALL, files, offered, offloading, sent_results

HOUR = 3_600.0
OFF = ResultBounds(offload=0, most=1_000)


def gone_from_view(run: Bench) -> None:
    """Everything up to now is left out of what is sent, and an undo does not bring it back: it happened twice."""
    assert run.session is not None
    row = run.transcript.session(SESSION)
    assert row is not None
    made = run.session.conversation.version("manual", (Clear(run.rows()[-1].seq),))
    for number in (made.number, made.number + 1):
        content = encode_version(msgspec.structs.replace(made, number=number, group=number))
        run.db.execute("INSERT INTO view_versions VALUES(?,?,0.0,?,?)", (row.number, number, made.cause, content))


# -- receipts ---------------------------------------------------------------------------------------------------------
async def test_what_a_command_prints_is_whole_however_much_it_is() -> None:
    """The row has its beginning and its end; the file and the receipt have every byte."""
    command = "i=0; while [ $i -lt 40000 ]; do echo \"line $i of the output\"; i=$((i+1)); done; printf '\\377'"
    expected = "".join(f"line {n} of the output\n" for n in range(40_000)).encode() + b"\xff"
    shell = builtin_tools()["run_shell"]
    with offloading(calls(asks("run_shell", "c1", command=command)), bounds=ResultBounds(), approve="all") as run:
        run.tools["run_shell"] = shell
        await run.turn()
        receipt = run.named("tool_exec_ended")["receipt"]
        assert receipt["sha256"] == sha256(expected).hexdigest()
        assert ((run.geode / receipt["path"]).read_bytes() == expected) is True
        with offloads.reading(run.geode, SESSION, "c1") as stored:
            assert ("".join(stored.pieces()) == expected.decode("utf-8", "replace")) is True
            assert stored.about.receipt == receipt["sha256"]
        assert len(run.results()[0][1]) < 66_000
        assert json.loads(sent_results(run.provider.requests[1])["c1"])["_ref_id"] == "c1"
        tokens = run.named("tool_result_offloaded")["original_tokens"]
        assert tokens == pytest.approx(text_tokens(expected.decode("utf-8", "replace")), rel=0.4)


async def test_b049_the_bytes_of_a_binary_output_are_kept() -> None:
    with offloading(call("run_shell", command="printf '\\000\\001\\002\\377'"), approve="all") as run:
        run.tools["run_shell"] = builtin_tools()["run_shell"]
        await run.turn()
        assert run.results()[0][1].startswith("[binary 4 B sha256=")
        receipt = run.named("tool_exec_ended")["receipt"]
        assert (run.geode / receipt["path"]).read_bytes() == b"\x00\x01\x02\xff"


async def test_a_result_that_fits_a_row_has_no_receipt() -> None:
    with offloading(call("look")) as run:
        await run.turn()
        assert run.named("tool_exec_ended")["receipt"] is None
        assert not (run.geode / "receipts").exists()


async def test_with_offload_off_what_was_cut_is_recalled_from_its_receipt() -> None:
    steps = (calls(asks("look", "c1")), call(RECALL, ref_id="c1", offset=5_000), call(RECALL, ref_id="other"))
    with offloading(*steps, bounds=OFF) as run:
        await run.turn()
        cut, page, unknown = run.results()
        assert text_tokens(cut[1]) <= 1_000
        assert 'recall_tool_result(ref_id="c1") brings it back' in cut[1]
        assert LARGE[5_000:].startswith(json.loads(page[1])["content"])
        assert (unknown[2], unknown[1].endswith("of those that were cut: c1")) == (True, True)
        assert [offered(request) for request in run.provider.requests[:2]] == [False, True]
        assert files(run) == []


@pytest.mark.parametrize("window", [8_000, 200_000, 1_000_000])
@pytest.mark.parametrize("char", ["abcd", "한"])
@pytest.mark.parametrize("over", [0, 1])
async def test_the_boundary_is_the_threshold_or_what_the_guard_would_cut(window: int, char: str, over: int) -> None:
    """RUNTIME.md 4.1, 4.8: strictly more than 15,000 tokens, on small windows than 5 % of them."""
    route = Catalog().route("some-model", "offline", "adapter", window=window)
    count = gauge_counter(PromptMeter(), route)
    most = bisect.bisect_right(range(15_001), 15_000, key=lambda n: count(char * n)) - 1
    limit = min(most, window // 20 if window <= 256_000 else most)
    with offloading(call("look"), tools=(stub("look", char * (limit + over)),), bounds=ResultBounds()) as run:
        run.route = route
        await run.turn()
        assert len(files(run)) == over


# -- counting ---------------------------------------------------------------------------------------------------------
async def test_every_recall_is_counted() -> None:
    steps = (calls(asks("look", "c1")), call(RECALL, ref_id="c1", limit=9), call(RECALL, ref_id="gone"))
    with offloading(*steps) as run:
        await run.turn()
        assert run.payloads("tool_result_recalled") == [{"ref_id": "c1", "offset": 0, "chars": 9, "by": "model"}]


# -- what leaves ------------------------------------------------------------------------------------------------------
async def test_what_the_view_refers_to_does_not_expire_and_the_rest_does() -> None:
    with offloading(calls(asks("look", "c1")), say("done"), calls(asks("look", "c2"))) as run:
        await run.turn()
        run.clock.advance(100 * HOUR)
        await run.turn("more")
        assert [f.stem for f in files(run)] == ["c1", "c2"]
        gone_from_view(run)
        await run.turn("again")
        run.clock.advance(5 * HOUR)
        await run.turn("and again")
        assert files(run) == []
        (swept,) = run.payloads("offloads_swept")[-1:]
        assert (swept["expired"], swept["crowded"], swept["damaged"]) == (1, 0, [])


async def test_what_is_pinned_does_not_expire() -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        await run.turn()
        key = run.send(cmd.PinRef("c1"))
        await run.serve()
        assert (run.outcome(key), run.detail(key)) == ("done", "c1 does not expire")
        gone_from_view(run)
        run.clock.advance(5 * HOUR)
        await run.serve()
        assert [f.stem for f in files(run)] == ["c1"]
        run.send(cmd.PinRef("c1", pinned=False))
        await run.serve()
        assert files(run) == []


async def test_a_damaged_file_is_set_aside_and_told() -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        await run.turn()
        files(run)[0].write_text("{")
        await run.turn("more")
        assert run.payloads("offloads_swept")[0]["damaged"] == [f"{SESSION}/c1.json"]
        assert [p.name for p in (run.geode / "tool-offload" / SESSION).iterdir()] == ["c1.json.damaged"]


async def test_other_programs_sessions_are_left_alone() -> None:
    with offloading(call("look")) as run:
        offloads.keep(run.geode, "theirs", "c9", LARGE, now=1.0)
        (run.geode / "tool-offload" / "theirs" / "x.json").write_text("{")
        await run.turn()
        assert [f.name for f in sorted((run.geode / "tool-offload" / "theirs").iterdir())] == ["c9.json", "x.json"]


async def test_the_quota_is_kept_by_what_nothing_refers_to() -> None:
    size = len(LARGE) + 2_000
    steps = (calls(asks("look", "c1")), say("done"), calls(asks("look", "c2")), calls(asks("look", "c3")))
    with offloading(*steps) as run:
        run.retention = Retention(0.0, size * 2, 0.0)
        await run.turn()
        gone_from_view(run)
        await run.turn("more")
        assert [f.stem for f in files(run)] == ["c2", "c3"]
        await run.turn("done")


async def test_where_all_is_in_use_a_result_is_not_stored_and_told() -> None:
    steps = (calls(asks("look", "c1")), calls(asks("look", "c2")))
    with offloading(*steps, bounds=ResultBounds(offload=1_000, most=2_000)) as run:
        run.retention = Retention(0.0, len(LARGE) + 500, 0.0)
        await run.turn()
        assert [f.stem for f in files(run)] == ["c1"]
        said = run.payloads("tool_exec_ended")[1]["not_stored"]
        assert said.startswith("not stored: stored results may take 0 MB")
        assert run.results()[1][1].endswith(f"[{said}]")
        assert run.ending == "natural"


async def test_old_receipts_leave() -> None:
    with offloading(call("look")) as run:
        old = receipts.keep(run.geode, [b"old"])
        run.clock.wall = (run.geode / old.path).stat().st_mtime + 31 * 24 * HOUR
        await run.turn()
        assert run.payloads("offloads_swept")[0]["receipts"] == 1
        assert not (run.geode / old.path).exists()


# -- by hand ----------------------------------------------------------------------------------------------------------
async def test_a_person_tells_the_model_again_what_a_result_says() -> None:
    with offloading(calls(asks("look", "c1")), say("done"), say("seen")) as run:
        await run.turn()
        key = run.send(cmd.Recall("c1", 100, 50))
        await run.serve()
        assert (run.outcome(key), run.detail(key)) == ("done", "50 characters of c1 were told to the model")
        note = run.messages()[-1]
        assert note.origin == "note"
        assert note.text == (
            f"[The stored result c1, characters 100 to 150; the rest begins at offset 150]\n{LARGE[100:150]}"
        )
        assert run.named("tool_result_recalled") == {"ref_id": "c1", "offset": 100, "chars": 50, "by": "person"}
        await run.turn("go on")
        assert note.text in [message.text for message in run.provider.requests[-1].messages]


async def test_what_is_told_again_is_never_more_than_a_page() -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        await run.turn()
        run.send(cmd.Recall("c1"))
        await run.serve()
        assert 300 < text_tokens(run.messages()[-1].text) < 600


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (cmd.Recall("gone"), "there is no stored result 'gone' in this session; those that there are: c1"),
        (cmd.Recall("../other/c1"), "there is no stored result '../other/c1' in this session"),
        (cmd.Recall("c1", 10**9), "is past its end"),
        (cmd.Recall("c1", -1), "0 or more"),
        (cmd.PinRef("gone"), "there is no stored result 'gone'"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_one_line(command: cmd.Command, why: str) -> None:
    with offloading(calls(asks("look", "c1"))) as run:
        await run.turn()
        before = run.messages()
        key = run.send(command)
        await run.serve()
        assert run.outcome(key) == "refused"
        assert why in run.detail(key)
        assert run.messages() == before


async def test_a_tool_may_give_a_receipt_of_what_is_too_large_for_memory() -> None:
    with offloading(calls(asks("big", "c1")), tools=(stub("small"),), bounds=ResultBounds()) as run:
        ref = receipts.keep(run.geode, [b"all of it\n" * 100_000])

        async def effect(_arguments: str) -> ToolOutcome:
            return ToolOutcome("all of it\n...\nall of it\n" * 60, whole=ref)

        run.tools["big"] = StubTool("big", effect)
        await run.turn()
        about = offloads.listing(run.geode, SESSION)[0]
        assert (about.bytes, about.sha256) == (1_000_000, ref.sha256)
        assert run.named("tool_exec_ended")["receipt"]["sha256"] == ref.sha256
