"""Whole turns over real folders with the real tools."""

from __future__ import annotations

import json
import unicodedata
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from geode_tui.core.messages import Message, ToolCallBlock, ToolResultBlock, tool_text
from geode_tui.providers.offline.phrases import SIGNATURE
from tests.providers.offline.driving import SPECS, Drive, ask, quotes, untrue
from tests.providers.offline.projects import DOCS, PYTHON, SCRIPTS, SHAPES, make, make_large


@pytest.fixture
def python(tmp_path: Path) -> Drive:
    return drive(make(tmp_path, PYTHON))


@pytest.fixture
def docs(tmp_path: Path) -> Drive:
    return drive(make(tmp_path, DOCS))


def drive(root: Path, **more: object) -> Drive:
    return Drive(root, messages=[], requests=[], plans=[], **more)


def arguments(drive: Drive, tool: str) -> list[dict[str, object]]:
    return [json.loads(c.arguments) for c in drive.named(tool)]


PROMPTS = (
    "Give me an overview of the project",
    "where is EntryStore defined?",
    "compare README.md and docs/design.md",
    "how are entries saved?",
    "설정이 어디에 있는지 찾아줘",
    "프로젝트를 조사해줘",
    "how many python files are there?",
    "hello",
)


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_prompt_ends_with_true_quotes_and_its_own_steps(shape: str, tmp_path: Path) -> None:
    root = make(tmp_path, SHAPES[shape])
    sequences = set()
    for prompt in PROMPTS:
        played = drive(root)
        report = await played.turn(prompt, most=40)
        assert untrue(report, root) == [], prompt
        assert report.count(SIGNATURE[0]) + report.count(SIGNATURE[1]) == 1
        sequences.add(tuple((c.name, c.arguments) for c in played.calls))
    assert len(sequences) == len(PROMPTS)


async def test_named_file_is_found_and_read(python: Drive) -> None:
    report = await python.turn("Read store.py and explain it")
    assert arguments(python, "read_file") == [{"path": "src/ledger/store.py", "max_lines": 200}]
    assert ("src/ledger/store.py", 8, "class EntryStore:") in quotes(report)
    assert python.rounds <= 6


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("read the whole of src/ledger/store.py", {"path": "src/ledger/store.py", "whole": True}),
        ("src/ledger/store.py를 전체 읽어줘", {"path": "src/ledger/store.py", "whole": True}),
        ("show lines 8-10 of src/ledger/store.py", {"path": "src/ledger/store.py", "start_line": 8, "max_lines": 3}),
        ("src/ledger/store.py의 8~10줄을 보여줘", {"path": "src/ledger/store.py", "start_line": 8, "max_lines": 3}),
        ("src/ledger/store.py의 첫 5줄", {"path": "src/ledger/store.py", "max_lines": 5}),
    ],
)
async def test_how_much_is_read_follows_the_prompt(python: Drive, prompt: str, expected: dict[str, object]) -> None:
    await python.turn(prompt)
    assert arguments(python, "read_file") == [expected]


async def test_search_reads_around_definitions_first(python: Drive) -> None:
    report = await python.turn("where is EntryStore defined?")
    assert arguments(python, "grep")[0]["pattern"] == "EntryStore"
    assert arguments(python, "read_file")[0]["path"] == "src/ledger/store.py"
    assert ("src/ledger/store.py", 8, "class EntryStore:") in quotes(report)


async def test_comparison_quotes_both_files(python: Drive) -> None:
    report = await python.turn("compare src/ledger/store.py with src/ledger/entry.py")
    assert {path for path, _, _ in quotes(report)} == {"src/ledger/store.py", "src/ledger/entry.py"}


async def test_survey_reads_introductions_before_sources_and_never_repeats_a_call(python: Drive) -> None:
    report = await python.turn("Survey the project")
    reads = [a["path"] for a in arguments(python, "read_file")]
    assert {"README.md", "pyproject.toml"} <= set(reads[:3])
    assert "src/ledger/store.py" in reads
    looks = [(c.name, c.arguments) for c in python.calls if c.name != "update_plan"]
    assert len(looks) == len(set(looks))
    assert len({path for path, _, _ in quotes(report)}) >= 4


async def test_survey_goes_on_for_as_many_rounds_as_asked(tmp_path: Path) -> None:
    played = drive(make_large(tmp_path, 6, 25))
    await played.turn("survey the code for 120 rounds", most=120)
    looks = [(c.name, c.arguments) for c in played.calls if c.name != "update_plan"]
    assert played.rounds == 120
    assert all(a != b for a, b in pairwise(looks))


async def test_survey_lists_again_when_its_listing_has_left_the_context(tmp_path: Path) -> None:
    played = drive(make_large(tmp_path, 2, 30))
    await played.turn("survey the code for 12 rounds")
    masked = tuple(_masked(m) for m in played.requests[6].messages)
    finished = await ask(msgspec.structs.replace(played.requests[6], messages=masked))
    looks = [b for b in finished.blocks if isinstance(b, ToolCallBlock) and b.name != "update_plan"]
    assert [b.name for b in looks] == ["glob"]


def _masked(message: Message) -> Message:
    """The message as observation masking leaves it (RUNTIME.md 3.4)."""
    for block in message.blocks:
        if isinstance(block, ToolResultBlock) and len(block.text) >= 200:
            return tool_text(ToolCallBlock(block.call_id, block.name, ""), "[masked: about 900 tokens]")
    return message


async def test_command_runs_and_its_exit_code_is_reported(python: Drive) -> None:
    report = await python.turn("run `echo seven && exit 7`")
    assert arguments(python, "run_shell") == [{"command": "echo seven && exit 7"}]
    assert "exit 7" in report
    assert "> seven" in report


