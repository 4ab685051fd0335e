"""read_file: ranges, pages, odd content, and what it remembers."""

from __future__ import annotations

import hashlib
import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.runtime.tools.background import Stop
from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.pages import read_page
from tests.runtime.tools.conftest import Call


async def test_lines_come_with_their_numbers(root: Path, call: Call) -> None:
    (root / "가나.txt").write_text("하나\n둘\n\n넷")
    outcome = await call("read_file", path="가나.txt")
    assert outcome.text == "    1\t하나\n    2\t둘\n    3\t\n    4\t넷"
    assert outcome.summary == "4 lines"
    assert outcome.facts == {"path": "가나.txt", "start_line": 1, "lines": 4, "chars": 4}


async def test_a_range_ends_with_how_to_continue(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    outcome = await call("read_file", path="a.txt", start_line=3, max_lines=2)
    assert outcome.text.split("\n") == [
        "    3\tline 3",
        "    4\tline 4",
        "[lines 3 to 4 of 10 shown, 43 B left: continue with start_line=5]",
    ]
    last = await call("read_file", path="a.txt", start_line=10)
    assert last.text == "   10\tline 10"


async def test_one_call_is_bounded_and_whole_lifts_the_bound(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("x\n" * 5_000)
    bounded = await call("read_file", path="a.txt")
    assert bounded.facts["lines"] == 2_000
    assert bounded.text.endswith("continue with start_line=2001]")
    whole = await call("read_file", path="a.txt", whole=True)
    assert whole.facts["lines"] == 5_000
    (root / "wide.txt").write_text(("y" * 999 + "\n") * 1_000)
    assert len((await call("read_file", path="wide.txt")).text) < 270_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A" * 1_000_000, id="one line"),
        pytest.param("\n".join(["가" * 200_000] * 3), id="three lines"),
        pytest.param('{"k":[' + "1," * 300_000 + "1]}", id="minified JSON"),
    ],
)
async def test_every_character_of_very_long_lines_is_reachable(root: Path, call: Call, text: str) -> None:
    """B046."""
    (root / "long.txt").write_text(text)
    seen: dict[int, str] = {}
    line, char = 1, 0
    while line:
        page = (await call("read_file", path="long.txt", start_line=line, start_char=char)).text.split("\n")
        more = re.search(r"start_line=(\d+)(?: start_char=(\d+))?\]$", page[-1])
        for shown in page[:-1] if more else page:
            number, _, content = shown.partition("\t")
            seen[int(number)] = seen.get(int(number), "") + content
        line, char = (int(more[1]), int(more[2] or 0)) if more else (0, 0)
    assert "\n".join(seen[number] for number in sorted(seen)) == text


@settings(deadline=None)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=30), max_size=12
    ),
    max_bytes=st.integers(8, 60),
    max_lines=st.integers(1, 5),
)
def test_pages_put_together_are_the_text(lines: list[str], max_bytes: int, max_lines: int) -> None:
    content = "\n".join(lines).removeprefix("\ufeff").encode()
    expected = content.decode().split("\n")
    if expected[-1] == "":
        expected.pop()
    seen: dict[int, str] = {}
    position: tuple[int, int] | None = (1, 0)
    for _ in range(1_000):
        page = read_page(io.BytesIO(content), len(content), position, max_lines, max_bytes, Stop(10))
        for shown in page.lines:
            number, _, text = shown.partition("\t")
            seen[int(number)] = seen.get(int(number), "") + text
        position = page.next
        if position is None:
            break
    assert [seen[number] for number in sorted(seen)] == expected


async def test_a_place_past_the_end_is_an_error_that_says_so(root: Path, call: Call) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    outcome = await call("read_file", path="a.txt", start_line=9)
    assert outcome.is_error
    assert outcome.text == "'a.txt' has 2 lines: start_line 9 is past its end"
    outcome = await call("read_file", path="a.txt", start_line=2, start_char=9)
    assert outcome.is_error
    assert "shorter than start_char 9" in outcome.text


async def test_empty_binary_and_badly_encoded_files(root: Path, call: Call) -> None:
    """B049."""
    (root / "empty.txt").write_bytes(b"")
    assert (await call("read_file", path="empty.txt")).text == "[empty file]"
    noise = random.Random(1).randbytes(2_000_000)
    (root / "noise.bin").write_bytes(noise)
    digest = hashlib.sha256(noise).hexdigest()
    assert (await call("read_file", path="noise.bin")).text == f"[binary 2.0 MB sha256={digest}]"
    (root / "latin.txt").write_bytes(b"caf\xe9 au lait, s'il vous pla\xeet\n")
    assert (await call("read_file", path="latin.txt")).text == "    1\tcaf\ufffd au lait, s'il vous pla\ufffdt"
    (root / "windows.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert (await call("read_file", path="windows.txt")).text == "    1\tone\n    2\ttwo"


async def test_a_huge_file_is_read_in_part_only(root: Path, call: Call, context: ToolContext) -> None:
    with (root / "huge.txt").open("wb") as file:
        file.write(b"a line of text\n" * 1_000)
        file.truncate(50_000_000_000)
    outcome = await call("read_file", path="huge.txt", start_line=500, max_lines=1)
    assert outcome.text.split("\n") == [
        "  500\ta line of text",
        "[lines 500 to 500 shown, 50.0 GB left: continue with start_line=501]",
    ]
    assert context.seen[str(root / "huge.txt")].sha256 == ""
    with (root / "hole.bin").open("wb") as file:
        file.truncate(50_000_000_000)
    assert (await call("read_file", path="hole.bin")).text == "[binary 50.0 GB]"


async def test_a_missing_file_is_refused_by_the_name_given(call: Call, root: Path) -> None:
    with pytest.raises(ToolRefused) as refused:
        await call("read_file", path="no/such.txt")
    assert str(refused.value) == "'no/such.txt' does not exist: check the path with list_dir or glob"


async def test_reading_registers_a_stamp_under_the_real_path(root: Path, call: Call, context: ToolContext) -> None:
    (root / "a.txt").write_bytes(b"one")
    (root / "link.txt").symlink_to("a.txt")
    await call("read_file", path="link.txt")
    stamp = context.seen[str(root / "a.txt")]
    assert (stamp.size, stamp.sha256) == (3, hashlib.sha256(b"one").hexdigest())
    assert stamp.mtime_ns == (root / "a.txt").stat().st_mtime_ns
