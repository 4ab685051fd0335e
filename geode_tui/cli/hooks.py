"""`hooks`: what can be built on, what is registered there and from where, and whether anything calls it. It only shows.

A run registers nothing of its own at a hook or join point; what an embedding program registers is in its session.
"""

from __future__ import annotations

import msgspec

from geode_tui.cli.env import Env
from geode_tui.cli.trust import are_trusted, ignored_skills, project_skills
from geode_tui.runtime.hook_contracts import CONTRACTS
from geode_tui.runtime.middleware import TIMEOUTS_S
from geode_tui.runtime.skills import FILE

BUILT_IN = "built in"


class Registered(msgspec.Struct, frozen=True):
    """Something that is registered: its name, and where it comes from."""

    name: str
    source: str


class Place(msgspec.Struct, frozen=True):
    """A place for extensions. ``called`` is whether anything calls what is registered there, ``detail`` says what it
    may decide or what it is.
    """

    name: str
    called: bool
    detail: str
    registered: tuple[Registered, ...] = ()


class Report(msgspec.Struct, frozen=True):
    """All places by surface, and one line for each skill that cannot be used."""

    hooks: tuple[Place, ...]
    observers: tuple[Place, ...]
    middleware: tuple[Place, ...]
    skills: tuple[Place, ...]
    problems: tuple[str, ...]


def hooks(env: Env, *, json: bool) -> int:
    """Show every hook, join point, subscription and skill."""
    report = _report(env)
    if json:
        env.print_json(report)
        return 0
    for surface in ("hooks", "observers", "middleware", "skills"):
        places: tuple[Place, ...] = getattr(report, surface)
        env.print(surface if places else f"{surface}: none")
        wide = max((len(place.name) for place in places), default=0)
        for place in places:
            env.print(f"  {place.name:<{wide}}  {_state(surface, place):<14}  {place.detail}{_by(place)}".rstrip())
    for problem in report.problems:
        env.print(problem)
    return 0


def _report(env: Env) -> Report:
    problems: list[str] = []
    skills = project_skills(env.project)
    trusted = are_trusted(env.folders, env.project, skills)
    if not trusted:
        problems.append(ignored_skills(env.project))
    problems += (f"left out of {env.project.skills}: {line}" for line in skills.problems)
    return Report(
        hooks=tuple(Place(name, contract.called, ", ".join(contract.allowed)) for name, contract in CONTRACTS.items()),
        observers=(Place("*", called=True, detail="folds the log", registered=(Registered("snapshots", BUILT_IN),)),),
        middleware=tuple(Place(name, called=True, detail=f"within {limit:g} s") for name, limit in TIMEOUTS_S.items()),
        skills=tuple(
            Place(
                skill.name,
                trusted,
                skill.description,
                (Registered(skill.name, str(env.project.skills / skill.name / FILE)),),
            )
            for skill in skills.found
        ),
        problems=tuple(problems),
    )


def _state(surface: str, place: Place) -> str:
    if surface == "skills":
        return "used" if place.called else "ignored"
    return "called" if place.called else "not called yet"


def _by(place: Place) -> str:
    """Who is registered there; of a skill, which is its own place, only its file."""
    return "".join(
        f"  [{one.source if one.name == place.name else f'{one.name}, {one.source}'}]" for one in place.registered
    )