async def test_refused_command_is_reported_as_not_done(python: Drive) -> None:
    python.refuse = frozenset({"run_shell"})
    report = await python.turn("`ls -la` 실행해줘")
    assert len(python.named("run_shell")) == 1
    assert "하지 않은 것" in report
    assert "The person denied this call." in report


async def test_tests_are_run_by_the_manifest(tmp_path: Path) -> None:
    played = drive(make(tmp_path, {**SCRIPTS}), refuse=frozenset({"run_shell"}))
    await played.turn("run the tests")
    assert arguments(played, "run_shell") == [{"command": "npm test"}]


async def test_summary_is_written_with_true_quotes(python: Drive) -> None:
    await python.turn("write a summary of the project to notes/summary.md")
    written = (python.root / "notes/summary.md").read_text()
    assert quotes(written)
    assert untrue(written, python.root) == []


async def test_literal_content_is_written_as_given(python: Drive) -> None:
    await python.turn("create a file notes/todo.md with 'buy milk'")
    assert (python.root / "notes/todo.md").read_text() == "buy milk\n"


async def test_existing_file_is_read_before_it_is_replaced(python: Drive) -> None:
    (python.root / "todo.md").write_text("old\n")
    await python.turn("write todo.md with 'new'")
    assert [c.name for c in python.calls if c.name != "update_plan"] == ["write_file", "read_file", "write_file"]
    assert (python.root / "todo.md").read_text() == "new\n"


async def test_files_of_a_language_are_counted(python: Drive) -> None:
    report = await python.turn("how many python files are in src?")
    assert "**4**" in report


async def test_missing_file_is_said_to_be_missing(python: Drive) -> None:
    report = await python.turn("read nowhere.py")
    assert "`nowhere.py` was not found" in report
    assert python.named("read_file") == []


async def test_korean_prompt_gets_a_korean_report(docs: Drive) -> None:
    report = await docs.turn("안내서.md를 읽고 요약해줘")
    assert SIGNATURE[1] in report
    assert ("안내서.md", 5, "## 설정") in quotes(report)


async def test_decomposed_names_are_understood_both_ways(tmp_path: Path) -> None:
    root = make(tmp_path, {unicodedata.normalize("NFD", "기록.md"): "# 기록\n\n처음 적은 글입니다.\n"})
    for form in ("NFC", "NFD"):
        report = await drive(root).turn(unicodedata.normalize(form, "기록.md를 읽어줘"))
        assert any(text == "# 기록" for _, _, text in quotes(report)), form


async def test_names_with_blanks_and_brackets_are_read(tmp_path: Path) -> None:
    root = make(tmp_path, {**SCRIPTS, **DOCS})
    report = await drive(root).turn("Read '사용자 설명서.md' and \"[id].tsx\"")
    assert {path for path, _, _ in quotes(report)} == {"문서/사용자 설명서.md", "packages/ui/src/[id].tsx"}


async def test_message_typed_meanwhile_is_acknowledged_and_done_next(python: Drive) -> None:
    await python.turn("survey the project", typed={2: "also look at docs/design.md"})
    third = [m for m in python.messages if m.role == "assistant"][2]
    assert "Noted: “also look at docs/design.md”." in third.text
    assert {"path": "docs/design.md", "max_lines": 200} in [json.loads(c.arguments) for c in third.calls]


async def test_message_typed_meanwhile_narrows_the_rest(python: Drive) -> None:
    await python.turn("survey the project", typed={2: "stop reading tests, only docs"})
    late = [c for m in [m for m in python.messages if m.role == "assistant"][2:] for c in m.calls]
    reads = [json.loads(c.arguments)["path"] for c in late if c.name == "read_file"]
    assert reads == ["docs/design.md"]


@pytest.mark.parametrize("text", ["그만하고 정리해", "that's enough, wrap up"])
async def test_message_to_stop_ends_the_turn_at_once(python: Drive, text: str) -> None:
    report = await python.turn("survey the project", typed={2: text})
    assert python.rounds == 3
    assert text in report
    assert untrue(report, python.root) == []


async def test_follow_up_takes_its_subject_from_the_turn_before(python: Drive) -> None:
    await python.turn("search for save_entry")
    before = len(python.calls)
    await python.turn("and the tests?")
    later = [json.loads(c.arguments) for c in python.calls[before:] if c.name == "grep"]
    assert later[0] == {"pattern": "save_entry", "path": "tests", "ignore_case": True}


async def test_korean_follow_up_takes_its_subject_too(python: Drive) -> None:
    await python.turn("`save_entry`를 찾아줘")
    before = len(python.calls)
    await python.turn("그럼 테스트는?")
    paths = [json.loads(c.arguments)["path"] for c in python.calls[before:] if c.name == "grep"]
    assert paths[0] == "tests"


async def test_plan_ends_done_and_names_only_what_was_done(python: Drive) -> None:
    await python.turn("Read README.md")
    assert 3 <= len(python.plans[0]) <= 6
    assert [status for _, status in python.plans[0]].count("active") == 1
    assert {status for _, status in python.plans[-1]} == {"done"}
    assert [step for step, _ in python.plans[-1]][:2] == ["Locate README.md", "Read README.md"]


async def test_only_offered_tools_are_called(python: Drive) -> None:
    python.specs = tuple(s for s in SPECS if s.name in {"read_file", "glob"})
    report = await python.turn("search for EntryStore")
    assert {c.name for c in python.calls} <= {"read_file", "glob"}
    assert "grep" in report
