"""Skills: which files count as one, and the tool that gives them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from geode_tui.core.tools import Safety
from geode_tui.runtime.skills import MAX_BYTES, MOST, Skill, read_skills
from geode_tui.runtime.tools.base import ToolContext, ToolRefused
from geode_tui.runtime.tools.skill import use_skill_tool

FRONT = '---\nname: other\ndescription: "How we deploy"\n---\n\n# Deploy\n\nRun make.\n'


def put(geode: Path, name: str, text: str | bytes = "# Deploy\n\nRun make.\n") -> Path:
    file = geode / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


# -- reading ----------------------------------------------------------------------------------------------------------
def test_a_folder_without_skills_has_none_and_no_problem(tmp_path: Path) -> None:
    assert read_skills(tmp_path / "nowhere").found == read_skills(tmp_path).found == ()
    (tmp_path / "skills").mkdir()
    assert read_skills(tmp_path).problems == ()
    assert read_skills(tmp_path).mark == ""


def test_skills_come_in_the_order_of_their_names_with_their_whole_text(tmp_path: Path) -> None:
    for name in ("b", "a.b_c-9", "C"):
        put(tmp_path, name, f"text of {name}\r\n")
    (tmp_path / "skills" / "README.md").write_text("no skill")
    skills = read_skills(tmp_path)
    assert [(s.name, s.text) for s in skills.found] == [
        ("C", "text of C\r\n"), ("a.b_c-9", "text of a.b_c-9\r\n"), ("b", "text of b\r\n")
    ]  # fmt: skip
    assert skills.problems == ()


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (FRONT, "How we deploy"),
        ("---\nname: x\n---\n\n# The title\n\nProse.\n", "The title"),
        ("---\ndescription:\n---\nProse.\n", "Prose."),
        ("\n## 배포 절차\n", "배포 절차"),
        ("---\nno end of it", "no end of it"),
        ("a \x1b[31mred\u202e one\n", "a ␛red one"),
        ("x" * 500, "x" * 159 + "⋯"),
        ("---\n---\n", ""),
    ],
)
def test_a_skill_says_in_one_clean_line_what_it_is_for(tmp_path: Path, text: str, description: str) -> None:
    put(tmp_path, "deploy", text)
    assert [s.description for s in read_skills(tmp_path).found] == [description]


@pytest.mark.parametrize("name", ["with space", "a" * 65, "한글", "a:b", "new\nline", "a\x1b[2J"])
def test_other_names_are_left_out_and_told(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    skills = read_skills(tmp_path)
    assert skills.found == ()
    assert len(skills.problems) == 1
    assert "letters, digits" in skills.problems[0]
    assert "\n" not in skills.problems[0]
    assert "\x1b" not in skills.problems[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"x" * (MAX_BYTES + 1), "larger than 64 KiB"),
        (b"\xff\xfe", "not UTF-8"),
        (b" \n", "is empty"),
    ],
)
def test_files_that_cannot_be_used_are_told(tmp_path: Path, text: bytes, says: str) -> None:
    put(tmp_path, "bad", text)
    put(tmp_path, "good", b"x" * MAX_BYTES)
    skills = read_skills(tmp_path)
    assert [s.name for s in skills.found] == ["good"]
    assert len(skills.problems) == 1
    assert skills.problems[0].startswith("bad: its SKILL.md")
    assert says in skills.problems[0]


def test_nothing_is_read_through_a_link_or_from_what_is_no_file(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", "secret", "a secret")
    skills = tmp_path / "geode" / "skills"
    for name in ("linked", "folder", "pipe", "nothing"):
        (skills / name).mkdir(parents=True)
    (skills / "linked" / "SKILL.md").symlink_to(outside)
    (skills / "folder" / "SKILL.md").mkdir()
    os.mkfifo(skills / "pipe" / "SKILL.md")
    (skills / "alias").symlink_to(outside.parent)
    read = read_skills(tmp_path / "geode")
    assert read.found == ()
    assert [line.partition(":")[0] for line in read.problems] == ["folder", "linked", "nothing", "pipe"]


@pytest.mark.parametrize("which", ["geode", "skills"])
def test_a_linked_folder_of_skills_is_not_followed(tmp_path: Path, which: str) -> None:
    put(tmp_path / "outside", "secret")
    geode = tmp_path / "geode"
    if which == "geode":
        geode.symlink_to(tmp_path / "outside")
    else:
        geode.mkdir()
        (geode / "skills").symlink_to(tmp_path / "outside" / "skills")
    read = read_skills(geode)
    assert read.found == ()
    assert len(read.problems) == 1


def test_there_are_only_so_many(tmp_path: Path) -> None:
    for number in range(MOST + 2):
        put(tmp_path, f"s{number:03}")
    read = read_skills(tmp_path)
    assert len(read.found) == MOST
    assert read.problems == ("s064: there are 64 skills already", "s065: there are 64 skills already")


def test_the_mark_changes_with_every_name_and_text(tmp_path: Path) -> None:
    file = put(tmp_path, "a", "one")
    marks = [read_skills(tmp_path).mark]
    file.write_text("two")
    marks.append(read_skills(tmp_path).mark)
    file.parent.rename(file.parent.with_name("b"))
    marks.append(read_skills(tmp_path).mark)
    put(tmp_path, "c", "three")
    marks.append(read_skills(tmp_path).mark)
    assert len(set(marks)) == 4


# -- the tool ---------------------------------------------------------------------------------------------------------
TOOL = use_skill_tool([Skill("deploy", "How we deploy", "# Deploy\n\nRun make.\n"), Skill("plain", "", "x")])


def test_the_tool_lists_its_skills_and_only_reads() -> None:
    assert TOOL.spec.name == "use_skill"
    assert TOOL.spec.description.splitlines()[-2:] == ["- deploy: How we deploy", "- plain"]
    assert TOOL.safety is Safety.READ
    assert TOOL.brief('{"name": "deploy"}') == "deploy"


async def test_it_gives_the_whole_text(context: ToolContext) -> None:
    outcome = await (await TOOL.prepare('{"name": "deploy"}', context)).run()
    assert (outcome.text, outcome.is_error) == ("# Deploy\n\nRun make.\n", False)
    assert (outcome.summary, outcome.facts) == ("3 lines", {"skill": "deploy", "lines": 3})


@pytest.mark.parametrize("name", ["", "Deploy", "../deploy", "deploy/SKILL.md", ".", "a\x1b[2J", "x" * 5_000])
async def test_another_name_is_refused_with_the_names_there_are(context: ToolContext, name: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        await TOOL.prepare(json.dumps({"name": name}), context)
    assert str(refused.value).endswith("; the skills are: deploy, plain")
    assert len(str(refused.value)) < 300
    assert "\x1b" not in str(refused.value)
