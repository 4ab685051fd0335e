"""What a part of a conversation held that may matter later: rules, questions, errors, paths, figures, names. Pure.

The person's and the agent's own words count, and of calls what they were about. A result's thousand names were never
held: of results only the lines that name an error count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from geode_tui.context.local_facts import is_ask
from geode_tui.context.lost_figures import Figure, figures
from geode_tui.context.lost_terms import bullets, flat, plain
from geode_tui.context.lost_wishes import is_question, is_rule, sentences
from geode_tui.context.summary_form import sections, unwrapped
from geode_tui.context.view import Item
from geode_tui.core.events import LostKind
from geode_tui.core.messages import Message, ToolCallBlock, ToolResultBlock

_HEAD_CHARS, _TAIL_CHARS = 20_000, 8_000
"""Of a long text its beginning and its end are read."""
_RULES_A_MESSAGE: Final = 20
_ERRORS_A_RESULT: Final = 2
_ARGUMENT_CHARS: Final = 400
"""A longer argument is content, and not what a call is about."""
_ERROR_CHARS: Final = 300
_LINE_CHARS: Final = 2_000
"""An error is named in the beginning of its line."""
_CLAUSE_CHARS: Final = 50
"""Characters around a figure that are shown with it."""
_PERSON, _AGENT, _CALL = 4, 2, 1
"""How much it counts who named something."""
_CALLED: Final[Mapping[LostKind, int]] = {"path": 2, "identifier": 3}
"""Messages with calls that have to name something that nobody speaks of."""

_ERROR: Final = re.compile(
    r"\b[\w.]{0,80}(?:Error|Exception|Failure)\b(?:\[\w+\])?: ?\S.*"
    r"|\b(?:error|fatal|panic|FATAL|ERROR)(?:\[\w+\]|\([\w-]+\))?: \S.*"
    r"|\bE(?:NO[A-Z]{3,}|CONN[A-Z]+|ACCES|ADDRINUSE|EXIST|PERM|PIPE|TIMEDOUT)\b.*"
    r"|(?:오류|에러): ?\S.*"
)
_WEAK_ERROR: Final = re.compile(
    r"error|fatal|fail(?:ed|ure|s)|panic|exception|denied|refused|not found|no such|\bE[A-Z]{4}|fault\b|undefined"
    r"|cannot|could not|timed out|unexpected|오류|에러|실패",
    re.IGNORECASE,
)
"""What a line has that may name an error; of a result that failed, one with any of it is taken."""
_EXIT: Final = re.compile(r"\W*exit code\b", re.IGNORECASE)
_URL: Final = re.compile(r"\b[a-z]{2,10}://[^\s)>\]\"']+")
_EXTENSIONS: Final = (
    "py pyi ts tsx js jsx mjs rs go c h cc cpp hpp java kt rb php cs swift scala lua sh bash zsh ps1 sql toml yaml yml"
    " json jsonl ini cfg conf env lock md rst txt csv tsv xml html css scss svg png jpg pdf ipynb proto log db sqlite"
    " ex exs erl patch diff gz zip tar whl tf dockerfile"
)
_PATH: Final = re.compile(
    r"(?<![\w./@~+-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*[\w+]/?(?![\w/])"
    rf"|(?<![\w./@-])[\w-]+(?:\.[\w-]+)*\.(?:{'|'.join(_EXTENSIONS.split())})(?![\w/]|\.\w)"
    r"|(?<![\w./@~-])(?:~|\.{1,2})?/(?:[\w.@+-]+/?){2,}"
)
_NO_PATH: Final = re.compile(r"/dev/\w+|(?:node|next|vue|three|express|d3|react)\.js", re.IGNORECASE)
_NAME: Final = re.compile(
    r"`([^`\s]{4,80})`"
    r"|(?<![\w.-])([A-Z][A-Z0-9]{1,9}-\d+)(?![\w-])"
    r"|(?<![\w-])(--[a-z][\w-]{2,})"
    r"|(?<![\w.])((?:[A-Za-z_]\w*(?:\.|::))*(?:[a-z]+\d*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Za-z]\w*_\w+|_\w{3,}"
    r"|[A-Za-z_]\w{2,}(?=\(\)))(?:(?:\.|::)[A-Za-z_]\w*)*)(?![\w-]*/)"
    r"|(?<![\w-])((?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w-])"
)
_LOOKS_NAMED: Final = re.compile(r"[A-Za-z].*[_:.\d()-]|[a-z][A-Z]|[_:.\d()-].*[A-Za-z]|^[A-Z]{4,}$")
_NO_NAME: Final = re.compile(
    r"(?:UTF|SHA|ISO|RFC|GPT|IPV|HTTP|CP|EUC|X)-\d+|Git(?:Hub|Lab)|(?:Java|Type)Script|(?:My|Postgre)?SQL\w*|OpenAI"
    r"|YouTube|(?:mac|i)OS|ChatGPT|GraphQL|DevOps|[\d.]+\w{0,2}|FastAPI|PyPI|NumPy|VSCode|e\.g\.?|i\.e\.?",
    re.IGNORECASE,
)
_PATH_ARGUMENTS: Final = frozenset({"path", "file_path", "notebook_path", "file", "filename", "directory", "cwd"})
_WRITES: Final = frozenset({"write_file", "edit_file", "write", "edit", "multiedit", "notebookedit"})
_CITED: Final = re.compile(r"\(seq (\d{1,15})(?:-\d+)?\)\s*|\[\d+\]\s*")
_FENCE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)


class Find(msgspec.Struct, frozen=True):
    """Something that was held. ``text`` is how it is told, ``what`` what is looked for; ``rank`` is how much it counts
    among those of its kind. ``role`` is who said it: user or assistant.
    """

    kind: LostKind
    text: str
    what: str
    seq: int
    rank: int = 0
    role: str = "user"
    figure: Figure | None = None


def finds(head: Sequence[Item], previous: str = "") -> list[Find]:
    """Everything that ``head``, and the summary that stood before it, held; each once, with where it was said last."""
    seen = _Seen()
    _of_summary(seen, previous)
    tools = {call.name for item in head for call in item.message.calls}
    for item in head:
        message = item.message
        if message.role == "tool":
            for block in message.blocks:
                if isinstance(block, ToolResultBlock):
                    seen.add("error", _errors_of(item, block), item.seq, _AGENT)
        elif is_ask(item):
            _of_words(seen, message.text, item.seq, "user")
        elif message.role == "assistant" or message.origin == "summary":
            _of_words(seen, message.text, item.seq, "assistant")
            for call in message.calls:
                _of_call(seen, call, item.seq)
    return [find for find in seen.all() if find.what not in tools]


class _Seen:
    """Finds by what they are. What only calls name counts where several messages do."""

    def __init__(self) -> None:
        self._found: dict[tuple[LostKind, str], Find] = {}
        self._where: dict[tuple[LostKind, str], set[int]] = {}

    def add(self, kind: LostKind, texts: Iterable[str], seq: int, by: int, role: str = "assistant") -> None:
        for text in texts:
            what = text.rstrip("/") if kind == "path" else text
            known = flat(text) if kind in {"rule", "question", "error"} else what
            self._put((kind, known), Find(kind, text, what, seq, by, role))

    def figure(self, found: Figure, text: str, what: str, seq: int, by: int) -> None:
        kind, value = found.key
        self._put(("number", f"{kind} {value}"), Find("number", text, what, seq, by, figure=found))

    def _put(self, key: tuple[LostKind, str], find: Find) -> None:
        before = self._found.get(key)
        self._where.setdefault(key, set()).add(find.seq)
        if before is None or find.rank >= before.rank:
            self._found[key] = find

    def all(self) -> Iterator[Find]:
        for key, find in self._found.items():
            count = len(self._where[key])
            if find.rank > _CALL or count >= _CALLED[find.kind]:
                yield msgspec.structs.replace(find, rank=find.rank + min(count, 4))


# -- words -------------------------------------------------------------------------------------------------------------


def _of_words(seen: _Seen, text: str, seq: int, role: str) -> None:
    by = _PERSON if role == "user" else _AGENT
    text = clipped(text)
    seen.add("error", _error_lines(text), seq, by)
    text = _FENCE.sub(" ", text)
    said = [s for bullet in bullets(plain(text)) for s in sentences(bullet)]
    if role == "user":
        seen.add("rule", [s for s in said if is_rule(s)][:_RULES_A_MESSAGE], seq, by, role)
    seen.add("question", (s for s in said if is_question(s)), seq, by, role)
    _of_names(seen, text, seq, by)


def _of_names(seen: _Seen, text: str, seq: int, by: int) -> None:
    """Paths, figures and identifiers; what is part of a longer one is not another."""
    paths, text = without_paths(_URL.sub(" ", text))
    seen.add("path", paths, seq, by)
    for found in figures(text):
        seen.figure(found, _around(text, found), " ".join(text[found.start : found.end].split()), seq, by)
    seen.add("identifier", names(text), seq, by)


def without_paths(text: str) -> tuple[list[str], str]:
    """The paths of a text, and the text without them."""
    paths: list[str] = []

    def taken(found: re.Match[str]) -> str:
        if not _is_path(found[0]):
            return found[0]
        paths.append(found[0].rstrip("."))
        return " "

    return paths, _PATH.sub(taken, text)


def _is_path(text: str) -> bool:
    """Whether it is one, and no "and/or"."""
    inner = text.strip("/")
    last = inner.rsplit("/", 1)[-1]
    if _NO_PATH.fullmatch(text) or last.isdigit() or not any(char.isalpha() for char in inner):
        return False
    if text.startswith(("/", "~", "./", "../")) or inner.count("/") >= 2:
        return len(inner) > 2
    return "." in last or (text.endswith("/") and "/" in text) or "_" in inner


def names(text: str) -> Iterator[str]:
    """The identifiers of a text."""
    for found in _NAME.finditer(text):
        ticked, name = found[1], next(group for group in found.groups() if group)
        name = name.strip(".,:;@'\"").removesuffix("()")
        if ticked is not None and (name[:1].isdigit() or not _LOOKS_NAMED.search(name)):
            continue
        if len(name) >= 4 and not _NO_NAME.fullmatch(name):
            yield name


def _around(text: str, found: Figure) -> str:
    """The words around a figure, of its own line."""
    start, end = max(0, found.start - _CLAUSE_CHARS), found.end + _CLAUSE_CHARS
    before = re.split(r"\n|[.;!?] ", text[start : found.start])[-1]
    after = re.split(r"\n|[.;!?](?: |$)", text[found.end : end])[0]
    if start and len(before) == _CLAUSE_CHARS:
        before = before.partition(" ")[2]
    if len(after) == _CLAUSE_CHARS:
        after = after.rpartition(" ")[0]
    return plain(f"{before}{text[found.start : found.end]}{after}").strip(" -+•#>\t,")


# -- calls and results -------------------------------------------------------------------------------------------------


def _of_call(seen: _Seen, call: ToolCallBlock, seq: int) -> None:
    writes = call.name.lower() in _WRITES
    for name, text in leaves(call):
        if len(text) > _ARGUMENT_CHARS:
            continue
        if name in _PATH_ARGUMENTS:
            seen.add("path", [text] if "/" in text or "." in text.strip(".") else [], seq, _AGENT if writes else _CALL)
            continue
        paths, rest = without_paths(text)
        seen.add("path", paths, seq, _CALL)
        seen.add("identifier", names(rest), seq, _CALL)


def leaves(call: ToolCallBlock) -> Iterator[tuple[str, str]]:
    """The texts among a call's arguments, with the names of their fields; none where they cannot be read."""
    try:
        made = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return
    waiting: list[tuple[str, object]] = [("", made)]
    while waiting:
        name, value = waiting.pop()
        match value:
            case str():
                yield name, value
            case list():
                waiting += [(name, each) for each in value]
            case dict():
                waiting += [(str(key), each) for key, each in value.items()]


