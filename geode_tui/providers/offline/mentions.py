"""What a prompt names: files, folders, patterns, symbols, quoted text, commands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from geode_tui.providers.offline import lexicon, vocabulary

MentionKind: TypeAlias = Literal["file", "folder", "glob", "symbol", "quoted", "command", "url"]


class Mention(msgspec.Struct, frozen=True):
    """Something a prompt names. ``weak`` ones are dropped silently when nothing of that name exists."""

    kind: MentionKind
    text: str
    start: int
    end: int
    weak: bool = False


_HANGUL = re.compile(r"[가-힣]")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_QUOTED = re.compile(
    r"`([^`\n]{1,400})`|“([^”\n]{1,300})”|‘([^’\n]{1,300})’|「([^」\n]{1,300})」|『([^』\n]{1,300})』"
    r"|\"([^\"\n]{1,300})\"|(?<!\w)'([^'\n]{1,300})'(?![A-Za-z0-9_])"
)
_URL = re.compile(r"\b[a-z][a-z0-9+.\-]{1,9}://\S+", re.IGNORECASE)
_GLOB = re.compile(r"(?<!\S)[\w./\-]*\*+(?:\.[\w*.\-]+|[\w.*\-]*/[\w./*\-]*)")
_PATH = re.compile(r"(?<![\w.\-+@])(?:\.{1,2}/|/)?(?:[\w.\-+@]+/)+[\w.\-+@]*")
_TOKEN = re.compile(r"[\w.\-+]+(\(?)")
_ENDED = re.compile(r"(.*\.)([A-Za-z][A-Za-z0-9]{0,11})(?![A-Za-z0-9_])")
_DOTFILE = re.compile(r"(?<![\w/.\-])\.[A-Za-z][A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]+)*")
_FOLDER_WORD = re.compile(r"([\w.\-]+)\s*(?:\b(?:folder|directory|dir)\b|폴더|디렉터리|디렉토리)", re.IGNORECASE)
_THEN_FOLDER = re.compile(r"\s*(?:(?:folder|directory|dir)\b|폴더|디렉터리|디렉토리)", re.IGNORECASE)
_FOLDER_AFTER = re.compile(r"\b(?:folder|directory)\s+(?:named\s+|called\s+)?([A-Za-z0-9_.\-]+)", re.IGNORECASE)
_SYMBOL = re.compile(
    r"(?<![A-Za-z0-9_.])(?:[A-Za-z_][A-Za-z0-9_]*\(\)|[A-Za-z]*_+[A-Za-z0-9_]*[A-Za-z0-9]|[a-z]+(?:[A-Z][a-z0-9]*)+"
    r"|[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{3,}[0-9]*)(?![A-Za-z0-9_])"
)
_KNOWN_FOLDER = re.compile(r"(?<![A-Za-z0-9_./\-])([a-z]+)(?![A-Za-z0-9_/\-]|\.[A-Za-z])")
_BEFORE_FOLDER = re.compile(
    r"\b(?:in|under|inside|of|within|from|only|just|through|the|skip|survey|reading|read|ignore)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_AFTER_FOLDER = re.compile(r"^(?:\s*폴더|\s*디렉|에서|의|에|만|쪽|는|은|을|를)|^\s*[?？]?\s*$|^\s+only\b")
_VERB_ENDING = re.compile(r"(?:는지|은지|나요|까요|어요|아요|니까|습니다|세요|네요|던데|줄래)$")
_NOT_FOLDERS: Final = vocabulary.words(
    "this the that each every a any current same whole root project 이 그 각 현재 모든 해당 루트"
)
LONGEST_WORD: Final = 60
LONGEST_NAME: Final = 200
"""A longer run of letters names nothing, characters."""
_FILLER: Final = "\x00"


def normalise(text: str) -> str:
    """``text`` composed (NFC), since a prompt may arrive decomposed."""
    return unicodedata.normalize("NFC", text)


def strip_particle(word: str) -> str:
    """``word`` without a trailing Korean particle; never empty."""
    for particle in vocabulary.PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            return word[: -len(particle)]
    return word


def is_korean(text: str) -> bool:
    """Whether ``text`` should be answered in Korean: its own words, names left out, are mostly Hangul."""
    prose, _ = scan(text)
    hangul = len(_HANGUL.findall(prose))
    return hangul > 0 and hangul * 2 >= len(re.findall(r"[A-Za-z]", prose))


def scan(text: str) -> tuple[str, tuple[Mention, ...]]:
    """The prose of ``text`` (every name replaced by filler of the same length) and the names in order."""
    scanner = _Scanner(normalise(text))
    return scanner.rest, tuple(sorted(scanner.found, key=lambda m: m.start))


def looks_like_path(text: str) -> bool:
    """Whether a quoted ``text`` names a file: a slash without blanks around it, or a known ending."""
    if not text.strip() or len(text) > 200 or text != text.strip():
        return False
    ending = text.rsplit(".", 1)[-1].lower() if "." in text else ""
    if ending in vocabulary.EXTENSIONS and not re.search(r"[(){}=;<>|]", text):
        return text.split()[0] not in vocabulary.COMMANDS
    return bool(re.fullmatch(r"(?:[\w.\-+@]+/)+[\w.\-+@]*", text))


def looks_like_command(text: str) -> bool:
    """Whether ``text`` starts with a program known by name or by a path."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return first in vocabulary.COMMANDS or (first.startswith("./") and " " in text)


