"""The long form: a command that prints 100 MB costs a worker little memory, on the way in and on the way back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, gc, json, sys, threading, time
from pathlib import Path

from geode_tui.core.limits import ResultBounds
from geode_tui.log import offloads
from geode_tui.runtime.tools.recall import recall_tool
from geode_tui.runtime.tools.registry import builtin_tools
from tests.runtime.harness import SESSION, ScriptedProvider, asks, bench, call, calls

PAGE = 4_096
peak = 0


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def watch(stop):
    global peak
    while not stop.wait(0.01):
        peak = max(peak, resident())


async def main(command, size):
    shell = {"run_shell": builtin_tools()["run_shell"]}
    small = calls(asks("run_shell", "c0", command="echo small"))
    large = calls(asks("run_shell", "c1", command=command))
    back = call("recall_tool_result", ref_id="c1", offset=size - 1_000)
    found = call("recall_tool_result", ref_id="c1", query="line 5999999 ")
    with bench(ScriptedProvider(small, large, back, found), tools=shell, approve="all") as run:
        run.tools["recall_tool_result"] = recall_tool(run.geode, SESSION)
        run.bounds = ResultBounds()
        steps = []
        stop = threading.Event()

        def idle(_request):
            gc.collect()
            steps.append(resident())
            threading.Thread(target=watch, args=(stop,), daemon=True).start()
            return large

        run.provider.steps[1] = idle
        began = time.monotonic()
        await run.turn()
        stop.set()
        results = run.results()
        about = offloads.listing(run.geode, SESSION)[0]
        print(json.dumps({
            "above_idle": peak - steps[0],
            "seconds": time.monotonic() - began,
            "bytes": about.bytes,
            "row": len(results[1][1]),
            "end": json.loads(results[2][1])["content"][-30:],
            "found": json.loads(results[3][1])["content"],
        }))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
LINES = 6_000_000


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hundred_megabytes_cost_a_worker_little_memory(tmp_path: Path) -> None:
    command = f"seq -f 'line %.0f of it' 1 {LINES}"
    size = sum(len(f"line {10**digits} of it\n") * 9 * 10**digits for digits in range(6))
    size += (LINES - 999_999) * len("line 1000000 of it\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, command, str(size)], capture_output=True, text=True, check=True, timeout=300
    )
    figures = json.loads(done.stdout)
    megabytes = {name: round(figures[name] / 1e6, 1) for name in ("bytes", "above_idle")}
    print(f"MB: {megabytes}; {figures['seconds']:.1f} s")
    assert figures["bytes"] == size > 100_000_000
    assert figures["above_idle"] < 60_000_000
    assert figures["row"] < 70_000
    assert figures["end"].endswith(f"line {LINES} of it\n")
    assert "line 5999999 of it" in figures["found"]
