"""A round as a person names it: ``7`` is round 7 of the newest turn that has one, ``2.7`` that of turn 2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from geode_tui.cli.errors import CliError

Round: TypeAlias = tuple[int, int]
"""(turn, round)."""
TURNS_NAMED = 4
"""Turns whose rounds an error names, the newest."""
_WRITTEN = re.compile(r"(?:(\d{1,9})\.)?(\d{1,9})")


def find_round(text: str, rounds: Sequence[Round], session_id: str) -> Round:
    """The round that ``text`` names, of those that there are, oldest first. Raises `CliError`."""
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise CliError(f"a round is written 7, or 2.7 for round 7 of turn 2, not {text!r}")
    turn, round_ = int(written[1] or 0), int(written[2])
    for found in reversed(rounds):
        if found == (turn or found[0], round_):
            return found
    raise CliError(f"there is no round {text} in {session_id}: {_those(rounds)}")


def _those(rounds: Iterable[Round]) -> str:
    """Which rounds there are, in short."""
    turns = [(turn, [round_ for _, round_ in each]) for turn, each in groupby(rounds, key=lambda found: found[0])]
    if not turns:
        return "it has none yet"
    named = [f"{turn}.{each[0]} to {turn}.{each[-1]}" if each[1:] else f"{turn}.{each[0]}" for turn, each in turns]
    earlier = "earlier ones, " if len(named) > TURNS_NAMED else ""
    return f"it has {earlier}{', '.join(named[-TURNS_NAMED:])}"