class _Scanner:
    """Takes names out of a text, the most explicit spellings first."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self.found: list[Mention] = []
        self._quotes()
        self._each(_URL, "url")
        self._each(_GLOB, "glob")
        self._paths()
        self._files()
        for match in self._matches(lexicon.NAMES):
            name = vocabulary.USUAL_NAMES.get(match.group(), match.group())
            self._take("file", name, match.start(), match.end())
        self._folders()
        for match in self._matches(_SYMBOL):
            self._take("symbol", match.group().removesuffix("()"), match.start(), match.end())
        self._known_folders()

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        yield from list(pattern.finditer(self.rest))

    def _take(self, kind: MentionKind, text: str, start: int, end: int, *, weak: bool = False) -> None:
        if len(text) <= LONGEST_NAME or kind == "command":
            self.found.append(Mention(kind, text, start, end, weak))
        self.rest = self.rest[:start] + _FILLER * (end - start) + self.rest[end:]

    def _each(self, pattern: re.Pattern[str], kind: MentionKind) -> None:
        for match in self._matches(pattern):
            self._take(kind, match.group(), match.start(), match.end())

    def _quotes(self) -> None:
        for match in self._matches(_FENCE):
            body = match.group(1).strip()
            self._take("command" if looks_like_command(body) else "quoted", body, match.start(), match.end())
        for match in self._matches(_QUOTED):
            body = next(g for g in match.groups() if g is not None)
            kind: MentionKind = "quoted"
            if "*" in body and " " not in body and re.search(r"[./]", body):
                kind = "glob"
            elif looks_like_path(body) or lexicon.NAMES.fullmatch(body):
                kind = "folder" if body.endswith("/") else "file"
            elif looks_like_command(body):
                kind = "command"
            elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(?:\(\))?", body):
                kind, body = "symbol", body.removesuffix("()")
            self._take(kind, body, match.start(), match.end())

    def _paths(self) -> None:
        for match in self._matches(_PATH):
            raw = match.group()
            head, _, last = raw.rpartition("/")
            if _HANGUL.search(last) and not _has_extension(last):
                # A particle hangs on the last part: on a Latin name, or alone after the slash.
                latin = re.match(r"[A-Za-z0-9_.\-+@]+", last)
                if last in vocabulary.PARTICLES:
                    last = ""
                elif latin is not None:
                    last = latin.group()
                else:
                    last = strip_particle(last)
            else:
                last = _cut_after_extension(last).rstrip(".-")
            text = f"{head}/{last}"
            if not re.search(r"[^\W\d_]", text):
                continue
            weak = not (raw.startswith((".", "/")) or last == "" or _has_extension(last) or text.count("/") > 1)
            named_so = not _has_extension(last) and _THEN_FOLDER.match(self.rest[match.start() + len(text) :])
            kind: MentionKind = "folder" if last == "" or named_so else "file"
            self._take(
                kind, text.lstrip("/") if text != "/" else text, match.start(), match.start() + len(text), weak=weak
            )

    def _files(self) -> None:
        # Cut into tokens first: one expression for name and ending would take quadratic time on hostile text.
        for match in self._matches(_TOKEN):
            token = match.group().removesuffix("(")
            ended = _ENDED.match(token)
            if ended is None or token.startswith((".", "-", "+")):
                continue
            name, extension = ended.group(), ended.group(2).lower()
            called = match.group(1) and name == token
            end = match.start() + len(name)
            if extension in vocabulary.EXTENSIONS and not called:
                framework = extension == "js" and name[0].isupper()  # "Node.js" is more often the platform than a file
                self._take("file", name, match.start(), end, weak=framework)
            elif len(name) > 4 and name.isascii() and "." not in (name[-2:-1], name[1:2]):
                self._take("symbol", name, match.start(), end)
        for match in self._matches(_DOTFILE):
            self._take("file", match.group(), match.start(), match.end(), weak=True)

    def _folders(self) -> None:
        for pattern in (_FOLDER_WORD, _FOLDER_AFTER):
            for match in self._matches(pattern):
                name = match.group(1).rstrip(".")
                if (
                    name.lower() in _NOT_FOLDERS
                    or name.lower() in vocabulary.STOP_WORDS
                    or name in vocabulary.STOP_KO
                    or not name
                ):
                    continue
                self._take(
                    "folder", name, match.start(1), match.start(1) + len(name), weak=name not in vocabulary.FOLDERS
                )

    def _known_folders(self) -> None:
        for match in self._matches(_KNOWN_FOLDER):
            if match.group(1) not in vocabulary.FOLDERS:
                continue
            before, after = self.rest[: match.start()], self.rest[match.end() :]
            if _BEFORE_FOLDER.search(before) or _AFTER_FOLDER.search(after):
                self._take("folder", match.group(1), match.start(), match.end(), weak=True)


def _has_extension(name: str) -> bool:
    return bool(re.search(r"\.[A-Za-z][A-Za-z0-9]{0,9}$", name)) or name.startswith(".")


def _cut_after_extension(name: str) -> str:
    """``name`` without what hangs on its ending: ``안내.md를`` is ``안내.md``."""
    match = re.match(r"(.*\.[A-Za-z][A-Za-z0-9]{0,9})[가-힣]+$", name)
    return match.group(1) if match else name


def content_words(text: str) -> tuple[str, ...]:
    """The words of a prompt's prose that carry its subject, in order, without repetition; Korean without particles."""
    prose, _ = scan(text)
    words: list[str] = []
    for word in re.findall(r"[A-Za-z][A-Za-z0-9\-]{2,}|[가-힣]{2,}|[一-鿿぀-ヿ]{2,}", prose):
        plain = word.lower() if word.isascii() else _korean_stem(word)
        if len(plain) > LONGEST_WORD or plain in vocabulary.PARTICLES or _is_verb(plain):
            continue
        if _VERB_ENDING.search(word) and plain not in vocabulary.TRANSLATIONS:
            continue
        if (
            plain in vocabulary.STOP_WORDS
            or plain in vocabulary.STOP_KO
            or word in vocabulary.STOP_KO
            or len(plain) < 2
        ):
            continue
        if plain not in words:
            words.append(plain)
    return tuple(words[:8])


def _is_verb(word: str) -> bool:
    """Whether a word is one of the verbs that say what to do, or a form of one."""
    matches = (pattern.match(word) for _, pattern in lexicon.VERBS)
    rests = [word[m.end() :] for m in matches if m is not None]
    return any(not rest or re.match(r"[하해한할했고며면봐보줘어아기려]", rest) for rest in rests)


def _korean_stem(word: str) -> str:
    if word in vocabulary.TRANSLATIONS:
        return word
    for ending in vocabulary.ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)]
    stem = strip_particle(word)
    return stem if len(stem) > 1 else word
