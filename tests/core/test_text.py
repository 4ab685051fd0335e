"""Text hygiene: nothing that is stored can drive a terminal, and no known secret is shown."""

from __future__ import annotations

import re
import sqlite3

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from geode_tui.core.messages import TextBlock, encode_blocks
from geode_tui.core.text import MASK, Redactor, clean, clean_line, fold_width, scrub, secret_values

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
anything = st.text(st.characters(codec=None, categories=None))
hostile = st.lists(
    st.one_of(st.sampled_from(["\x1b", "\x1b[", "\x1b]", "\x9b", "\x9d", "\x07", "\x1b\\", "\r", "\n"]), anything)
).map("".join)

MARKUP = [
    "[/",
    "[/]",
    "[/INST]",
    "[b + x",
    "[=14629,state=CLOSED]",
    "[@click=app.quit]x[/]",
    "[/Users/a/b]",
    "[link=file:///etc/passwd]x[/link]",
    "\\[",
]


@given(hostile)
@example("\x1b]52;c;AA\x07")
def test_clean_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    assert OBEYED.search(clean(text)) is None


@given(hostile)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp"), include_characters="\n\t")))
def test_legal_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("text", [*MARKUP, "한글 Ý", "🍸 👩‍👩‍👧", "a\tb\nc", "e\u0301"])
def test_text_that_only_looks_special_is_left_as_it_is(text: str) -> None:
    """B081: brackets are data. B083: continuation bytes 0x80 to 0x9f of UTF-8 are no controls."""
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;cm0gLXJm\x07", "␛"),
        ("\x1b]0;pwn\x07", "␛"),
        ("\x1b]8;;http://evil\x1b\\ok\x1b]8;;\x1b\\", "␛ok␛"),
        ("\x1bP+q\x1b\\", "␛"),
        ("\x1b_Gf=100\x1b\\", "␛"),
        ("\x1b[10A\x1b[2J", "␛␛"),
        ("\x1b[6n", "␛"),
        ("\x1bc", "␛"),
        ("\u009b31m", "␛"),
        ("\u009d52;c;AA\u009c", "␛"),
        ("\x1b]unterminated", "␛unterminated"),
        ("a\rOVER", "a␍OVER"),
        ("\x08\x08", "␈␈"),
        ("one\r\ntwo", "one\ntwo"),
        ("\x7f", "␡"),
    ],
)
def test_escape_sequences_become_pictures_and_what_is_text_stays(text: str, shown: str) -> None:
    """B083."""
    assert clean(text) == shown


@pytest.mark.parametrize(
    "text", ["x\x07\x1b[2J\x1b]52;c;AAAA\x07", "\x1b]0;u: ready\x07build", "a\nb\u2028c", "x" * 999]
)
def test_a_title_or_an_id_is_one_short_inert_line(text: str) -> None:
    """B084."""
    line = clean_line(text, 60)
    assert OBEYED.search(line) is None
    assert "\n" not in line
    assert len(line) <= 60


@given(hostile, st.integers(1, 80))
def test_a_line_keeps_its_limit(text: str, limit: int) -> None:
    assert len(clean_line(text, limit)) <= limit


@pytest.mark.parametrize(
    ("text", "stored"), [("a\ud800b", "a\ufffdb"), ("\ud83c\udf78", "🍸"), ("x\udc88y", "x\ufffdy"), ("plain", "plain")]
)
def test_lone_surrogates_are_replaced_and_pairs_joined(text: str, stored: str) -> None:
    """B050."""
    assert scrub(text) == stored


@given(anything)
def test_scrubbed_text_can_be_stored_and_sent(text: str) -> None:
    """B050: the database, JSON and a hash all take it."""
    stored = scrub(text)
    assert scrub(stored) == stored
    assert msgspec.json.decode(encode_blocks((TextBlock(stored),)))[0]["text"] == stored
    with sqlite3.connect(":memory:") as db:
        assert db.execute("SELECT length(CAST(? AS BLOB))", (stored,)).fetchone()[0] == len(stored.encode())


def test_composed_and_decomposed_hangul_compare_equal() -> None:
    assert fold_width("\u1112\u1161\u11ab") == "한"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-TESTTEST",
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnop",
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "glpat-abcdefghijklmnopqrst",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.SflKxwRJSMeKKF2QT4",
    ],
)
def test_shapes_of_keys_are_masked(secret: str) -> None:
    assert Redactor()(f"key={secret}, next") == f"key={MASK}, next"


def test_the_exact_values_this_process_holds_are_masked_longest_first() -> None:
    redact = Redactor(["hunter2hunter2", "hunter2hunter2-and-more", "short"])
    assert redact("a hunter2hunter2-and-more b hunter2hunter2 c short") == f"a {MASK} b {MASK} c short"


@pytest.mark.parametrize(
    "text", ["task-1234", "sk-1", "the sky-blue button", "AKIA", "eyJhbGciOi", "sha256:deadbeefdeadbeefdeadbeef", ""]
)
def test_nothing_else_is_masked(text: str) -> None:
    assert Redactor(["hunter2hunter2"])(text) == text


def test_secrets_are_found_by_the_names_of_their_variables() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "abcdefgh1",
        "ANTHROPIC_AUTH_TOKEN": "abcdefgh2",
        "db_password": "abcdefgh3",
        "AWS_SECRET_ACCESS_KEY": "abcdefgh4",
        "TINY_TOKEN": "short",
        "PATH": "/usr/bin:/bin",
        "TOKENIZERS_PARALLELISM": "abcdefgh5",
    }
    assert sorted(secret_values(environment.items())) == ["abcdefgh1", "abcdefgh2", "abcdefgh3", "abcdefgh4"]
