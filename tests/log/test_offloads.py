"""Results in files: what is written, what is found again, and what is refused whoever put it there."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.ids import BadId, check_id
from geode_tui.log import offloads, receipts
from geode_tui.log.offloads import OffloadDamaged, OffloadFailed, OffloadUnknown

S = "20261130-152345-k7f3"
CASES = [
    "../../../etc/passwd",
    "/etc/passwd",
    "..%2f..%2fx",
    "a/../../b",
    "tr_1\x00.txt",
    "C:\\Windows\\x",
    "CON",
    "a" * 5_000,
    "．．／x",
    ".",
    "..",
    ".hidden",
    "",
    "a\n",
    "\ud800",
]


def keep(geode: Path, text: str, call_id: str = "call_1", session: str = S, now: float = 1.0) -> offloads.Offloaded:
    return offloads.keep(
        geode, session, call_id, text, tool_name="grep", tokens=7, turn_id=f"{session}:3", call_seq=12, now=now
    )


def file_of(geode: Path, ref_id: str, session: str = S) -> Path:
    return geode / offloads.path_of(session, ref_id)


# -- writing ----------------------------------------------------------------------------------------------------------
def test_a_result_is_one_compact_object_that_older_readers_know(tmp_path: Path) -> None:
    """RUNTIME.md 4.2."""
    about = keep(tmp_path, "한 결과 \x1b[31m", now=1_790_000_000.5)
    raw = file_of(tmp_path, "call_1").read_bytes()
    assert json.loads(raw) == {
        "ref_id": "call_1",
        "result": "한 결과 \x1b[31m",
        "offloaded_at": 1_790_000_000.5,
        "tool_name": "grep",
        "original_tokens": 7,
        "sha256": hashlib.sha256("한 결과 \x1b[31m".encode()).hexdigest(),
        "turn_id": f"{S}:3",
        "call_seq": 12,
        "bytes": len("한 결과 \x1b[31m".encode()),
        "pinned": False,
        "receipt": "",
    }
    assert b"\n" not in raw
    assert b'": ' not in raw
    assert offloads.path_of(S, about.ref_id) == f"tool-offload/{S}/call_1.json"


def test_files_and_folders_are_the_persons_own_whatever_the_umask(tmp_path: Path) -> None:
    """B124."""
    before = os.umask(0)
    try:
        keep(tmp_path, "x")
    finally:
        os.umask(before)
    file = file_of(tmp_path, "call_1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [stat.S_IMODE(f.stat().st_mode) for f in (file.parent, file.parent.parent)] == [0o700, 0o700]
    assert list(file.parent.iterdir()) == [file]


def test_the_same_result_is_stored_once_and_stays_as_it_was(tmp_path: Path) -> None:
    first = keep(tmp_path, "x", now=1.0)
    before = file_of(tmp_path, "call_1").stat()
    assert keep(tmp_path, "x", now=9.0) == first
    after = file_of(tmp_path, "call_1").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_another_result_of_that_call_gets_a_reference_of_its_own_and_both_can_be_read(tmp_path: Path) -> None:
    one, two = keep(tmp_path, "one"), keep(tmp_path, "two")
    assert one.ref_id != two.ref_id
    assert keep(tmp_path, "two", now=9.0) == two
    assert [offloads.load(tmp_path, S, ref).text for ref in (one.ref_id, two.ref_id)] == ["one", "two"]


@pytest.mark.parametrize("call_id", [c for c in CASES if c != "CON"], ids=lambda c: ascii(c)[:30])
def test_an_id_that_may_not_name_a_file_is_given_one_that_may(tmp_path: Path, call_id: str) -> None:
    """B122."""
    geode = tmp_path / "deep" / "down" / ".geode"
    about = keep(geode, "x", call_id)
    assert check_id(about.ref_id) == about.ref_id
    assert about.ref_id == offloads.ref_of(call_id) != call_id
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert files == [file_of(geode, about.ref_id)]


@given(st.text(max_size=200))
def test_every_id_has_one_reference_that_is_safe(call_id: str) -> None:
    ref = offloads.ref_of(call_id)
    assert check_id(ref) == ref == offloads.ref_of(call_id)


@pytest.mark.parametrize("session", ["../other", "a/b", "..", "", "x" * 129])
def test_a_session_that_may_not_name_a_folder_is_refused(tmp_path: Path, session: str) -> None:
    with pytest.raises(BadId):
        keep(tmp_path, "x", session=session)
    with pytest.raises(OffloadUnknown):
        offloads.load(tmp_path, session, "call_1")
    assert offloads.listing(tmp_path, session) == []
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_folder_that_cannot_be_written_is_an_error_without_a_path(tmp_path: Path) -> None:
    """B056."""
    (tmp_path / "tool-offload").write_text("in the way")
    with pytest.raises(OffloadFailed) as failed:
        keep(tmp_path, "x")
    assert str(failed.value) == "not stored: File exists"
    assert str(tmp_path) not in str(failed.value)


FULL = """
import resource, signal, sys
from pathlib import Path
from geode_tui.log import offloads
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, resource.RLIM_INFINITY))
try:
    offloads.keep(Path(sys.argv[1]), "s", "call_1", "x" * 200_000, now=1.0)
