"""Stale results give way to markers (RUNTIME.md 3.4)."""

from __future__ import annotations

from geode_tui.context.called import calls_of
from geode_tui.context.mask import maskable, masked
from geode_tui.context.view import Item, View, fold
from geode_tui.core.views import Mask, Offload, Pin, Stub, Version
from tests.context.talks import LONG, Talk, call, tokens


def under(*operations: Offload | Pin) -> View:
    return fold([Version(number=1, parent=0, group=1, cause="manual", operations=operations, newest=99)])


def markers(talk: Talk, *items: Item, refs: dict[int, str] | None = None) -> list[str]:
    made = masked(items, refs or {}, tokens, calls_of(talk.items))
    return [stub.text for stub in made.stubs] if made is not None else []


def worked(rounds: int) -> Talk:
    talk = Talk()
    talk.user()
    for n in range(rounds):
        talk.round(path=f"src/{n}.py")
    return talk


def test_the_results_before_the_third_last_answer_may_be_masked() -> None:
    assert [item.seq for item in maskable(worked(5).items, View())] == [3, 5]
    assert [item.seq for item in maskable(worked(5).items, View(), keep_rounds=1)] == [3, 5, 7, 9]
    assert maskable(worked(2).items, View()) == ()


def test_the_last_batch_is_not_masked_even_when_answers_followed_it() -> None:
    talk = worked(2)
    for _ in range(4):
        talk.agent("and so on")
    assert [item.seq for item in maskable(talk.items, View(), keep_rounds=1)] == [3]


def test_what_is_short_or_masked_or_protected_stays() -> None:
    talk = Talk()
    talk.user()
    talk.round(text="x" * 199)
    talk.round(text="x" * 200)
    talk.round()
    talk.round()
    for _ in range(3):
        talk.agent("on")
    view = under(Offload((Stub(7, "{}", "r"),)), Pin((8,)))
    assert [item.seq for item in maskable(talk.items, View())] == [5, 7]
    assert [item.seq for item in maskable(talk.items, view)] == [5]


def test_a_marker_names_tool_subject_size_and_the_way_back() -> None:
    talk = worked(4)
    stale = talk.items[2]
    (text,) = markers(talk, stale, refs={3: "toolu_1"})
    assert text.startswith(f"[read_file src/0.py: result masked, ~{tokens(stale)} tokens; ")
    assert text.endswith('recall_tool_result(ref_id="toolu_1") gives it back]')
    assert markers(talk, stale)[0].endswith("call the tool again if you need it]")
    made = masked([stale], {3: "toolu_1"}, tokens, calls_of(talk.items))
    assert made == Mask((Stub(3, text, "toolu_1", tokens(stale)),))


def test_a_marker_is_one_inert_line_whatever_the_call_held() -> None:
    talk = Talk()
    talk.user()
    _, stale = talk.round("run_shell", command="printf '\x1b[31m'\n]\nrm -rf " + "x" * 500)
    (text,) = markers(talk, stale)
    assert not {"\n", "\x1b"} & set(text)
    assert len(text) < 200


def test_an_error_keeps_its_first_line() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("run_shell", command="make test"))
    stale = talk.result("\nError 2: no rule\n" + LONG, is_error=True)
    assert "run_shell make test: error: Error 2: no rule; result masked" in markers(talk, stale)[0]


def test_a_skill_says_which_it_was_and_that_it_has_to_be_loaded_again() -> None:
    talk = Talk()
    talk.user()
    _, stale = talk.round("use_skill", name="review")
    assert markers(talk, stale, refs={3: "r"}) == [
        "[use_skill review: the text of this skill is not sent any more; call use_skill again before you follow it]"
    ]


def test_images_become_a_count() -> None:
    talk = Talk()
    talk.user()
    talk.agent(call("screenshot"))
    stale = talk.result("shot", images=2)
    for _ in range(4):
        talk.round()
    assert stale in maskable(talk.items, View())
    assert ", 2 images; " in markers(talk, stale)[0]


def test_a_marker_that_is_longer_than_its_result_is_not_made() -> None:
    talk = Talk()
    talk.user()
    _, stale = talk.round(text="x" * 200, path="p" * 40)
    assert markers(talk, stale, refs={3: "r" * 128}) == []
    assert len(markers(talk, stale, refs={3: "r" * 30})) == 1


def test_a_call_whose_arguments_cannot_be_read_is_named_by_its_tool() -> None:
    talk = Talk()
    talk.user()
    talk.round("read_file")
    assert markers(talk, talk.items[2])[0].startswith("[read_file: result masked")
