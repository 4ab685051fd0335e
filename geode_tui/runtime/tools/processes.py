"""Finding and ending the processes of a call by its recorded process group."""

from __future__ import annotations

import os
import signal
import time

import psutil

from geode_tui.runtime.tools.base import ProcessMark

START_TOLERANCE_S = 2.0
"""How far two readings of one process's start time may lie apart: the system's clock is corrected now and then."""
GRACE_S = 1.0
"""How long a group has between SIGTERM and SIGKILL."""

_POLL_S = 0.01


def mark_of(pid: int) -> ProcessMark:
    """The mark of the group that process ``pid`` leads. Raises `ProcessLookupError`."""
    try:
        return ProcessMark(pid, psutil.Process(pid).create_time())
    except psutil.Error:
        raise ProcessLookupError(f"process {pid} is gone") from None


def kill_group(mark: ProcessMark) -> bool:
    """End the processes of ``mark`` that still live: SIGTERM, after `GRACE_S` SIGKILL. Blocks up to twice that long.

    A group whose number was given to other processes meanwhile is left alone: its leader, or where that is gone its
    members, must have started when the mark says, or after. Returns whether there was anything to end.
    """
    if not _alive(mark):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(mark.group, number)
        except (ProcessLookupError, PermissionError):
            break
        end = time.monotonic() + GRACE_S
        while _alive(mark):
            if time.monotonic() >= end:
                break
            time.sleep(_POLL_S)
        else:
            break
    return True


def _alive(mark: ProcessMark) -> bool:
    """Whether a process of the marked group runs; one that only waits to be reaped does not count."""
    if mark.group <= 1 or mark.group == os.getpgrp():
        return False
    try:
        os.killpg(mark.group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # On macOS a group of nothing but dead processes answers so; the look below tells.
        pass
    return _leader_fits(mark) and any(_belongs(pid, mark) for pid in psutil.pids())


def _leader_fits(mark: ProcessMark) -> bool:
    """False if the leader's number belongs to another process by now."""
    try:
        started: float = psutil.Process(mark.group).create_time()
    except psutil.Error:
        return True
    return abs(started - mark.started) <= START_TOLERANCE_S


def _belongs(pid: int, mark: ProcessMark) -> bool:
    try:
        if os.getpgid(pid) != mark.group:
            return False
        process = psutil.Process(pid)
        started: float = process.create_time()
        return bool(process.status() != psutil.STATUS_ZOMBIE) and started >= mark.started - START_TOLERANCE_S
    except (OSError, psutil.Error):
        return False
