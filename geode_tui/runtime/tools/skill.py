"""use_skill: the instructions of one of the project's skills. Tools never reach ``.geode``: this is the one way in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from geode_tui.core.tools import Safety
from geode_tui.runtime.skills import Skill
from geode_tui.runtime.tools.arguments import Arguments
from geode_tui.runtime.tools.base import Prepared, Simple, Tool, ToolContext, ToolOutcome, ToolRefused
from geode_tui.runtime.tools.builtin import Builtin
from geode_tui.runtime.tools.texts import counted, one_line, quoted

NAME = "use_skill"
_DESCRIPTION = """\
Load the instructions of one of this project's skills and follow them for the work they are about; load them before \
you begin such work. The skills are:
"""


class SkillArguments(Arguments, frozen=True):
    """Arguments of use_skill."""

    name: Annotated[str, Meta(description="The skill's name, as listed.")]


def use_skill_tool(skills: Sequence[Skill]) -> Tool:
    """The tool use_skill over ``skills``, of which there is at least one; the person trusts them."""
    known = {skill.name: skill for skill in skills}

    async def prepare(arguments: SkillArguments, _context: ToolContext) -> Prepared:
        skill = known.get(arguments.name)
        if skill is None:
            raise ToolRefused(f"there is no skill {quoted(arguments.name)}; the skills are: {', '.join(known)}")

        async def effect() -> ToolOutcome:
            return _outcome(skill)

        return Simple(effect)

    listed = "\n".join(f"- {skill.name}: {skill.description}".removesuffix(": ") for skill in skills)
    return Builtin(NAME, _DESCRIPTION + listed, Safety.READ, SkillArguments, _brief, prepare)


def _brief(arguments: SkillArguments) -> str:
    return one_line(arguments.name, 64)


def _outcome(skill: Skill) -> ToolOutcome:
    lines = len(skill.text.splitlines())
    return ToolOutcome(skill.text, summary=counted(lines, "line"), facts={"skill": skill.name, "lines": lines})
