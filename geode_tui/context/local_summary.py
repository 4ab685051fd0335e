"""A summary that no model writes: facts from the log under the eleven headings (RUNTIME.md 3.3). Pure.

It is what a run goes on with where no model can be asked, or where what it wrote cannot be used. The same messages
always give the same text, and folding it again without new messages changes nothing.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from geode_tui.context.local_facts import Command, Facts, FileUse, Progress, facts_of, joined, progress_of
from geode_tui.context.summary_form import formed, inert, normalised, sections, unwrapped
from geode_tui.context.summary_parts import Count, cut
from geode_tui.context.view import Item
from geode_tui.core.headings import FILES_READ, LAST_READ, ROUNDS_DONE, SUMMARY_HEADINGS

TASK_CHARS: Final = 2_000
"""Of the latest instruction this much stands under "Active Task"."""
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_LATIN: Final = re.compile("[A-Za-z]")


class _Words(msgspec.Struct, frozen=True):
    """What the summary says beside the facts, in one language."""

    note: str
    older: str
    read: str
    written: str
    exit_code: str
    failed: str
    done: str
    active: str


_ENGLISH: Final = _Words(
    "Put together from the log by the program; no model wrote this summary. Blocked lists the errors that were met,"
    " solved or not, Pending User Asks all that was asked, done or not. Results are not repeated.",
    "({} older left out)",
    "read {}",
    "written {}",
    "exit code {}",
    "failed",
    "done: {}",
    "in progress: {}",
)
_KOREAN: Final = _Words(
    "프로그램이 기록에서 모은 요약이며 모델이 쓰지 않았습니다. Blocked에는 해결 여부와 관계없이 있었던 오류를,"
    " Pending User Asks에는 끝났는지와 관계없이 모든 요청을 적었습니다. 도구 결과의 내용은 옮기지 않았습니다.",
    "(이전 항목 {}개 생략)",
    "읽음 {}",
    "씀 {}",
    "종료 코드 {}",
    "실패",
    "완료: {}",
    "진행 중: {}",
)
_NOTES: Final = frozenset({_ENGLISH.note, _KOREAN.note})
_OLDER: Final = re.compile(r"\((?:(\d+) older left out|이전 항목 (\d+)개 생략)\)")
_FILE: Final = re.compile(
    r"`([^`\n]+)`: (?:(?:read|읽음) (\d+))?(?:, )?(?:(?:written|씀) (\d+))? ?\(seq (\d+)(?:-(\d+))?\)"
)
_MOST: Final = {
    "Constraints & Preferences": 20,
    "Completed Actions": 20,
    "Blocked": 10,
    "Key Decisions": 15,
    "Relevant Files": 40,
    "Critical Context": 20,
}
"""Bullets that a section keeps at most, the newest."""
_PROGRESS: Final = (f"{ROUNDS_DONE}: ", f"{FILES_READ}: ", f"{LAST_READ}: ")
_GIVES_WAY: Final = (
    ("Completed Actions", 5),
    ("Relevant Files", 15),
    ("Key Decisions", 4),
    ("Blocked", 3),
    ("Critical Context", 5),
    ("Relevant Files", 3),
    ("Completed Actions", 0),
    ("Key Decisions", 0),
    ("Critical Context", 1),
    ("Blocked", 0),
    ("Constraints & Preferences", 3),
    ("Relevant Files", 0),
    ("Remaining Work", 3),
    ("Active State", 1),
)
"""Sections that lose their oldest bullets where there is no room, and how many each keeps at that point."""
_SHORTER: Final = (200, 100, 50)
"""Characters to which what was asked is cut after that."""
_LAST_RESORTS: Final = (
    ("Pending User Asks", 3),
    ("Constraints & Preferences", 0),
    ("Remaining Work", 0),
    ("Active State", 0),
    ("Pending User Asks", 0),
    ("Goal", 0),
    ("Critical Context", 0),
    ("Active Task", 0),
)


class _Section(msgspec.Struct, frozen=True):
    """Bullets, oldest first, and how many older ones there were."""

    bullets: tuple[str, ...] = ()
    older: int = 0

    def newest(self, most: int) -> _Section:
        """The section with at most so many bullets."""
        gone = max(0, len(self.bullets) - most)
        return _Section(self.bullets[gone:], self.older + gone)


_Sections = Mapping[str, _Section]


def local_summary(items: Sequence[Item], previous: str, latest: str, limit_tokens: int, count: Count) -> str:
    """A summary of ``items``.

    Args:
        items: The messages that it is to stand for, as the transcript has them.
        previous: Text of the summary that stands now, by whom ever; what it says is carried over.
        latest: The person's latest instruction.
        limit_tokens: Tokens of the text at most. Below the size of the bare headings (some 90) it has these.
        count: Counts tokens of a text.
    """
    facts, before = facts_of(items), _read(previous)
    words = _language(latest or " ".join(text for _, text in facts.asks) or previous)
    made = _merged(before, _said(facts, latest, words), facts, words)
    made["Active State"] = _with_progress(made, before, progress_of(items))
    kept = {heading: section.newest(_MOST.get(heading, len(section.bullets))) for heading, section in made.items()}
    return _fitted(kept, words, limit_tokens, count)


def _language(text: str) -> _Words:
    """Korean where a third of what is written is: its text is full of names in Latin letters."""
    return _KOREAN if len(_HANGUL.findall(text)) * 3 > len(_LATIN.findall(text)) else _ENGLISH


# -- from facts to bullets ---------------------------------------------------------------------------------------------


def _said(facts: Facts, latest: str, words: _Words) -> dict[str, tuple[str, ...]]:
    plan = [(inert(step), at) for step, at in facts.plan or ()]
    return {
        "Active Task": (_block(latest),) if latest.strip() else (),
        "Goal": tuple(map(_cited, facts.asks[:1])),
        "Constraints & Preferences": tuple(map(_cited, facts.constraints)),
        "Completed Actions": (
            *(_command(command, words) for command in facts.commands),
            *(words.done.format(step) for step, at in plan if at == "done"),
        ),
        "Active State": (
            *((_cited(facts.state),) if facts.state else ()),
            *(words.active.format(step) for step, at in plan if at == "active"),
        ),
        "Blocked": tuple(map(_cited, facts.errors)),
        "Key Decisions": tuple(map(_cited, facts.decisions)),
        "Pending User Asks": tuple(map(_cited, facts.asks)),
        "Remaining Work": tuple(step for step, at in plan if at not in {"done", "active"}),
    }


def _cited(fact: tuple[int, str]) -> str:
    return f"(seq {fact[0]}) {inert(fact[1])}"


def _block(text: str) -> str:
    """A text of several lines as one bullet."""
    lines = (line.strip() for line in inert(cut(text.strip(), TASK_CHARS)).split("\n"))
    return "\n  ".join(line for line in lines if line)


def _command(command: Command, words: _Words) -> str:
    came = words.failed if command.failed else ""
    if command.exit_code is not None:
        came = words.exit_code.format(command.exit_code)
    return f"(seq {command.seq}) `{inert(command.text)}`" + (f": {came}" if came else "")


def _file(use: FileUse, words: _Words) -> str:
    counts = [words.read.format(use.read)] * bool(use.read) + [words.written.format(use.written)] * bool(use.written)
    span = f"{use.first}-{use.last}" if use.last > use.first else f"{use.first}"
    return f"`{inert(use.path)}`: {', '.join(counts)} (seq {span})"


# -- merging -----------------------------------------------------------------------------------------------------------


def _read(text: str) -> _Sections:
    """The bullets of a summary, of this module's or of a model's."""
    return {heading: _bullets(lines) for heading, lines in sections(unwrapped(text)).items()} if text.strip() else {}


def _bullets(lines: Iterable[str]) -> _Section:
    bullets: list[str] = []
    older = 0
    for line in lines:
        if found := _OLDER.fullmatch(line.removeprefix("- ")):
            older += int(found[1] or found[2])
        elif line.startswith((" ", "\t")) and bullets:
            bullets[-1] += f"\n  {line.strip()}"
        elif bullet := (line[2:] if line.startswith(("- ", "* ")) else line.lstrip("# ")).strip():
            bullets.append(bullet)
    return _Section(tuple(bullets), older)


def _merged(before: _Sections, said: Mapping[str, tuple[str, ...]], facts: Facts, words: _Words) -> dict[str, _Section]:
    """What was said before and what is said now. The task, the state and the plan are as they are now, the goal as it
    was set first, all else adds up.
    """
    made: dict[str, _Section] = {}
    for heading in SUMMARY_HEADINGS:
        old, new = before.get(heading, _Section()), said.get(heading, ())
        if heading == "Relevant Files":
            made[heading] = _Section(_files(old.bullets, facts.files, words), old.older)
        elif heading in {"Active Task", "Active State"} or (heading == "Remaining Work" and facts.plan is not None):
            made[heading] = _Section(new) if new or heading == "Remaining Work" else old
        elif heading == "Goal":
            made[heading] = old if old.bullets else _Section(new)
        else:
            made[heading] = _Section(tuple(dict.fromkeys((*old.bullets, *new))), old.older)
    context = made["Critical Context"]
    kept = tuple(bullet for bullet in context.bullets if bullet not in _NOTES)
    made["Critical Context"] = _Section((*kept, words.note), context.older)
    return made


def _with_progress(made: _Sections, before: _Sections, now: Progress) -> _Section:
    """The state, and how far the task came: with what came before, where that was the same task."""
    state, old = made["Active State"], before.get("Active State", _Section())
    told = dict(bullet.split(": ", 1) for bullet in old.bullets if bullet.startswith(_PROGRESS))
    if before.get("Active Task", _Section()).bullets != made["Active Task"].bullets:
        told = {}
    rows = (
        (ROUNDS_DONE, _number(told.get(ROUNDS_DONE, "")) + now.rounds),
        (FILES_READ, _number(told.get(FILES_READ, "")) + now.files),
        (LAST_READ, f"`{inert(now.last)}`" if now.last else told.get(LAST_READ, "")),
    )
    said = tuple(bullet for bullet in state.bullets if not bullet.startswith(_PROGRESS))
    return _Section((*said, *(f"{name}: {value}" for name, value in rows if value)), state.older)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _files(old: Sequence[str], uses: Sequence[FileUse], words: _Words) -> tuple[str, ...]:
    lines: dict[str, str] = {}
    known: dict[str, FileUse] = {}
    for bullet in old:
        if found := _FILE.fullmatch(bullet):
            path = found[1]
            known[path] = FileUse(
                path, int(found[2] or 0), int(found[3] or 0), int(found[4]), int(found[5] or found[4])
            )
            lines[path] = _file(known[path], words)
        else:
            lines[bullet.strip("`")] = bullet
    for use in uses:
        path = inert(use.path)
        lines.pop(path, None)
        lines[path] = _file(joined(known.get(path), use), words)
    return tuple(lines.values())


# -- making it fit -----------------------------------------------------------------------------------------------------


def _fitted(made: Mapping[str, _Section], words: _Words, limit_tokens: int, count: Count) -> str:
    """The text within the limit: first the oldest of what was done gives way, last what the person asked."""
    now = dict(made)

    def fits(sections: _Sections) -> bool:
        return count(_text(sections, words)) <= limit_tokens

    for heading, keep in _GIVES_WAY:
        now = _dropped(now, heading, keep, fits)
    for chars in _SHORTER:
        if not fits(now):
            now = {heading: _shorter(heading, section, chars) for heading, section in now.items()}
    for heading, keep in _LAST_RESORTS:
        now = _dropped(now, heading, keep, fits)
    return _text(now, words)


def _dropped(
    now: dict[str, _Section], heading: str, keep: int, fits: Callable[[_Sections], bool]
) -> dict[str, _Section]:
    """``now`` with as few of the oldest bullets left out below ``heading`` as it takes, down to ``keep``."""
    most = len(now[heading].bullets)
    if most <= keep or fits(now):
        return now
    tried = {kept: {**now, heading: now[heading].newest(kept)} for kept in range(keep, most)}
    if not fits(tried[keep]):
        return tried[keep]
    return tried[most - 1 - bisect.bisect_left(range(most - keep), True, key=lambda gone: fits(tried[most - 1 - gone]))]


def _shorter(heading: str, section: _Section, chars: int) -> _Section:
    """What was asked in fewer words; the task keeps four times as many."""
    if heading not in {"Active Task", "Goal", "Constraints & Preferences", "Pending User Asks"}:
        return section
    most = chars * 4 if heading == "Active Task" else chars
    return _Section(tuple(cut(bullet, most) for bullet in section.bullets), section.older)


def _text(made: _Sections, words: _Words) -> str:
    lines = {
        heading: [
            *([f"- {words.older.format(section.older)}"] if section.older else []),
            *(line for bullet in section.bullets for line in f"- {bullet}".split("\n")),
        ]
        for heading, section in made.items()
    }
    return normalised(formed(lines))
