"""What request middleware may make of a request to the model, and of a tool call's arguments (RUNTIME.md 10.4)."""

from __future__ import annotations

import copy

import msgspec

from geode_tui.core.messages import Message
from geode_tui.core.tools import ToolSpec
from geode_tui.providers.base import Request, SystemPart
from geode_tui.runtime.extending import Failed

IDENTITY = ("purpose", "cache_key", "compare_with", "edits")
"""Fields of a request that say whose it is and what it is for, or follow from its budget: no middleware may change
them."""
PREFIX = ("system", "messages", "tools")
"""Fields of a request that a provider caches by: changing one costs the cached prefix behind it."""
_ITEMS = {"system": SystemPart, "messages": Message, "tools": ToolSpec}


class Changed(msgspec.Struct, frozen=True):
    """A request with another prefix, and the reason why the cached one is given up for it."""

    request: Request
    cache_invalidation_reason: str


def copied(request: Request) -> Request:
    """``request`` with schemas of its own: they are all of it that can be changed in place."""
    tools = tuple(msgspec.structs.replace(tool, schema=copy.deepcopy(tool.schema)) for tool in request.tools)
    return msgspec.structs.replace(request, tools=tools)


def taken_request(given: Request, answer: object, *, may_invalidate: bool) -> Request:
    """The request in ``answer``. Raises `Failed` where it is not one that may take the place of ``given``."""
    request = answer.request if isinstance(answer, Changed) else answer
    if not isinstance(request, Request):
        raise Failed("error", f"returned {type(answer).__name__}: return a Request")
    fault = _misshapen(request)
    if fault:
        raise Failed("error", f"returned a request whose {fault}")
    fixed = _differing(given, request, IDENTITY)
    if fixed:
        raise Failed("error", f"changed {fixed}, which no middleware may")
    prefix = _differing(given, request, PREFIX)
    if prefix and not may_invalidate:
        raise Failed("error", f"changed {prefix}, which a provider caches: add it with allow_cache_invalidation=True")
    if prefix and not reason_of(answer).strip():
        raise Failed("error", f"changed {prefix} without a reason: return Changed with a cache_invalidation_reason")
    marks = tuple(mark for mark in request.cache_messages if 0 <= mark < len(request.messages))
    return copied(msgspec.structs.replace(request, cache_messages=marks))


def _differing(one: Request, other: Request, fields: tuple[str, ...]) -> str:
    return ", ".join(field for field in fields if getattr(one, field) != getattr(other, field))


def _misshapen(request: Request) -> str:
    """What is wrong with the form of a request that other code made, or nothing."""
    for field, kind in _ITEMS.items():
        items = getattr(request, field)
        if not isinstance(items, tuple) or not all(isinstance(item, kind) for item in items):
            return f"{field} is not a tuple of {kind.__name__}"
    if type(request.max_tokens) is not int or request.max_tokens < 1:
        return "max_tokens is not a number above 0"
    if not request.messages:
        return "messages are empty"
    if len({tool.name for tool in request.tools}) < len(request.tools):
        return "tools have the same name"
    return "" if request.model else "model is empty"


def taken_arguments(given: str, answer: object) -> str:
    """The arguments in ``answer``. What a model wrote may be malformed, what a middleware makes of it may not."""
    if not isinstance(answer, str):
        raise Failed("error", f"returned {type(answer).__name__}: return the arguments as JSON text")
    if answer != given:
        try:
            msgspec.json.decode(answer, type=dict)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Failed("error", f"returned arguments that are no JSON object: {error}") from error
    return answer


def reason_of(answer: object) -> str:
    """Why an answer gives up the cached prefix."""
    return str(answer.cache_invalidation_reason) if isinstance(answer, Changed) else ""
