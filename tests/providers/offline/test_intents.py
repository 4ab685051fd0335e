"""What prompts are understood to ask for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.providers.offline.evidence import glob_paths, grep_hits, list_entries, numbered_lines
from geode_tui.providers.offline.intents import combine, parse
from geode_tui.providers.offline.mentions import content_words, is_korean, scan


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        ("Read README.md", ["read"]),
        ("README.md를 읽어줘", ["read"]),
        ("Survey the repo for 30 rounds", ["survey"]),
        ("프로젝트를 30라운드 동안 조사해줘", ["survey"]),
        ("src 폴더를 훑어봐", ["survey"]),
        ("find `parse_args`", ["search"]),
        ("parse_args를 찾아줘", ["search"]),
        ("compare a.py and b.py", ["compare"]),
        ("a.py와 b.py 비교해줘", ["compare"]),
        ("diff a.py b.py", ["compare"]),
        ("run `make test`", ["run"]),
        ("`make test` 실행해줘", ["run"]),
        ("pytest -q 돌려줘", ["run"]),
        ("how many json files are there?", ["count"]),
        ("파이썬 파일이 몇 개야?", ["count"]),
        ("write notes.md with 'hi'", ["write"]),
        ("Read a.py and search for 'foo' in src", ["read", "search"]),
        ("a.py를 읽고 `foo`를 검색해줘", ["read", "search"]),
        ("프로젝트를 요약해서 notes/s.md에 저장해줘", ["survey", "write"]),
        ("why is the sky blue?", ["ask"]),
        ("", ["ask"]),
    ],
)
def test_kind_of_task(prompt: str, kinds: list[str]) -> None:
    assert [t.kind for t in combine([prompt]).tasks] == kinds


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("src/core/text.py를 봐", ["src/core/text.py"]),
        ("tests/에서 찾아", ["tests/"]),
        ("문서/안내.md를 읽어", ["문서/안내.md"]),
        ("open 'my notes.txt'", ["my notes.txt"]),
        ("see Makefile and README", ["Makefile", "README"]),
        ("read package.json, then tsconfig.json.", ["package.json", "tsconfig.json"]),
        ("look at https://example.org/a.py", []),
        ("e.g. this and/or that, v1.2", ["and/or"]),
    ],
)
def test_names_of_files_and_folders(prompt: str, names: list[str]) -> None:
    assert [m.text for m in scan(prompt)[1] if m.kind in {"file", "folder"}] == names


def test_a_pair_of_words_with_a_slash_is_only_a_weak_name() -> None:
    assert [m.weak for m in scan("input/output and ./a/b")[1]] == [True, False]


def test_decomposed_prompts_mean_the_same() -> None:
    prompt = "설계 문서를 읽고 `비용`을 찾아줘"
    assert parse(unicodedata.normalize("NFD", prompt)) == parse(prompt)


@pytest.mark.parametrize(
    ("prompt", "korean"),
    [("README.md를 읽어줘", True), ("find '설정' in the docs", False), ("hello", False), ("src/parser.py 요약", True)],
)
def test_language_of_the_report_is_that_of_the_prompts_own_words(prompt: str, korean: bool) -> None:
    assert is_korean(prompt) is korean


def test_words_lose_particles_and_polite_endings() -> None:
    assert content_words("캐시는 어떻게 비워지나요? 설정을 알려주세요") == ("캐시", "설정")


@pytest.mark.parametrize(
    ("text", "exclude", "only"),
    [
        ("stop reading tests, only docs", ("tests",), ("docs",)),
        ("skip the tests", ("tests",), ()),
        ("테스트는 빼고 봐줘", ("tests",), ()),
        ("문서만 봐줘", (), ("docs",)),
    ],
)
def test_filters(text: str, exclude: tuple[str, ...], only: tuple[str, ...]) -> None:
    wish = combine(["survey the project", text])
    assert (wish.exclude, wish.only) == (exclude, only)


def test_a_word_for_stopping_in_a_first_prompt_starts_its_task() -> None:
    assert combine(["find where we stop and clean up"]).wrap_up is False
    assert combine(["survey the project", "stop"]).wrap_up is True


def test_a_line_that_goes_on_is_left_out() -> None:
    text = "    1\tabc\n    2\tlong\n[lines 1 to 2 shown, 9 kB left: continue with start_line=2 start_char=4]"
    assert [x.number for x in numbered_lines("a", text)] == [1]


@given(st.text(), st.text())
def test_any_text_is_understood_as_something(first: str, second: str) -> None:
    wish = combine([first, second])
    assert wish.tasks or wish.wrap_up or wish.exclude or wish.only


def test_results_are_read_as_the_tools_write_them() -> None:
    assert [(x.number, x.text) for x in numbered_lines("a", "    1\t\tx\n   12\t  y\n[lines 1 to 2 shown]")] == [
        (1, "\tx"),
        (12, "  y"),
    ]
    assert [(x.path, x.number, x.text) for x in grep_hits("a b.py:3:   x: y\n[1 match in 1 file]")] == [
        ("a b.py", 3, "  x: y")
    ]
    assert glob_paths("[id].tsx\nb c.py\n[the newest 200 of 300 shown: narrow the pattern]") == ["[id].tsx", "b c.py"]
    assert list_entries("src", "core/\n  a b.py  2.0 kB\nc.py  3 B\nd (link)\n[cannot be read]") == (
        {"src/core/a b.py": 2000, "src/c.py": 3, "src/d": 0},
        ["src/core"],
    )
