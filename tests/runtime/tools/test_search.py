"""list_dir, glob and grep."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.patterns import PathPattern
from geode_tui.runtime.tools.registry import builtin_tools
from tests.runtime.tools.conftest import Call


def fill(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


async def test_a_listing_has_folders_first_and_sizes(root: Path, call: Call) -> None:
    fill(root, {"b.txt": "12345", "가.txt": "", "src/a.py": "x" * 1500, "src/deep/down/c.py": ""})
    (root / "link").symlink_to("b.txt")
    assert (await call("list_dir")).text.split("\n") == ["src/", "b.txt  5 B", "link (link)", "가.txt  0 B"]
    assert (await call("list_dir", path="src", depth=2)).text.split("\n") == ["deep/", "  down/", "a.py  1.5 kB"]
    with pytest.raises(ToolRefused):
        await call("list_dir", depth=4)


async def test_a_long_listing_is_cut_with_its_count(root: Path, call: Call) -> None:
    fill(root, {f"{number:04}.txt": "" for number in range(510)})
    outcome = await call("list_dir")
    assert outcome.text.endswith("0499.txt  0 B\n[500 of 510 entries shown: list a folder below, or less depth]")
    assert outcome.facts["entries"] == 510


async def test_glob_gives_the_newest_first(root: Path, call: Call) -> None:
    fill(root, {"src/old.py": "", "src/new.py": "", "src/a.txt": "", "top.py": ""})
    for age, name in enumerate(["src/new.py", "top.py", "src/old.py"]):
        os.utime(root / name, (1_000_000 - age, 1_000_000 - age))
    assert (await call("glob", pattern="*.py")).text.split("\n") == ["src/new.py", "top.py", "src/old.py"]
    assert (await call("glob", pattern="*.py", path="src")).text.split("\n") == ["src/new.py", "src/old.py"]
    assert (await call("glob", pattern="nothing")).text == "[no file matches]"


async def test_a_long_glob_is_cut_with_its_count(root: Path, call: Call) -> None:
    fill(root, {f"{number}.txt": "" for number in range(203)})
    outcome = await call("glob", pattern="*")
    assert len(outcome.text.split("\n")) == 201
    assert outcome.text.endswith("[the newest 200 of 203 shown: narrow the pattern]")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*", "{a,b}" * 9])
async def test_an_unusable_pattern_is_refused(call: Call, pattern: str) -> None:
    with pytest.raises(ToolRefused, match="not a usable pattern"):
        await call("glob", pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b/c.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("src/**", "src/b/c/a.py", True),
        ("**/test_*/**", "a/test_b/c", True),
        ("*.{ts,tsx}", "a/b.tsx", True),
        ("{src,lib}/[ab].py", "lib/b.py", True),
        ("{src,lib}/[ab].py", "lib/c.py", False),
        ("가*", "폴더/가나", True),
        ("*.PY", "a.py", False),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert PathPattern(pattern).matches(path) is fits


@settings(deadline=None)
@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=6), st.data())
def test_a_pattern_with_parts_starred_still_fits(parts: list[str], data: st.DataObject) -> None:
    starred = [data.draw(st.sampled_from([part, "*", "?", "**"])) for part in parts]
    assert PathPattern("/".join(["**", *starred])).matches("/".join(parts))


def test_a_pattern_full_of_stars_is_matched_in_no_time() -> None:
    assert not PathPattern("*a" * 100 + "b").matches("a" * 250)
    assert not PathPattern("**/a/" * 100 + "b").matches("a/" * 500 + "a")


async def test_ignored_files_are_left_out_as_git_does(root: Path, call: Call) -> None:
    files = {
        ".gitignore": "*.log\n/build/\nnode_modules/\n!keep.log\n[\n",
        "a.txt": "",
        "a.log": "",
        "keep.log": "",
        "build/out.txt": "",
        "src/build/in.txt": "",
        "src/.gitignore": "secret*\n!a.log\n",
        "src/secret.txt": "",
        "src/a.log": "",
        "src/node_modules/x/y.js": "",
    }
    fill(root, files)
    found = (await call("glob", pattern="**")).text.split("\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    by_git = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(found) == sorted(by_git)
    assert (await call("glob", pattern="*", path="src/node_modules")).text == "src/node_modules/x/y.js"
    assert (await call("glob", pattern="secret*", path="src")).text == "[no file matches]"


async def test_grep_shows_where_a_line_matches(root: Path, call: Call) -> None:
    fill(
        root,
        {
            "a.py": "import os\n\ndef 함수():\n    pass\n",
            "b/c.txt": "def x\nDEF y\n",
            ".gitignore": "d.py\n",
            "d.py": "def",
        },
    )
    outcome = await call("grep", pattern=r"def \w+")
    assert outcome.text.split("\n") == [
        "a.py:3: def 함수():",
        "b/c.txt:1: def x",
        "[2 matches in 2 files, 3 files searched]",
    ]
    assert outcome.facts == {"pattern": r"def \w+", "path": ".", "matches": 2}
    assert (await call("grep", pattern="def", ignore_case=True, path="b/c.txt")).facts["matches"] == 2
    assert (await call("grep", pattern="def", glob="*.py")).text.startswith("a.py:3:")
    assert (await call("grep", pattern="nothing")).text == "[0 matches in 0 files, 3 files searched]"


async def test_grep_shows_context_without_repeating_lines(root: Path, call: Call) -> None:
    fill(root, {"a.txt": "".join(f"{n}\n" for n in range(1, 21)), "b.txt": "3\n"})
    outcome = await call("grep", pattern="^(3|5|15)$", context=1)
    assert outcome.text.split("\n")[:-1] == [
        "a.txt-2- 2", "a.txt:3: 3", "a.txt-4- 4", "a.txt:5: 5", "a.txt-6- 6",
        "--", "a.txt-14- 14", "a.txt:15: 15", "a.txt-16- 16",
        "--", "b.txt:1: 3",
    ]  # fmt: skip


async def test_grep_stops_at_its_bound_and_says_so(root: Path, call: Call) -> None:
    fill(root, {"a.txt": "x\n" * 10, "b.txt": "x\n"})
    outcome = await call("grep", pattern="x", max_matches=3, context=1)
    assert outcome.text.split("\n") == [
        "a.txt:1: x",
        "a.txt:2: x",
        "a.txt:3: x",
        "a.txt-4- x",
        "[3 matches in 1 file, 1 file searched; stopped early at 3: narrow the pattern or raise max_matches]",
    ]


async def test_grep_passes_over_binary_files_and_very_long_lines(root: Path, call: Call) -> None:
    (root / "a.bin").write_bytes(b"needle\0")
    fill(
        root,
        {
            "long.txt": "needle" + "x" * 200_000 + "\nneedle\n" + "가" * 10_001,
            "cut.txt": "y" * 5_000 + "needle" + "y" * 900,
        },
    )
    outcome = await call("grep", pattern="needle")
    lines = outcome.text.split("\n")
    assert "long.txt:2: needle" in lines
    assert lines[-1] == "[2 matches in 2 files, 2 files searched, 2 lines over 10,000 characters not searched]"
    cut = next(line for line in lines if line.startswith("cut.txt"))
    assert "needle" in cut
    assert len(cut) < 330


@pytest.mark.parametrize("pattern", ["(", "[a", "(?P<n>a", "*a", "a{2}{3}"])
async def test_an_invalid_expression_is_refused_with_its_position(call: Call, pattern: str) -> None:
    with pytest.raises(ToolRefused, match=r"is not a regular expression: .* at position"):
        await call("grep", pattern=pattern)


def children_named(name: str) -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if name in " ".join(child.cmdline())]


async def test_an_expression_that_never_ends_is_stopped(root: Path, call: Call, context: ToolContext) -> None:
    context.deadline_s = 0.5
    fill(root, {"a.txt": "a" * 60 + "\n", "b.txt": "first\n"})
    outcome = await call("grep", pattern="(a+)+b|first")
    assert "stopped early after 0.5 s in a.txt: simplify the pattern" in outcome.text
    assert outcome.facts["timeout"] is True
    assert children_named("grep_child") == []


async def test_cancelling_a_search_ends_it(root: Path, context: ToolContext) -> None:
    fill(root, {"a.txt": "a" * 60 + "\n"})
    prepared = await builtin_tools()["grep"].prepare('{"pattern": "(a+)+b"}', context)
    running = asyncio.ensure_future(prepared.run())
    while not children_named("grep_child"):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert children_named("grep_child") == []
