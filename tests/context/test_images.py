"""Images by their size in pixels."""

from __future__ import annotations

import base64
import struct

import pytest

from geode_tui.context.images import COMMON_IMAGE_TOKENS, by_area, by_tiles, image_size
from geode_tui.core.messages import ImageBlock

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def block(data: bytes) -> ImageBlock:
    return ImageBlock("image/png", base64.b64encode(data).decode())


def png(width: int, height: int) -> ImageBlock:
    return block(PNG + struct.pack(">II", width, height) + b"\x08\x06\0\0\0" + b"\0" * 400)


def jpeg(width: int, height: int) -> ImageBlock:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"J" * 14
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 20
    return block(b"\xff\xd8" + app + frame)


def webp(kind: bytes, body: bytes) -> ImageBlock:
    return block(b"RIFF\0\0\0\0WEBP" + kind + body + b"\0" * 20)


@pytest.mark.parametrize(
    "image",
    [
        png(640, 480),
        jpeg(640, 480),
        block(b"GIF89a" + struct.pack("<HH", 640, 480) + b"\0" * 20),
        webp(b"VP8X", b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
        webp(b"VP8L", b"\0" * 4 + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little")),
        webp(b"VP8 ", b"\0" * 10 + struct.pack("<HH", 640, 480)),
    ],
)
def test_the_head_of_a_file_tells_its_size(image: ImageBlock) -> None:
    assert image_size(image) == (640, 480)


@pytest.mark.parametrize(
    "image",
    [
        ImageBlock("image/png", "A" * 3_000_000),
        ImageBlock("image/png", "not base64 at all !"),
        block(PNG),
        block(b"\xff\xd8\xff"),
        block(b"\xff\xd8" + b"\xff\xe0\0\0" * 8),
        png(0, 10),
        ImageBlock("image/png", ""),
    ],
)
def test_an_image_of_unknown_size_counts_as_a_common_one(image: ImageBlock) -> None:
    assert image_size(image) is None
    assert by_area(image) == by_tiles(image) == COMMON_IMAGE_TOKENS


@pytest.mark.parametrize(
    ("size", "area", "tiles"), [((200, 200), 54, 255), ((1_000, 1_000), 1_334, 765), ((1, 1), 1, 255)]
)
def test_what_the_providers_document(size: tuple[int, int], area: int, tiles: int) -> None:
    assert (by_area(png(*size)), by_tiles(png(*size))) == (area, tiles)


@pytest.mark.parametrize("size", [(8_000, 8_000), (100_000, 10), (10, 100_000), (2**31, 2**31)])
def test_an_image_is_bounded_whatever_its_size(size: tuple[int, int]) -> None:
    """B009."""
    assert 0 < by_area(png(*size)) <= 1_600
    assert 0 < by_tiles(png(*size)) <= 5_000
