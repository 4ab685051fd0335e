"""No tool leaves the project or enters a denied place, by name, by link or by a race."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.confine import locate, open_file, opened_folder
from geode_tui.runtime.tools.registry import builtin_tools
from tests.runtime.tools.conftest import Call

OUTSIDE = [
    "../../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "tr_1\0.txt",
    "..",
    "",
]
"""Those of the hostile names of B122 that lead out; the others are ordinary, if odd, names."""


@pytest.mark.parametrize("given", OUTSIDE)
def test_hostile_paths_are_refused_without_an_absolute_path(context: ToolContext, given: str) -> None:
    """B122."""
    with pytest.raises(ToolRefused) as refused:
        locate(context, given)
    assert str(context.root) not in str(refused.value)


@pytest.mark.parametrize("given", ["..%2f..%2fx", "C:\\Windows\\x", "CON", "．．／x", "~", "~/x", "$HOME"])
def test_odd_names_are_just_names(context: ToolContext, given: str) -> None:
    assert locate(context, given).real == context.root / given


async def test_a_name_too_long_is_refused(call: Call) -> None:
    for tool, more in (("read_file", {}), ("list_dir", {}), ("write_file", {"content": "x"})):
        with pytest.raises(ToolRefused, match="name too long"):
            await call(tool, path="a" * 5000, **more)


def test_an_absolute_path_inside_the_root_is_fine(context: ToolContext) -> None:
    assert locate(context, str(context.root / "src" / "a.py")).relative == "src/a.py"


@pytest.mark.parametrize(
    "given",
    [".geode", ".geode/sessions.db", "sub/.geode/x", ".GEODE/x", ".git/hooks/pre-commit", "sub/.git/hooks/x",
     "keys.txt", "private", "private/a/b", "sub/../keys.txt"],
)  # fmt: skip
def test_denied_places_are_refused(context: ToolContext, given: str) -> None:
    with pytest.raises(ToolRefused, match="closed to tools"):
        locate(context, given)


def test_git_configuration_can_be_read_but_not_written(context: ToolContext) -> None:
    assert locate(context, ".git/config").relative == ".git/config"
    with pytest.raises(ToolRefused, match="closed to tools"):
        locate(context, ".git/config", for_writing=True)


@pytest.mark.parametrize("target", ["/etc/passwd", "keys.txt", ".geode/sessions.db", "../outside.txt"])
async def test_a_link_is_judged_by_where_it_leads(root: Path, call: Call, target: str) -> None:
    """B123."""
    (root / "keys.txt").write_text("key")
    (root / ".geode").mkdir()
    (root / ".geode" / "sessions.db").write_text("db")
    (root.parent / "outside.txt").write_text("outside")
    (root / "link.txt").symlink_to(target)
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"}), ("grep", {"pattern": "."})):
        with pytest.raises(ToolRefused):
            await call(tool, path="link.txt", **more)
    assert (root.parent / "outside.txt").read_text() == "outside"


async def test_a_linked_folder_leads_out_for_no_tool(root: Path, call: Call) -> None:
    (root.parent / "elsewhere").mkdir()
    (root.parent / "elsewhere" / "secret.txt").write_text("secret")
    (root / "door").symlink_to(root.parent / "elsewhere")
    (root / "plain.txt").write_text("plain")
    for tool, more in (("list_dir", {}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "."})):
        with pytest.raises(ToolRefused, match="outside the project"):
            await call(tool, path="door", **more)
    with pytest.raises(ToolRefused, match="outside the project"):
        await call("run_shell", command="cat secret.txt", cwd="door")
    assert "door" not in (await call("list_dir", depth=3)).text
    assert (await call("glob", pattern="**/*.txt")).text == "plain.txt"
    assert "secret" not in (await call("grep", pattern="secret")).text


async def test_denied_places_are_neither_listed_nor_searched(root: Path, call: Call) -> None:
    for name in (".geode/a.txt", ".git/hooks/b.txt", "private/c.txt", "keys.txt", "open/d.txt"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("needle")
    (root / "to-keys").symlink_to("keys.txt")
    listed = (await call("list_dir", depth=3)).text
    assert listed.split() == [".git/", "open/", "d.txt", "6", "B"]
    assert (await call("list_dir", path=".git")).text == "[empty folder]"
    assert (await call("glob", pattern="**")).text == "open/d.txt"
    assert (await call("grep", pattern="needle")).text.startswith("open/d.txt:1: needle\n[1 match in 1 file, 1 file")


async def test_a_loop_of_links_is_refused(root: Path, call: Call) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(ToolRefused):
        await call("read_file", path="a")


async def test_a_link_inside_the_project_is_followed(root: Path, call: Call) -> None:
    (root / "real.txt").write_text("one\n")
    (root / "link.txt").symlink_to("real.txt")
    await call("read_file", path="link.txt")
    await call("edit_file", path="link.txt", old="one", new="two")
    assert (root / "link.txt").is_symlink()
    assert (root / "real.txt").read_text() == "two\n"


async def test_only_regular_files_are_read(root: Path, call: Call) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolRefused, match="not a regular file"):
        await call("read_file", path="pipe")
    with pytest.raises(ToolRefused, match="use list_dir"):
        await call("read_file", path=".")
    with pytest.raises(ToolRefused, match="not a folder"):
        await call("list_dir", path="pipe")


async def test_a_file_swapped_for_a_link_after_the_check_is_not_followed(root: Path, context: ToolContext) -> None:
    outside = root.parent / "outside.txt"
    outside.write_text("outside")
    (root / "a.txt").write_text("one")
    tools = builtin_tools()
    await (await tools["read_file"].prepare('{"path": "a.txt"}', context)).run()
    read = await tools["read_file"].prepare('{"path": "a.txt"}', context)
    write = await tools["write_file"].prepare('{"path": "a.txt", "content": "two"}', context)
    new = await tools["write_file"].prepare('{"path": "sub/new.txt", "content": "two"}', context)
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(outside)
    (root / "sub").symlink_to(root.parent)
    for prepared in (read, write, new):
        outcome = await prepared.run()
        assert outcome.is_error
        assert "outside the project" in outcome.text
    assert outside.read_text() == "outside"
    assert not (root.parent / "new.txt").exists()


def test_a_component_swapped_for_a_link_between_judging_and_opening_is_not_followed(
    root: Path, context: ToolContext
) -> None:
    for folder in (root / "sub", root.parent / "elsewhere"):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)
    (root / "b.txt").write_text("b")
    below, plain = locate(context, "sub/a.txt"), locate(context, "b.txt")
    os.close(open_file(context, below))
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(root.parent / "elsewhere")
    (root / "b.txt").unlink()
    (root / "b.txt").symlink_to(root.parent / "elsewhere" / "a.txt")
    for place in (below, plain):
        with pytest.raises(ToolRefused, match="cannot be used"):
            open_file(context, place)
    with (
        pytest.raises(OSError, match=r"Not a directory|symbolic links"),
        opened_folder(context, root / "sub", create=True),
    ):
        pass


async def test_names_that_are_not_utf8_give_text_that_can_be_stored(root: Path, call: Call) -> None:
    """B050."""
    Path(os.fsdecode(os.fsencode(root) + b"/bad\x88name.txt")).write_text("needle")
    for tool, more in (("list_dir", {}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "needle"})):
        outcome = await call(tool, **more)
        assert "bad\ufffdname.txt" in outcome.text
        json.dumps(outcome.text, ensure_ascii=False).encode()
