"""How many tokens an image takes: by its size in pixels where the head of its file tells it. Pure."""

from __future__ import annotations

import base64
import binascii
import math
import struct

from geode_tui.core.messages import ImageBlock

COMMON_IMAGE_TOKENS = 1_600
"""Of an image whose size is not known; what Anthropic's rule gives for the largest that it does not scale down."""
_HEAD_CHARS = 262_144
"""Base64 characters in which the size is looked for; a JPEG may have a preview before it."""
_ANTHROPIC_EDGE, _ANTHROPIC_PIXELS, _PIXELS_PER_TOKEN = 1_568, 1_150_000, 750
"""Anthropic's documentation, "Vision": scaled down to these bounds, then width * height / 750."""
_TILE, _TILE_TOKENS, _BASE_TOKENS, _LONG_EDGE, _SHORT_EDGE = 512, 170, 85, 2_048, 768
"""OpenAI's documentation, "Images": scaled down to fit 2,048, the short edge to 768, then 170 for a tile of 512."""


def by_area(block: ImageBlock) -> int:
    """Tokens where the provider counts pixels (Anthropic)."""
    size = image_size(block)
    if size is None:
        return COMMON_IMAGE_TOKENS
    width, height = size
    scale = min(1.0, _ANTHROPIC_EDGE / max(size), math.sqrt(_ANTHROPIC_PIXELS / (width * height)))
    return max(1, math.ceil(width * scale * height * scale / _PIXELS_PER_TOKEN))


def by_tiles(block: ImageBlock) -> int:
    """Tokens where the provider counts tiles (OpenAI and those that follow it)."""
    size = image_size(block)
    if size is None:
        return COMMON_IMAGE_TOKENS
    scale = min(1.0, _LONG_EDGE / max(size))
    scale *= min(1.0, _SHORT_EDGE / (min(size) * scale))
    across, down = (math.ceil(edge * scale / _TILE) for edge in size)
    return _BASE_TOKENS + _TILE_TOKENS * max(1, across) * max(1, down)


def image_size(block: ImageBlock) -> tuple[int, int] | None:
    """(width, height) in pixels of a PNG, GIF, WebP or JPEG; None where the head of the file does not tell."""
    head = block.data[:_HEAD_CHARS]
    try:
        data = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    size = _size(data)
    return size if size is not None and min(size) > 0 else None


def _size(data: bytes) -> tuple[int, int] | None:
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", data[16:24])
        elif data.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack("<HH", data[6:10])
        elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp_size(data)
        elif data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        else:
            return None
    except (struct.error, IndexError):
        return None
    return width, height


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None
