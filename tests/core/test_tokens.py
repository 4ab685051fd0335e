"""Counting without a network: two bundled vocabularies, and a count by script (RUNTIME.md 1.6)."""

from __future__ import annotations

import socket
from importlib import resources

import pytest

from geode_tui.core import tokens
from geode_tui.core.tokens import (
    CHUNK_CHARS,
    ScriptCounter,
    Vocabulary,
    VocabularyError,
    VocabularyName,
    load_vocabulary,
    official,
    text_tokens,
)


@pytest.fixture(scope="module")
def newer() -> Vocabulary:
    return load_vocabulary("o200k_base")


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("한글", 2), ("한글 abc", 3), ("漢字かな", 4), ("é" * 8, 2), ("𠀀", 1)],
)
def test_each_script_counts_by_its_density(text: str, count: int) -> None:
    assert text_tokens(text) == ScriptCounter().count(text) == count


@pytest.mark.parametrize(("name", "count"), [("o200k_base", 8), ("cl100k_base", 11)])
def test_a_bundled_vocabulary_counts_without_a_network(
    name: VocabularyName, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(socket, "socket", refused)
    loaded = load_vocabulary(name)
    assert (loaded.vocabulary, loaded.count("Hello 세계, context budget 90%")) == (name, count)


def test_what_reads_like_a_special_token_is_counted_as_text(newer: Vocabulary) -> None:
    assert newer.count("<|endoftext|>") > 1
    assert newer.count("<|endoftext|>" * 200) > 400


def test_a_long_text_is_counted_in_pieces_and_only_once(newer: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def value(number: int) -> int:\n" * 8_000
    halves = newer.count(text[:CHUNK_CHARS]) + newer.count(text[CHUNK_CHARS : 2 * CHUNK_CHARS])
    whole = newer.count(text)
    assert whole == halves + newer.count(text[2 * CHUNK_CHARS :])
    monkeypatch.setattr(Vocabulary, "_count_chunks", lambda *_: pytest.fail("counted again"))
    assert newer.count(text) == whole


def test_only_the_newest_counts_are_remembered(newer: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED", 2)
    other = Vocabulary("o200k_base", newer._encoding)
    for number in range(5):
        assert other.count(f"{number} " * 600) > 600
    assert len(other._counts) == 2


def test_a_vocabulary_that_is_not_the_official_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokens._HASHES, "cl100k_base", "0" * 64)
    with pytest.raises(VocabularyError, match="install geode-tui again"):
        load_vocabulary("cl100k_base")


def test_the_licence_of_the_vocabularies_travels_with_them() -> None:
    notice = resources.files("geode_tui.core.data").joinpath("NOTICE").read_text(encoding="utf-8")
    assert "MIT License" in notice
    assert "OpenAI" in notice


@pytest.mark.parametrize("name", tokens.VOCABULARIES)
def test_a_bundled_vocabulary_is_the_official_one(name: VocabularyName) -> None:
    assert official(name).count(b"\n") > 100_000