except offloads.OffloadFailed as failed:
    print(failed)
"""


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    """B056."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "not stored: File too large\n"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


# -- reading ----------------------------------------------------------------------------------------------------------
@given(st.text(st.characters(codec="utf-8")))
def test_what_was_stored_is_read_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    geode = tmp_path_factory.getbasetemp() / "round-trip"
    about = keep(geode, text)
    stored = offloads.load(geode, S, about.ref_id)
    assert stored.text == text
    assert about in offloads.listing(geode, S)


@pytest.mark.parametrize("result", [{"rows": [1, 2]}, ["a", "b"], "plain", 7, None])
def test_another_programs_file_is_read_whatever_its_result(tmp_path: Path, result: object) -> None:
    """RUNTIME.md 4.4."""
    file = file_of(tmp_path, "toolu_1")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"ref_id": "toolu_1", "result": result, "offloaded_at": 5.5, "more": 1}))
    stored = offloads.load(tmp_path, S, "toolu_1")
    assert stored.result == result
    assert stored.text == result or json.loads(stored.text) == result
    assert [(a.ref_id, a.offloaded_at) for a in offloads.listing(tmp_path, S)] == [("toolu_1", 5.5)]


@pytest.mark.parametrize("ref_id", [*CASES, "call_2", "CALL_1"], ids=lambda c: ascii(c)[:30])
def test_an_unknown_reference_names_those_that_there_are_and_reads_nothing(tmp_path: Path, ref_id: str) -> None:
    """B048, B122."""
    geode = tmp_path / ".geode"
    keep(geode, "mine")
    (tmp_path / "passwd").write_text("root")
    with pytest.raises(OffloadUnknown, match=r"those that there are: call_1$") as unknown:
        offloads.load(geode, S, ref_id)
    assert str(tmp_path) not in str(unknown.value)
    assert len(str(unknown.value)) < 200


def test_a_result_of_another_session_is_unknown_here(tmp_path: Path) -> None:
    """B048."""
    keep(tmp_path, "theirs", "call_9", "other")
    keep(tmp_path, "mine", "call_1")
    for ref_id in ("call_9", "../other/call_9"):
        with pytest.raises(OffloadUnknown):
            offloads.load(tmp_path, S, ref_id)


def test_where_nothing_is_stored_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(OffloadUnknown, match=r"nothing is stored$"):
        offloads.load(tmp_path, S, "call_1")


def test_the_newest_twenty_are_named(tmp_path: Path) -> None:
    for n in range(25):
        keep(tmp_path, "x", f"call_{n}")
        os.utime(file_of(tmp_path, f"call_{n}"), ns=(n, n))
    with pytest.raises(OffloadUnknown) as unknown:
        offloads.load(tmp_path, S, "other")
    assert str(unknown.value).endswith(": " + ", ".join(f"call_{n}" for n in range(24, 4, -1)))


