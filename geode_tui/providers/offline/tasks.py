"""Tasks, and how a segment of a prompt becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from geode_tui.providers.offline import lexicon, vocabulary
from geode_tui.providers.offline.mentions import Mention, content_words, strip_particle
from geode_tui.providers.offline.segments import Segment

TaskKind: TypeAlias = Literal["read", "survey", "each", "search", "compare", "run", "write", "count", "ask"]


class Task(msgspec.Struct, frozen=True):
    """One thing to do. ``terms`` are searched as they stand, ``words`` say what the prompt is about."""

    kind: TaskKind
    targets: tuple[Mention, ...] = ()
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    folder: str = ""
    glob: str = ""
    whole: bool = False
    ranges: tuple[tuple[int, int], ...] = ()
    rounds: int | None = None
    command: str = ""
    content: str | None = None


class Wish(msgspec.Struct, frozen=True):
    """What the inputs of a turn ask for."""

    korean: bool = False
    tasks: tuple[Task, ...] = ()
    words: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    wrap_up: bool = False


def terms_of(mentions: Sequence[Mention]) -> tuple[str, ...]:
    """The names to be searched as they stand."""
    return tuple(dict.fromkeys(m.text for m in mentions if m.kind in {"symbol", "quoted", "command"}))


class _Named(msgspec.Struct, frozen=True):
    """What a segment names, by kind, and the words of the whole prompt."""

    files: tuple[Mention, ...]
    globs: tuple[str, ...]
    folders: tuple[Mention, ...]
    words: tuple[str, ...]

    @property
    def folder(self) -> str:
        return self.folders[0].text if self.folders else ""


def task_of(segment: Segment, words: tuple[str, ...], text: str) -> Task | None:
    """The task a segment asks for, or None if it says nothing; ``words`` and ``text`` are the whole prompt's."""
    by_kind = {k: tuple(m for m in segment.mentions if m.kind == k) for k in ("file", "glob", "folder")}
    named = _Named(by_kind["file"], tuple(m.text for m in by_kind["glob"]), by_kind["folder"], words)
    builders: dict[str, Callable[[Segment, _Named], Task | None]] = {
        "run": _run,
        "write": _write,
        "count": _count,
        "search": _search,
        "compare": _compare,
        "survey": _survey,
    }
    if segment.verb in {"read", "survey"} and not named.files and lexicon.EACH.search(segment.text):
        return Task("each", named.folders, words=words, folder=named.folder, rounds=_rounds(text))
    builder = builders.get(segment.verb)
    task = builder(segment, named) if builder else None
    if task is not None:
        return task
    if segment.verb == "run":
        return _ask(segment, words)
    if named.files or named.globs:
        targets = tuple(m for m in segment.mentions if m.kind in {"file", "glob"})
        whole = lexicon.WHOLE.search(text) is not None
        return Task("read", targets, words=words, whole=whole, ranges=_ranges(segment.raw))
    rounds = _rounds(text)
    if named.folders:
        return Task("survey", named.folders, words=words, folder=named.folder, rounds=rounds)
    about_project = segment.verb in {"read", "survey"} and lexicon.PROJECT.search(segment.text) is not None
    if about_project or (rounds and segment.verb):
        return Task("survey", words=words, rounds=rounds)
    return _ask(segment, words)


def _ask(segment: Segment, words: tuple[str, ...]) -> Task | None:
    terms = terms_of(segment.mentions)
    own = tuple(w for w in content_words(segment.raw)) or (words if terms else ())
    whole = lexicon.WHOLE.search(segment.text) is not None
    return Task("ask", terms=terms, words=own, whole=whole) if terms or own else None


def _run(segment: Segment, named: _Named) -> Task | None:
    quoted = [
        m.text
        for m in segment.mentions
        if m.kind in {"command", "quoted"} or (m.kind == "symbol" and f"`{m.text}`" in segment.raw)
    ]
    command = quoted[0] if quoted else _bare_command(segment.raw)
    if command:
        return Task("run", command=command, words=named.words)
    if lexicon.TESTS.search(segment.text) or any(f.text in {"tests", "test"} for f in named.folders):
        return Task("run", words=("tests",))
    program = {"py": "python", "sh": "sh", "js": "node"}
    file = next((f.text for f in named.files if f.text.rsplit(".", 1)[-1] in program), "")
    return Task("run", command=f"{program[file.rsplit('.', 1)[-1]]} {file}", words=named.words) if file else None


def _bare_command(raw: str) -> str:
    """A command that stands in the sentence without quotes, if it starts with a program known by name or by path."""
    rest = re.sub(
        r"^.*?\b(?:run|execute|launch)\b\s*(?:the (?:command|script)\s+)?", "", raw, flags=re.IGNORECASE | re.DOTALL
    )
    rest = re.sub(r"(?:을|를)?\s*(?:명령(?:을|어를)?\s*)?(?:좀\s*)?(?:실행|돌려|돌리).*$", "", rest, flags=re.DOTALL)
    rest = re.split(r",? and (?:tell|show|report|say|give|then)\b|[,;]\s|\.\s|\.$|\?", rest.strip())[0].strip(" .,:\n")
    rest = re.sub(r"\s+(?:and|then)$", "", rest)
    first = rest.split()[0] if rest.split() else ""
    return rest if first in vocabulary.COMMANDS or first.startswith("./") else ""


