"""A server that answers with the very bytes it is told to, and misbehaves on purpose: `python server.py MODE`.

It speaks the protocol by hand, so that what the SDK's server side would never send can be sent, and it starts at once.
Calls are counted in the file ``MCP_TEST_COUNT``, cancelled ones told in ``MCP_TEST_SEEN``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
OBJECT = {"type": "object", "properties": {"text": {"type": "string", "description": "what to say"}}}
READS = {"readOnlyHint": True}
BIG = "a line of 가나다\n"
TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Say it again", "inputSchema": OBJECT, "annotations": READS},
    {"name": "answer", "description": "Answer with these bytes", "inputSchema": OBJECT, "annotations": READS},
    {"name": "write", "description": "Change something", "inputSchema": OBJECT},
    {"name": "slow", "description": "Take long", "inputSchema": OBJECT, "annotations": READS},
    {"name": "environment", "inputSchema": OBJECT, "annotations": READS},
    {"name": "flood", "inputSchema": OBJECT},
    {"name": "big", "inputSchema": OBJECT, "annotations": READS},
    {"name": "grow", "inputSchema": OBJECT},
    {"name": "die", "inputSchema": OBJECT},
    {"name": "die_reading", "inputSchema": OBJECT, "annotations": READS},
    {"name": "bad", "description": "No schema", "inputSchema": {"type": "string"}},
]


def send(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def result(request: Any, raw: str) -> None:
    send(f'{{"jsonrpc":"2.0","id":{json.dumps(request)},"result":{raw}}}')


def say(request: Any, text: str) -> None:
    result(request, json.dumps({"content": [{"type": "text", "text": text}]}))


def count() -> int:
    path = Path(os.environ["MCP_TEST_COUNT"])
    number = int(path.read_text()) + 1 if path.exists() else 1
    path.write_text(str(number))
    return number


def notify(method: str, params: dict[str, Any] | None = None) -> None:
    send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}))


def call(request: Any, name: str, arguments: dict[str, Any], token: Any) -> None:
    match name:
        case "echo" | "write":
            say(request, str(arguments.get("text", "")))
        case "answer":
            result(request, str(arguments["text"]))
        case "slow":
            for step in range(3):
                params = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
                notify("notifications/progress", params)
            if arguments.get("text") != "for ever":
                say(request, "slow and done")
        case "environment":
            say(request, json.dumps(dict(os.environ)))
        case "flood":
            for n in range(20_000):
                sys.stderr.write(f"noise {n} " + "x" * 100 + "\n")
            sys.stderr.flush()
            say(request, "said much")
        case "big":
            say(request, BIG * int(arguments["text"]))
        case "grow":
            TOOLS.append({"name": "grown", "description": "New", "inputSchema": OBJECT})
            notify("notifications/tools/list_changed")
            say(request, "grown")
        case "die":
            count()
            os._exit(3)
        case "die_reading":
            if count() == 1:
                os._exit(3)
            say(request, "the second time")
        case _:
            say(request, "no such tool")


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        request, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        match method:
            case "initialize":
                info = {"name": "by-hand", "version": "1"}
                version = params["protocolVersion"]
                result(
                    request,
                    json.dumps(
                        {
                            "protocolVersion": version,
                            "capabilities": {"tools": {"listChanged": True}},
                            "serverInfo": info,
                        }
                    ),
                )
            case "tools/list":
                result(request, json.dumps({"tools": TOOLS}))
            case "tools/call":
                token = (params.get("_meta") or {}).get("progressToken")
                call(request, params["name"], params.get("arguments") or {}, token)
            case "notifications/cancelled":
                Path(os.environ["MCP_TEST_SEEN"]).write_text("cancelled")
            case "ping":
                result(request, "{}")


if __name__ == "__main__":
    if MODE == "exit":
        print("no database at /nowhere, key sk-ant-api03-abcdefghijklmnopqrstuvwxyz", file=sys.stderr)
        sys.exit(7)
    if MODE == "mute":
        time.sleep(600)
    if MODE == "chatty":
        print("Welcome to this server", flush=True)
    serve()
