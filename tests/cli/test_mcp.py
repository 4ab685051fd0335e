"""MCP servers from the person's point of view: what is shown, what a run does with them, what trust covers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.conftest import Here
from tests.cli.place import Place, gone, until

SERVER = Path(__file__).parents[1] / "runtime" / "mcp" / "server.py"
SECRET = "tok-0123456789abcdef"


def table(name: str, mode: str = "plain", **more: Any) -> str:
    """A server's table in TOML."""
    values = {"command": sys.executable, "args": [str(SERVER), mode], **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if not isinstance(value, dict)]
    inner = [f"{key} = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in value.items())} }}"
             for key, value in values.items() if isinstance(value, dict)]  # fmt: skip
    return "\n".join((f"[mcp.{name}]", *lines, *inner, ""))


def settings(place: Place, *tables: str) -> Path:
    """Write the person's own settings."""
    file = Path(place.environment["GEODE_TUI_HOME"]) / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(tables))
    return file


def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


def test_servers_are_shown_with_their_tools_their_cost_and_their_errors(place: Place, here: Here) -> None:
    off = table("off", enabled=False)
    settings(place, table("hand", env={"API_TOKEN": SECRET}), table("broken", "exit"), off, "[mcp.bad]\ncommand = 3\n")
    rows = by_name(here("mcp", "--json").json)
    assert {name: row["state"] for name, row in rows.items()} == {
        "hand": "connected", "broken": "waiting", "off": "disabled", "bad": "unusable",
    }  # fmt: skip
    assert rows["hand"]["tokens"] == sum(tool["tokens"] for tool in rows["hand"]["tools"]) > 0
    assert rows["hand"]["left_out"] == ["the tool bad is left out: its schema is not that of an object"]
    assert rows["broken"]["error"].startswith("the server ended with status 7; it wrote: no database")
    assert rows["bad"]["error"].startswith("mcp.bad cannot be used: ")
    shown = here("mcp")
    assert "mcp__hand__echo" in shown.out
    assert "asks first" in shown.out
    assert SECRET not in shown.out + json.dumps(rows)


def test_a_bad_table_is_a_line_of_doctor(place: Place, here: Here) -> None:
    settings(place, table("hand"), "[mcp.bad]\ncommand = 3\n")
    checks = by_name(here("doctor", "--json").json["checks"])
    assert (checks["mcp"]["ok"], checks["mcp"]["detail"]) == (True, "hand")
    assert checks["mcp bad"]["detail"].startswith("mcp.bad cannot be used: ")


def test_settings_are_shown_without_the_secrets_of_servers(place: Place, here: Here) -> None:
    settings(place, table("hand", env={"API_TOKEN": SECRET}))
    shown = here("config").out
    assert '{"hand":' in shown
    assert SECRET not in shown


def test_nothing_of_a_project_runs_before_its_folder_is_trusted(place: Place, here: Here) -> None:
    ran = place.root / "ran"
    place.geode.mkdir()
    given = f'env = {{ API_TOKEN = "{SECRET}", K = "${{OPENAI_API_KEY}}" }}'
    hostile = f'[mcp.evil]\ncommand = "sh"\nargs = ["-c", "touch {ran}"]\n{given}\n'
    (place.geode / "config.toml").write_text(hostile)
    looked = here("mcp", "--json")
    assert looked.json == []
    assert "mcp in" in looked.err
    assert "geode-tui trust" in looked.err
    place.cli("run", "look around", "--provider", "offline", "--cost-budget", "0.0001")
    assert not ran.exists()

    trusted = here("trust")
    assert (
        f"mcp.evil = sh -c touch {ran}  gives API_TOKEN, K  takes OPENAI_API_KEY from your environment" in trusted.out
    )
    assert SECRET not in trusted.out
    assert by_name(here("mcp", "--json", env={"OPENAI_API_KEY": "k"}).json)["evil"]["state"] == "waiting"
    assert ran.exists()

    ran.unlink()
    (place.geode / "config.toml").write_text(hostile.replace("touch", "touch -m"))
    assert here("mcp", "--json").json == []
    assert not ran.exists()


def test_a_run_has_its_servers_and_they_end_with_its_worker(place: Place, here: Here) -> None:
    count = place.root / "count"
    settings(place, table("hand", env={"MCP_TEST_COUNT": str(count)}), "[mcp.bad]\n")
    done = place.cli("run", "look around", "--provider", "offline", "--json", "--cost-budget", "0.0001")
    connected = [event["payload"] for event in done.events if event["event"] == "mcp_server_connected"]
    assert [payload["server_name"] for payload in connected] == ["hand"]
    assert [p["setting"] for p in place.payloads(place.newest, "setting_ignored")] == ["mcp.bad"]

    rows = by_name(here("status", "--json").json["mcp"])
    assert rows["hand"]["state"] == "connected"
    assert rows["bad"]["state"] == "unusable"
    worker = place.worker(place.newest)
    [process] = [child for child in worker.children() if str(SERVER) in child.cmdline()]
    worker.kill()
    until(lambda: gone(process), "the server's end")
    assert by_name(here("status", "--json").json["mcp"])["hand"]["state"] == "not_started"


def test_a_worker_without_servers_does_not_load_the_sdk() -> None:
    code = "import sys, geode_tui.cli.worker, geode_tui.cli.mcp; print('mcp' in sys.modules, 'pydantic' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split()[0] == "False"


@pytest.mark.long
def test_a_worker_that_leaves_ends_its_servers(place: Place) -> None:
    settings(place, table("hand"))
    place.cli("run", "look around", "--provider", "offline", "--cost-budget", "0.0001")
    worker = place.worker(place.newest)
    [process] = [child for child in worker.children() if str(SERVER) in child.cmdline()]
    worker.send_signal(psutil.signal.SIGTERM)
    until(lambda: gone(worker) and gone(process), "the end of both")
