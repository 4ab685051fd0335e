"""The planner: one request in, one answer out, from nothing but the request."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from geode_tui.core.messages import Block, Message, TextBlock, ToolCallBlock
from geode_tui.providers.base import Request
from geode_tui.providers.offline import phrases
from geode_tui.providers.offline.auxiliary import auxiliary_text
from geode_tui.providers.offline.board import Board, Call
from geode_tui.providers.offline.each import each_move
from geode_tui.providers.offline.earlier import covered_files, earlier_of, typed
from geode_tui.providers.offline.evidence import Turn, read_turns
from geode_tui.providers.offline.intents import combine
from geode_tui.providers.offline.moves import DONE, WIDTH, Move, next_move
from geode_tui.providers.offline.plan import plan_steps
from geode_tui.providers.offline.report import LEVELS, Reporter
from geode_tui.providers.offline.survey import last_round, survey_move
from geode_tui.providers.offline.tasks import Task, Wish
from geode_tui.providers.offline.usage import block_tokens, text_tokens

ROUNDS: Final = 7
"""Rounds one task may take, surveys and reading through a folder apart."""
MOST_ROUNDS: Final = 20_000
"""Rounds of reading through a folder whose prompt names no number."""


class Answer(msgspec.Struct, frozen=True):
    """A complete answer: its blocks and why it ends."""

    blocks: tuple[Block, ...]
    stop_reason: str


def answer(request: Request, seed: int = 0) -> Answer:
    """The answer to ``request``. Equal requests and seeds give equal answers."""
    if request.purpose in {"summary", "dream", "title"}:
        return _cut(Answer((TextBlock(auxiliary_text(request)),), "end_turn"), request.max_tokens)
    messages = typed(request.messages)
    turns = read_turns(messages)
    turn = turns[-1] if turns else Turn(("",), 1, (), 0)
    wish = _wish(turns, turn)
    earlier = earlier_of(messages, turn.inputs)
    board = Board(turn, wish, request.tools, seed, covered_files(messages), earlier)
    moves = [_move(task, board) for task in wish.tasks]
    limited = request.tool_choice == "none" or not request.tools or board.rounds >= _bound(wish, board)
    if not limited:
        made = _round(request, board, moves, seed)
        if made is not None:
            return _cut(made, request.max_tokens)
    stopped = wish.wrap_up or any(m.calls for m in moves)
    text = _report(board, wish.tasks, stopped=stopped, room=request.max_tokens)
    return _cut(Answer((TextBlock(_opened(board, text)),), "end_turn"), request.max_tokens)


def _wish(turns: Sequence[Turn], turn: Turn) -> Wish:
    previous: Wish | None = None
    for earlier in turns[:-1]:
        previous = combine(earlier.inputs, previous)
    return combine(turn.inputs, previous)


def _bound(wish: Wish, board: Board) -> int:
    """The round after which the turn is closed whatever is left."""
    return 1 + sum(_rounds(task, board) for task in wish.tasks)


def _rounds(task: Task, board: Board) -> int:
    if task.kind == "each":
        return task.rounds or MOST_ROUNDS
    return last_round(task, board) + 1 if task.kind == "survey" else ROUNDS


def _move(task: Task, board: Board) -> Move:
    if board.wish.wrap_up and task.kind != "write":
        return DONE
    if task.kind == "write":
        return _write(task, board)
    makers = {"survey": survey_move, "each": each_move}
    return makers.get(task.kind, next_move)(task, board)


def _write(task: Task, board: Board) -> Move:
    """Write the file; where the tool wants an existing file read first, read it and write again, once."""
    path = task.targets[0].text.removeprefix("./").lstrip("/")
    content = task.content if task.content is not None else _document(board, path)
    call = Call("write_file", {"path": path, "content": content if content.endswith("\n") else content + "\n"})
    if not board.has("write_file"):
        return DONE
    tries = [(i, s) for i, s in enumerate(board.turn.steps) if s.name == "write_file" and s.path == path]
    if not tries:
        return Move(0, (call,), "write", f"`{path}`")
    index, last = tries[-1]
    if not last.is_error or len(tries) > 1 or "read it" not in (last.result or ""):
        return DONE
    if any(s.name == "read_file" and s.path == path for s in board.turn.steps[index:]):
        return Move(0, (call,), "write", f"`{path}`")
    read = Call("read_file", {"path": path, "whole": True})
    return Move(0, (read,), "read_first", f"`{path}`")


def _document(board: Board, path: str) -> str:
    others = [t for t in board.wish.tasks if t.kind != "write"]
    title = path.rsplit("/", 1)[-1].rsplit(".", 1)[0].replace("_", " ").replace("-", " ").capitalize()
    return Reporter(board, others, LEVELS[0]).document(title)


def _round(request: Request, board: Board, moves: Sequence[Move], seed: int) -> Answer | None:
    """The next round, or None when only the report is left."""
    chosen = _choose(board.wish.tasks, moves)
    calls = [c for m in chosen for c in m.calls][: WIDTH + 1]
    plan = _plan_call(board, moves, closing=not calls)
    if not calls and (plan is None or not board.turn.rounds or board.wish.wrap_up or not board.turn.steps):
        return None
    sentences = [phrases.acknowledge(t, korean=board.wish.korean) for t in _fresh(board.turn)]
    sentences += [
        phrases.say(m.say, m.about, korean=board.wish.korean, seed=seed, turn=board.turn.rounds)
        for m in (chosen if calls else [Move(0, (), "closing")])
    ]
    if plan is not None:
        calls.insert(0, plan)
    blocks: list[Block] = [TextBlock(" ".join(sentences))]
    for index, call in enumerate(calls):
        arguments = json.dumps(call.args, ensure_ascii=False)
        blocks.append(ToolCallBlock(_call_id(request.messages, seed, index, call), call.name, arguments))
    return Answer(tuple(blocks), "tool_use")


def _fresh(turn: Turn) -> tuple[str, ...]:
    """Inputs typed while the turn ran that no answer has taken note of."""
    return turn.inputs[len(turn.inputs) - turn.fresh :] if turn.rounds else ()


def _opened(board: Board, text: str) -> str:
    notes = [phrases.acknowledge(t, korean=board.wish.korean) for t in _fresh(board.turn)]
    return "\n\n".join([*notes, text])


def _choose(tasks: Sequence[Task], moves: Sequence[Move]) -> list[Move]:
    """The moves of the next round: short tasks together as far as they fit, a survey, a command or a write alone."""
    chosen: list[Move] = []
    for task, move in zip(tasks, moves, strict=True):
        if not move.calls:
            continue
        if task.kind in {"survey", "each", "run", "write"}:
            return chosen or [move]
        if chosen and sum(len(m.calls) for m in chosen) + len(move.calls) > WIDTH + 1:
            return chosen
        chosen.append(move)
    return chosen


def _plan_call(board: Board, moves: Sequence[Move], *, closing: bool) -> Call | None:
    """The plan, if it changed since it was last noted."""
    if not board.has("update_plan") or not board.wish.tasks:
        return None
    steps = plan_steps(board.wish.tasks, moves, board, closing=closing)
    noted = board.steps("update_plan")
    if noted and noted[-1].args.get("steps") == steps:
        return None
    return Call("update_plan", {"steps": steps})


def _call_id(messages: Sequence[Message], seed: int, index: int, call: Call) -> str:
    """Unique within a conversation: what was said last is part of it, since a compaction makes counts repeat."""
    last = repr(messages[-1].blocks) if messages else ""
    digest = hashlib.sha256(f"{seed}\0{len(messages)}\0{index}\0{call.key}\0{last}".encode("utf-8", "surrogatepass"))
    return f"call_{digest.hexdigest()[:8]}"


def _report(board: Board, tasks: Sequence[Task], *, stopped: bool, room: int) -> str:
    """The fullest report that fits into ``room`` tokens; the shortest if none does."""
    text = ""
    for level in LEVELS:
        text = Reporter(board, tasks, level).text(stopped=stopped)
        if text_tokens(text) <= room:
            break
    return text


def _cut(made: Answer, max_tokens: int) -> Answer:
    """``made`` within ``max_tokens``: text is cut, calls that do not fit are left out."""
    left = max_tokens
    blocks: list[Block] = []
    for block in made.blocks:
        needed = block_tokens(block)
        if needed <= left:
            blocks.append(block)
            left -= needed
            continue
        if isinstance(block, TextBlock) and left > 0:
            blocks.append(TextBlock(_first_tokens(block.text, left)))
        return Answer(tuple(blocks) or (TextBlock("…"),), "max_tokens")
    return made


def _first_tokens(text: str, tokens: int) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return re.sub(r"[\ud800-\udbff]$", "", text[:low])