def _errors_of(item: Item, block: ToolResultBlock) -> list[str]:
    """The lines of a result that failed which name an error."""
    failed = block.is_error or (item.result is not None and item.result.facts.get("exit_code") not in {None, 0})
    if not failed:
        return []
    text = clipped(block.text).replace("\\n", "\n")
    found = list(_error_lines(text))
    if not found:
        lines = (line.strip() for line in text.splitlines())
        found = [line[:_ERROR_CHARS] for line in lines if _WEAK_ERROR.search(line) and not _EXIT.match(line)][:1]
    return found[-_ERRORS_A_RESULT:]


def _error_lines(text: str) -> Iterator[str]:
    """What the lines of a text say from where they name an error."""
    for line in text.splitlines():
        if _WEAK_ERROR.search(line) and (found := _ERROR.search(line[:_LINE_CHARS])):
            yield found[0].strip()[:_ERROR_CHARS]


def clipped(text: str) -> str:
    """The beginning and the end of a text that is too long to be read whole."""
    return text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"


def texts(message: Message) -> Iterator[str]:
    """Everything of a message that can be read: its words, its calls' arguments, its result."""
    yield message.text
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            yield block.text
        elif isinstance(block, ToolCallBlock):
            yield block.arguments
            yield from (text for _, text in leaves(block))


# -- the former summary ------------------------------------------------------------------------------------------------


def _of_summary(seen: _Seen, text: str) -> None:
    """What a former summary held: its constraints are rules, whatever their words; all else is as the agent said it."""
    if not text.strip():
        return
    for heading, lines in sections(unwrapped(text)).items():
        for bullet in bullets("\n".join(lines)):
            cited = _CITED.search(bullet)
            seq = int(cited[1] or 0) if cited else 0
            said = _CITED.sub("", bullet)
            if heading == "Constraints & Preferences":
                seen.add("rule", [s for s in sentences(plain(said)) if len(s) >= 6], seq, _AGENT, "user")
            _of_words(seen, said, seq, "assistant")
