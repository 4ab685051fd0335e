"""Reading through a folder, file after file in the order of their paths. How far it came is the last path that was
read: the one thing that has to be known to go on, whatever else has left the context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from geode_tui.providers.offline.board import Board, Call, is_dull
from geode_tui.providers.offline.evidence import call_key
from geode_tui.providers.offline.moves import DONE, WIDTH, Move, paths_text
from geode_tui.providers.offline.tasks import Task

ROUND_BYTES: Final = 24_000
"""Files are read together in a round while they have no more bytes than this."""
LOOKS: Final = 3
"""How often a folder is listed with nothing read meanwhile, where its listing does not stay."""

Key: TypeAlias = tuple[tuple[bool, str], ...]
"""Sorts a folder's files before the folders in it, each by name."""


def each_move(task: Task, board: Board) -> Move:
    """The next files, or the listings that are missing to tell them; empty after the last."""
    if task.rounds and board.rounds >= max(1, task.rounds - 2):
        return DONE
    base, finding = _base(task, board)
    if finding is not None:
        return Move(0, (finding,), "find", f"`{task.folder}`")
    if base is None:
        return DONE
    return _Walk(board, base).move()


def _base(task: Task, board: Board) -> tuple[str | None, Call | None]:
    """Where to begin: the folder of that path, else one of that name, or the call that should find it."""
    named = task.folder.removeprefix("./").strip("/") or "."
    return (named, None) if named not in board.failed else board.find_folder(named)


class _Walk:
    """The way through the files below ``base``, from behind the last one that was read."""

    def __init__(self, board: Board, base: str) -> None:
        self._board = board
        self._base = base
        read = [s.path for s in board.steps("read_file")] + [board.earlier.last]
        self._done: Key = max((_file_key(path) for path in read if _inside(path, base)), default=())

    def move(self) -> Move:
        """What comes next."""
        found = self._below(self._base)
        if found is None:
            return DONE
        calls, files = found
        return Move(1 if self._done else 0, calls, "in_order" if files else "list", paths_text(calls))

    def _below(self, folder: str) -> tuple[tuple[Call, ...], bool] | None:
        """The next calls below ``folder``, and whether they read files; None where nothing is left."""
        listing = self._board.listings.get(folder)
        if listing is None:
            calls = self._lists(folder)
            return (calls, False) if calls else None
        waiting = [p for p in sorted(listing.files) if _file_key(p) > self._done and self._wanted(p)]
        reads = self._reads(waiting, listing.files)
        if reads:
            return reads, True
        for inner in sorted(listing.folders):
            key = _folder_key(inner)
            if key >= self._done[: len(key)] and self._wanted(f"{inner}/x") and (found := self._below(inner)):
                return found
        return None

    def _wanted(self, path: str) -> bool:
        return self._board.wanted(path) and not is_dull(path)

    def _lists(self, folder: str) -> tuple[Call, ...]:
        """Lists ``folder`` and, in the same round, the folders on the way from it to the last file that was read."""
        names = [name for is_folder, name in self._done if is_folder]
        way = ["/".join(names[: i + 1]) for i in range(len(names))]
        folders = [folder, *(p for p in way if _inside(p, folder) and p not in self._board.listings)]
        calls = (self._list(path) for path in dict.fromkeys(folders))
        return tuple(call for call in calls if call is not None)[:WIDTH]

    def _list(self, folder: str) -> Call | None:
        call = Call("list_dir", {"path": folder})
        steps = self._board.turn.steps
        last_read = max((i for i, s in enumerate(steps) if s.name == "read_file"), default=-1)
        looks = sum(call_key(s.name, s.args) == call.key for s in steps[last_read + 1 :])
        tired = looks >= LOOKS or folder in self._board.failed
        return None if tired or not self._board.has("list_dir") else call

    def _reads(self, paths: Sequence[str], sizes: Mapping[str, int]) -> tuple[Call, ...]:
        calls: list[Call] = []
        left = ROUND_BYTES
        for path in paths[:WIDTH]:
            if calls and sizes[path] > left:
                break
            left -= sizes[path]
            call = self._board.read_call(path, whole=True)
            if call is not None:
                calls.append(call)
        return tuple(calls)


def _inside(path: str, base: str) -> bool:
    return bool(path) and (base == "." or path.startswith(f"{base}/"))


def _file_key(path: str) -> Key:
    *folders, name = path.split("/")
    return (*((True, folder) for folder in folders), (False, name))


def _folder_key(path: str) -> Key:
    return tuple((True, name) for name in path.split("/"))
