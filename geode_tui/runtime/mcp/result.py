"""What of a CallToolResult the model is shown: one representation of it (RUNTIME.md 4.7)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from geode_tui.core.messages import ImageBlock
from geode_tui.core.text import clean_line, scrub

IMAGE_KINDS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_IMAGE = 5_000_000
"""Most characters of an image's base64 that are sent: what every provider takes."""


class Shown(msgspec.Struct, frozen=True):
    """A result's one representation: its text, the images beside it, and whether the server calls it an error."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    is_error: bool = False


def shown(result: Any) -> Shown:
    """The structured value alone where there is one that says anything, else the content. Images always follow, and a
    line stands for every block that cannot be sent.
    """
    if not isinstance(result, Mapping):
        return Shown(_json(result))
    content = result.get("content")
    blocks = [_block(b) for b in content] if isinstance(content, list) else []
    structured = result.get("structuredContent", result.get("structured_content"))
    is_error = bool(result.get("isError", result.get("is_error", False)))
    images = tuple(block for block in blocks if isinstance(block, ImageBlock))
    if _says_nothing(structured) and (structured is None or blocks):
        texts = [
            block if isinstance(block, str) else block.text for block in blocks if not isinstance(block, ImageBlock)
        ]
    else:
        beside = [block.text for block in blocks if isinstance(block, _Placeholder)]
        texts = [_json(structured), *beside]
    if not blocks and structured is None and "content" not in result:
        texts = [_json(result)]
    return Shown(scrub("\n".join(texts)), images, is_error)


class _Placeholder(msgspec.Struct, frozen=True):
    """A line for a block that is no text."""

    text: str


def _says_nothing(structured: Any) -> bool:
    return structured is None or (isinstance(structured, dict | list | str) and not structured)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except ValueError:  # a lone surrogate
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _block(block: Any) -> str | ImageBlock | _Placeholder:
    if not isinstance(block, Mapping):
        return _Placeholder("[unsupported block]")
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    if kind == "image":
        return _image(block)
    if kind == "audio":
        return _Placeholder(f"[audio {_kind(block)}, {_size(block.get('data'))}: not shown]")
    if kind == "resource_link":
        return _Placeholder(f"[link to {_line(block.get('name'))}: {_line(block.get('uri'))}]")
    if kind == "resource" and isinstance(resource := block.get("resource"), Mapping):
        if isinstance(text := resource.get("text"), str):
            return f"[resource {_line(resource.get('uri'))}]\n{text}"
        return _Placeholder(
            f"[resource {_line(resource.get('uri'))} {_kind(resource)}, {_size(resource.get('blob'))}: not shown]"
        )
    return _Placeholder(f"[unsupported block: {_line(kind)}]")


def _image(block: Mapping[str, Any]) -> ImageBlock | _Placeholder:
    data, kind = block.get("data"), block.get("mimeType")
    if kind not in IMAGE_KINDS or not isinstance(data, str):
        return _Placeholder(f"[image {_kind(block)}, {_size(data)}: a kind that is not sent]")
    if len(data) > MAX_IMAGE:
        return _Placeholder(f"[image {_kind(block)}, {_size(data)}: too large to send]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _Placeholder(f"[image {_kind(block)}: damaged]")
    return ImageBlock(str(kind), data)


def _kind(block: Mapping[str, Any]) -> str:
    return _line(block.get("mimeType") or "of an unknown kind")


def _line(value: Any) -> str:
    return clean_line(value, 120) if isinstance(value, str) else "?"


def _size(data: Any) -> str:
    return f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "no data"
