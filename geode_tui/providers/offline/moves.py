"""The next calls of a task, from what is known. Every function is a pure reading of the board: when it returns no
calls, the task is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from geode_tui.providers.offline import vocabulary
from geode_tui.providers.offline.board import PART_LINES, Board, Call, hash_of, is_dull, regex_escape
from geode_tui.providers.offline.evidence import Line, glob_paths
from geode_tui.providers.offline.mentions import normalise
from geode_tui.providers.offline.tasks import Task

LONGEST_PATTERN: Final = 900
WINDOW: Final = 60
"""Lines read around a hit."""
WIDTH: Final = 3
"""Calls in one round."""


class Move(msgspec.Struct, frozen=True):
    """What a task wants next. ``phase`` counts the steps of its plan that are behind it; ``say`` names the phrase that
    explains the calls, with ``about`` for its blank."""

    phase: int
    calls: tuple[Call, ...] = ()
    say: str = ""
    about: str = ""


DONE: Final = Move(9)


def next_move(task: Task, board: Board) -> Move:
    """The next move of ``task``; without calls when it has nothing left to do."""
    recalls = board.recalls()
    if recalls:
        return Move(1, tuple(recalls[:WIDTH]), "recall")
    makers: dict[str, Callable[[Task, Board], Move]] = {
        "read": _read,
        "search": _search,
        "ask": _ask,
        "compare": _compare,
        "run": _run,
        "count": _count,
    }
    maker = makers.get(task.kind)
    return maker(task, board) if maker is not None else DONE


def _some(calls: Iterable[Call | None]) -> tuple[Call, ...]:
    """The calls there are, each once, at most `WIDTH`."""
    unique: dict[str, Call] = {}
    for call in calls:
        if call is not None:
            unique.setdefault(call.key, call)
    return tuple(unique.values())[:WIDTH]


def paths_text(calls: Iterable[Call]) -> str:
    """The paths of ``calls``, for a sentence."""
    return ", ".join(f"`{c.args['path']}`" for c in calls)


def _base(path: str) -> str:
    """The name of a file, for comparing."""
    return normalise(path.rsplit("/", 1)[-1]).casefold()


def _names(task: Task) -> str:
    return ", ".join(f"`{m.text}`" for m in task.targets[:3])


def targets_of(task: Task, board: Board) -> tuple[list[str], list[Call]]:
    """The files of a task that are known, and the calls that should find the others."""
    paths: list[str] = []
    finding: list[Call] = []
    for target in task.targets[:8]:
        if target.kind == "glob":
            pattern = target.text if "/" in target.text else f"**/{target.text}"
            call = board.call("glob", pattern=pattern)
            if call is not None:
                finding.append(call)
            step = board.step_of("glob", pattern=pattern)
            if step is not None and step.result is not None and not step.is_error:
                paths += [p for p in glob_paths(step.result) if board.wanted(p)][:4]
            continue
        found, find_call = board.find(target)
        inside = f"{target.text.removeprefix('./').strip('/')}/"
        meant_folder = bool(found) and task.kind == "read" and all(inside in f"/{p}" for p in found)
        few = 2 if task.kind == "compare" and len(task.targets) == 1 else 1
        paths += found if meant_folder else found[:few]
        if find_call is not None:
            finding.append(find_call)
    return list(dict.fromkeys(paths)), finding


def _read(task: Task, board: Board) -> Move:
    paths, finding = targets_of(task, board)
    if finding:
        return Move(0, _some(finding), "find", _names(task))
    reads: list[Call | None] = []
    for path in paths:
        if task.ranges:
            reads += [board.read_call(path, start=a, lines=b - a + 1) for a, b in task.ranges]
        else:
            reads.append(board.read_call(path, whole=task.whole))
    calls = _some(reads)
    if calls:
        return Move(1, calls, "read_whole" if task.whole else "read", paths_text(calls))
    return _look_further(task, board, paths)


def _look_further(task: Task, board: Board, paths: list[str]) -> Move:
    """In a file longer than what was read, look for the prompt's own words in the rest."""
    pattern = pattern_of(task)
    if task.whole or task.ranges or not pattern:
        return DONE
    for path in paths:
        start = board.longer.get(path)
        if start is None:
            continue
        call = board.call("grep", pattern=pattern, path=path, ignore_case=True)
        if call is not None:
            return Move(1, (call,), "look_further", f"`{path}`")
        hits = [h for h in board.hits if h.path == path and h.number not in board.lines.get(path, {})]
        if hits and len(board.steps("read_file")) < 6:
            around = _around(best_hits(hits, task)[:1], board)
            if around:
                return Move(1, around, "around", f"`{path}`")
    return DONE


