"""The planner's view of one turn: what may be called, what has been called, and what is known from the results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from geode_tui.core.tools import ToolSpec
from geode_tui.providers.offline import vocabulary
from geode_tui.providers.offline.earlier import Earlier
from geode_tui.providers.offline.evidence import (
    Line,
    Step,
    Turn,
    call_key,
    glob_paths,
    grep_hits,
    is_listing,
    list_entries,
    numbered_lines,
    offload_ref,
    recalled_text,
    same_name,
)
from geode_tui.providers.offline.mentions import Mention, normalise
from geode_tui.providers.offline.tasks import Wish

REPEAT_AFTER: Final = 8
"""Calls that lie between two equal ones, at least."""
RECALL: Final = "recall_tool_result"
PART_LINES: Final = 200
"""How much of a file is read when the prompt does not ask for all of it, lines."""
FOLDER_FILES: Final = 6
"""Files read of a folder that was named where a file was expected."""


_DULL = re.compile(
    r"(?:^|/)\.[^/]+/|(?:^|/)(?:__pycache__|node_modules|vendor|third_party|dist|build|target|locales?|fixtures?|snapshots?|__snapshots__|\.github|\.git|assets|testdata)/"
    r"|[.\-]lock\b|lock\.(?:json|yaml)$|\.(?:png|jpe?g|gif|ico|svg|pdf|woff2?|ttf|zip|gz|whl|py[co]|so|bin|exe|class|jar|mp[34]|map|snap|wasm|db|sqlite)$"
    r"|\.min\.(?:js|css)$|(?:^|/)\.env[^/]*$|\.(?:pem|key|crt|pth)$|(?:^|/)(?:license|licence|copying|notice)[^/]*$|(?:^|/)py\.typed$",
    re.IGNORECASE,
)
_MORE = re.compile(r"\[lines [\d,]+ to [\d,]+(?: of ([\d,]+))? shown.*continue with start_line=(\d+)")


class Call(msgspec.Struct, frozen=True):
    """A tool call to be made."""

    name: str
    args: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Its identity."""
        return call_key(self.name, self.args)


class Listing(msgspec.Struct, frozen=True):
    """What a folder holds: files with their sizes in bytes, and folders, as whole paths."""

    files: Mapping[str, int]
    folders: tuple[str, ...]


