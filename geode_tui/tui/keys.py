"""Keys: jamo aliases for letters, so that panes work in Hangul mode (SCREENS.md 8)."""

from __future__ import annotations

_TWO_SET = dict(zip("qwertyuiopasdfghjklzxcvbnm", "ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡ", strict=True))


def letter(key: str, *others: str) -> str:
    """The binding of a letter key, its jamo in the two-set layout, and ``others``: ``y`` is ``y,ㅛ``."""
    return ",".join((key, _TWO_SET[key], *others))


_SHOWN = {
    "escape": "esc",
    "question_mark": "?",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "backslash": "\\",
    "pagedown": "pgdn",
    "pageup": "pgup",
}


def shown(key: str) -> str:
    """A key as people know it: ``escape`` is ``esc``."""
    return _SHOWN.get(key, key)
