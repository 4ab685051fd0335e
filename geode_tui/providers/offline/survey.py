"""Surveying a project or a folder: list, read what introduces it, then sources breadth first, then what recurs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from geode_tui.providers.offline import vocabulary
from geode_tui.providers.offline.board import PART_LINES, Board, Call, glob_escape, hash_of, is_dull
from geode_tui.providers.offline.moves import DONE, Move, best_hits, paths_text, pattern_of
from geode_tui.providers.offline.tasks import Task

FEWEST: Final = 8
MOST: Final = 24
TRACED: Final = 2
"""The last rounds of a survey, in which recurring names are traced even if files are left."""
"""Rounds of a survey whose prompt names no number."""
_FIRST = re.compile(
    r"(?:^|/)(?:readme[^/]*|pyproject\.toml|package\.json|cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|setup\.(?:py|cfg)|composer\.json"
    r"|gemfile|makefile|cmakelists\.txt|mix\.exs|deno\.json|pnpm-workspace\.yaml|architecture[^/]*|index\.(?:md|rst)|안내[^/]*|소개[^/]*)$",
    re.IGNORECASE,
)
_CENTRAL = vocabulary.words(
    "main index app lib mod core cli server __init__ __main__ api base engine runtime models client routes config"
)
_IDENTIFIER = re.compile(r"\b(?:[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b")
_HANGUL_WORD = re.compile(r"[가-힣]{3,}")


def survey_move(task: Task, board: Board) -> Move:
    """The next round of a survey, empty when it has seen enough."""
    base, finding = board.find_folder(task.folder) if task.folder else (".", None)
    if finding is not None:
        return Move(0, (finding,), "find", f"`{task.folder}`")
    if base is None or board.rounds >= last_round(task, board):
        return DONE
    listing = _list(board, base)
    if listing:
        return Move(0, listing, "list", f"`{base}`")
    queue = _queue(task, board, base)
    depth = 0 if base == "." else base.count("/") + 1
    first = [p for p in queue if introduces(p) and p.count("/") == depth][:3]
    if first:
        calls = _reads(board, first)
        if calls:
            return Move(1, calls, "introductions", paths_text(calls))
    closing = board.rounds >= last_round(task, board) - TRACED
    calls = _reads(board, queue[: _width(task, board, len(queue))])
    if calls and not (closing and len(board.steps("grep")) < TRACED):
        return Move(2, calls, "sources", paths_text(calls))
    if not closing and _has_more(board, base):
        more = _list_deeper(board, base)
        if more is not None:
            return Move(2, (more,), "list", f"`{more.args.get('path', base)}`")
    if not task.rounds and board.rounds >= FEWEST and not _long_files(board, base):
        return DONE
    return _recurring(task, board, base)


def introduces(path: str) -> bool:
    """Whether a file by its name introduces a project: a readme, a manifest, a build file."""
    return _FIRST.search(path) is not None


def last_round(task: Task, board: Board) -> int:
    """The round after which no more is looked at; of an asked number two are left for the plan and the report."""
    if task.rounds:
        return max(1, task.rounds - 2)
    size = sum(1 for p in board.sizes if not is_dull(p))
    return max(FEWEST, min(MOST, 6 + size // 6))


def _reads(board: Board, paths: list[str]) -> tuple[Call, ...]:
    calls = (board.read_call(p, lines=PART_LINES) for p in paths)
    return tuple(c for c in calls if c is not None)


def _list(board: Board, base: str) -> tuple[Call, ...]:
    """The first look, or another one if what it showed has left the context."""
    listing = board.call("list_dir", path=base, depth=2)
    everything = board.call("glob", pattern="**/*", path=base if base != "." else None)
    if any(_inside(p, base) for p in board.sizes):
        everything = None
    if listing is not None or (everything is not None and not board.sizes):
        return tuple(c for c in (listing, everything) if c is not None)
    if any(_inside(p, base) for p in board.sizes) or not board.listing_lost:
        return ()
    extensions = sorted({p.rsplit(".", 1)[-1] for p in board.read if "." in p.rsplit("/", 1)[-1]}) or ["*"]
    path = base if base != "." else None
    retries = (board.again("glob", pattern=f"**/*.{e}", path=path) for e in extensions)
    return tuple(c for c in retries if c is not None)[:1]


def _inside(path: str, base: str) -> bool:
    return base == "." or path.startswith(f"{base}/")


def _queue(task: Task, board: Board, base: str) -> list[str]:
    """Unread files worth reading, the next first: what introduces the project, then the central and large, each folder
    in its turn."""
    words = [w for w in (*task.terms, *task.words) if len(w) > 2]
    mentioned = Counter(
        m
        for lines in board.lines.values()
        for text in lines.values()
        if _imports(text)
        for m in re.findall(r"\w+", text)
    )
    visited = Counter(p.rpartition("/")[0] for p in board.read)

    def rank(path: str) -> tuple[float, str]:
        folder, _, name = path.rpartition("/")
        stem = name.split(".")[0]
        value = 12.0 - 4 * path.count("/") if introduces(path) else 0.0
        empty = stem == "__init__" and board.sizes[path] < 500
        value += -2.0 if empty else 4.0 if stem.casefold() in _CENTRAL else 0.0
        value += 3.0 * sum(1 for w in words if w.casefold() in path.casefold())
        value += min(4.0, 1.5 * mentioned[stem]) + min(3.0, board.sizes[path] / 6_000)
        value -= 2.5 * visited[folder] + 0.5 * path.count("/")
        value -= (
            3.0
            if re.search(r"(?:^|/)(?:tests?|spec|__tests__|examples?)/|(?:^|/)test_|\.(?:test|spec)\.", path)
            else 0.0
        )
        value -= 8.0 if _extension(path) not in vocabulary.EXTENSIONS and not introduces(path) else 0.0
        # Prompts that name no subject still differ in what they look at first.
        value += 1.5 * hash_of(path, board.salt) / 0xFFFF
        return (-value, path)

    paths = [p for p in board.sizes if _inside(p, base) and p not in board.read and p not in board.failed]
    return sorted((p for p in paths if board.wanted(p) and not is_dull(p)), key=rank)


def _imports(text: str) -> bool:
    return (
        re.match(r"\s*(?:import|from|use|mod|pub mod|require|include|#include|export|const .*require\()", text)
        is not None
    )


def _extension(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].lower() if "." in name else ""


def _width(task: Task, board: Board, waiting: int) -> int:
    """How many files to read in a round so that the files last for the rounds."""
    left = max(1, last_round(task, board) - TRACED - board.rounds)
    return max(1, min(3, -(-waiting // left)))


def _has_more(board: Board, base: str) -> bool:
    return sum(1 for p in board.sizes if _inside(p, base)) >= 150 or bool(board.folders)


def _list_deeper(board: Board, base: str) -> Call | None:
    """A folder below that has not shown any file yet."""
    for folder in sorted(board.folders, key=lambda f: (f.count("/"), f)):
        if not _inside(folder, base) or is_dull(f"{folder}/x") or not board.wanted(f"{folder}/x"):
            continue
        if not any(p.startswith(f"{folder}/") for p in board.sizes):
            return board.call("glob", pattern=f"{glob_escape(folder)}/**") or None
    return None


def _long_files(board: Board, base: str) -> list[str]:
    return [p for p in sorted(board.longer) if _inside(p, base) and board.wanted(p)]


def _recurring(task: Task, board: Board, base: str) -> Move:
    """With every file begun: by turns the next part of a long one, and where a name that recurs is used."""
    reads = [
        c
        for p in _long_files(board, base)
        if (c := board.read_call(p, start=board.longer[p], lines=PART_LINES)) is not None and c.args.get("start_line")
    ]
    names = () if board.wish.only else _names(task, board)
    searches = (
        board.call("grep", pattern=rf"\b{n}\b" if n.isascii() else n, path=base if base != "." else None) for n in names
    )
    search = next((c for c in searches if c is not None), None)
    turn_to_read = board.rounds % 2 == hash_of(base, board.salt) % 2
    if reads and (turn_to_read or search is None):
        return Move(3, (reads[0],), "continue", f"`{reads[0].args['path']}`")
    if search is not None:
        name = str(search.args["pattern"]).replace("\\b", "")
        return Move(3, (search,), "recurring", f"`{name}`")
    return _windows(task, board, base)


def _names(task: Task, board: Board) -> list[str]:
    """Names that recur in what was read, the commonest first, the prompt's own before them."""
    counts: Counter[str] = Counter()
    for lines in board.lines.values():
        seen: Counter[str] = Counter()
        for text in lines.values():
            seen.update(_IDENTIFIER.findall(text))
            seen.update(_HANGUL_WORD.findall(text))
        counts.update({name: min(n, 4) for name, n in seen.items() if len(name) > 5})
    places = {part for path in board.sizes for part in path.split("/")}
    own = [t for t in task.terms if re.fullmatch(r"\w+", t)]
    return own + [n for n, c in sorted(counts.items(), key=lambda x: (-x[1], x[0])) if c > 1 and n not in places][:400]


def _windows(task: Task, board: Board, base: str) -> Move:
    """Asked for more rounds than the project has new parts: read around what the searches found, window by window."""
    if not task.rounds and pattern_of(task) == "":
        return DONE
    for hit in best_hits((h for h in board.hits if _inside(h.path, base) and board.wanted(h.path)), task):
        call = board.read_call(hit.path, start=max(1, hit.number - 10), lines=30)
        if call is not None:
            return Move(3, (call,), "around", f"`{hit.path}`")
    return DONE
