"""Searching a store: words of every script, answers that complete late, any user string."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.messages import user_text
from geode_tui.log import artifacts, search, views
from geode_tui.log.search import find, find_artifacts
from geode_tui.log.search_words import MOST_TERMS, index_text, match, snippet, terms
from geode_tui.log.store import connect, transaction
from geode_tui.log.writer import Writer
from tests.log.stores import SESSION, answer, commit, finished, open_writer, python, result, tell

KOREAN = "컨텍스트압축 게이지를 확인"
JAPANESE = "文脈を圧縮してください"


def same(text: str) -> str:
    return text


def say(writer: Writer, *texts: str) -> None:
    for text in texts:
        commit(writer, lambda tx, text=text: tx.add_message(user_text(text)))


def seqs(writer: Writer, query: str) -> list[int]:
    return [hit.seq for hit in find(writer.db, writer.path.parent, query, same)]


@pytest.mark.parametrize(
    "query",
    [
        "압축",
        "압",
        "축",
        "컨텍스트압축",
        "게이지",
        "확인 압축",
        "인",
        "圧縮",
        "脈",
        "ください",
        "gauge",
        "GAUGE",
        "gauge압축",
    ],
)
def test_words_of_one_two_and_more_characters_are_found(writer: Writer, query: str) -> None:
    say(writer, "nothing of it", f"{KOREAN} {JAPANESE} the gauge")
    assert len(seqs(writer, query)) == 1


def test_the_newest_comes_first_and_all_words_are_wanted(writer: Writer) -> None:
    say(writer, "alpha beta", "alpha", "beta alpha")
    assert seqs(writer, "alpha beta") == sorted(seqs(writer, "alpha beta"), reverse=True)
    assert len(seqs(writer, "alpha beta")) == 2


def test_what_came_after_the_last_search_is_found(writer: Writer) -> None:
    say(writer, "alpha")
    assert len(seqs(writer, "alpha")) == 1
    say(writer, "alpha again")
    assert len(seqs(writer, "alpha")) == 2


def test_calls_and_results_are_found_by_a_process_without_the_lease(writer: Writer, store: Path) -> None:
    commit(writer, lambda tx: tx.add_message(answer("looking", "c1")))
    commit(writer, lambda tx: tx.add_message(result("c1", "a needle")))
    reader = connect(store)
    (hit,) = find(reader, store.parent, "needle", same)
    reader.close()
    assert (hit.session_id, hit.role, hit.snippet) == (SESSION, "tool", "a [needle]")


def test_an_answer_that_completes_after_a_search_is_found_later(writer: Writer) -> None:
    message_id, seq = commit(writer, lambda tx: tx.open_message())
    say(writer, "alpha")
    assert len(seqs(writer, "alpha")) == 1
    commit(writer, lambda tx: tx.complete_message(message_id, seq, answer("alpha as well"), "stop", None))
    assert len(seqs(writer, "alpha")) == 2


def test_processes_that_index_at_once_count_no_message_twice(writer: Writer, store: Path) -> None:
    say(writer, *(f"alpha {n}" for n in range(40)))
    code = (
        "import sys; from pathlib import Path; from geode_tui.log.store import connect;"
        "from geode_tui.log.search import find; import geode_tui.log.search as s; s.SLICE = 1; p = Path(sys.argv[1]);"
        "sys.stdin.readline(); print(len(find(connect(p), p.parent, 'alpha', str)))"
    )
    others = [python(code, str(store)) for _ in range(2)]
    for other in others:
        tell(other)
    assert [finished(other).strip() for other in others] == ["40", "40"]
    assert (store.parent / search.FILE).stat().st_mode & 0o777 == 0o600


def test_a_search_of_an_index_that_is_current_writes_nothing(writer: Writer, store: Path) -> None:
    say(writer, "alpha")
    assert len(seqs(writer, "alpha")) == 1
    index = search.open_index(store.parent / search.FILE)
    with transaction(index):
        assert len(seqs(writer, "alpha")) == 1
    index.close()


def test_many_slices_are_all_indexed(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SLICE", 3)
    say(writer, *(f"alpha {n}" for n in range(9)))
    assert len(seqs(writer, "alpha")) == 9


def test_an_index_of_another_store_is_made_anew(writer: Writer, tmp_path: Path) -> None:
    say(writer, "alpha", "alpha")
    assert len(seqs(writer, "alpha")) == 2
    other = open_writer(tmp_path / "other" / "sessions.db", "s-2")
    say(other, "beta")
    (writer.path.parent / search.FILE).rename(other.path.parent / search.FILE)
    assert (len(seqs(other, "alpha")), len(seqs(other, "beta"))) == (0, 1)
    other.close()


def test_a_forgotten_artifact_is_not_found(writer: Writer) -> None:
    commit(writer, lambda tx: views.keep_artifact(tx, SESSION, views.Artifact("art_1", "dream", KOREAN)))
    (hit,) = find_artifacts(writer.db, "압축", same, "dream")
    assert (hit.artifact_id, hit.snippet) == ("art_1", "컨텍스트[압축] 게이지를 확인")
    assert find_artifacts(writer.db, "압축", same, "compaction_summary") == ()
    commit(writer, lambda tx: artifacts.forget(tx, SESSION, "art_1", "person", "wrong"))
    assert find_artifacts(writer.db, "압축", same) == ()


def test_a_secret_is_taken_out_before_the_snippet_is_cut(writer: Writer) -> None:
    say(writer, "the key hunter2-hunter2 is here")
    (hit,) = find(writer.db, writer.path.parent, "hunter2", lambda text: text.replace("hunter2-hunter2", "***"))
    assert hit.snippet == "the key *** is here"[: len(hit.snippet)]
    assert "hunter2" not in hit.snippet


def test_any_string_is_safe(writer: Writer) -> None:
    say(writer, 'he said "AND" OR NOT near* column:x')
    for query in ('"', "AND", "NOT", "*", "\0", "a" * 10_240, '"AND"', "body:x", "(", "near*", "-", "^x", "", "' --"):
        assert len(seqs(writer, query)) <= 1
    assert len(seqs(writer, "AND")) == 1


@given(st.text(max_size=60))
def test_terms_are_bounded_and_make_an_expression(query: str) -> None:
    wanted = terms(query)
    assert len(wanted) <= MOST_TERMS
    assert all(any(map(str.isalnum, term)) for term in wanted)
    assert match(wanted).count(" AND ") <= MOST_TERMS


def test_each_character_of_a_run_begins_a_token() -> None:
    assert index_text("압축률").split() == ["압축", "축률", "률"]


def test_a_snippet_is_one_line_around_what_was_found() -> None:
    line = snippet("x " * 200 + "a\nneedle " + "y " * 200, ("needle",))
    assert line.startswith("...")
    assert line.endswith("...")
    assert "a [needle] y" in line
