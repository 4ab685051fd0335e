"""`context --tiers`: what is remembered beside a run, tier by tier: what won, why, and what cannot be read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.context.injection import cut, flat
from geode_tui.core import format as fmt
from geode_tui.core.strings import Strings
from geode_tui.core.text import clean_line
from geode_tui.log.transcript import Transcript
from geode_tui.memory.assembler import Assembly, Places, TierReport, assembler_of
from geode_tui.memory.files import Folder
from geode_tui.memory.merging import Decision
from geode_tui.memory.summary import MOST_CHARS
from geode_tui.paths import home_of
from geode_tui.view.reports import iso

MOST_KEYS = 20
"""Keys of a tier that are listed for a person; ``--json`` has all."""
_PREVIEW_CHARS = 60


def tiers(env: Env, session: str, *, at: str, json: bool) -> int:
    """Show what is remembered beside ``session``. Raises `CliError`."""
    if at:
        raise CliError("the tiers are read as they are now: give --tiers or --round, not both")
    transcript = env.transcript()
    try:
        row = env.session(transcript, session)
        assembly = assembled(env, transcript, row.session_id)
    finally:
        transcript.db.close()
    if json:
        env.print_json(tier_report(assembly))
        return 0
    for left, right in tier_pairs(assembly, env.strings):
        env.print(f"{left}  {right}" if left and right else left or right)
    return 0


def assembled(env: Env, log: Transcript, session_id: str) -> Assembly:
    """The tiers of a session as they are now; its subject is the project. Nothing is written and nothing is sent."""
    assembler = assembler_of(places_of(env), time.time, log, safe=env.safe_value)
    return assembler.assemble(session_id, env.project.root.name)


def places_of(env: Env) -> Places:
    """Where the tiers of this project are."""
    own = env.environment.get("GEODE_HOME", "")
    person = Path(own) if own else home_of(env.environment) / ".geode"
    fixtures = env.settings.organization_fixture_dir
    return Places(
        Folder(env.project.root.resolve(), ""),
        Folder(env.project.geode, ".geode"),
        Folder(person.resolve(), own or "~/.geode"),
        Folder(Path(fixtures).expanduser().resolve(), fixtures) if fixtures else None,
    )


def tier_report(assembly: Assembly) -> dict[str, Any]:
    """The object for ``--json``."""
    values = assembly.values
    return {
        "session_id": values["_session_id"],
        "subject_id": values["_subject_id"],
        "assembled_at": iso(values["_assembled_at"]),
        "llm_summary": values["_llm_summary"],
        "long_context_summary": values.get("_long_context_summary"),
        "tiers": [
            {
                "tier": one.tier.number,
                "name": one.tier.name,
                "loaded": one.loaded,
                "files": one.files,
                "keys": [{"key": d.key, "state": d.state, "other": d.other or None} for d in one.decisions],
                "problems": one.problems,
            }
            for one in assembly.tiers
        ],
        "additions": assembly.additions,
        "values": values,
    }


def tier_pairs(assembly: Assembly, strings: Strings) -> list[tuple[str, str]]:
    """The same for a person: pairs of a name and what is said of it, all of it inert."""
    t, values = strings.t, assembly.values
    pairs = [("", t("tiers.not_sent"))]
    for one in assembly.tiers:
        state = "loaded" if one.loaded else "failed" if one.problems else "nothing"
        head = f"{one.tier.number} {t(f'tiers.name_{one.tier.name}')}"
        pairs.append((head, _joined(t(f"tiers.{state}"), *one.files)))
        pairs += _keys(one, values, strings)
        pairs += [("", clean_line(problem)) for problem in one.problems]
    pairs.append((t("tiers.added"), ""))
    for step in assembly.additions:
        pairs += [(f"  {clean_line(key, 40)}", _preview(values[key])) for key in step.keys]
        pairs += [("", clean_line(problem)) for problem in step.problems]
    summary = values["_llm_summary"]
    size = t("tiers.summary_size", n=fmt.number(len(summary)), most=fmt.number(MOST_CHARS))
    return [*pairs, (t("tiers.summary"), size), ("", clean_line(summary, MOST_CHARS) or t("tiers.summary_empty"))]


def _keys(one: TierReport, values: dict[str, Any], strings: Strings) -> Iterator[tuple[str, str]]:
    for decision in one.decisions[:MOST_KEYS]:
        value = _preview(values[decision.key]) if decision.state == "used" else ""
        yield f"  {clean_line(decision.key, 40)}", _joined(_why(decision, strings), value)
    if len(one.decisions) > MOST_KEYS:
        yield "", strings.t("tiers.more", n=fmt.number(len(one.decisions) - MOST_KEYS))


def _why(decision: Decision, strings: Strings) -> str:
    other = strings.t(f"tiers.name_{decision.other}") if decision.other else ""
    return strings.t(f"tiers.{decision.state}{'_other' if other else ''}", tier=other)


def _preview(value: Any) -> str:
    return clean_line(cut(flat(str(value)[: _PREVIEW_CHARS * 8]), _PREVIEW_CHARS), _PREVIEW_CHARS)


def _joined(*parts: str) -> str:
    return "  ".join(part for part in map(clean_line, parts) if part)
