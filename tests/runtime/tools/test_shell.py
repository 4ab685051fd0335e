"""run_shell: nothing before it may, everything bounded, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode_tui.runtime.tools.base import Prepared, ProcessMark, ToolContext, ToolRefused
from geode_tui.runtime.tools.capture import HEAD_BYTES, TAIL_BYTES, Capture
from geode_tui.runtime.tools.processes import START_TOLERANCE_S, kill_group, mark_of
from geode_tui.runtime.tools.registry import builtin_tools
from geode_tui.runtime.tools.shell import command_environment
from tests.runtime.tools.conftest import Call


async def prepare(context: ToolContext, command: str, **more: Any) -> Prepared:
    return await builtin_tools()["run_shell"].prepare(json.dumps({"command": command, **more}), context)


async def until_exists(path: Path) -> str:
    """The text of ``path`` once it has one."""
    async with asyncio.timeout(10):
        while not path.exists() or not path.read_text().endswith("\n"):
            await asyncio.sleep(0.01)
    return path.read_text()


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while runs(pid):
            await asyncio.sleep(0.01)


def runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def test_output_and_errors_come_in_order(call: Call) -> None:
    outcome = await call("run_shell", command="echo 하나; echo 둘 >&2; printf 셋")
    assert outcome.text == "하나\n둘\n셋"
    assert (outcome.is_error, outcome.summary) == (False, "exit 0")
    assert {key: outcome.facts[key] for key in ("exit_code", "bytes", "lines")} == {
        "exit_code": 0,
        "bytes": 14,
        "lines": 2,
    }


@pytest.mark.parametrize(
    ("command", "text", "summary"),
    [
        ("exit 1", "[exit 1]", "exit 1"),
        ("echo no; exit 3", "no\n[exit 3]", "exit 3"),
        ("printf no; exit 3", "no\n[exit 3]", "exit 3"),
        ("kill -9 $$", "[ended by SIGKILL]", "ended by SIGKILL"),
        ("true", "(no output)", "exit 0"),
    ],
)
async def test_an_ending_is_told(call: Call, command: str, text: str, summary: str) -> None:
    """B052."""
    outcome = await call("run_shell", command=command)
    assert (outcome.text, outcome.summary) == (text, summary)
    assert outcome.is_error is (command != "true")


async def test_a_command_runs_in_its_folder_with_empty_input(root: Path, call: Call) -> None:
    (root / "폴더").mkdir()
    outcome = await call("run_shell", command="pwd; wc -c; cd nowhere 2>/dev/null || echo stays", cwd="폴더")
    assert outcome.text.split() == [str(root / "폴더"), "0", "stays"]
    for cwd in ("missing", "../", ".geode"):
        with pytest.raises(ToolRefused):
            await call("run_shell", command="true", cwd=cwd)
    with pytest.raises(ToolRefused, match="NUL"):
        await call("run_shell", command="echo \0")


def test_secrets_are_not_in_the_environment(context: ToolContext) -> None:
    context.secret_names = ("MY_PASSPHRASE",)
    inherited = {
        "PATH": "/bin", "ANTHROPIC_API_KEY": "k", "github_token": "k", "CLIENT_SECRET": "k", "DB_PASSWORD": "k",
        "MY_PASSPHRASE": "k", "TOKENIZER": "fine", "TERM": "xterm",
    }  # fmt: skip
    assert command_environment(inherited, context) == {
        "PATH": "/bin", "TOKENIZER": "fine", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat",
        "GEODE_INSIDE_RUN": "s-1",
    }  # fmt: skip


async def test_a_command_sees_the_filtered_environment(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-commands")
    text = (await call("run_shell", command="env")).text
    assert "sk-not-for-commands" not in text
    assert "GEODE_INSIDE_RUN=s-1" in text.split("\n")


async def test_nothing_happens_before_the_release(root: Path, context: ToolContext) -> None:
    prepared = await prepare(context, "touch done")
    mark = prepared.process
    assert mark is not None
    assert os.getpgid(mark.group) == mark.group != os.getpgrp()
    assert mark.started == pytest.approx(mark_of(mark.group).started, abs=START_TOLERANCE_S)
    assert not (root / "done").exists()
    await prepared.run()
    assert (root / "done").exists()


async def test_an_abandoned_command_never_runs(root: Path, context: ToolContext) -> None:
    prepared = await prepare(context, "touch done")
    assert prepared.process is not None
    await prepared.abandon()
    assert not runs(prepared.process.group)
    assert not (root / "done").exists()
    await prepared.abandon()


PARENT = """
import asyncio, json, sys
from pathlib import Path
from geode_tui.runtime.tools.base import ToolContext
from geode_tui.runtime.tools.registry import builtin_tools

