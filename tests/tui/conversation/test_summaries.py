"""What tools say of their calls, in the person's language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from geode_tui.core.strings import Strings
from geode_tui.tui.conversation import cards
from geode_tui.tui.conversation.summaries import summary_words
from tests.tui.conversation.kit import canvas

EN, KO = Strings("en"), Strings("ko")
ROOT = Path(__file__).parents[3] / "geode_tui" / "runtime"

SAID = [
    ("1 line", "1줄"),
    ("2,000 lines", "2,000줄"),
    ("1 match", "1곳 일치"),
    ("49 matches", "49곳 일치"),
    ("3 entries", "항목 3개"),
    ("1 file", "파일 1개"),
    ("12 files", "파일 12개"),
    ("2 of 6 done", "6개 중 2개 끝냄"),
    ("exit 1", "종료 코드 1"),
    ("ended by SIGTERM", "SIGTERM 로 종료"),
    ("timed out after 120 s", "120초 시간 초과"),
    ("binary 5.2 MB", "바이너리 5.2 MB"),
    ("empty", "비어 있음"),
    ("past the end", "끝을 지남"),
    ("+24 -9", "+24 -9"),
    ("a tool of another kind", "a tool of another kind"),
]


@pytest.mark.parametrize(("summary", "korean"), SAID)
def test_a_summary_is_said_in_both_languages(summary: str, korean: str) -> None:
    assert summary_words(summary, EN) == summary
    assert summary_words(summary, KO) == korean


def test_every_fixed_summary_of_our_tools_is_known() -> None:
    sources = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")]
    fixed = {text for source in sources for text in re.findall(r'summary="([^"{]+)"', source)}
    assert {"empty", "refused", "failed", "past the end"} <= fixed
    for text in fixed:
        assert not re.search("[a-z]", summary_words(text, KO)), text


def test_a_card_speaks_the_persons_language() -> None:
    page = canvas(80, language="ko")
    call = cards.Call("c", "read_file", "a.py", is_path=True)
    row = cards.card_row(call, cards.Standing("ok", "214 lines", None, 100, 5), page.ink, KO, 76, cards.Moment())
    text = "".join(segment.text for segment in row)
    assert "214줄" in text
    assert "lines" not in text