DAMAGE = {
    "empty": b"",
    "cut": b"{",
    "a list": b"[]",
    "no result": b'{"ref_id":"call_1"}',
    "bytes": b'\xff\xfe{"ref_id":1}',
    "deep": b'{"ref_id":"call_1","result":' + b"[" * 5_000,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_an_error_and_stays_where_it_is(tmp_path: Path, damage: bytes) -> None:
    keep(tmp_path, "x")
    file_of(tmp_path, "call_1").write_bytes(damage)
    with pytest.raises(OffloadDamaged, match=r"call_1"):
        offloads.load(tmp_path, S, "call_1")
    assert offloads.listing(tmp_path, S) == []
    assert file_of(tmp_path, "call_1").read_bytes() == damage


def test_a_result_that_was_changed_is_not_passed_off_as_the_stored_one(tmp_path: Path) -> None:
    keep(tmp_path, "the tests pass")
    file = file_of(tmp_path, "call_1")
    file.write_bytes(file.read_bytes().replace(b"pass", b"fail"))
    with pytest.raises(OffloadDamaged, match=r"was changed"):
        offloads.load(tmp_path, S, "call_1")


def test_a_file_that_says_it_is_another_is_none(tmp_path: Path) -> None:
    keep(tmp_path, "x")
    file_of(tmp_path, "call_1").rename(file_of(tmp_path, "call_2"))
    with pytest.raises(OffloadUnknown, match=r"nothing is stored"):
        offloads.load(tmp_path, S, "call_2")


def test_links_are_followed_nowhere(tmp_path: Path) -> None:
    """B123."""
    geode, outside = tmp_path / ".geode", tmp_path / "outside"
    outside.mkdir()
    keep(geode, "mine")
    (outside / "key.json").write_text(json.dumps({"ref_id": "tr_5", "result": "a key", "offloaded_at": 1.0}))
    file_of(geode, "tr_5").symlink_to(outside / "key.json")
    (geode / "tool-offload" / "S2").symlink_to(outside)
    for session, ref_id in ((S, "tr_5"), ("S2", "key")):
        with pytest.raises((OffloadDamaged, OffloadUnknown)):
            offloads.load(geode, session, ref_id)
    assert [a.ref_id for a in offloads.listing(geode, S)] == ["call_1"]
    assert offloads.listing(geode, "S2") == []
    with pytest.raises(OffloadFailed, match=r"S2 is a link"):
        keep(geode, "x", session="S2")
    about = keep(geode, "x", "tr_5")
    assert about.ref_id != "tr_5"
    assert [p.name for p in outside.iterdir()] == ["key.json"]
    assert "a key" in (outside / "key.json").read_text()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    keep(tmp_path, "x")
    os.mkfifo(file_of(tmp_path, "pipe"))
    (file_of(tmp_path, "folder")).mkdir()
    for ref_id in ("pipe", "folder"):
        with pytest.raises(OffloadDamaged):
            offloads.load(tmp_path, S, ref_id)
    assert [a.ref_id for a in offloads.listing(tmp_path, S)] == ["call_1"]


def test_a_listing_reads_beginnings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        keep(tmp_path, "line\n" * 200_000, f"call_{n}", now=n)
    sizes: list[int] = []
    read = offloads._read

    def counted(folder: int, name: str, size: int = -1) -> bytes:
        sizes.append(size)
        return read(folder, name, size)

    monkeypatch.setattr(offloads, "_read", counted)
    found = offloads.listing(tmp_path, S)
    assert {a.ref_id for a in found} == {"call_0", "call_1", "call_2"}
    assert {a.bytes for a in found} == {1_000_000}
    assert sizes == [4_096] * 3
    assert len(offloads.listing(tmp_path, S, 2)) == 2


def test_twenty_megabytes_are_stored_and_read_within_a_few_times_their_size(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from geode_tui.log import offloads
text = "\\ud55c\\uae00 line\\n" * 1_700_000
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
offloads.keep(Path(sys.argv[1]), "s", "call_1", text, now=1.0)
assert offloads.load(Path(sys.argv[1]), "s", "call_1").text == text
assert len(offloads.listing(Path(sys.argv[1]), "s")) == 1
print(len(text.encode()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    size, grown = map(int, done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1_024
    assert size > 20_000_000
    assert grown * unit < 8 * size


# -- sharing ----------------------------------------------------------------------------------------------------------
def test_a_copy_of_a_session_reads_the_results_that_it_names(tmp_path: Path) -> None:
    keep(tmp_path, "one", "call_1")
    keep(tmp_path, "two", "call_2")
    assert offloads.share(tmp_path, S, "copy", ["call_1", "gone", "../x"]) == 2
    assert offloads.share(tmp_path, S, "copy", ["call_1"]) == 0
    assert [a.ref_id for a in offloads.listing(tmp_path, "copy")] == ["call_1"]
    file_of(tmp_path, "call_1").unlink()
    assert offloads.load(tmp_path, "copy", "call_1").text == "one"


# -- piece by piece ---------------------------------------------------------------------------------------------------
def whole(geode: Path, ref_id: str = "call_1") -> str:
    with offloads.reading(geode, S, ref_id) as stored:
        return "".join(stored.pieces())


@given(st.text(st.characters(codec="utf-8")))
def test_a_result_read_in_pieces_is_the_result(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    geode = tmp_path_factory.getbasetemp() / "pieces"
    about = keep(geode, text)
    assert whole(geode, about.ref_id) == text


@pytest.mark.parametrize("result", ['한 \U0001f642 \\ "', {"rows": [1]}, ["a"], 7, None])
@pytest.mark.parametrize("last", [False, True])
def test_another_programs_file_is_read_in_pieces_too(tmp_path: Path, result: object, last: bool) -> None:
    fields = {"ref_id": "call_1", "offloaded_at": 5.5, "result": result}
    if not last:
        fields["extra"] = fields.pop("offloaded_at")
        fields["offloaded_at"] = 5.5
    file = file_of(tmp_path, "call_1")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(fields))
    text = whole(tmp_path)
    assert text == offloads.load(tmp_path, S, "call_1").text
    assert offloads.pin(tmp_path, S, "call_1", pinned=True).pinned
    assert whole(tmp_path) == text
    assert offloads.listing(tmp_path, S)[0].pinned


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_an_error_when_it_is_read_in_pieces(tmp_path: Path, damage: bytes) -> None:
    keep(tmp_path, "x")
    file_of(tmp_path, "call_1").write_bytes(damage)
    with pytest.raises(OffloadDamaged, match=r"call_1"):
        whole(tmp_path)


@pytest.mark.parametrize("cut", [1, 2, 500, 5_000])
def test_a_file_that_ends_too_early_is_damaged(tmp_path: Path, cut: int) -> None:
    keep(tmp_path, "line\n" * 2_000)
    file = file_of(tmp_path, "call_1")
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(OffloadDamaged):
        whole(tmp_path)
    assert offloads.listing(tmp_path, S) != []


def test_a_receipt_is_stored_as_text_and_names_its_bytes(tmp_path: Path) -> None:
    """B049."""
    data = b"ok \x80\x88\xff line\n" * 200_000
    ref = receipts.keep(tmp_path, [data])
    about = offloads.keep(tmp_path, S, "call_1", ref, now=1.0)
    text = data.decode("utf-8", "replace")
    assert (whole(tmp_path) == text) is True
    assert (about.bytes, about.receipt) == (len(text.encode()), ref.sha256)
    assert offloads.keep(tmp_path, S, "call_1", ref, now=2.0) == about
    plain = offloads.keep(tmp_path, S, "call_2", receipts.keep(tmp_path, [b"plain"]), now=1.0)
    assert (plain.receipt, plain.sha256) == ("", hashlib.sha256(b"plain").hexdigest())


def test_a_receipt_that_is_gone_cannot_be_stored(tmp_path: Path) -> None:
    ref = receipts.keep(tmp_path, [b"x" * 300_000])
    (tmp_path / ref.path).unlink()
    with pytest.raises(OffloadFailed, match="not stored"):
        offloads.keep(tmp_path, S, "call_1", ref, now=1.0)
    assert offloads.listing(tmp_path, S) == []


def test_pinning_changes_nothing_else(tmp_path: Path) -> None:
    about = keep(tmp_path, "한 line\n" * 300_000)
    file = file_of(tmp_path, "call_1")
    os.utime(file, ns=(5, 7))
    before = file.read_bytes()
    assert offloads.pin(tmp_path, S, "call_1", pinned=True) == msgspec.structs.replace(about, pinned=True)
    assert file.stat().st_mtime_ns == 7
    assert offloads.share(tmp_path, S, "copy", ["call_1"]) == 0
    offloads.pin(tmp_path, S, "call_1", pinned=False)
    assert (file.read_bytes() == before) is True
    assert offloads.listing(tmp_path, "copy")[0].pinned
    with pytest.raises(OffloadUnknown, match=r"call_1"):
        offloads.pin(tmp_path, S, "call_9", pinned=True)
