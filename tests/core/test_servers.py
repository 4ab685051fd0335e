from __future__ import annotations

from typing import Any

import pytest

from geode_tui.core.servers import McpServer, ServerProblem, declared, expanded
from geode_tui.core.settings import Layer, guarded_hash, resolve


def test_tables_become_servers_in_the_order_of_their_names() -> None:
    found = declared({"web": {"url": "https://a.example/mcp"}, "git": {"command": "mcp-git", "args": ["-v"]}})
    assert [server.name for server in found.servers] == ["git", "web"]
    assert [server.transport for server in found.servers] == ["stdio", "http"]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (3, "it is no table"),
        ({}, "either a command or a url"),
        ({"command": "a", "url": "http://b"}, "either a command or a url"),
        ({"command": 3}, "str"),
        ({"comand": "a"}, "comand"),
        ({"command": "a", "headers": {"X": "y"}}, "headers does not go with a command"),
        ({"url": "http://a", "args": ["x"]}, "args does not go with a url"),
        ({"url": "ftp://a"}, "http://"),
        ({"command": "a", "deadline_s": 0}, "deadline_s"),
        ({"command": "a", "deadline_s": 1e9}, "deadline_s"),
    ],
)
def test_a_bad_table_is_one_line_and_the_others_stand(table: Any, says: str) -> None:
    found = declared({"bad": table, "good": {"command": "x"}})
    assert [server.name for server in found.servers] == ["good"]
    [(name, line)] = found.problems
    assert name == "bad"
    assert line.startswith("mcp.bad")
    assert says in line
    assert "\n" not in line


def test_only_and_except_choose_tools() -> None:
    [server] = declared({"a": {"command": "x", "only": ["read", "list"], "except": ["list"]}}).servers
    assert [tool for tool in ("read", "list", "write") if server.offers(tool)] == ["read"]


def test_variables_are_filled_in_and_a_missing_one_is_told() -> None:
    server = McpServer(name="a", url="https://${HOST}/mcp", headers={"Authorization": "Bearer ${KEY}"})
    filled = expanded(server, {"HOST": "h", "KEY": "k"})
    assert (filled.url, filled.headers) == ("https://h/mcp", {"Authorization": "Bearer k"})
    with pytest.raises(ServerProblem, match="the variable KEY is not set"):
        expanded(server, {"HOST": "h"})


def test_the_place_shows_no_secret_of_a_url() -> None:
    assert McpServer(name="a", url="https://me:pw@h/mcp?key=abc").place == "https://h/mcp"


def test_a_projects_servers_wait_for_trust_and_do_not_hide_the_persons() -> None:
    mine, theirs = Layer("mine", {"mcp": {"a": {"command": "x"}}}), Layer("theirs", {"mcp": {"b": {"command": "evil"}}})
    untrusted = resolve((mine, theirs), untrusted="theirs", project="theirs")
    assert untrusted.settings.mcp == {"a": {"command": "x"}}
    assert untrusted.untrusted
    assert untrusted.ignored == ("mcp in theirs is ignored until you trust this folder: geode-tui trust",)
    trusted = resolve((mine, theirs), project="theirs")
    assert sorted(trusted.settings.mcp) == ["a", "b"]


def test_trust_is_given_to_every_part_of_a_server() -> None:
    table = {"mcp": {"a": {"command": "x", "args": ["1"], "env": {"K": "v"}}}}
    changed = {"mcp": {"a": {"command": "x", "args": ["2"], "env": {"K": "v"}}}}
    moved = {"mcp": {"a": {"command": "x", "args": ["1"]}, "a.env": {"K": "v"}}}
    assert len({guarded_hash(table), guarded_hash(changed), guarded_hash(moved)}) == 3


def test_a_name_with_a_dot_is_one_name() -> None:
    layers = (Layer("f", {"mcp": {"a.b": {"command": "x"}}}),)
    assert declared(resolve(layers).settings.mcp).servers[0].name == "a.b"