async def main(root, command, release):
    context = ToolContext(root=Path(root), denied=(), session_id="s")
    prepared = await builtin_tools()["run_shell"].prepare(json.dumps({"command": command}), context)
    print(json.dumps([prepared.process.group, prepared.process.started]), flush=True)
    await (prepared.run() if release else asyncio.sleep(60))

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] == "release"))
"""


def parent_with(root: Path, command: str, mode: str) -> tuple[subprocess.Popen[str], ProcessMark]:
    """A process that has prepared ``command``, and released it where ``mode`` says so."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(root), command, mode], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    return parent, ProcessMark(*json.loads(parent.stdout.readline()))


async def test_killing_the_parent_before_the_release_leaves_no_effect(root: Path) -> None:
    parent, mark = parent_with(root, "touch done", "wait")
    assert runs(mark.group)
    parent.kill()
    parent.communicate()
    await until_gone(mark.group)
    assert not (root / "done").exists()


async def test_a_group_that_outlived_its_parent_is_ended_by_its_mark(root: Path) -> None:
    parent, mark = parent_with(root, "sleep 600 & echo $! > pid; wait", "release")
    grandchild = int(await until_exists(root / "pid"))
    parent.kill()
    parent.communicate()
    assert runs(grandchild)
    assert kill_group(mark)
    await until_gone(grandchild)
    await until_gone(mark.group)
    assert not kill_group(mark)


async def test_members_are_ended_when_only_their_leader_is_gone(root: Path) -> None:
    parent, mark = parent_with(root, "sleep 600 >/dev/null 2>&1 & echo $! > pid", "release")
    grandchild = int(await until_exists(root / "pid"))
    parent.communicate()
    assert not runs(mark.group)
    assert not kill_group(ProcessMark(mark.group, mark.started + 100))
    assert runs(grandchild)
    assert kill_group(mark)
    await until_gone(grandchild)


def test_a_group_whose_number_was_given_again_is_left_alone() -> None:
    stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        mark = mark_of(stranger.pid)
        assert not kill_group(ProcessMark(mark.group, mark.started - 100))
        assert stranger.poll() is None
        assert kill_group(mark)
        assert stranger.wait() == -signal.SIGTERM
    finally:
        stranger.kill()
        stranger.wait()
    assert not kill_group(ProcessMark(os.getpgrp(), 0.0))
    assert not kill_group(ProcessMark(0, 0.0))


async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(root: Path, call: Call) -> None:
    command = "(trap '' TERM; sleep 600 & echo $! > pid; wait) & echo begun; wait"
    outcome = await call("run_shell", command=command, timeout_s=1)
    assert outcome.is_error
    assert outcome.text == "begun\n[timed out after 1 s]"
    assert outcome.facts["timeout"] is True
    await until_gone(int((root / "pid").read_text()))


async def test_the_limit_of_a_call_holds_where_it_is_smaller(call: Call, context: ToolContext) -> None:
    context.deadline_s = 0.2
    assert (await call("run_shell", command="sleep 600", timeout_s=300)).summary == "timed out after 0.2 s"
    with pytest.raises(ToolRefused):
        await call("run_shell", command="true", timeout_s=601)


