"""B122, B123: files that others wrote are read within bounds, by paths inside a folder, and never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode_tui.memory.files import MOST_BYTES, TAIL_BYTES, Folder, Unusable
from geode_tui.memory.writing import MOST_LINE, MOST_LOG, append, create, locked, replace


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    return Folder(tmp_path / "own", "~/own")


@pytest.mark.parametrize(
    "relative", ["../secret.md", "a/../../secret.md", "/etc/passwd", "a//b", "./a", "a\0b", "x" * 5_000, ".."]
)
def test_no_path_leads_out(folder: Folder, relative: str) -> None:
    with pytest.raises(Unusable, match="is no path inside this folder"):
        folder.text(relative)
    with pytest.raises(Unusable, match="is no path inside this folder"), locked(folder, relative):
        pass
    assert not folder.has(relative)
    assert sorted(p.name for p in folder.path.parent.iterdir()) == ["own", "secret.md"]


def test_a_link_is_not_followed_wherever_it_stands(folder: Folder) -> None:
    (folder.path / "file.md").symlink_to(folder.path.parent / "secret.md")
    (folder.path / "rules").symlink_to(folder.path.parent)
    with pytest.raises(Unusable) as told:
        folder.text("file.md")
    assert str(told.value) == "~/own/file.md is a link, which is not followed"
    for attempt in (lambda: folder.text("rules/secret.md"), lambda: folder.files("rules")):
        with pytest.raises(Unusable, match="link"):
            attempt()
    with pytest.raises(Unusable, match="link"), locked(folder, "rules/below"):
        pass
    assert not (folder.path.parent / "below").exists()


def test_a_folder_that_is_a_link_itself_gives_nothing(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(folder.path)
    with pytest.raises(Unusable, match="link"):
        Folder(tmp_path / "linked", ".geode").text("a.md")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x" * (MOST_BYTES + 1), "is larger than 256 KiB"),
        (b"\x89PNG\0\0", "is no text"),
        ("한글".encode("euc-kr"), "is not UTF-8 text"),
    ],
)
def test_what_is_no_text_of_a_reasonable_size_is_one_line(folder: Folder, data: bytes, why: str) -> None:
    (folder.path / "a.md").write_bytes(data)
    with pytest.raises(Unusable) as told:
        folder.text("a.md")
    assert str(told.value) == f"~/own/a.md {why}"


def test_what_is_no_file_is_told_and_does_not_block(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.md")
    (folder.path / "folder.md").mkdir()
    for name in ("pipe.md", "folder.md"):
        with pytest.raises(Unusable, match="is no regular file"):
            folder.text(name)


def test_a_missing_file_or_folder_is_nothing(folder: Folder) -> None:
    assert folder.text("no/such.md") is None
    assert folder.tail("no/such.jsonl") == []
    assert folder.files("no") == []


def test_a_mark_of_byte_order_is_none_of_the_text(folder: Folder) -> None:
    (folder.path / "a.md").write_bytes(b"\xef\xbb\xbfhello")
    assert folder.text("a.md") == "hello"


@pytest.mark.parametrize("padding", [0, 1, 63, 64, TAIL_BYTES])
def test_the_tail_of_a_file_holds_whole_lines_only(folder: Folder, padding: int) -> None:
    lines = [f"{i:063d}".encode() for i in range(1_500)]
    (folder.path / "a.jsonl").write_bytes(b"x" * padding + b"\n" + b"\n".join(lines) + b"\n")
    tail = folder.tail("a.jsonl")
    assert tail == lines[-len(tail) :]
    assert sum(len(line) + 1 for line in tail) <= TAIL_BYTES
    assert len(tail) >= 1_023


def test_a_short_file_is_its_own_tail(folder: Folder) -> None:
    (folder.path / "a.jsonl").write_bytes(b"first\n\nlast")
    assert folder.tail("a.jsonl") == [b"first", b"last"]


# -- writing ----------------------------------------------------------------------------------------------------------
def test_lines_are_added_and_one_that_was_torn_ends_there(folder: Folder) -> None:
    with locked(folder, "journal") as inside:
        append(inside, "a", b"one")
    (folder.path / "journal/a").write_bytes(b'one\n{"half')
    with locked(folder, "journal") as inside:
        append(inside, "a", b"two")
    assert (folder.path / "journal/a").read_bytes() == b'one\n{"half\ntwo\n'
    assert (folder.path / "journal/a").stat().st_mode & 0o777 == 0o600
    assert (folder.path / "journal").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("line", [b"", b"a\nb", b"x" * (MOST_LINE + 1)])
def test_what_is_no_line_is_not_added(folder: Folder, line: bytes) -> None:
    with locked(folder, "journal") as inside, pytest.raises(ValueError, match="a line has"):
        append(inside, "a", line)
    assert folder.files("journal") == []


def test_a_file_that_only_grows_has_a_bound(folder: Folder) -> None:
    with locked(folder, "journal") as inside:
        append(inside, "a", b"oldest")
        os.truncate(folder.path / "journal/a", MOST_LOG - 2)
        append(inside, "a", b"next")
    assert (folder.path / "journal/a").read_bytes() == b"next\n"
    assert (folder.path / "journal/a.old").stat().st_size == MOST_LOG - 2


def test_a_link_in_place_of_a_file_is_replaced_or_refused_and_never_written_through(folder: Folder) -> None:
    secret = folder.path.parent / "secret.md"
    (folder.path / "journal").mkdir()
    for name in ("a", "b", "c"):
        (folder.path / "journal" / name).symlink_to(secret)
    with pytest.raises(Unusable, match="link"), locked(folder, "journal") as inside:
        append(inside, "a", b"x")
    with locked(folder, "journal") as inside:
        replace(inside, "b", b"new")
        assert not create(inside, "c", b"new")
    assert secret.read_text() == "secret"
    assert (folder.path / "journal/b").read_text() == "new"


def test_what_a_writer_left_that_died_does_not_stop_the_next(folder: Folder) -> None:
    with locked(folder, "vault") as inside:
        (folder.path / "vault/.a.md.tmp").write_text("half")
        assert create(inside, "a.md", b"whole")
        assert not create(inside, "a.md", b"other")
    assert (folder.path / "vault/a.md").read_text() == "whole"
    assert sorted(p.name for p in (folder.path / "vault").iterdir()) == [".lock", "a.md"]
