"""Cutting a prompt into segments of one verb each."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from geode_tui.providers.offline import lexicon
from geode_tui.providers.offline.mentions import Mention


class Segment(msgspec.Struct, frozen=True):
    """A stretch of a prompt that one verb governs; ``verb`` is its family, empty without one. In ``text`` names are
    replaced by filler, ``raw`` has them in place."""

    verb: str
    text: str
    raw: str
    mentions: tuple[Mention, ...]


def cut_segments(text: str, prose: str, mentions: tuple[Mention, ...]) -> list[Segment]:
    """Cut at sentence ends, then one segment a verb: an English verb comes before what it governs, a Korean after."""
    segments: list[Segment] = []
    cuts = [m.end() for m in re.finditer(r"[.!?;。？！]+(?:\s|$)|\n+|\bthen\b|다음에|한 ?뒤|한 ?후", prose)]
    for start, end in zip([0, *cuts], [*cuts, len(prose)], strict=True):
        if prose[start:end].strip(" .!?\n"):
            segments += _clauses(text, prose, start, end, mentions)
    return segments


def _clauses(text: str, prose: str, start: int, end: int, mentions: tuple[Mention, ...]) -> list[Segment]:
    verbs = _verbs(prose, start, end)
    edges = [start]
    for (_, _, left_end, left), (_, right_start, _, _) in pairwise(verbs):
        edges.append(left_end if re.search(r"[가-힣]", left) else right_start)
    edges.append(end)
    kinds = [v[0] for v in verbs] or [""]
    return [
        Segment(kind, prose[a:b], text[a:b], tuple(m for m in mentions if a <= m.start < b))
        for kind, (a, b) in zip(kinds, pairwise(edges), strict=True)
    ]


def _verbs(prose: str, start: int, end: int) -> list[tuple[str, int, int, str]]:
    found: list[tuple[str, int, int, str]] = []
    for kind, pattern in lexicon.VERBS:
        for match in pattern.finditer(prose, start, end):
            if all(match.end() <= s or match.start() >= e for _, s, e, _ in found):
                found.append((kind, match.start(), match.end(), match.group()))
    found.sort(key=lambda v: v[1])
    merged: list[tuple[str, int, int, str]] = []
    for verb in found:
        if merged and merged[-1][0] == verb[0] and "\x00" not in prose[merged[-1][2] : verb[1]]:
            merged[-1] = (verb[0], merged[-1][1], verb[2], verb[3])
        else:
            merged.append(verb)
    return merged