@pytest.mark.parametrize("again", [False, True])
async def test_cancelling_ends_grandchildren_too(root: Path, context: ToolContext, again: bool) -> None:
    prepared = await prepare(context, "sh -c 'sleep 600 & echo $! > pid; wait' | cat")
    assert prepared.process is not None
    running = asyncio.ensure_future(prepared.run())
    grandchild = int(await until_exists(root / "pid"))
    running.cancel()
    if again:
        await asyncio.sleep(0)
        running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not runs(grandchild)
    assert not psutil.pid_exists(prepared.process.group)


async def test_a_process_that_keeps_the_output_open_does_not_hang_the_call(root: Path, call: Call) -> None:
    outcome = await call("run_shell", command="sleep 600 & echo $! > pid; echo done")
    assert outcome.text == "done\n[a process in the background kept the output open and was ended]"
    assert not outcome.is_error
    await until_gone(int((root / "pid").read_text()))


async def test_a_background_process_with_its_own_output_is_left_running(root: Path, call: Call) -> None:
    outcome = await call("run_shell", command="sleep 600 >log 2>&1 & echo $! > pid")
    pid = int((root / "pid").read_text())
    assert outcome.text == "(no output)"
    assert runs(pid)
    os.kill(pid, signal.SIGKILL)


async def test_a_process_that_left_the_group_does_not_hang_the_call(root: Path, call: Call) -> None:
    outcome = await call(
        "run_shell", command="setsid sh -c 'echo $$ > pid; exec sleep 600' & until [ -s pid ]; do :; done; echo done"
    )
    assert outcome.text.startswith("done")
    with contextlib.suppress(ProcessLookupError):
        os.kill(int((root / "pid").read_text()), signal.SIGKILL)


async def test_long_output_keeps_its_head_and_tail(call: Call) -> None:
    outcome = await call("run_shell", command="echo first; yes 가나다라 | head -c 3000000; echo; echo last")
    assert outcome.text.startswith("first\n가나다라\n")
    assert outcome.text.endswith("\nlast\n")
    assert "\ufffd" not in outcome.text
    assert outcome.facts["bytes"] == 3_000_012
    assert len(outcome.text.encode()) < HEAD_BYTES + TAIL_BYTES + 100


async def test_bad_bytes_are_replaced_and_binary_output_is_named(root: Path, call: Call) -> None:
    """B049."""
    (root / "odd").write_bytes(b"ok \x80\x88\xff\x00\x1b[31m PNG\x89" * 3)
    outcome = await call("run_shell", command="cat odd")
    assert outcome.text.startswith("ok \ufffd\ufffd\ufffd\0\x1b[31m PNG\ufffdok")
    outcome = await call("run_shell", command="head -c 2000000 /dev/urandom")
    assert outcome.text.startswith("[binary 2.0 MB sha256=")


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40_000) | st.text(max_size=3_000).map(str.encode), max_size=30))
def test_a_capture_counts_all_and_keeps_the_ends(chunks: list[bytes]) -> None:
    capture = Capture()
    for chunk in chunks:
        capture.feed(b"." * 60 + chunk)
    whole = b"".join(b"." * 60 + chunk for chunk in chunks)
    assert (capture.total, capture.lines) == (len(whole), whole.count(b"\n"))
    text = capture.text()
    if not text.startswith("[binary") and len(whole) <= HEAD_BYTES + TAIL_BYTES:
        assert text == whole.decode("utf-8", "replace")


@pytest.mark.parametrize("extra", [0, 1, 2, 3])
def test_what_is_left_out_is_counted_exactly_and_between_characters(extra: int) -> None:
    whole = ("a" * extra + "가" * 200_000 + "b" * extra).encode()
    capture = Capture()
    for begin in range(0, len(whole), 10_000):
        capture.feed(whole[begin : begin + 10_000])
    head, note, tail = capture.text().split("\n")
    assert "\ufffd" not in head + tail
    left_out = len(whole) - len(head.encode()) - len(tail.encode())
    assert note == f"... {left_out:,} bytes left out ..."