def _write(segment: Segment, named: _Named) -> Task | None:
    if not named.files:
        return None
    target = named.files[-1]
    quoted = [m.text for m in segment.mentions if m.kind in {"quoted", "symbol", "command"} and m.text != target.text]
    content = quoted[0] if quoted else _bare_content(segment.raw.partition(target.text)[2])
    return Task("write", (target,), words=named.words, content=content)


def _bare_content(tail: str) -> str | None:
    """What should stand in a file, by the words behind its name; None if that is what is found out."""
    match = lexicon.CONTENT.search(tail)
    if match is None or lexicon.FINDINGS.match(tail, match.end()):
        return None
    return tail[match.end() :].strip(" :.\n") or None


def _count(segment: Segment, named: _Named) -> Task | None:
    if named.files:
        return Task("count", named.files, words=named.words, whole=True)
    folder = named.folder or _bare_folder(segment)
    terms = terms_of(segment.mentions)
    if terms:
        return Task("count", terms=terms, words=named.words, folder=folder)
    pattern = named.globs[0] if named.globs else _language_glob(segment)
    if pattern:
        return Task("count", glob=pattern, words=named.words, folder=folder)
    own = content_words(segment.raw)
    return Task("count", words=own, folder=folder) if own else None


def _language_glob(segment: Segment) -> str:
    """The pattern of the files a sentence counts: of a language, of an ending, or all; empty if it counts no files."""
    text = segment.text.lower()
    for name, ending in vocabulary.LANGUAGES.items():
        if re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z+])", text):
            return f"*.{ending}"
    match = re.search(r"\.([a-z]{1,5})\s+files?", segment.raw)
    if match is not None:
        return f"*.{match.group(1)}"
    return "*" if re.search(r"\bfiles?\b|파일", text) else ""


def _bare_folder(segment: Segment) -> str:
    """A folder named by its place in the sentence alone: ``in widgets``, ``widgets에``."""
    match = re.search(
        r"\b(?:in|under|inside)\s+(?:the\s+)?([A-Za-z_][\w\-]*)|([A-Za-z_][A-Za-z0-9_\-]*)(?:에|의)", segment.text
    )
    name = (match.group(1) or match.group(2)) if match else ""
    return "" if name.lower() in vocabulary.STOP_WORDS or lexicon.PROJECT.search(name) else name


def _search(segment: Segment, named: _Named) -> Task | None:
    own = content_words(segment.raw)
    terms = terms_of(segment.mentions) or _bare_terms(segment)
    if not terms and not own:
        return Task("read", named.files, words=named.words) if named.files else None
    pattern = named.globs[0] if named.globs else ""
    return Task("search", named.files, terms=terms, words=own, folder=named.folder, glob=pattern)


def _bare_terms(segment: Segment) -> tuple[str, ...]:
    """The thing searched for where it is one word without quotes: ``search for retry`` or ``retry를 찾아줘``."""
    match = lexicon.BARE_TERM.search(segment.text) or lexicon.BARE_TERM_KO.search(segment.text)
    word = strip_particle(match.group(1)) if match else ""
    return () if not word or word.lower() in vocabulary.STOP_WORDS else (word,)


def _compare(segment: Segment, named: _Named) -> Task | None:
    pair = tuple(m for m in segment.mentions if m.kind in {"file", "folder", "symbol"})
    return Task("compare", pair[:4], words=named.words) if pair else None


def _survey(segment: Segment, named: _Named) -> Task | None:
    if named.files or named.globs:
        return None
    terms = terms_of(segment.mentions)
    if terms and not named.folders and not lexicon.PROJECT.search(segment.text):
        return Task("search", terms=terms, words=named.words)
    rounds = _rounds(segment.raw)
    return Task("survey", named.folders, terms=terms, words=named.words, folder=named.folder, rounds=rounds)


def _rounds(text: str) -> int | None:
    match = lexicon.ROUNDS.search(text)
    return max(1, min(2_000, int(match.group(1)))) if match else None


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Line ranges, inclusive, at most 3."""
    found: list[tuple[int, int]] = []
    for pattern in lexicon.RANGES:
        found += [(int(a), int(b)) for a, b in pattern.findall(text)]
    for match in lexicon.FIRST_LINES.finditer(text):
        found.append((1, int(next(g for g in match.groups() if g))))
    if not found:
        for match in lexicon.ONE_LINE.finditer(text):
            line = int(next(g for g in match.groups() if g))
            found.append((max(1, line - 2), line + 2))
    return tuple(dict.fromkeys((max(1, min(a, b)), max(1, a, b)) for a, b in found))[:3]