class Board:
    """Folds the steps of a turn into what they showed. Built anew for every request and never changed after."""

    def __init__(
        self,
        turn: Turn,
        wish: Wish,
        tools: Iterable[ToolSpec],
        seed: int = 0,
        covered: frozenset[str] = frozenset(),
        earlier: Earlier = Earlier(),  # noqa: B008 - frozen
    ) -> None:
        self.turn = turn
        self.earlier = earlier
        self.rounds = turn.rounds + earlier.rounds
        """Rounds of the turn, those that only a summary tells of as well."""
        self.wish = wish
        self.salt = hash_of(turn.inputs[0] if turn.inputs else "", seed)
        """Decides between candidates that are equally good: from the prompt and the seed."""
        self._properties = {t.name: frozenset(t.schema.get("properties", {})) for t in tools}
        self.made: dict[str, Step] = {call_key(s.name, s.args): s for s in turn.steps}
        self.sizes: dict[str, int] = {}
        self.folders: list[str] = []
        self.listings: dict[str, Listing] = {}
        """What folders hold, of which the listing is in view."""
        self.lines: dict[str, dict[int, str]] = {}
        self.hits: list[Line] = []
        self.read: set[str] = set(covered)
        self.failed: dict[str, str] = {}
        self.longer: dict[str, int] = {}
        """Files of which reads left something out, with the next unread line."""
        self.totals: dict[str, int] = {}
        """Lines of a file, where a read told."""
        self.listing_lost = False
        """Whether a listing was made whose result is no longer in view."""
        self.offloaded: dict[str, Step] = {}
        """Steps whose result is stored outside the context, by its reference."""
        self.unavailable: set[str] = set()
        """Tools that were wanted and are not offered."""
        for step in turn.steps:
            self._take(step)

    def _take(self, step: Step) -> None:
        text = step.result
        if step.name == "read_file" and step.path:
            self.read.add(step.path)
        if text is None:
            return
        if step.is_error:
            if step.path and step.name in {"read_file", "list_dir"}:
                self.failed[step.path] = text
            return
        ref = offload_ref(text)
        if ref:
            self.offloaded[ref] = step
        elif step.name == RECALL:
            original = self.offloaded.get(str(step.args.get("ref_id")))
            if original is not None:
                self._take(msgspec.structs.replace(original, result=recalled_text(text)))
        elif step.name == "read_file":
            self._take_lines(step, text)
        elif step.name == "grep":
            self.hits += grep_hits(text)
        elif step.name == "glob":
            paths = glob_paths(text)
            self.listing_lost |= not paths and not text.startswith("[no file")
            for path in paths:
                self.sizes.setdefault(path, 0)
        elif step.name == "list_dir":
            files, folders = list_entries(step.path or ".", text)
            self.sizes.update(files)
            self.folders += [f for f in folders if f not in self.folders]
            if is_listing(text) and step.args.get("depth", 1) == 1:
                self.listings[step.path or "."] = Listing(files, tuple(folders))

    def _take_lines(self, step: Step, text: str) -> None:
        known = self.lines.setdefault(step.path, {})
        lines = numbered_lines(step.path, text)
        known.update({line.number: line.text for line in lines})
        note = _MORE.search(text[-300:])
        if note is not None:
            self.longer[step.path] = max(int(note.group(2)), self.longer.get(step.path, 0))
            if note.group(1):
                self.totals[step.path] = int(note.group(1).replace(",", ""))
        elif lines:
            self.totals[step.path] = lines[-1].number
            self.longer.pop(step.path, None)

    def recalls(self) -> list[Call]:
        """Calls that bring offloaded results back, if that can be asked for."""
        if not self.offloaded or RECALL not in self._properties:
            return []
        calls = (self.call(RECALL, ref_id=ref) for ref in self.offloaded)
        return [c for c in calls if c is not None]

    def has(self, name: str) -> bool:
        """Whether a tool is offered; notes it when not."""
        if name not in self._properties:
            self.unavailable.add(name)
            return False
        return True

    def call(self, name: str, **args: Any) -> Call | None:
        """The call, or None if it was made already in this turn or cannot be made."""
        if not self.has(name):
            return None
        properties = self._properties[name]
        kept = {k: v for k, v in args.items() if v is not None and (not properties or k in properties)}
        call = Call(name, kept)
        return None if call.key in self.made else call

    def again(self, name: str, **args: Any) -> Call | None:
        """The call even if it was made, so long as that was not lately: for what has left the context."""
        call = Call(name, {k: v for k, v in args.items() if v is not None})
        lately = {call_key(s.name, s.args) for s in self.turn.steps[-REPEAT_AFTER:]}
        return None if call.key in lately or not self.has(name) else call

    def step_of(self, name: str, **args: Any) -> Step | None:
        """The step that made this call, if it was made."""
        properties = self._properties.get(name, frozenset())
        kept = {k: v for k, v in args.items() if v is not None and (not properties or k in properties)}
        return self.made.get(call_key(name, kept))

    def steps(self, name: str) -> list[Step]:
        """The turn's steps of one tool."""
        return [s for s in self.turn.steps if s.name == name]

    def wanted(self, path: str) -> bool:
        """Whether the prompt's filters let ``path`` through."""
        if any(_touches(path, name) for name in self.wish.exclude):
            return False
        return not self.wish.only or any(_touches(path, name) for name in self.wish.only)

    def find(self, target: Mention) -> tuple[list[str], Call | None]:
        """The known files a target means, the best first, or the call that should find them. Both empty: no such
        file."""
        name = target.text.removeprefix("./").strip("/")
        known = self._matching(name, target.kind)
        if known:
            return known, None
        explicit = "/" in name and not target.weak and target.kind == "file"
        if explicit and name not in self.failed:
            return [name], None
        base = name.rsplit("/", 1)[-1]
        bare = "." not in base.strip(".")
        first = self.call("glob", pattern=f"**/{glob_escape(base)}{'*' if bare else ''}")
        if first is not None:
            return [], first
        loosely = self._loosely(base)
        if loosely:
            return loosely, None
        if bare:
            folder, find_call = self.find_folder(name)
            if folder is not None or find_call is not None:
                return self._under(folder) if folder is not None else [], find_call
        return [], self.call("glob", pattern="**/*")

    def _under(self, folder: str) -> list[str]:
        """The files of a folder that are worth reading, those nearest to it first."""
        start = "" if folder == "." else f"{folder}/"
        files = [p for p in self.sizes if p.startswith(start) and not is_dull(p) and p not in self.failed]
        return sorted(files, key=lambda p: (p.count("/"), p))[:FOLDER_FILES]

    def _matching(self, name: str, kind: str) -> list[str]:
        exact = [
            p
            for p in self.sizes
            if same_name(p, name) or normalise(p).casefold().endswith("/" + normalise(name).casefold())
        ]
        if not exact and (kind == "symbol" or "." not in name.strip(".")):
            stem = normalise(name.rsplit("/", 1)[-1]).casefold()
            exact = [p for p in self.sizes if normalise(p.rsplit("/", 1)[-1]).casefold().split(".")[0] == stem]
        return sorted((p for p in exact if p not in self.failed), key=lambda p: (p.count("/"), len(p), p))

    def _loosely(self, base: str) -> list[str]:
        stem = normalise(base).casefold().rsplit(".", 1)[0]
        if len(stem) < 3:
            return []
        found = [p for p in self.sizes if stem in normalise(p.rsplit("/", 1)[-1]).casefold()]
        return sorted(found, key=lambda p: (p.count("/"), len(p), p))[:1]

    def find_folder(self, name: str) -> tuple[str | None, Call | None]:
        """The path of a folder, or the call that should find it. Both None: no such folder."""
        name = name.removeprefix("./").strip("/")
        if name in {"", "."}:
            return ".", None
        names = [name, vocabulary.FOLDER_NAMES.get(name, "")]
        known = sorted({*self.folders, *self._parents()}, key=lambda p: (p.count("/"), p))
        for wanted in filter(None, names):
            for path in known:
                if same_name(path, wanted) or normalise(path).casefold().endswith("/" + normalise(wanted).casefold()):
                    return path, None
        calls = (self.call("glob", pattern=f"**/{glob_escape(n)}/**") for n in names if n)
        return None, next(filter(None, calls), None) or self.call("list_dir", path=".", depth=2)

    def _parents(self) -> set[str]:
        return {path.rsplit("/", i)[0] for path in self.sizes for i in range(1, path.count("/") + 1)}

    def read_call(
        self, path: str, *, whole: bool = False, start: int = 1, lines: int | None = PART_LINES
    ) -> Call | None:
        """A read of ``path``, or None if just that was read."""
        if path in self.failed:
            return None
        if whole:
            return self.call("read_file", path=path, whole=True)
        return self.call("read_file", path=path, start_line=start if start > 1 else None, max_lines=lines)


