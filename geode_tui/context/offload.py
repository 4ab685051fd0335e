"""Which results are put into files, and what is sent in their stead (RUNTIME.md 4.1, 4.3). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from geode_tui.context.estimate import PromptMeter
from geode_tui.context.loads import load
from geode_tui.context.projection import result_limit
from geode_tui.context.view import View, fold, followed
from geode_tui.core.limits import ResultBounds
from geode_tui.core.tokens import CHUNK_CHARS
from geode_tui.core.views import Trim, Version
from geode_tui.log.offloads import EXTRAPOLATED_BYTES
from geode_tui.routes.catalog import Route

RECALL = "recall_tool_result"
"""The tool that brings a stored result back."""
EXEMPT = frozenset({RECALL, "update_plan", "use_skill"})
"""Tools whose results stay in the context whole: recalling a recalled result would never end, and a plan or a skill is
there to be followed."""
LEAST_CHARS = 1_000
"""A result shorter than this takes hardly more than its stub."""
SUMMARY_CHARS = 400
"""Longest summary in a stub (RUNTIME.md 4.3)."""
MAX_PAGE, LEAST_PAGE = 8_000, 200
"""Tokens of one page of a recalled result, with its envelope (RUNTIME.md, decision 3)."""
_CHARS_A_TOKEN = 8
"""Characters that a token holds at most, as far as the threshold is concerned (RUNTIME.md 4.1)."""
SAMPLES, SAMPLE_CHARS = 20, 50_000
_PARSED_CHARS = 1_000_000
"""A longer JSON object is not parsed for what it says of itself."""
_TAIL_CHARS = 120
_GAP = " [...] "
_TEXT_KEYS = ("text", "content", "message", "output")
_KEYS_SHOWN = 10

Counter: TypeAlias = Callable[[str], int]
"""Tokens of a text."""


def gauge_counter(meter: PromptMeter, route: Route) -> Counter:
    """Counts a result's text as the gauge does for ``route``."""
    calibration = meter.calibration(route)
    return lambda text: round(calibration.tokens(load(results=meter.counter.count(text))))


def page_tokens(bounds: ResultBounds, window: int) -> int:
    """Tokens of one page of a recalled result, with its envelope: below what would be stored or cut."""
    limits = [MAX_PAGE]
    if bounds.offload:
        limits.append(bounds.offload // 2)
    limit = result_limit(window, bounds.most)
    if limit is not None:
        limits.append(limit)
    return max(LEAST_PAGE, min(limits))


def tokens_of(text: str, count: Counter) -> int:
    """Tokens of ``text``: counted in slices, or extrapolated from a sample where it is very long."""
    if len(text) <= EXTRAPOLATED_BYTES and len(text.encode()) <= EXTRAPOLATED_BYTES:
        return sum(map(count, _slices(text)))
    sample = [text[at : at + SAMPLE_CHARS] for at in sample_starts(len(text))]
    return extrapolated(sample, count, sum(map(len, sample)), len(text))


def sample_starts(size: int) -> range:
    """Where the pieces of a sample of something of ``size`` begin."""
    return range(0, size // SAMPLES * SAMPLES, max(1, size // SAMPLES))


def extrapolated(sample: Sequence[str], count: Counter, seen: int, size: int) -> int:
    """Tokens of a text of ``size`` units (bytes, characters), of which ``sample`` is ``seen``."""
    return sum(map(count, sample)) * size // max(1, seen)


def should_offload(text: str, threshold: int, count: Counter) -> bool:
    """Whether ``text`` takes more than ``threshold`` tokens (0: never)."""
    return threshold > 0 and is_over(text, threshold, count)


def is_over(text: str, threshold: int, count: Counter) -> bool:
    """Whether ``text`` takes more than ``threshold`` tokens, counting no more of it than it needs."""
    if len(text) // _CHARS_A_TOKEN > threshold:
        return True
    if len(text.encode()) <= threshold:
        return False
    tokens = 0
    for piece in _slices(text):
        tokens += count(piece)
        if tokens > threshold:
            return True
    return False


def _slices(text: str) -> Iterator[str]:
    return (text[at : at + CHUNK_CHARS] for at in range(0, len(text), CHUNK_CHARS))


# -- the stub ----------------------------------------------------------------------------------------------------------
class _Stub(msgspec.Struct, frozen=True):
    """RUNTIME.md 4.3."""

    offloaded: bool = msgspec.field(name="_offloaded")
    ref_id: str = msgspec.field(name="_ref_id")
    original_tokens: int = msgspec.field(name="_original_tokens")
    summary: str
    hint: str


def stub_text(ref_id: str, tool: str, tokens: int, text: str, note: str = "") -> str:
    """The JSON text that is sent instead of a stored result.

    Args:
        ref_id: Its reference.
        tool: The tool that gave it.
        tokens: Its size.
        text: The result.
        note: What the model is told beside the result.
    """
    hint = (
        f'The whole result of {tool} is stored. {RECALL}(ref_id="{ref_id}") brings it back, page by page where it is'
        " long; ask for a smaller range instead where that is enough."
    )
    told = f"{hint}\n{note.strip()}" if note.strip() else hint
    return msgspec.json.encode(_Stub(True, ref_id, tokens, summary_of(text), told)).decode()


def summary_of(text: str) -> str:
    """A result in at most `SUMMARY_CHARS` characters: what it says of itself where it is a JSON object, else its
    beginning and its end.
    """
    value = _object(text)
    if value is None:
        return _ends(text)
    summary = value.get("summary")
    if isinstance(summary, str) and summary.strip():
        return _ends(summary)
    for key in _TEXT_KEYS:
        if isinstance(value.get(key), str) and value[key].strip():
            return _ends(value[key])
    keys = ", ".join(list(value)[:_KEYS_SHOWN])
    return _ends(f"keys: {keys}; {text}")


def _object(text: str) -> dict[str, Any] | None:
    if len(text) > _PARSED_CHARS or not text.lstrip().startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _ends(text: str) -> str:
    if len(text) > _PARSED_CHARS:  # as good as the whole: of a copy of it only this much is used
        text = text[:SUMMARY_CHARS] + text[-SUMMARY_CHARS:]
    plain = text.strip()
    if len(plain) <= SUMMARY_CHARS:
        return plain
    return plain[: SUMMARY_CHARS - _TAIL_CHARS - len(_GAP)] + _GAP + plain[-_TAIL_CHARS:]


# -- what is referred to -----------------------------------------------------------------------------------------------
def referred(versions: Sequence[Version]) -> frozenset[str]:
    """The references that hold under these versions of a view, oldest first: those that are sent or named in what is
    sent, and those that would be after an undo or a redo. What stands behind a provider's own block counts: what the
    block says of it cannot be read.
    """
    view = fold(versions)
    views = [view]
    if view.undoable:
        views.append(followed(view, _next(view, takes_back=view.undoable)))
    if view.undone:
        views.append(followed(view, _next(view, gives_back=view.undone[-1])))
    return frozenset(ref for each in views for ref in _referred(each))


def _next(view: View, **changes: tuple[int, ...]) -> Version:
    number = view.number + 1
    return Version(number=number, parent=view.number, group=number, cause="undo", **changes)  # type: ignore[arg-type]


def _referred(view: View) -> Iterator[str]:
    said = "\n".join((view.summary.text if view.summary else "", *(d.note for d in view.drops if isinstance(d, Trim))))
    for seq, (stub, _) in view.stubs.items():
        if stub.ref and (not view.hides(seq) or view.native is not None or stub.ref in said):
            yield stub.ref
