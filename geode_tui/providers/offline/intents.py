"""From the text of a turn's inputs to what it asks for: tasks, filters, and whether to stop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from geode_tui.providers.offline import lexicon, vocabulary
from geode_tui.providers.offline.mentions import Mention, content_words, is_korean, normalise, scan
from geode_tui.providers.offline.segments import cut_segments
from geode_tui.providers.offline.tasks import Task, Wish, task_of, terms_of

BRIEF_SURVEY: Final = 8
"""Rounds of a survey that only feeds a file."""


def parse(text: str, previous: Wish | None = None) -> Wish:
    """The wish of one input. ``previous`` is what came before it in the conversation: a follow-up without a verb or
    without a subject takes what it lacks from there."""
    text = normalise(text)[:20_000]
    prose, mentions = scan(text)
    exclude, only = _filters(prose, mentions)
    named = tuple(m for m in mentions if m.text not in exclude and m.kind != "url")
    segments = cut_segments(text, prose, named)
    words = content_words(text)
    wrap_up = lexicon.WRAP_UP.search(prose) is not None and not exclude and not only
    tasks: list[Task] = []
    for segment in segments:
        if (exclude or only) and not segment.verb:
            continue
        task = task_of(segment, words, text)
        if task is not None and task not in tasks:
            tasks.append(task)
    tasks = _settle(tasks)
    if wrap_up or exclude or only:
        tasks = [t for t in tasks if t.kind != "ask"]
    if previous is not None and previous.tasks and not wrap_up:
        tasks = _inherit(tasks, previous.tasks, prose, named, words)
    if not tasks and not wrap_up and not exclude and not only:
        tasks = [Task("ask", words=words, terms=terms_of(named))]
    return Wish(is_korean(text), tuple(tasks), words, exclude, only, wrap_up)


def combine(inputs: Sequence[str], previous: Wish | None = None) -> Wish:
    """The wish of a turn: its first input and what was typed while it ran. A later wish to stop wins; a later input
    puts its tasks before those that are still open, and its filters hold for everything."""
    total = parse(inputs[0] if inputs else "", previous)
    if total.tasks:
        # Words that mean "stop" while something runs are part of the subject in a prompt that starts something.
        total = msgspec.structs.replace(total, tasks=_with_findings(total), wrap_up=False)
    for text in inputs[1:]:
        later = parse(text, total)
        total = Wish(
            total.korean,
            _merge(later.tasks, total.tasks),
            tuple(dict.fromkeys(total.words + later.words)),
            total.exclude + later.exclude,
            total.only + later.only,
            later.wrap_up or (total.wrap_up and not later.tasks),
        )
    return total


def _with_findings(wish: Wish) -> tuple[Task, ...]:
    """The tasks, with something to find out before a file is written that should hold what was found."""
    if any(t.kind != "write" or t.content is not None for t in wish.tasks):
        return wish.tasks
    finding = Task("ask", words=wish.words) if wish.words else Task("survey", rounds=BRIEF_SURVEY)
    return (finding, *wish.tasks)


def _merge(first: tuple[Task, ...], later: tuple[Task, ...]) -> tuple[Task, ...]:
    tasks = first + tuple(t for t in later if t not in first)
    return tuple(t for t in tasks if t.kind != "write") + tuple(t for t in tasks if t.kind == "write")


def _filters(prose: str, mentions: tuple[Mention, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names to leave out and names to keep to, by the words around them."""
    exclude: list[str] = []
    only: list[str] = []
    spans = [(m.text, m.start, m.end) for m in mentions if m.kind in {"folder", "file", "glob"}]
    taken = {s[1] for s in spans}
    spans += [
        (m.group(), m.start(), m.end())
        for m in re.finditer(r"[A-Za-z]{3,}|[가-힣]{2,}", prose)
        if m.start() not in taken
        and (m.group().lower() in vocabulary.FOLDERS or "테스트" in m.group() or "문서" in m.group())
    ]
    for text, start, end in spans:
        before, after = prose[:start], prose[end:]
        korean = re.match(r"(테스트|문서)(.*)", text)
        name, after = (_folder_of(korean.group(1)), korean.group(2) + after) if korean else (text, after)
        if lexicon.EXCLUDE_BEFORE.search(before) or lexicon.EXCLUDE_AFTER.match(after):
            exclude.append(name)
        elif lexicon.ONLY_BEFORE.search(before) or lexicon.ONLY_AFTER.match(after):
            only.append(name)
    return tuple(exclude), tuple(only)


def _folder_of(word: str) -> str:
    return {"테스트": "tests", "문서": "docs"}[word]


def _settle(tasks: list[Task]) -> list[Task]:
    """Drop vague tasks beside definite ones, keep one survey of the whole project, and put writing last."""
    definite = [t for t in tasks if t.kind != "ask"]
    if definite and all(t.kind == "write" for t in definite):
        return list(_merge(tuple(tasks), ()))
    if not definite:
        return tasks[:1] if len(tasks) < 2 else [_join_asks(tasks)]
    surveys = [t for t in definite if t.kind == "survey" and not t.folder]
    widest = max(surveys, key=lambda t: t.rounds or 0, default=None)
    kept = [t for t in definite if t not in surveys or t is widest]
    return list(_merge(tuple(kept), ()))


def _join_asks(tasks: list[Task]) -> Task:
    terms = tuple(dict.fromkeys(t for task in tasks for t in task.terms))
    return Task("ask", terms=terms, words=tuple(dict.fromkeys(w for task in tasks for w in task.words))[:8])


def _inherit(
    tasks: list[Task], before: tuple[Task, ...], prose: str, named: tuple[Mention, ...], words: tuple[str, ...]
) -> list[Task]:
    """Complete a follow-up from the tasks before it."""
    main = next((t for t in before if t.kind in {"search", "ask", "survey"}), before[0])
    has_verb = any(p.search(prose) for _, p in lexicon.VERBS)
    if lexicon.FOLLOW_UP.search(prose) and not has_verb and len(prose) < 120:
        return [_with_subject(main, named, words)]
    if lexicon.BACK_REFERENCE.search(prose) and not named:
        files = tuple(m for t in before for m in t.targets if m.kind == "file")
        if files and (not tasks or tasks[0].kind in {"ask", "search"}):
            terms = tasks[0].terms if tasks else ()
            return [Task("read", files[:2], words=words, whole=lexicon.WHOLE.search(prose) is not None, terms=terms)]
    return tasks


def _with_subject(task: Task, named: tuple[Mention, ...], words: tuple[str, ...]) -> Task:
    """``task`` again with what the follow-up names in the place of its own subject or scope."""
    folder = next((m.text for m in named if m.kind == "folder"), "")
    if not folder and any("테스트" in w or w in {"test", "tests"} for w in words):
        folder = "tests"
    if not folder and any("문서" in w or w == "docs" for w in words):
        folder = "docs"
    files = tuple(m for m in named if m.kind == "file")
    if files:
        return Task("read", files, words=words or task.words)
    if folder and task.kind in {"search", "ask"}:
        return msgspec.structs.replace(task, kind="search", folder=folder)
    if folder:
        return Task("survey", (Mention("folder", folder, 0, 0, weak=True),), words=words, folder=folder)
    terms = terms_of(named)
    return Task("search", terms=terms, words=words) if terms or words else task
