"""The form of a summary, and whether it keeps what an instruction is about."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.context.summary_form import content, has_all_headings, normalised, sections, unwrapped
from geode_tui.context.summary_terms import keeps_instruction, terms
from geode_tui.core.headings import NONE_BULLET, SUMMARY_HEADINGS
from tests.context.summaries import summary


def headings(text: str) -> list[str]:
    return [line[3:] for line in text.split("\n") if line.startswith("## ")]


# -- form --------------------------------------------------------------------------------------------------------------
def test_headings_are_put_in_order_and_missing_ones_say_none() -> None:
    text = normalised("## Blocked\n- the network\n\n## Goal\n- a parser\n")
    assert headings(text) == list(SUMMARY_HEADINGS)
    assert "## Goal\n- a parser\n\n## Constraints & Preferences\n- none" in text
    assert "## Blocked\n- the network\n" in text
    assert text.count(NONE_BULLET) == 9


@pytest.mark.parametrize(
    "line",
    [
        "## Key Decisions",
        "# key decisions",
        "### **Key Decisions**",
        "**Key Decisions:**",
        "7. Key Decisions",
        "Key Decisions:",
        "__Key Decisions__",
    ],
)
def test_a_heading_is_known_however_it_is_marked(line: str) -> None:
    assert sections(f"{line}\n- sqlite")["Key Decisions"] == ["- sqlite"]


def test_what_follows_a_bold_heading_on_its_line_belongs_to_it() -> None:
    assert sections("**Goal:** a parser\n- fast")["Goal"] == ["- a parser", "- fast"]


def test_unknown_headings_and_stray_text_are_kept_as_critical_context() -> None:
    text = normalised(
        "It went well.\n\n# Summary\n## Risks\n- disk\n\n## Goal\n- a parser\n## Critical Context\n- port 80"
    )
    assert sections(text)["Goal"] == ["- a parser"]
    assert sections(text)["Critical Context"] == ["It went well.", "", "### Risks", "- disk", "", "- port 80"]


def test_the_same_heading_twice_is_one_section() -> None:
    assert sections("## Goal\n- a\n## Blocked\n- b\n## Goal\n- c")["Goal"] == ["- a", "- c"]


@pytest.mark.parametrize(
    "nothing",
    ["none", "- none", "* None.", "- (none)", "N/A", "없음", "- 해당 없음", "Nothing.", "No prior history.", ""],
)
def test_what_says_nothing_is_no_content(nothing: str) -> None:
    text = f"## Goal\n{nothing}\n## Blocked\n- none\n- the disk\n"
    assert content(text) == "- the disk"
    assert "## Goal\n- none\n" in normalised(text)


def test_headings_within_fences_are_text() -> None:
    text = "## Goal\n```\n## Blocked\n```\n- a parser"
    assert sections(text)["Goal"] == ["```", "## Blocked", "```", "- a parser"]
    assert sections("## Goal\n```\n## Blocked\n- disk")["Blocked"] == ["- disk"]


@pytest.mark.parametrize(
    "around",
    [
        "```\n{}\n```",
        "```markdown\n{}\n```",
        "<summary>\n{}\n</summary>",
        "<think>hm</think>\n{}",
        "\n\n{}\n",
        "```md\n<summary>{}</summary>\n```",
    ],
)
def test_what_is_around_a_summary_goes(around: str) -> None:
    text = summary(goal="a parser")
    assert unwrapped(around.format(text)) == text


def test_all_headings_are_there_only_with_something_below_the_last() -> None:
    assert has_all_headings(summary(goal="a parser"))
    assert not has_all_headings(summary(goal="a parser").removesuffix("\n- none"))
    assert not has_all_headings(summary(goal="a parser").replace("## Blocked", "## Trouble"))


pieces = st.sampled_from(
    [
        *(f"## {h}" for h in SUMMARY_HEADINGS),
        "**Goal:** x", "## Other", "# Top", "### Sub", "- none", "- a", "  - b", "```", "~~~", "", "text", "Goal",
        "**Goal:** ```", "**Goal:** Blocked", "**Goal:** - c", "<summary>", "</summary>", "<think>",
        "</conversation_summary>", "없음", "- 한국어", "\u2028", "\x1b[2J",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(pieces, st.text(max_size=20)), max_size=25).map("\n".join))
def test_the_form_is_complete_and_a_formed_summary_stays_as_it_is(text: str) -> None:
    once = normalised(text)
    assert list(sections(once)) == list(SUMMARY_HEADINGS)
    assert has_all_headings(once)
    assert normalised(once) == once


# -- what an instruction is about --------------------------------------------------------------------------------------
KEPT = [
    ("STOP. Only edit README.md, never touch src/", "Only README.md may be edited; nothing in src/ may be touched."),
    (
        "STOP. Only edit README.md, never touch src/",
        "The person asked to stop and work on README.md alone; src/ is off limits.",
    ),
    (
        "Please find out why the worker hangs after a reconnect and write a failing test for it before fixing anything",
        "Investigate the worker hang after reconnect; a failing test comes before any fix.",
    ),
    (
        "Summarize the paper in three bullet points for a non-technical audience",
        "Three bullets on the paper for a lay audience.",
    ),
    ("Add dark mode toggle", "Add a dark-mode switch."),
    (
        "rename get_user_by_id to fetchUser in api/users.py and api/admin.py",
        "get_user_by_id becomes fetchUser in users.py and admin.py",
    ),
    (
        "결제 모듈의 환불 로직을 고치고 tests/test_refund.py에 회귀 테스트를 추가해줘",
        "환불 로직(결제 모듈)을 바로잡는 중. 회귀 테스트는 test_refund.py.",
    ),
    (
        "결제 모듈의 환불 로직을 고치고 tests/test_refund.py에 회귀 테스트를 추가해줘",
        "Fix the refund logic of the payment module and add regression tests to tests/test_refund.py.",
    ),
    ("이제 src/는 건드리지 말고 README.md만 수정해", "README.md만 수정, src/ 변경 금지"),
    (
        "배포 스크립트에서 롤백 단계가 왜 두 번 실행되는지 찾아서 설명해 줘",
        "배포 스크립트의 롤백 단계 중복 실행 원인을 찾는 중",
    ),
    ("continue", "Everything is done."),
    ("네 계속해 주세요", "모두 끝났다."),
    ("", "Anything."),
]
LOST = [
    ("STOP. Only edit README.md, never touch src/", "Refactoring all of src/: 12 modules edited, tests pass."),
    (
        "rename get_user_by_id to fetchUser in api/users.py and api/admin.py",
        "Renaming things in the API; the user wants it done soon.",
    ),
    ("Add dark mode toggle", "Fix flaky tests."),
    (
        "이제 src/는 건드리지 말고 README.md만 수정해",
        "src/ 전체를 리팩터링하는 작업이 진행 중이며 12개 파일을 수정했다",
    ),
    (
        "결제 모듈의 환불 로직을 고치고 tests/test_refund.py에 회귀 테스트를 추가해줘",
        "로그인 화면을 새로 그리고 색상을 바꾸는 작업을 완료했습니다. 다음은 배포 스크립트 정리입니다.",
    ),
    (
        "배포 스크립트에서 롤백 단계가 왜 두 번 실행되는지 찾아서 설명해 줘",
        "데이터베이스 마이그레이션을 작성하고 인덱스를 추가했다",
    ),
]


@pytest.mark.parametrize(("latest", "text"), KEPT)
def test_a_paraphrase_that_names_the_objects_keeps_an_instruction(latest: str, text: str) -> None:
    assert keeps_instruction(text, latest)
    assert keeps_instruction(latest, latest)


@pytest.mark.parametrize(("latest", "text"), LOST)
def test_a_text_about_something_else_does_not(latest: str, text: str) -> None:
    assert not keeps_instruction(text, latest)


def test_of_a_long_instruction_not_every_word_is_asked_for() -> None:
    long = " ".join(f"Section {n}: describe module_{n}.py and its exports carefully." for n in range(200))
    assert keeps_instruction(
        "Describe the exports of module_1.py, module_2.py, module_3.py, module_4.py, carefully by section", long
    )
    assert not keeps_instruction("Describe the exports of each module", long)


def test_hangul_typed_as_single_letters_is_the_same_text() -> None:
    latest, text = KEPT[9]
    assert keeps_instruction(unicodedata.normalize("NFD", text), unicodedata.normalize("NFD", latest))


def test_terms_are_names_stems_and_pairs() -> None:
    found = terms("Please fix src/app.py, then rerun test_all (issue 4711) 환불 로직을")
    assert found.names == {"src/app.py", "test_all", "4711"}
    assert found.stems == {"reru", "issu"}
    assert found.pairs == {"환불", "로직", "직을"}