def glob_escape(name: str) -> str:
    """``name`` for use in a glob pattern: a bracket would open a character class."""
    return re.sub(r"[\[\]{}]", "?", name)


def hash_of(text: str, seed: int) -> int:
    """A small number that depends on ``text`` and ``seed`` alone."""
    value = seed & 0xFFFF
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFF
    return value


def is_dull(path: str) -> bool:
    """Whether a file is hardly worth reading unasked: generated, vendored, binary, a licence."""
    return _DULL.search(path) is not None


def regex_escape(text: str) -> str:
    """``text`` as a regular expression that matches it, readable: only what has a meaning is escaped."""
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text)


def _touches(path: str, name: str) -> bool:
    """Whether a filter's name covers ``path``: a folder of that name (or its singular), the file, or a test by name."""
    parts = normalise(path).casefold().split("/")
    wanted = normalise(name).casefold().strip("/*.")
    if (
        wanted in parts
        or wanted.rstrip("s") in parts
        or f"{wanted}s" in parts
        or normalise(path).casefold().startswith(f"{wanted}/")
    ):
        return True
    if wanted.startswith("test"):
        return re.search(r"(?:^|[_.\-])(?:tests?|spec)(?:[_.\-]|$)", parts[-1]) is not None
    if wanted in {"doc", "docs"}:
        return parts[-1].endswith((".md", ".rst", ".txt", ".adoc", ".mdx"))
    return parts[-1].endswith(f".{vocabulary.LANGUAGES.get(wanted, wanted)}") and wanted in {
        *vocabulary.EXTENSIONS,
        *vocabulary.LANGUAGES,
    }
