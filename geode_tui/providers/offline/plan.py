"""The task list the planner keeps: steps from the tasks, statuses from how far each has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from geode_tui.providers.offline.board import Board
from geode_tui.providers.offline.moves import Move
from geode_tui.providers.offline.survey import introduces
from geode_tui.providers.offline.tasks import Task

MOST_STEPS: Final = 6


def plan_steps(
    tasks: Sequence[Task], moves: Sequence[Move], board: Board, *, closing: bool = False
) -> list[dict[str, str]]:
    """The plan as `update_plan` takes it. ``moves`` are the next moves of ``tasks``; with ``closing`` all is done. A
    step that was passed without anything to do in it is left out."""
    korean = board.wish.korean
    labels = [_labels(task, korean=korean) for task in tasks]
    if sum(len(x) for x in labels) > MOST_STEPS - 2:
        labels = [[_one_label(task, own, korean=korean)] for task, own in zip(tasks, labels, strict=True)]
    steps: list[tuple[str, bool]] = []
    for task, own, move in zip(tasks, labels, moves, strict=True):
        for index, label in enumerate(own):
            passed = not move.calls or (len(own) > 1 and index < move.phase)
            if not passed or len(own) == 1 or _performed(task, index, board):
                steps.append((label, passed))
    if len(steps) > MOST_STEPS - 2:
        rest = steps[MOST_STEPS - 3 :]
        more = f"그 밖의 {len(rest)}가지" if korean else f"{len(rest)} further items"
        steps = [*steps[: MOST_STEPS - 3], (more, all(done for _, done in rest))]
    steps += [(label, closing) for label in _last_labels(tasks, board)]
    active = next((i for i, (_, done) in enumerate(steps) if not done), None)
    return [
        {"step": label, "status": "done" if closing or done else "active" if i == active else "pending"}
        for i, (label, done) in enumerate(steps)
    ]


def _last_labels(tasks: Sequence[Task], board: Board) -> tuple[str, str]:
    about = _short(board.turn.inputs[0] if board.turn.inputs else "")
    quotes = any(t.kind not in {"run", "write"} for t in tasks)
    if board.wish.korean:
        return ("인용할 줄 고르기" if quotes else "결과 확인"), f"보고: {about}"
    return ("Choose what to quote" if quotes else "Check the outcome"), f"Report on: {about}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 48 else line[:47] + "…"


def _performed(task: Task, index: int, board: Board) -> bool:
    """Whether the turn has calls that belong to step ``index`` of ``task``."""
    reads = board.steps("read_file")
    looks = bool(board.steps("glob") or board.steps("list_dir"))
    searches = bool(board.steps("grep"))
    if task.kind == "survey":
        introductions = [s for s in reads if introduces(s.path)]
        return (looks, bool(introductions), len(reads) > len(introductions), searches)[index]
    if task.kind == "each":
        return True
    first = searches if task.kind in {"search", "ask"} else looks
    return (first, bool(reads) or task.kind == "compare")[index]


def _one_label(task: Task, labels: Sequence[str], *, korean: bool) -> str:
    """A task as one step, where there are many: its main step."""
    if task.kind != "survey":
        return labels[-1]
    where = task.folder or ("프로젝트" if korean else "the project")
    return f"조사: {where}" if korean else f"Survey {where}"


def _labels(task: Task, *, korean: bool) -> list[str]:
    names = _short(", ".join(m.text for m in task.targets[:3]))
    terms = _short(", ".join((task.terms or task.words)[:3]))
    where = task.folder or ("프로젝트" if korean else "the project")
    match task.kind:
        case "read":
            how = ("전체 읽기" if task.whole else "읽기") if korean else ("Read all of" if task.whole else "Read")
            return [f"위치 확인: {names}", f"{how}: {names}"] if korean else [f"Locate {names}", f"{how} {names}"]
        case "survey":
            if korean:
                return [f"{where} 구성 확인", "소개 파일 읽기", "소스를 폴더별로 읽기", "반복되는 이름 추적"]
            return [
                f"List {where}",
                "Read what introduces it",
                "Read sources folder by folder",
                "Follow names that recur",
            ]
        case "each":
            if korean:
                return [f"{where} 구성 확인", "파일을 하나씩 읽기"]
            return [f"List {where}", "Read its files one after another"]
        case "search":
            return (
                [f"검색: {terms}", "찾은 줄의 앞뒤 읽기"]
                if korean
                else [f"Search for {terms}", "Read around the best hits"]
            )
        case "compare":
            return (
                [f"위치 확인: {names}", f"나란히 읽기: {names}"]
                if korean
                else [f"Locate {names}", f"Read {names} side by side"]
            )
        case "run":
            command = (
                task.command.splitlines()[0][:60] if task.command.strip() else ("테스트" if korean else "the tests")
            )
            return [f"실행: {command}"] if korean else [f"Run {command}"]
        case "count":
            what = names or task.glob or terms
            return [f"세기: {what}"] if korean else [f"Count {what}"]
        case "write":
            return [f"파일 쓰기: {names}"] if korean else [f"Write {names}"]
        case "ask":
            if not terms:
                return ["프로젝트 둘러보기"] if korean else ["Look at the project"]
            return (
                [f"관련 낱말 검색: {terms}", "찾은 곳 읽기"]
                if korean
                else [f"Search for the prompt's words: {terms}", "Read the best places"]
            )