def pattern_of(task: Task, *, loose: bool = False) -> str:
    """The regular expression a task searches: its terms as they stand, or its words with their translations."""
    if task.terms and not loose:
        parts = [regex_escape(t) for t in task.terms[:4]]
        return _joined(parts)
    parts = []
    for word in task.words[:6]:
        known = vocabulary.TRANSLATIONS.get(word)
        parts.append(regex_escape(_stem(word)))
        if known:
            parts.append(known)
    for term in task.terms[:3] if loose else ():
        pieces = re.findall(r"[A-Z]?[a-z]{3,}|[가-힣]{2,}|[A-Z]{3,}", term)
        parts += [regex_escape(p) for p in pieces[:3]]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    """Alternatives as one expression, within the length a search takes."""
    kept = list(dict.fromkeys(p for p in parts if p))
    while sum(len(p) + 1 for p in kept) > LONGEST_PATTERN:
        kept.pop()
    return "|".join(kept)


def _stem(word: str) -> str:
    """An English word without its commonest ending, so that ``loaded`` also finds ``load``."""
    if not word.isascii() or len(word) < 6:
        return word
    for ending in ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


_DEFINES = re.compile(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:async\s+)?(?:static\s+)?(?:public\s+|private\s+)?"
    r"(?:def|class|fn|func|function|struct|enum|trait|interface|type|const|let|var|module|impl|macro_rules!|sub|object|record)\b"
)


def defines(text: str) -> bool:
    """Whether a line looks like a definition."""
    return _DEFINES.match(text) is not None


def best_hits(hits: Iterable[Line], task: Task) -> list[Line]:
    """Hits worth reading around, the best of each file, best first: definitions, several of the prompt's words, code
    before tests."""
    words = [w for w in (*task.terms, *(_stem(w) for w in task.words)) if w]

    def score(hit: Line) -> tuple[float, int, str, int]:
        text = f"{hit.text} {hit.path}".casefold()
        value = sum(2.0 for w in words if w.casefold() in hit.text.casefold()) + sum(
            1.0 for w in words if w.casefold() in text
        )
        value += 3.0 if defines(hit.text) else 0.0
        value += 1.0 if hit.text.lstrip().startswith("#") and hit.path.endswith((".md", ".rst")) else 0.0
        value -= (
            1.5
            if re.search(
                r"(?:^|/)(?:tests?|spec|vendor|third_party|node_modules|dist|locale)s?/|[._-]lock|\.min\.|\.svg$",
                hit.path,
            )
            else 0.0
        )
        return (-value, hit.path.count("/"), hit.path, hit.number)

    best: dict[str, Line] = {}
    for hit in sorted(hits, key=score):
        best.setdefault(hit.path, hit)
    return list(best.values())


