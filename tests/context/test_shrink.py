"""Large results give way to facts, repeated ones to pointers, long arguments to their beginnings (RUNTIME.md 3.5)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.shrink import shortened_arguments, shrunk
from geode_tui.context.view import View, fold
from geode_tui.core.messages import ToolCallBlock
from geode_tui.core.views import Operation, Pin, Shrink, Version
from geode_tui.log.rows import ResultMeta
from tests.context.talks import LONG, Talk, call, tokens

THRESHOLD = 100


def under(*operations: Operation) -> View:
    return fold([Version(number=1, parent=0, group=1, cause="manual", operations=operations, newest=99)])


def shrink(talk: Talk, view: View | None = None, *, threshold: int = THRESHOLD, keep: bool = True) -> Shrink:
    made = shrunk(talk.items, view or View(), threshold=threshold, tokens=tokens, keep_last_batch=keep)
    return made or Shrink()


def stubs(talk: Talk, view: View | None = None, *, threshold: int = THRESHOLD, keep: bool = True) -> dict[int, str]:
    return {stub.seq: stub.text for stub in shrink(talk, view, threshold=threshold, keep=keep).stubs}


def after(asked: ToolCallBlock, meta: ResultMeta | None, text: str = LONG, *, is_error: bool = False) -> str:
    """What is left of one old result."""
    talk = Talk()
    talk.user()
    talk.agent(asked)
    talk.result(text, meta=meta, is_error=is_error)
    talk.round(text="ok")
    return stubs(talk)[3].replace(f"[summarized from ~{tokens(talk.items[2])} tokens]", "~")


def said(**facts: str | float) -> ResultMeta:
    return ResultMeta(facts={**facts})


def test_each_tool_leaves_its_facts() -> None:
    shell = said(command="make test", exit_code=2, lines=812, bytes=9)
    assert after(call("run_shell", command="make test"), shell) == "[run_shell make test: exit 2, 812 lines] ~"
    read = said(path="src/a.py", start_line=40, lines=200, chars=8_200)
    assert (
        after(call("read_file", path="src/a.py"), read)
        == "[read_file src/a.py: from line 40, 200 lines, 8,200 chars] ~"
    )
    found = said(pattern="TODO", path="src", matches=31)
    assert after(call("grep", pattern="TODO", path="src"), found) == '[grep "TODO" in src: 31 matches] ~'
    assert after(call("glob", pattern="*.py", path="."), found) == '[glob "*.py" in .: 31 matches] ~'
    assert after(call("list_dir", path="src"), said(path="src", entries=1_204)) == "[list_dir src: 1,204 entries] ~"
    edited = ResultMeta("+3 -1", facts={"path": "a.py", "added": 3, "removed": 1})
    assert after(call("edit_file", path="a.py"), edited) == f"[edit_file a.py: +3 -1, {len(LONG):,} chars] ~"
    planned = ResultMeta("2 of 5 done", facts={"steps": 5, "done": 2})
    assert "2 of 5 done" in after(call("update_plan", steps=[]), planned)


def test_a_tool_that_nobody_knows_leaves_its_first_arguments() -> None:
    text = after(call("tickets_list", board="core" * 30, limit=5, other=1), None)
    assert text.startswith(f"[tickets_list board={('core' * 30)[:39]}")
    assert text.endswith(f", limit=5: 41 lines, {len(LONG):,} chars] ~")


@pytest.mark.parametrize(("key", "room"), [("command", 120), ("task", 100), ("url", 120)])
def test_what_a_call_was_about_is_cut(key: str, room: int) -> None:
    text = after(call("other", **{key: "w" * 500}), None)
    assert text.startswith("[other " + "w" * (room - 1))
    assert text.count("w") == room - 1


def test_an_error_keeps_its_first_line() -> None:
    text = after(call("run_shell", command="make"), said(exit_code=1, lines=3), "boom\n" + LONG, is_error=True)
    assert text == "[run_shell make: exit 1, 3 lines, error: boom] ~"


def test_arguments_that_cannot_be_read_give_way_to_the_record() -> None:
    talk = Talk()
    talk.user()
    talk.agent(ToolCallBlock("", "read_file", '{"path": "src/a'))
    talk.result(meta=said(path="src/a.py", lines=9))
    talk.round(text="ok")
    assert stubs(talk)[3].startswith("[read_file src/a.py: 9 lines]")


def test_only_what_is_larger_than_the_threshold_shrinks() -> None:
    talk = Talk()
    talk.user()
    _, result = talk.round()
    talk.round(text="ok")
    assert stubs(talk, threshold=tokens(result)) == {}
    assert stubs(talk, threshold=tokens(result) - 1).keys() == {3}


def test_the_newest_of_identical_results_stands() -> None:
    text = "the same\n" * 30
    talk = Talk()
    talk.user()
    talk.round(text=text, path="old.py")
    talk.round(text=text, path="mid.py")
    talk.round(text=text, path="new.py")
    talk.agent("fine")
    talk.round(text="ok")
    assert stubs(talk, threshold=1_000) == {
        3: "[read_file old.py: the same as the newer result of read_file new.py]",
        5: "[read_file mid.py: the same as the newer result of read_file new.py]",
    }


def test_a_copy_does_not_point_at_a_result_that_shrinks_too() -> None:
    talk = Talk()
    talk.user()
    talk.round(path="old.py")
    talk.round(path="new.py")
    talk.round(text="ok")
    made = stubs(talk)
    assert made.keys() == {3, 5}
    assert not any("the same as" in text for text in made.values())


def test_a_copy_in_the_last_batch_stands_for_an_older_large_one() -> None:
    talk = Talk()
    talk.user()
    talk.round(path="old.py")
    talk.round(path="new.py")
    assert stubs(talk) == {3: "[read_file old.py: the same as the newer result of read_file new.py]"}


def test_short_repetitions_and_different_errors_are_left_alone() -> None:
    talk = Talk()
    talk.user()
    talk.round(text="ok")
    talk.round(text="ok")
    talk.agent(call("read_file"))
    talk.result("x" * 250, is_error=True)
    talk.round(text="x" * 250)
    assert stubs(talk, threshold=1_000) == {}


def test_results_with_images_are_left_alone() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("screenshot"))
    talk.result(LONG, images=1)
    talk.round(text="ok")
    assert stubs(talk) == {}


def test_the_last_batch_shrinks_only_where_it_may_and_never_what_was_asked_to_be_read() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("read_file"), call("use_skill", name="review"), call("recall_tool_result", ref_id="r"))
    for letter in "abc":
        talk.result(letter * 800)
    assert stubs(talk) == {}
    assert stubs(talk, keep=False).keys() == {3}
    assert stubs(talk, under(Pin((3,))), keep=False) == {}


def test_an_older_skill_says_that_it_has_to_be_loaded_again() -> None:
    text = after(call("use_skill", name="review"), None)
    assert text == (
        "[use_skill review: the text of this skill is not sent any more; call use_skill again before you follow it] ~"
    )


def test_what_was_shrunk_is_not_shrunk_again() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("write_file", content="z" * 3_000))
    talk.result()
    talk.round(text="ok")
    first = shrink(talk)
    assert (len(first.stubs), len(first.cuts)) == (1, 1)
    assert shrunk(talk.items, under(first), threshold=THRESHOLD, tokens=tokens, keep_last_batch=True) is None


def test_long_arguments_of_old_calls_are_cut_and_those_of_the_last_batch_stay() -> None:
    talk = Talk()
    talk.user()
    for _ in range(2):
        talk.round("write_file", "ok", path="a.py", content="z" * 3_000)
    (cut,) = shrink(talk).cuts
    assert (cut.seq, cut.call_id) == (2, "c2_0")
    assert json.loads(cut.arguments) == {"path": "a.py", "content": "z" * 200 + "... (2,800 more characters)"}


def test_arguments_that_are_not_long_or_not_readable_or_pinned_stay() -> None:
    talk = Talk()
    talk.user()
    talk.round("write_file", "ok", content="z" * 1_400)
    talk.agent(ToolCallBlock("", "write_file", '{"content": "' + "z" * 3_000))
    talk.result("ok")
    talk.round("write_file", "ok", content="z" * 3_000)
    talk.round(text="ok")
    assert [cut.seq for cut in shrink(talk).cuts] == [6]
    assert shrink(talk, under(Pin((7,)))).cuts == ()


@pytest.mark.parametrize(
    "arguments",
    [
        '"' + "z" * 2_000 + '"',
        "[" * 5_000 + "]" * 5_000,
        '{"n":' + "1" * 2_000 + "}",
        "{" + '"a":1e999,' * 300 + '"b":1}',
    ],
)
def test_what_is_no_object_of_texts_is_left_alone(arguments: str) -> None:
    assert shortened_arguments(arguments) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_cut_arguments_are_json_of_the_same_shape(fields: dict[str, object]) -> None:
    text = json.dumps(fields, ensure_ascii=False)
    cut = shortened_arguments(text)
    if cut is not None:
        assert len(cut) < len(text)
        assert shape(json.loads(cut)) == shape(fields)


def shape(value: object) -> object:
    """A value with its texts as far as they are kept."""
    match value:
        case str():
            return value[:200]
        case dict():
            return {key: shape(each) for key, each in value.items()}
        case list():
            return [shape(each) for each in value]
    return value
