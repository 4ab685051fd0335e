"""Run the lab by hand, to point the program at it: ``python -m tests.lab [--port N] [--script S] [--chaos SEED]``."""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
from collections.abc import Iterator, Sequence

from tests.lab.chaos import Chaos
from tests.lab.demo import demo
from tests.lab.planner import planner
from tests.lab.scripts import Say, ScriptStep
from tests.lab.server import Lab

SCRIPTS: dict[str, ScriptStep] = {"demo": demo, "planner": planner(), "done": Say("done")}
KEY = "lab-key"


def token() -> str:
    """A token as a subscription's login gives one: it names the account."""
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "lab"}, "exp": 4_102_444_800}
    parts: tuple[dict[str, object], ...] = ({"alg": "none"}, claims, {})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser("python -m tests.lab", description="A scripted model on every wire.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="demo", help="what the model does")
    parser.add_argument("--window", type=int, default=200_000, help="context window, tokens")
    parser.add_argument("--reject-at", type=float, default=1.0, help="share of the window that is really taken")
    parser.add_argument("--chaos", type=int, metavar="SEED", help="let answers fail by chance, the same for a seed")
    parser.add_argument("--rate", type=float, default=0.2, help="share of requests that fail (with --chaos)")
    return parser.parse_args(given)


def variables(lab: Lab) -> Iterator[tuple[str, str]]:
    """What to set so that the program asks this lab."""
    yield "ANTHROPIC_BASE_URL", lab.base_url
    yield "ANTHROPIC_API_KEY", KEY
    yield "OPENAI_BASE_URL", lab.openai_url
    yield "OPENAI_API_KEY", KEY
    yield "GEODE_CODEX_URL", lab.codex_url
    yield "GEODE_CODEX_TOKEN", token()
    yield "OPENROUTER_BASE_URL", lab.chat_url("openrouter")
    yield "OPENROUTER_API_KEY", KEY
    yield "ZAI_BASE_URL", lab.chat_url("glm")
    yield "ZAI_API_KEY", KEY
    yield "GEODE_LOCAL_URL", lab.chat_url("ollama")


async def serve(options: argparse.Namespace) -> None:
    """Serve until interrupted, and say what was asked."""
    chaos = None if options.chaos is None else Chaos(options.chaos, options.rate)
    script = SCRIPTS[options.script]
    window, share = options.window, options.reject_at
    async with Lab(port=options.port, window=window, reject_at=share, chaos=chaos, otherwise=script) as lab:
        print("\n".join(f"export {name}={value}" for name, value in variables(lab)), flush=True)
        shown = 0
        while True:
            for received in lab.requests[shown:]:
                print(f"# {received.method} {received.path} {len(received.raw)} bytes", flush=True)
            shown = len(lab.requests)
            await asyncio.sleep(0.2)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments()))
