"""write_file and edit_file: only what was read, never a part, nothing of the file's form lost."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.encoded import EncodedText
from geode_tui.runtime.tools.registry import builtin_tools
from geode_tui.runtime.tools.stamps import HASHED_BYTES
from tests.runtime.tools.conftest import Call


@pytest.fixture
def umask_022() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_new_file_is_written_with_its_folders(root: Path, call: Call, umask_022: None) -> None:
    outcome = await call("write_file", path="새 폴더/안/글.txt", content="가\n나\n")
    assert (root / "새 폴더/안/글.txt").read_text() == "가\n나\n"
    assert mode_of(root / "새 폴더/안/글.txt") == 0o644
    assert outcome.summary == "+2 -0"
    assert outcome.facts == {"path": "새 폴더/안/글.txt", "added": 2, "removed": 0}
    assert outcome.text.startswith("created 새 폴더/안/글.txt (+2 -0)\n---")
    assert [path.name for path in (root / "새 폴더/안").iterdir()] == ["글.txt"]


async def test_a_file_must_have_been_read(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("one")
    with pytest.raises(ToolRefused, match="read it first"):
        await call("write_file", path="a.txt", content="two")
    with pytest.raises(ToolRefused, match="read it first"):
        await call("edit_file", path="a.txt", old="one", new="two")
    assert (root / "a.txt").read_text() == "one"


async def test_a_file_that_changed_must_be_read_again(root: Path, call: Call) -> None:
    path = root / "a.txt"
    path.write_text("one")
    await call("read_file", path="a.txt")
    before = path.stat()
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ToolRefused, match="changed since it was read"):
        await call("write_file", path="a.txt", content="three")
    await call("read_file", path="a.txt")
    await call("write_file", path="a.txt", content="three")
    assert path.read_text() == "three"


async def test_touching_a_file_does_not_count_as_a_change(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("one")
    await call("read_file", path="a.txt")
    os.utime(root / "a.txt", (1, 1))
    assert not (await call("edit_file", path="a.txt", old="one", new="two")).is_error


async def test_a_change_while_a_person_decides_stops_the_write(root: Path, call: Call, context: ToolContext) -> None:
    tools = builtin_tools()
    (root / "a.txt").write_text("one")
    await call("read_file", path="a.txt")
    edit = await tools["edit_file"].prepare('{"path": "a.txt", "old": "one", "new": "two"}', context)
    new = await tools["write_file"].prepare('{"path": "b.txt", "content": "mine"}', context)
    (root / "a.txt").write_text("one, and theirs")
    (root / "b.txt").write_text("theirs")
    for prepared in (edit, new):
        outcome = await prepared.run()
        assert outcome.is_error
        assert outcome.summary == "refused"
    assert (root / "a.txt").read_text() == "one, and theirs"
    assert (root / "b.txt").read_text() == "theirs"
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "b.txt"]


async def test_abandoning_a_write_leaves_nothing(root: Path, context: ToolContext) -> None:
    prepared = await builtin_tools()["write_file"].prepare('{"path": "d/a.txt", "content": "x"}', context)
    await prepared.abandon()
    assert list(root.iterdir()) == []


async def test_what_was_written_counts_as_read(root: Path, call: Call) -> None:
    await call("write_file", path="a.txt", content="one\n")
    await call("edit_file", path="a.txt", old="one", new="two")
    await call("edit_file", path="a.txt", old="two", new="three")
    assert (root / "a.txt").read_text() == "three\n"


async def test_the_mode_of_a_file_is_kept(root: Path, call: Call) -> None:
    (root / "run.sh").write_text("one")
    for mode in (0o755, 0o600, 0o444):
        (root / "run.sh").chmod(mode)
        await call("read_file", path="run.sh")
        await call("write_file", path="run.sh", content=f"mode {mode}")
        assert mode_of(root / "run.sh") == mode


async def test_the_diff_shows_the_change_in_its_place(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    await call("read_file", path="a.txt")
    outcome = await call("edit_file", path="a.txt", old="line 50\n", new="line fifty\nand more\n")
    assert outcome.text == (
        "changed a.txt (+2 -1)\n--- a.txt\n+++ a.txt\n@@ -47,7 +47,8 @@\n"
        " line 47\n line 48\n line 49\n-line 50\n+line fifty\n+and more\n line 51\n line 52\n line 53"
    )


async def test_a_long_diff_is_cut(root: Path, call: Call) -> None:
    outcome = await call("write_file", path="a.txt", content="x" * 1_000 + "\n" + "y\n" * 400)
    lines = outcome.text.split("\n")
    assert len(lines) == 202
    assert lines[-1] == "[204 more lines of the diff left out]"
    assert max(map(len, lines)) == 300
    await call("edit_file", path="a.txt", old="y\n", new="z\n" * 10, replace_all=True)
    outcome = await call("edit_file", path="a.txt", old="z", new="w", replace_all=True)
    assert outcome.summary == "+4000 -4000"
    assert outcome.text.endswith("[4,000 lines replaced by 4,000: too many for a diff]")


async def test_an_edit_that_is_not_unique_says_how_often(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("abc abc aaa\n")
    await call("read_file", path="a.txt")
    with pytest.raises(ToolRefused, match="occurs 2 times"):
        await call("edit_file", path="a.txt", old="abc", new="x")
    with pytest.raises(ToolRefused, match="occurs 2 times"):
        await call("edit_file", path="a.txt", old="aa", new="x")
    outcome = await call("edit_file", path="a.txt", old="abc", new="x", replace_all=True)
    assert (root / "a.txt").read_text() == "x x aaa\n"
    assert outcome.summary == "+1 -1"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("nowhere", "x", "does not occur in 'a.txt': read the file again"),
        ("def f():\n    return 2", "x", "its first line is found in line 2"),
        ("def", "def", "are the same"),
        ("", "x", "length >= 1"),
    ],
)
async def test_an_edit_that_cannot_be_made_says_why(root: Path, call: Call, old: str, new: str, reason: str) -> None:
    (root / "a.txt").write_text("# head\ndef f():\n\treturn 1\n")
    await call("read_file", path="a.txt")
    with pytest.raises(ToolRefused, match=reason):
        await call("edit_file", path="a.txt", old=old, new=new)


async def test_line_ends_and_mark_are_kept(root: Path, call: Call) -> None:
    path = root / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    await call("read_file", path="a.txt")
    outcome = await call("edit_file", path="a.txt", old="one\ntwo", new="1\n2")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nthree\r\n"
    assert outcome.summary == "+2 -2"
    await call("write_file", path="a.txt", content="new\nfile\n")
    assert path.read_bytes() == b"\xef\xbb\xbfnew\r\nfile\r\n"
    path.write_bytes(b"mixed\r\nends\n")
    await call("read_file", path="a.txt")
    await call("edit_file", path="a.txt", old="ends", new="END")
    assert path.read_bytes() == b"mixed\r\nEND\n"


@settings(deadline=None)
@given(content=st.text(st.characters(exclude_categories=["Cs"])).map(str.encode) | st.binary(max_size=30))
def test_storing_text_as_it_was_stored_gives_the_same_bytes(content: bytes) -> None:
    try:
        stored = EncodedText.of(content)
    except UnicodeDecodeError:
        return
    assert stored.encode() == content
    assert stored.with_text(stored.text).encode() == content


EDITS = st.tuples(
    st.text("ab가\n\ufeff ", max_size=12), st.text("xy\n", min_size=1, max_size=4), st.text("pq나\n", max_size=6),
    st.sampled_from(["\n", "\r\n"]),
) | st.tuples(
    st.text("ab가\r\n\ufeff ", max_size=12), st.text("xy", min_size=1, max_size=4), st.text("pq나", max_size=6),
    st.just("\n"),
)  # fmt: skip
"""Surroundings, old and new text, line end: of one kind, or any mixture around an edit within a line."""


@settings(deadline=None, max_examples=40)
@given(edit=EDITS)
def test_an_edit_and_its_reverse_give_the_file_back(edit: tuple[str, str, str, str]) -> None:
    around, old, new, end = edit

    async def edit_and_back(root: Path) -> None:
        context = ToolContext(root=root, denied=(), session_id="s")
        tools = builtin_tools()

        async def call(name: str, **arguments: str) -> None:
            prepared = await tools[name].prepare(json.dumps({"path": "a.txt", **arguments}), context)
            assert not (await prepared.run()).is_error

        content = f"{around}<{old}>{around}\n".replace("\n", end).encode()
        (root / "a.txt").write_bytes(content)
        await call("read_file")
        await call("edit_file", old=f"<{old}>", new=f"<{new}!>")
        assert (root / "a.txt").read_bytes() != content
        await call("edit_file", old=f"<{new}!>", new=f"<{old}>")
        assert (root / "a.txt").read_bytes() == content

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(edit_and_back(Path(folder).resolve()))


async def test_a_file_that_is_not_text_or_too_large_is_not_edited(root: Path, call: Call) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9 au lait")
    await call("read_file", path="latin.txt")
    with pytest.raises(ToolRefused, match="not UTF-8"):
        await call("edit_file", path="latin.txt", old="lait", new="x")
    (root / "large.txt").write_text("line\n" * (HASHED_BYTES // 5 + 1))
    await call("read_file", path="large.txt", max_lines=1)
    with pytest.raises(ToolRefused, match="change it with a command"):
        await call("edit_file", path="large.txt", old="line", new="x")
    with pytest.raises(ToolRefused, match="change it with a command"):
        await call("write_file", path="large.txt", content="small")
    outcome = await call("write_file", path="latin.txt", content="café\n")
    assert (root / "latin.txt").read_text() == "café\n"
    assert outcome.summary == "+1 -1"


async def test_a_write_that_cannot_be_made_is_an_error(root: Path, call: Call) -> None:
    (root / "file").write_text("x")
    (root / "folder").mkdir()
    with pytest.raises(ToolRefused, match="is a folder"):
        await call("write_file", path="folder", content="x")
    with pytest.raises(ToolRefused, match="not a directory"):
        await call("write_file", path="file/below.txt", content="x")
