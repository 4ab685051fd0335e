"""What a summary lost: what is listed, and what is not because it is still said in other words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.context.lost import MOST, TEXT_CHARS, lost
from geode_tui.context.lost_figures import figures
from geode_tui.context.lost_finds import names, without_paths
from geode_tui.context.view import Item
from geode_tui.core.events import LostItem, LostKind
from geode_tui.core.messages import user_text
from geode_tui.core.text import clean_line
from tests.context.histories import histories
from tests.context.planted import KEPT, LOST, history
from tests.context.summaries import agent, real_items, result, user
from tests.context.talks import Talk, call


def texts(found: tuple[LostItem, ...], kind: LostKind | None = None) -> list[str]:
    return [item.text for item in found if kind is None or item.kind == kind]


def said(*sentences: str) -> list[Item]:
    return [user(seq, text) for seq, text in enumerate(sentences, 1)]


# -- a planted history -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(12))
def test_what_was_planted_and_not_kept_is_listed_and_what_was_kept_is_not(seed: int) -> None:
    found = lost(*history(seed))
    listed = [p for p in LOST if any(p.needle in item.text and p.kind == item.kind for item in found)]
    wrongly = [p for p in KEPT if any(p.needle in item.text and p.kind == item.kind for item in found)]
    assert (len(LOST), len(KEPT)) == (40, 40)
    assert len(listed) >= 36
    assert len(wrongly) <= 4
    assert len(found) <= 44, "nothing of the noise, and nothing twice"


def test_what_is_listed_names_the_message_that_said_it() -> None:
    items, summary, tail = history(3)
    by_seq = {item.seq: item.message for item in items}
    for item in lost(items, summary, tail):
        said_there = by_seq[item.seq].text + str(by_seq[item.seq].blocks)
        assert item.text.split()[0] in said_there


def test_the_weightiest_kinds_come_first() -> None:
    order: list[LostKind] = ["rule", "question", "error", "path", "number", "identifier"]
    kinds = [item.kind for item in lost(*history(0))]
    assert kinds == sorted(kinds, key=order.index)
    assert set(kinds) == set(order)


def test_a_long_history_gives_no_longer_list_and_every_kind_keeps_its_place() -> None:
    talk = Talk()
    for n in range(500):
        talk.user(f"Never rename table_{n} in db/part_{n}.sql. What is column_{n} for? It takes {n + 100} ms.")
        talk.agent(f"I saw module_{n}.py.", call("run_shell", command=f"check {n}"))
        talk.result(f"ValueError: row {n} has no key k{n}", is_error=True)
    found = lost(talk.items, "nothing of it", [user_text("go on")])
    assert len(talk.items) == 1_500
    assert len(found) == MOST
    assert {item.kind for item in found} >= {"rule", "question", "error", "path"}
    assert found == lost(talk.items, "nothing of it", [user_text("go on")])


# -- properties --------------------------------------------------------------------------------------------------------
@settings(max_examples=15, deadline=None)
@given(items=histories())
def test_nothing_is_lost_of_what_is_still_sent(items: list[Item]) -> None:
    assert lost(items, "", [item.message for item in items]) == ()


@settings(max_examples=15, deadline=None)
@given(chosen=st.sets(st.sampled_from(range(len(LOST)))), seed=st.integers(0, 3), in_tail=st.booleans())
def test_what_stands_word_for_word_is_never_listed(chosen: set[int], seed: int, in_tail: bool) -> None:
    items, summary, tail = history(seed)
    verbatim = "\n".join(f"- {LOST[n].said}" for n in sorted(chosen))
    before = texts(lost(items, summary, tail))
    if in_tail:
        tail = [user_text(verbatim), *tail]
    else:
        summary = f"{summary}\n{verbatim}"
    after = lost(items, summary, tail)
    for n in chosen:
        assert not [item for item in after if item.kind == LOST[n].kind and LOST[n].needle in item.text], LOST[n]
    assert set(texts(after)) <= set(before), "a longer summary never loses more"


@settings(max_examples=20, deadline=None)
@given(
    words=st.lists(st.text(max_size=300) | st.sampled_from([p.said for p in LOST]), max_size=8),
    summary=st.text(max_size=200),
    previous=st.text(max_size=200),
)
def test_whatever_is_said_the_list_is_short_inert_and_the_same_again(
    words: list[str], summary: str, previous: str
) -> None:
    items = said(*words)
    found = lost(items, summary, [], previous=previous)
    assert found == lost(items, summary, [], previous=previous)
    assert len(found) <= MOST
    assert all(item.text and item.text == clean_line(item.text, TEXT_CHARS) for item in found)


# -- rules -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rule", "summary", "held"),
    [
        ("Never touch src/lexer.py.", "- touch src/lexer.py", False),
        ("Never touch src/lexer.py.", "- src/lexer.py stays untouched", True),
        ("Never touch src/lexer.py.", "- Changed src/lexer.py. Never push to main.", False),
        ("Never rename the loop of part4.py.", "- Never rename the loop of part1.py.\n- `part4.py`: read", False),
        ("Do not publish the release notes.", "- the release notes are published", False),
        ("Do not publish the release notes.", "- release notes: not to be published", True),
        ("Do not publish the release notes.", "- release notes\n- nothing was published", False),
        ("절대 결제 모듈을 고치지 마세요.", "- 결제 모듈을 고침", False),
        ("절대 결제 모듈을 고치지 마세요.", "- 결제 모듈은 고치지 않음", True),
        ("절대 src/pay.py 파일을 고치지 마세요.", "- never change src/pay.py", True),
        ("You must answer in French.", "- **Answers in French**", True),
        ("You must answer in French.", "- none", False),
        ("Never touch \u201cthe old parser\u201d\n  of mine.", '- never touch "the old parser"', True),
    ],
)
def test_a_rule_is_kept_by_what_it_is_about_and_by_its_negation(rule: str, summary: str, held: bool) -> None:
    assert (texts(lost(said(rule), summary, []), "rule") == []) is held


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know where it comes from.",
        "Don't worry about the old cache.",
        "The parser never reaches that branch.",
        "It must have been the old cache.",
        "절대 경로로 출력됩니다.",
        "세 번째 파일까지 마쳤습니다.",
        "> Never reply to this automatic message.",
        "```\nnever = 1  # you must never do this\n```",
    ],
)
def test_what_only_looks_like_a_rule_is_none(sentence: str) -> None:
    assert texts(lost(said(sentence), "", []), "rule") == []


def test_of_two_rules_in_a_sentence_the_lost_one_is_listed() -> None:
    items = said(
        "Never push to upstream, and always run the acceptance suite.", "결과는 지우지 말고 반드시 표로 정리해 주세요."
    )
    found = lost(items, "- never push to upstream\n- 결과는 지우지 말 것", [])
    assert texts(found, "rule") == ["and always run the acceptance suite.", "반드시 표로 정리해 주세요."]


def test_a_condition_stays_with_its_rule() -> None:
    found = lost(said("If the checks fail, do not merge the branch."), "", [])
    assert texts(found, "rule") == ["If the checks fail, do not merge the branch."]


def test_only_the_person_makes_rules() -> None:
    items = [agent(1, "I must never forget the outer join."), result(2, "c", "read_file", "You must never run this.")]
    assert texts(lost(items, "", []), "rule") == []


# -- questions ---------------------------------------------------------------------------------------------------------
def test_a_question_that_was_answered_is_not_open() -> None:
    asked = user(1, "Which port does the staging proxy use?")
    assert texts(lost([asked], "", []), "question") == ["Which port does the staging proxy use?"]
    assert lost([asked, agent(2, "The staging proxy listens on port eight thousand.")], "", []) == ()
    assert lost([asked], "", [agent(2, "The staging proxy has its port from the environment.").message]) == ()
    assert len(lost([asked, agent(2, "Which port does the staging proxy use?")], "", [])) == 1, (
        "asked back, not answered"
    )


def test_an_offer_is_answered_by_whatever_the_person_says_next() -> None:
    offer = agent(1, "Should I rewrite the exporter as well?")
    assert texts(lost([offer], "", []), "question") == ["Should I rewrite the exporter as well?"]
    assert lost([offer, user(2, "later")], "", []) == ()


def test_a_request_is_no_question() -> None:
    assert lost(said("Could you have a look at the exporter?", "이 부분을 확인해 줄 수 있나요?"), "", []) == ()


# -- errors ------------------------------------------------------------------------------------------------------------
def test_of_results_only_errors_of_those_that_failed_are_listed() -> None:
    items = [
        agent(1, "", ("a", "run_shell", '{"command":"make"}'), ("b", "read_file", '{"path":"log.txt"}')),
        result(2, "a", "run_shell", "collected 9\nOSError: no space left on device\n", exit_code=1),
        result(3, "b", "read_file", "OSError: one of many in an old log", exit_code=0),
    ]
    assert texts(lost(items, "", [])) == ["OSError: no space left on device"]
    assert lost(items, "- the device had no space left", []) == ()


# -- paths -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("summary", "held"),
    [
        ("- lib/core/money.py: read", True),
        ("- `core/money.py` has it", True),
        ("- /home/me/lib/core/money.py", True),
        ("- core/{tax,money}.py", True),
        ("- in core: money.py and tax.py", True),
        ("- core/money.py를 읽음", True),
        ("- money.py", False),
        ("- core/Money.py", False),
        ("- other/money.py", False),
        ("- core/money.pyi", False),
    ],
)
def test_a_path_is_kept_by_its_name_and_its_folder(summary: str, held: bool) -> None:
    assert (lost(said("The bug is in lib/core/money.py."), summary, []) == ()) is held


def test_a_file_that_was_only_read_once_was_never_held_but_one_that_was_written_was() -> None:
    talk = Talk()
    talk.round("read_file", path="src/read_once.py")
    talk.round("edit_file", path="src/written.py", old="a", new="b = 'src/in_content.py'\n" * 40)
    talk.round("read_file", path="src/read_twice.py")
    talk.round("read_file", path="src/read_twice.py", start_line=200)
    assert texts(lost(talk.items, "", [])) == ["src/written.py", "src/read_twice.py"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("either and/or read/write at 1/2 or 3/4", []),
        ("Node.js and e.g. this, i.e. that. Version 2.1", []),
        ("see ./run.sh, ~/notes/a.md and /etc/hosts.", ["./run.sh", "~/notes/a.md", "/etc/hosts"]),
        ("in src/app/ and conf.toml (conf.toml)", ["src/app/", "conf.toml", "conf.toml"]),
    ],
)
def test_what_a_path_is(text: str, found: list[str]) -> None:
    assert without_paths(text)[0] == found


# -- figures and names -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,500 ms", "1.5 s"),
        ("30 seconds", "30초로"),
        ("2 hours", "120 min"),
        ("64 KiB", "64KB"),
        ("12.5%", "12.5 percent"),
        ("200k tokens", "200,000 토큰"),
        ("$1,250", "1250 USD"),
        ("3만 원", "₩30,000"),
        ("30-second", "30 s"),
    ],
)
def test_spellings_of_one_figure_are_one(one: str, other: str) -> None:
    assert [f.key for f in figures(f"it is {one} now")] == [f.key for f in figures(f"({other})")] != []


@pytest.mark.parametrize("text", ["v1.2", "3 files", "5분기", "30프로젝트", "py311", "#340", "7b", "line 12"])
def test_a_number_without_a_unit_is_no_figure(text: str) -> None:
    assert list(figures(text)) == []


def test_a_figure_is_told_with_its_words_and_kept_by_its_digits() -> None:
    items = said("First of all: the nightly job may take 340 ms per order; more is too slow. Go on.")
    assert texts(lost(items, "", [])) == ["First of all: the nightly job may take 340 ms per order"]
    assert lost(items, "- per order: 340", []) == ()
    assert lost(items, "- per order: 0.34 s", []) == ()
    assert len(lost(items, "- per order: 34 ms or 3400", [])) == 1


def test_what_an_identifier_is() -> None:
    text = "`plain` GitHub, load_all() of StoreReader, `--fast`, UTF-8, AB-12, Words.And it's, `x.y`, abcdef1, deadbeef"
    assert list(names(text)) == ["load_all", "StoreReader", "--fast", "AB-12", "abcdef1"]


def test_an_identifier_is_kept_as_a_word_of_its_own() -> None:
    items = said("The culprit is load_all.")
    assert texts(lost(items, "- load_all_rows", [])) == ["load_all"]
    for kept in ("- `load_all()`", "- store.load_all", "- load_all은 느림"):
        assert lost(items, kept, []) == ()


def test_a_name_that_stands_in_a_listed_rule_is_not_listed_again() -> None:
    found = lost(said("Never call drop_all in ops/reset.sh."), "", [])
    assert texts(found) == ["Never call drop_all in ops/reset.sh."]


# -- the former summary ------------------------------------------------------------------------------------------------
def test_what_the_former_summary_held_and_the_new_one_does_not_is_lost() -> None:
    previous = (
        "## Constraints & Preferences\n- (seq 3) short commit messages\n- (seq 4) two reviewers\n\n"
        "## Relevant Files\n- `lib/old/rates.py`: read 2 (seq 7-9)\n- `lib/old/taxes.py`: read 1 (seq 8)\n"
    )
    found = lost([agent(20, "fine")], "- short commit messages\n- lib/old/taxes.py", [], previous=previous)
    assert found == (LostItem("rule", "two reviewers", 4), LostItem("path", "lib/old/rates.py", 7))


@pytest.mark.parametrize(
    "name", ["cc-spotter-258c7280.jsonl", "cc-spotter-4d5611e5.jsonl", "cc-spotter-ae4a77f8.jsonl"]
)
def test_a_real_summary_of_a_real_conversation_loses_little(name: str) -> None:
    items, summary = real_items(name)
    found = lost(items, summary, [])
    everything = lost(items, "", [])
    assert len(found) < len(everything)
    assert len(found) <= 30
    assert texts(found, "rule") == []


def test_a_number_that_no_message_has_is_not_taken_for_one() -> None:
    found = lost(
        [agent(1, "fine")], "", [], previous=f"## Constraints & Preferences\n- (seq {'9' * 40}) two reviewers\n"
    )
    assert [item.seq for item in found] == [0]
