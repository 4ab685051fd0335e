"""What changes the active context: operations on the transcript's messages, and the versions that they make up.

A version is its parent plus operations; messages that come later belong to every later version (ARCHITECTURE.md,
"Views"). What stands in for a text is kept in the operation itself, so that a view looks the same for ever.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Mode: TypeAlias = Literal["text", "threshold", "on_demand"]
"""How the conversation is compacted: by texts of ours, or by the provider at a threshold or when asked."""
Cause: TypeAlias = Literal[
    "warning",
    "critical",
    "ceiling",
    "provider_overflow",
    "recovery",
    "model_switch",
    "manual",
    "tool",
    "arrival",
    "max_turns",
    "pin",
    "undo",
    "redo",
    "provider",
]
"""``arrival`` is a result that was too large the moment it came, ``provider`` what a provider did by itself in its
answer; the others are RUNTIME.md 2.5's triggers, or the person."""
UNDOABLE: frozenset[Cause] = frozenset(
    {
        "warning", "critical", "ceiling", "provider_overflow", "recovery", "model_switch", "manual", "tool",
        "max_turns", "provider",
    }
)  # fmt: skip
"""What a plain undo takes back. A result that arrived too large stays in its file."""


class Stub(msgspec.Struct, frozen=True, omit_defaults=True):
    """The text that is sent instead of the result in message ``seq``. ``ref`` names its file, where it has one;
    ``tokens`` is what the result took.
    """

    seq: int
    text: str
    ref: str = ""
    tokens: int = 0


class Cut(msgspec.Struct, frozen=True):
    """The arguments (valid JSON) that are sent instead of those of call ``call_id`` in message ``seq``."""

    seq: int
    call_id: str
    arguments: str


class Mask(msgspec.Struct, frozen=True, tag_field="op", tag="mask"):
    """Stale results give way to markers."""

    stubs: tuple[Stub, ...]


class Shrink(msgspec.Struct, frozen=True, tag_field="op", tag="shrink"):
    """Large results give way to one line of facts, long arguments to their beginnings."""

    stubs: tuple[Stub, ...] = ()
    cuts: tuple[Cut, ...] = ()


class Offload(msgspec.Struct, frozen=True, tag_field="op", tag="offload"):
    """Results stand in files; what they said in short stays."""

    stubs: tuple[Stub, ...]


class Summarise(msgspec.Struct, frozen=True, tag_field="op", tag="summarise", omit_defaults=True):
    """A summary stands for the messages ``first`` to ``upto``, but for those in ``kept``. ``local`` marks one that no
    model wrote.
    """

    first: int
    upto: int
    text: str
    artifact_id: str = ""
    local: bool = False
    kept: tuple[int, ...] = ()


class Trim(msgspec.Struct, frozen=True, tag_field="op", tag="trim", omit_defaults=True):
    """The messages up to ``upto`` are left out, but for those in ``kept``; ``note`` says so to the model."""

    upto: int
    note: str
    kept: tuple[int, ...] = ()


class Clear(msgspec.Struct, frozen=True, tag_field="op", tag="clear", omit_defaults=True):
    """Nothing of the messages up to ``upto`` is sent, nor of what stood for them, but for those in ``kept``."""

    upto: int
    kept: tuple[int, ...] = ()


class MaxTurns(msgspec.Struct, frozen=True, tag_field="op", tag="max_turns", omit_defaults=True):
    """More turns than a conversation may have: the messages up to ``upto`` are left out, but for those in ``kept``."""

    upto: int
    kept: tuple[int, ...] = ()


class Native(msgspec.Struct, frozen=True, tag_field="op", tag="native", omit_defaults=True):
    """A block that ``provider`` wrote when it was asked to stands for the messages ``first`` to ``upto``, but for those
    in ``kept``. ``raw`` is its JSON text, byte for byte as it came.

    ``seamless``: what is sent after it follows directly on what it stands for, as it was, so that signed thinking in it
    still holds (RUNTIME.md 3.1).
    """

    first: int
    upto: int
    raw: str
    provider: str
    artifact_id: str = ""
    kept: tuple[int, ...] = ()
    seamless: bool = False


class Replay(msgspec.Struct, frozen=True, tag_field="op", tag="replay"):
    """The provider compacted by itself in its answer ``seq``: the block in it stands for everything before it. Where
    this is taken back the block is not sent any more.
    """

    seq: int


class Pin(msgspec.Struct, frozen=True, tag_field="op", tag="pin"):
    """No automatic step may touch these messages."""

    seqs: tuple[int, ...]


class Unpin(msgspec.Struct, frozen=True, tag_field="op", tag="unpin"):
    """They may be touched again."""

    seqs: tuple[int, ...]


Operation: TypeAlias = Mask | Shrink | Offload | Summarise | Trim | Clear | MaxTurns | Native | Replay | Pin | Unpin


class Version(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One version of a session's view.

    ``group`` is the number of the first version of the same cause: a warning may mask and then summarise. ``newest`` is
    the newest message when it was made. ``first_changed`` is the first message that is sent in another form than
    before, 0 for none. ``takes_back`` and ``gives_back`` are versions whose operations stop and start to hold again.
    Tokens are those of the whole prompt, by one estimator. ``made_at`` is epoch seconds.
    """

    number: int
    parent: int
    group: int
    cause: Cause
    operations: tuple[Operation, ...] = ()
    takes_back: tuple[int, ...] = ()
    gives_back: tuple[int, ...] = ()
    newest: int = 0
    first_changed: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    mode: Mode = "text"
    made_at: float = 0.0


def counts(operations: tuple[Operation, ...]) -> dict[str, int]:
    """How many messages each kind of operation touches; of those that stand for a part of the conversation, how many
    there are.
    """
    made: dict[str, int] = {}
    for operation in operations:
        match operation:
            case Mask() | Offload():
                name, count = operation.__struct_config__.tag, len(operation.stubs)
            case Shrink():
                name, count = "shrink", len(operation.stubs) + len(operation.cuts)
            case Pin() | Unpin():
                name, count = operation.__struct_config__.tag, len(operation.seqs)
            case _:
                name, count = operation.__struct_config__.tag, 1
        made[str(name)] = made.get(str(name), 0) + count
    return made


_ENCODER = msgspec.json.Encoder()


def encode_version(version: Version) -> str:
    """JSON text of a version."""
    return _ENCODER.encode(version).decode()


def decode_version(text: str) -> Version:
    """Inverse of `encode_version`. Raises ``msgspec.ValidationError`` on anything else."""
    return msgspec.json.decode(text, type=Version)