def _around(hits: Iterable[Line], board: Board) -> tuple[Call, ...]:
    calls = []
    for hit in hits:
        if hit.number in board.lines.get(hit.path, {}):
            continue
        start = max(1, hit.number - WINDOW // 4)
        calls.append(board.read_call(hit.path, start=start, lines=WINDOW))
    return _some(calls)


def _scope(task: Task, board: Board) -> tuple[str, Call | None]:
    """Where a task searches: its first file, its folder, or everything; or the call that should find that."""
    if task.targets and not task.folder:
        paths, finding = targets_of(task, board)
        return (paths[0] if paths else "."), (finding[0] if finding else None)
    if not task.folder:
        return ".", None
    path, call = board.find_folder(task.folder)
    return path or ".", call


def _grep(board: Board, pattern: str, path: str, task: Task, *, ignore_case: bool) -> Call | None:
    return board.call("grep", pattern=pattern, path=path, glob=task.glob or None, ignore_case=ignore_case or None)


def _search(task: Task, board: Board) -> Move:
    path, finding = _scope(task, board)
    if finding is not None:
        return Move(0, (finding,), "find", f"`{task.folder}`" if task.folder else _names(task))
    pattern = pattern_of(task)
    about = ", ".join(f"`{t}`" for t in task.terms or task.words)
    tries = [_grep(board, pattern, path, task, ignore_case=not task.terms or any(t.islower() for t in task.terms))]
    name = (task.terms or task.words or ("",))[0]
    by_name = board.call("glob", pattern=f"**/*{name}*") if re.fullmatch(r"[\w\-]{3,}", name) else None
    first = _some([tries[0], by_name if tries[0] is not None else None])
    if first:
        return Move(0, first, "search", about)
    hits = hits_of(task, board)
    if not hits:
        loose = pattern_of(task, loose=True)
        again = _grep(board, loose or pattern, ".", Task("search"), ignore_case=True)
        if again is not None:
            return Move(0, (again,), "search_loose", about)
    return _follow(task, board, hits)


def hits_of(task: Task, board: Board) -> list[Line]:
    """The search hits of a turn that belong to ``task`` and pass the prompt's filters, each once."""
    pattern = "|".join(p for p in (pattern_of(task), pattern_of(task, loose=True)) if p)
    if not pattern:
        return []
    words = re.compile(pattern, re.IGNORECASE)
    found = {(h.path, h.number): h for h in board.hits if words.search(h.text) and board.wanted(h.path)}
    return list(found.values())


def _follow(task: Task, board: Board, hits: list[Line]) -> Move:
    """Read around the best hits, then once more around the next ones if they lie in other files."""
    ranked = best_hits(hits, task)
    for top in (ranked[:WIDTH], ranked[WIDTH : WIDTH + 2]):
        calls = _around(top, board)
        if calls:
            return Move(1, calls, "around", paths_text(calls))
    return DONE


def _ask(task: Task, board: Board) -> Move:
    pattern = pattern_of(task) or pattern_of(task, loose=True)
    about = ", ".join(f"`{w}`" for w in (*task.terms, *task.words)[:4])
    if pattern:
        names = [_stem(w) for w in (*task.terms, *task.words) if re.fullmatch(r"[\w\-]{2,}", w)][:2]
        search = board.call("grep", pattern=pattern, ignore_case=True)
        if search is not None:
            by_name = (board.call("glob", pattern=f"**/*{n}*") for n in names)
            return Move(0, _some([search, *by_name]), "search", about)
        called = [
            p
            for p in board.sizes
            if names and all(n.casefold() in _base(p) for n in names) and board.wanted(p) and not is_dull(p)
        ]
        reads = _some(board.read_call(p, whole=task.whole) for p in called[:2])
        if reads:
            return Move(1, reads, "read_whole" if task.whole else "read", paths_text(reads))
    hits = hits_of(task, board)
    if hits:
        return _follow(task, board, hits)
    named = [
        p
        for w in task.words
        for p in board.sizes
        if len(w) > 2 and w in p.casefold() and board.wanted(p) and not is_dull(p)
    ]
    looks = _some(board.read_call(p, lines=80) for p in named[:2] if p not in board.read)
    if looks:
        return Move(1, looks, "read", paths_text(looks))
    return Move(1) if board.read else _first_look(board)


def _first_look(board: Board) -> Move:
    """Nothing matched: show at least what the project is."""
    listing = board.call("list_dir", path=".")
    if listing is not None:
        return Move(0, (listing,), "first_look")
    if board.steps("read_file"):
        return DONE
    files = [p for p in board.sizes if board.wanted(p) and not is_dull(p)]
    files.sort(key=lambda p: (re.match(r"readme|index|main|안내", p.casefold()) is None, hash_of(p, board.salt)))
    calls = _some(board.read_call(p, lines=80) for p in files[:2])
    return Move(1, calls, "read", paths_text(calls)) if calls else DONE


def _compare(task: Task, board: Board) -> Move:
    if all(t.kind == "folder" for t in task.targets):
        finding = []
        listing = []
        for target in task.targets:
            path, call = board.find_folder(target.text)
            finding.append(call)
            if path is not None:
                listing.append(board.call("list_dir", path=path, depth=2))
        calls = _some(finding)
        if calls:
            return Move(0, calls, "find", _names(task))
        calls = _some(listing)
        return Move(1, calls, "compare", _names(task)) if calls else DONE
    paths, missing = targets_of(task, board)
    if missing:
        return Move(0, _some(missing), "find", _names(task))
    reads = _some(board.read_call(p, whole=task.whole, lines=PART_LINES * 4) for p in paths)
    return Move(1, reads, "compare", _names(task)) if reads else DONE


MANIFESTS: Final = (
    ("pyproject.toml", "python -m pytest -q"),
    ("setup.py", "python -m pytest -q"),
    ("package.json", "npm test"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("Makefile", "make test"),
)


def test_command(board: Board) -> str:
    """How this project's tests are run, by the manifest at its root; empty if there is none."""
    return next((command for name, command in MANIFESTS if name in board.sizes), "")


def _run(task: Task, board: Board) -> Move:
    command = task.command
    if not command:
        listing = board.call("list_dir", path=".")
        if listing is not None:
            return Move(0, (listing,), "find_command")
        command = test_command(board)
    call = board.call("run_shell", command=command) if command else None
    return Move(1, (call,), "run", f"`{command.splitlines()[0]}`") if call is not None and command.strip() else DONE


def _count(task: Task, board: Board) -> Move:
    if task.targets:
        return _read(msgspec.structs.replace(task, ranges=(), whole=True), board)
    path, finding = _scope(task, board)
    if finding is not None:
        return Move(0, (finding,), "find", f"`{task.folder}`")
    if task.glob:
        pattern = task.glob if "/" in task.glob else f"**/{task.glob}"
        call = board.call("glob", pattern=pattern, path=path)
        return Move(0, (call,), "count", f"`{pattern}`") if call is not None else DONE
    pattern = pattern_of(task)
    call = (
        board.call("grep", pattern=pattern, path=path, ignore_case=None if task.terms else True, max_matches=1_000)
        if pattern
        else None
    )
    return Move(0, (call,), "count", f"`{pattern}`") if call is not None else DONE
