"""Colours of code, from Pygments' token types to the few roles a theme has."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]

NAMES = 200
_ALIASES = {"shell-session": "console", "py": "python", "sh": "bash", "zsh": "bash", "text": "", "plain": "", "txt": ""}


@lru_cache(maxsize=64)
def lexer_for(language: str) -> Lexer | None:
    """The lexer of a fence's language, or None. Imported when first needed: see `warm`."""
    name = _ALIASES.get(language.lower(), language.lower())
    if not name:
        return None
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def loaded() -> bool:
    """Whether code can be coloured without loading Pygments first, which takes 50 ms."""
    return hasattr(sys.modules.get("pygments.lexers"), "get_lexer_by_name")


def warm() -> None:
    """Import what the first code needs, in a thread, before it is needed (100 ms)."""
    tokens_of("x = 1", "python")


@lru_cache(maxsize=NAMES)
def role_of(token: object) -> tuple[str, bool]:
    """The palette role of a Pygments token type, and whether it is italic."""
    from pygments.token import Comment, Generic, Keyword, Literal, Number, Operator, String  # type: ignore[import-untyped]

    match token:
        case _ if token in Comment:
            return "muted", True
        case _ if token in Keyword or token in Operator.Word:
            return "accent", False
        case _ if token in String:
            return "ok", False
        case _ if token in Number or token in Literal:
            return "info", False
        case _ if token in Generic.Deleted:
            return "crit", False
        case _ if token in Generic.Inserted:
            return "ok", False
        case _:
            return "code", False


def tokens_of(text: str, language: str) -> list[tuple[str, str, bool]]:
    """``text`` as (part, palette role, italic); the parts add up to ``text`` exactly.

    A lexer that would change the text (some drop or add characters) is not trusted with it.
    """
    lexer = lexer_for(language)
    if lexer is None or not text:
        return [(text, "code", False)]
    parts = [(value, *role_of(kind)) for kind, value in lexer.get_tokens(text) if value]
    return parts if "".join(part for part, _, _ in parts) == text else [(text, "code", False)]
