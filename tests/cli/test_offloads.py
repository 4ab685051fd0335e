"""`geode-tui offloads` and what the Offloads tab reads: a run's stored results out of a real log and real files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.env import Env
from geode_tui.core.events import ToolExecStarted, ToolResultOffloaded, ToolResultRecalled
from geode_tui.core.views import Offload, Stub, Version
from geode_tui.log import offloads, receipts, views
from geode_tui.log.raw_results import open_raw
from geode_tui.log.writer import Tx, Writer
from geode_tui.paths import Project
from geode_tui.tui.source import SourceError
from geode_tui.view.follow import state_at
from geode_tui.view.offloads import OffloadRow
from tests.cli.conftest import Here
from tests.cli.place import Place
from tests.log.stores import NOW, SESSION, commit, open_writer

TEXT = 'first line\n"quoted" \\ 한국어 \x1b[31mred\n' * 500
SECRET = "hunter2-hunter2"


class Stored:
    """A run with stored results."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root)
        self.geode = self.project.geode
        self.geode.mkdir(mode=0o700, exist_ok=True)
        self.writer: Writer = open_writer(self.project.store)
        self.seq = 0

    def keep(self, ref_id: str, text: str, *, tool: str = "run_shell", at: float = NOW, told: bool = True) -> None:
        about = offloads.keep(self.geode, SESSION, ref_id, text, tool_name=tool, tokens=20_000, now=at)
        if told:
            commit(self.writer, lambda tx: self._tell(tx, about), now=at)

    def _tell(self, tx: Tx, about: offloads.Offloaded) -> None:
        call = about.ref_id
        self.seq += 1
        tx.event(ToolExecStarted(call, about.tool_name, "execute", "pytest -vv", "{}"))
        path = offloads.path_of(SESSION, call)
        tx.event(ToolResultOffloaded(call, 20_000, call, about.tool_name, SESSION, "t1", call, path))
        stub = Stub(self.seq, f"stub of {call}", call, 20_000)
        n = self.seq
        operations = (Offload((stub,)),)
        made = Version(number=n, parent=n - 1, group=n, cause="arrival", operations=operations, newest=n)
        views.add_version(tx, made)

    def source(self, **environment: str) -> StoreSource:
        return StoreSource(Env(self.project.root, {**os.environ, **environment}, project=self.project), SESSION)

    def path(self, ref_id: str) -> Path:
        return self.geode / offloads.path_of(SESSION, ref_id)


@pytest.fixture
def stored(place: Place) -> Stored:
    return Stored(place.root)


def only(source: StoreSource) -> OffloadRow:
    (row,) = source.offload_files(source.offloads().rows)
    return row


def test_a_row_says_what_the_log_and_the_file_say(stored: Stored) -> None:
    stored.keep("call_1", TEXT)
    commit(stored.writer, lambda tx: tx.event(ToolResultRecalled("call_1", 0, 100)))
    row = only(stored.source())
    assert (row.tool, row.about, row.tokens, row.bytes) == ("run_shell", "pytest -vv", 20_000, len(TEXT.encode()))
    assert (row.referenced, row.expires_at, row.recalls, row.recalled) == (True, None, 1, (1,))
    assert row.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()


def test_the_state_counts_them_and_says_when_one_was_touched(stored: Stored) -> None:
    stored.keep("call_1", TEXT)
    with stored.source()._opened() as (transcript, number):
        before = state_at(transcript, number)
        commit(stored.writer, lambda tx: tx.event(ToolResultRecalled("call_1", 0, 100)))
        after = state_at(transcript, number)
    assert (before.offloaded, after.offloaded) == (1, 1)
    assert 0 < before.offloads_touched < after.offloads_touched


def test_what_nothing_refers_to_expires_unless_it_is_pinned(stored: Stored) -> None:
    stored.keep("call_1", "text", told=False)
    row = only(stored.source())
    assert not row.referenced
    assert row.expires_at is not None
    assert row.expires_at > row.at
    offloads.pin(stored.geode, SESSION, "call_1", pinned=True)
    row = only(stored.source())
    assert row.pinned
    assert row.expires_at is None


def test_the_newest_comes_first_and_files_without_an_event_are_there_too(stored: Stored) -> None:
    stored.keep("call_1", "a")
    stored.keep("call_2", "b", at=NOW + 10)
    stored.keep("call_3", "c", at=NOW + 20, told=False)
    rows = stored.source().offloads().rows
    assert [row.ref_id for row in rows] == ["call_3", "call_2", "call_1"]
    assert rows[0].tool == "run_shell"


def test_files_that_are_gone_or_damaged_say_so(stored: Stored) -> None:
    for ref in ("call_1", "call_2", "call_3"):
        stored.keep(ref, TEXT)
    stored.path("call_1").unlink()
    stored.path("call_2").write_bytes(b"{}")
    stored.path("call_3").rename(stored.path("call_3").with_name("call_3.json" + offloads.SET_ASIDE))
    source = stored.source()
    table = source.offloads()
    found = {row.ref_id: row.standing for row in source.offload_files(table.rows)}
    assert found == {"call_1": "gone", "call_2": "damaged", "call_3": "damaged"}
    assert table.set_aside == 1
    for ref in ("call_1", "call_2"):
        with pytest.raises(SourceError):
            source.open_offload(ref)


