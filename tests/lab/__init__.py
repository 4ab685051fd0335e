"""A scripted model behind a real HTTP server, for tests over real sockets.

::

    async with Lab(script=[Call("read_file", {"path": "a.txt"}), Say("done")]) as lab:
        provider = AnthropicProvider("key", base_url=lab.base_url)
        ...
        assert lab.requests[1].body["messages"][-1]["content"][0]["type"] == "tool_result"
"""

from tests.lab.chaos import Chaos
from tests.lab.gate import Gate
from tests.lab.http import Received
from tests.lab.scripts import (
    Answer,
    Block,
    Call,
    Cut,
    Drip,
    Empty,
    Events,
    Fail,
    HangUp,
    Malformed,
    Refusal,
    Say,
    ScriptStep,
    Stall,
    StreamError,
    Think,
)
from tests.lab.server import Lab, lab_thread

__all__ = [
    "Answer",
    "Block",
    "Call",
    "Chaos",
    "Cut",
    "Drip",
    "Empty",
    "Events",
    "Fail",
    "Gate",
    "HangUp",
    "Lab",
    "Malformed",
    "Received",
    "Refusal",
    "Say",
    "ScriptStep",
    "Stall",
    "StreamError",
    "Think",
    "lab_thread",
]
