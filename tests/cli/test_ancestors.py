"""What is known of the processes above this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from geode_tui.cli import ancestors

LINUX = sys.platform == "linux"
WAYS = ["_from_psutil", *(["_from_proc"] if LINUX else [])]
ROOT = Path(__file__).parents[2]
MARK = "GEODE_TEST_MARK"
ASK = f"""
import os
from geode_tui.cli import ancestors
assert "{MARK}" not in os.environ
print([("marked word" in one.words, "{MARK}" in one.variables) for one in ancestors.WAY()])
"""
START = f"""
import os, subprocess, sys
mine = dict(os.environ)
del mine["{MARK}"]
sys.exit(subprocess.run([sys.executable, "-c", sys.argv[2]], env=mine).returncode)
"""


@pytest.mark.parametrize("way", WAYS)
def test_what_a_process_took_off_for_its_child_is_still_seen_on_itself(way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, "marked word", ASK.replace("WAY", way)],
        env={**os.environ, MARK: "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("[(True, True), (False, False)")


@pytest.mark.skipif(not LINUX, reason="there is one way")
def test_both_ways_tell_the_same() -> None:
    told = [[(set(one.variables) - {""}, set(one.words) - {""}) for one in getattr(ancestors, way)()] for way in WAYS]
    assert told[0] == told[1]
    assert told[0]
