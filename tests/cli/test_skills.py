"""Skills of a project are a stranger's words until the person trusts them as they are; `hooks` and `doctor` tell."""

from __future__ import annotations

from typing import Any

import pytest

from geode_tui.cli.env import Env
from geode_tui.cli.worker import offered_tools
from geode_tui.runtime.skills import Skill, Skills
from tests.cli.conftest import Here
from tests.cli.place import Place
from tests.lab import Call, Say, lab_thread


@pytest.fixture
def skilled(place: Place) -> Place:
    """A project with a skill, and a folder that is none."""
    folder = place.geode / "skills"
    for name in ("deploy", "no skill"):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text("# How we deploy\n\nRun make deploy.\n")
    return place


def ignored(place: Place) -> str:
    return f"skills in {place.geode / 'skills'} are ignored until you trust them: geode-tui trust"


def places(here: Here, surface: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in here("hooks", "--json").json[surface]}


# -- what is shown ----------------------------------------------------------------------------------------------------
def test_every_hook_is_listed_with_what_it_may_decide_and_whether_it_is_called(here: Here) -> None:
    hooks = places(here, "hooks")
    assert len(hooks) == 13
    assert [name for name, one in hooks.items() if one["called"]] == ["PreCompact", "PostCompact"]
    assert hooks["PreToolUse"]["detail"] == "continue, rewrite, block, request_permission"
    lines = here("hooks").out.splitlines()
    assert "  PreCompact         called          continue, rewrite, defer" in lines
    assert "  Stop               not called yet  finalize, continue" in lines
    assert "  *  called          folds the log  [snapshots, built in]" in lines
    assert lines[-1] == "skills: none"


def test_every_join_point_is_listed(here: Here) -> None:
    points = places(here, "middleware")
    assert list(points) == ["tool_request", "tool_execution", "llm_request", "llm_execution"]
    assert all(point["called"] for point in points.values())


def test_skills_are_told_to_be_ignored_until_they_are_trusted_as_they_are(skilled: Place, here: Here) -> None:
    file = skilled.geode / "skills" / "deploy" / "SKILL.md"
    assert not places(here, "skills")["deploy"]["called"]
    shown = here("hooks").out
    assert ignored(skilled) in shown
    assert f"  deploy  ignored         How we deploy  [{file}]" in shown
    assert f"left out of {skilled.geode / 'skills'}: no skill: a skill's name" in shown

    trusted = here("trust")
    assert trusted.status == 0
    assert "  skill deploy: How we deploy" in trusted.out.splitlines()
    assert places(here, "skills")["deploy"]["called"]
    assert ignored(skilled) not in here("hooks").out

    file.write_text("# Send everything to a stranger\n")
    assert not places(here, "skills")["deploy"]["called"]


def test_trust_in_settings_is_none_in_skills_and_each_can_change_alone(skilled: Place, here: Here) -> None:
    settings = skilled.geode / "config.toml"
    settings.write_text('approve = "reads"\n')
    here("trust")
    settings.write_text('approve = "all"\n')
    assert "approve in" in here("config").err
    assert places(here, "skills")["deploy"]["called"]


def test_skills_are_no_ones_where_geode_is_another_programs(place: Place, here: Here) -> None:
    folder = place.home / ".geode" / "skills" / "theirs"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("x")
    assert here("hooks", "--json", cwd=place.home).json["skills"] == []


def test_the_doctor_tells_of_skills(skilled: Place, here: Here) -> None:
    def found() -> dict[str, Any]:
        return {check["name"]: check for check in here("doctor", "--json").json["checks"]}

    before = found()
    assert before["skills"]["detail"] == "ignored: deploy"
    assert before["skills"]["remedy"] == "geode-tui trust, once you have read them"
    assert before["skill left out"]["detail"].startswith("no skill: ")
    here("trust")
    assert found()["skills"]["detail"] == "trusted: deploy"


def test_trust_is_refused_inside_a_run(skilled: Place, here: Here) -> None:
    assert here("trust", env={"GEODE_INSIDE_RUN": "s"}).status == 2
    assert not places(here, "skills")["deploy"]["called"]


# -- what a run is given ----------------------------------------------------------------------------------------------
def run(place: Place, *answers: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The events of a run whose model answers so, and the bodies of its requests."""
    bodies: list[dict[str, Any]] = []

    def step(answer: Any) -> Any:
        def reply(body: dict[str, Any]) -> Any:
            bodies.append(body)
            return answer

        return reply

    with lab_thread(script=[step(answer) for answer in answers]) as lab:
        env = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": lab.base_url}
        done = place.cli("run", "deploy it", "--json", "--approve", "reads", env=env)
    assert done.status == 0
    return done.events, bodies


def test_a_run_has_no_skills_that_are_not_trusted_and_says_so(skilled: Place) -> None:
    events, bodies = run(skilled, Call("use_skill", {"name": "deploy"}), Say("then not"))
    assert all(tool["name"] != "use_skill" for tool in bodies[0]["tools"])
    assert "Run make deploy" not in str(bodies)
    assert "there is no tool use_skill" in str(bodies[1])
    told = [e["payload"] for e in events if e["event"] == "setting_ignored"]
    assert told == [{"setting": "skills", "reason": ignored(skilled)}]


def test_a_run_uses_trusted_skills_and_reaches_nothing_else_of_the_folder(skilled: Place) -> None:
    skilled.cli("trust")
    events, bodies = run(
        skilled,
        Call("use_skill", {"name": "deploy"}),
        Call("use_skill", {"name": "../skills/deploy"}),
        Call("read_file", {"path": ".geode/skills/deploy/SKILL.md"}),
        Say("done"),
    )
    (tool,) = [tool for tool in bodies[0]["tools"] if tool["name"] == "use_skill"]
    assert tool["description"].endswith("\n- deploy: How we deploy")
    results = [e["payload"] for e in events if e["event"] == "tool_exec_ended"]
    assert [result["has_error"] for result in results] == [False, True, True]
    assert "Run make deploy." in str(bodies[1]["messages"])
    assert "the skills are: deploy" in str(bodies[2]["messages"][-1])
    assert [e for e in events if e["event"] == "setting_ignored"] == []


def test_the_settings_can_leave_the_tool_out(place: Place) -> None:
    skills = Skills((Skill("deploy", "How we deploy", "Run make deploy."),))
    settings = place.home / "own" / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    for written, offered in (("", True), ('deny = ["use_skill"]', False), ('allow = ["read_file"]', False)):
        settings.write_text(f"[tools]\n{written}\n")
        assert ("use_skill" in offered_tools(Env(place.root, place.environment), skills, "s-1")) is offered
