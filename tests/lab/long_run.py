"""A long run to prove the context window against: a large generated tree, and the prompt that has all of it read.

With the 300 files of `tree` the offline planner takes well over 300 rounds and is shown over two million tokens: code
and prose of 4 to 40 kB a file, a tenth of it Korean, and some files of 64 kB whose text takes more than 15,000 tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = "library"
FILES = 300
PER_FOLDER = 14
SMALLEST, LARGEST, HUGE = 4_000, 40_000, 64_000
"""Bytes of a file."""
HUGE_EVERY, KOREAN_EVERY = 28, 10

_VERBS = (
    "load",
    "store",
    "merge",
    "split",
    "parse",
    "check",
    "index",
    "order",
    "count",
    "shift",
    "trim",
    "join",
    "scan",
)
_NOUNS = ("entry", "ledger", "record", "window", "cursor", "packet", "header", "column", "marker", "branch", "bucket")
_SENTENCES = (
    "이 함수는 장부의 항목을 순서대로 읽어 검사한다.",
    "값이 없으면 앞의 값을 그대로 두고 다음 항목으로 넘어간다.",
    "기록은 더해질 뿐 고쳐지지 않으므로 언제든 처음부터 다시 만들 수 있다.",
    "창이 가득 차면 오래된 결과부터 표시로 바꾸고 원본은 파일에 남긴다.",
    "오류는 한 줄로 알리고 무엇을 해야 하는지 함께 적는다.",
)


@dataclass(frozen=True)
class Tree:
    """What `tree` wrote: paths relative to the root in the order in which they are read, and all their bytes."""

    paths: tuple[str, ...]
    size: int


def prompt(*, korean: bool = False) -> str:
    """The task: every file in its turn."""
    if korean:
        return f"`{FOLDER}/` 폴더의 파일을 처음부터 끝까지 하나씩 읽고 보고해줘"
    return f"Read the files under `{FOLDER}/` one after another, from the first to the last, and report."


def tree(root: Path, seed: int = 0, files: int = FILES) -> Tree:
    """Write ``files`` files below ``root``: the same for the same seed."""
    dice = random.Random(seed)
    code, prose = _code_lines(dice), _prose_lines(dice)
    paths, size = [], 0
    for number in range(files):
        korean = number % KOREAN_EVERY == 3 or number % HUGE_EVERY == 7
        wanted = HUGE if number % HUGE_EVERY == 7 else _wanted(dice)
        path = f"{FOLDER}/{_name(number, korean=korean)}"
        text = _text(path, wanted, prose if korean else code, dice)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        paths.append(path)
        size += len(text.encode())
    return Tree(tuple(sorted(paths, key=_reading_order)), size)


def _wanted(dice: random.Random) -> int:
    """Mostly large enough to fill a round alone, now and then small enough to be read with others."""
    return dice.randint(SMALLEST, 9_000) if dice.random() < 0.2 else dice.randint(13_000, LARGEST)


def _name(number: int, *, korean: bool) -> str:
    folder = f"part_{number // PER_FOLDER:02d}"
    if number % PER_FOLDER >= PER_FOLDER - 3:
        folder += "/문서" if korean else "/inner"
    return f"{folder}/안내_{number:03d}.md" if korean else f"{folder}/module_{number:03d}.py"


def _reading_order(path: str) -> list[tuple[bool, str]]:
    *folders, name = path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]


def _text(path: str, wanted: int, lines: Sequence[str], dice: random.Random) -> str:
    """At most ``wanted`` bytes, the first line telling the file."""
    parts, left = [f"# {path}"], wanted - len(path.encode()) - 3
    while left > 0:
        line = dice.choice(lines)
        parts.append(line)
        left -= len(line.encode()) + 1
    return "\n".join(parts[:-1]) + "\n"


def _code_lines(dice: random.Random) -> list[str]:
    def name() -> str:
        return f"{dice.choice(_VERBS)}_{dice.choice(_NOUNS)}_{dice.randrange(100)}"

    makers: tuple[Callable[[], str], ...] = (
        lambda: f"def {name()}({dice.choice(_NOUNS)}: int, limit: int = {dice.randrange(1_000)}) -> int:",
        lambda: f"    {dice.choice(_NOUNS)} = {name()}({dice.choice(_NOUNS)}, {dice.randrange(10_000)})",
        lambda: f"    if {dice.choice(_NOUNS)} > {dice.randrange(100)} and not {name()}({dice.choice(_NOUNS)}):",
        lambda: f"        return {name()}({dice.choice(_NOUNS)}) + {dice.randrange(1_000)}",
        lambda: f"    # {dice.choice(_SENTENCES)}" if dice.random() < 0.1 else f"    # {name()} comes before {name()}",
    )
    return [dice.choice(makers)() for _ in range(3_000)]


def _prose_lines(dice: random.Random) -> list[str]:
    return [" ".join(dice.choices(_SENTENCES, k=dice.randint(1, 3))) + f" ({n})" for n in range(500)]