def test_a_file_that_another_program_wrote_opens(stored: Stored) -> None:
    folder = stored.path("x").parent
    folder.mkdir(parents=True)
    (folder / "toolu_1.json").write_text('{"ref_id":"toolu_1","result":{"a":[1,2]},"offloaded_at":1790000000.5}')
    (folder / "toolu_2.json").write_text('{"ref_id":"toolu_2","result":"caf\\u00e9","offloaded_at":1790000000.5}')
    source = stored.source()
    assert {row.ref_id for row in source.offloads().rows} == {"toolu_1", "toolu_2"}
    first, second = source.open_offload("toolu_1").raw, source.open_offload("toolu_2").raw
    assert first is not None
    assert second is not None
    assert (first.kind, json.loads(first.read(0, 100))) == ("json", {"a": [1, 2]})
    assert second.read(0, 100).decode() == "café"


def test_what_the_model_sees_comes_with_the_result(stored: Stored) -> None:
    stored.keep("call_1", TEXT)
    opened = stored.source().open_offload("call_1")
    assert opened.seen == "stub of call_1"


@pytest.mark.parametrize("text", ["", "x", TEXT, '𝄞\ud7ff\\"\n' * 400_000], ids=["empty", "short", "text", "large"])
def test_the_bytes_are_those_that_were_stored(stored: Stored, text: str) -> None:
    stored.keep("call_1", text)
    raw = open_raw(stored.geode, SESSION, "call_1", whole=True)
    assert raw.read(0, raw.size) == text.encode()
    assert list(stored.geode.glob(".raw-*")) == []


def test_a_receipt_gives_the_untouched_bytes(stored: Stored) -> None:
    data = b"\x00\xff\x01" * 5_000
    receipt = receipts.keep(stored.geode, [data])
    offloads.keep(stored.geode, SESSION, "call_1", receipt, now=NOW)
    raw = open_raw(stored.geode, SESSION, "call_1")
    assert raw.whole
    assert raw.kind == "binary"
    assert raw.read(0, raw.size) == data


def test_a_changed_result_is_told_when_its_end_is_reached(stored: Stored) -> None:
    stored.keep("call_1", "a" * 3_000_000)
    path = stored.path("call_1")
    path.write_bytes(path.read_bytes().replace(b"aaaa", b"aaab", 1))
    raw = open_raw(stored.geode, SESSION, "call_1")
    assert raw.read(0, 4) == b"aaab"
    with pytest.raises(offloads.OffloadDamaged, match="changed"):
        open_raw(stored.geode, SESSION, "call_1", whole=True)


# -- saving ------------------------------------------------------------------------------------------------------------
def test_saving_writes_the_bytes_once_and_replaces_only_when_told(stored: Stored) -> None:
    stored.keep("call_1", TEXT)
    source = stored.source()
    done = source.save_offload("call_1", "out.txt", replace=False)
    assert done is not None
    target = stored.project.root / "out.txt"
    assert target.read_bytes() == TEXT.encode()
    target.write_text("mine")
    assert source.save_offload("call_1", "out.txt", replace=False) is None
    assert target.read_text() == "mine"
    assert source.save_offload("call_1", "out.txt", replace=True) is not None
    assert target.read_bytes() == TEXT.encode()
    assert [path.name for path in stored.project.root.iterdir() if path.suffix == ".part"] == []


@pytest.mark.parametrize("name", [".", "no/such/folder/x", "x" * 300, "a\0b"], ids=len)
def test_a_file_that_cannot_be_written_is_told_in_one_line(stored: Stored, name: str) -> None:
    stored.keep("call_1", "text")
    with pytest.raises(SourceError) as told:
        stored.source().save_offload("call_1", name, replace=False)
    assert "\n" not in str(told.value)


# -- the command -------------------------------------------------------------------------------------------------------
def test_the_list_is_the_contract_s_shape(stored: Stored, here: Here) -> None:
    stored.keep("call_1", TEXT)
    (one,) = here("offloads", SESSION, "--json").json
    wanted = "ref_id tool tokens bytes sha256 created_at expires_at pinned referenced recalls"
    assert set(wanted.split()) <= one.keys()
    assert (one["ref_id"], one["bytes"], one["referenced"]) == ("call_1", len(TEXT.encode()), True)
    line = here("offloads", SESSION).out
    assert "call_1" in line
    assert "in use" in line
    assert here("offloads", SESSION, "call_1", "--json").json["ref_id"] == "call_1"


def test_the_text_is_inert_and_the_raw_bytes_are_exact(stored: Stored, place: Place) -> None:
    text = f"{TEXT}key {SECRET}\n" + "가" * 10_000 + f" {SECRET} " + "나" * 500_000
    stored.keep("call_1", text)
    done = place.cli("offloads", SESSION, "call_1", env={"A_TOKEN": SECRET})
    assert "\x1b" not in done.out
    assert SECRET not in done.out
    assert done.out.count("[redacted]") == 2
    assert "\ufffd" not in done.out
    assert done.out.endswith("나\n")
    raw = place.cli("offloads", SESSION, "call_1", "--raw")
    assert raw.out == text


@pytest.mark.parametrize("ref", ["../s-2/call_1", "a/b", "x" * 300, ".", "", "call_9"], ids=len)
def test_a_reference_that_is_none_is_refused_in_one_line(stored: Stored, here: Here, ref: str) -> None:
    stored.keep("call_1", "text")
    line = here("offloads", SESSION, ref).line
    assert "reference" in line or "call_1" in line


def test_an_unknown_reference_names_those_that_there_are(stored: Stored, here: Here) -> None:
    assert "it has none" in here("offloads", SESSION, "call_9").line
    for n in range(25):
        stored.keep(f"call_{n}", "text")
    line = here("offloads", SESSION, "call_99").line
    assert "call_3" in line
    assert "and 5 more" in line


def test_without_results_the_list_says_so(stored: Stored, here: Here) -> None:
    assert here("offloads", SESSION, "--json").json == []
    assert "No result" in here("offloads", SESSION).out
    assert "--raw" in here("offloads", SESSION, "--raw").line
