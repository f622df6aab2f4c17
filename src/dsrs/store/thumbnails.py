"""A small PNG of an input, for reports: written by hand, so that it needs no imaging library."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

MAX_SIDE = 64
_GREY, _RGB = 0, 2  # PNG colour types


def thumbnail(x: NDArray[np.float32], bounds: tuple[float, float] = (0.0, 1.0)) -> bytes | None:
    """PNG of an input (channels, height, width) or (height, width); None for other shapes."""
    image = x[None] if x.ndim == 2 else x
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        return None
    lower, upper = bounds
    scaled = np.clip((_shrunk(image) - lower) / (upper - lower), 0.0, 1.0)
    return png(np.round(scaled * 255).astype(np.uint8))


def png(pixels: NDArray[np.uint8]) -> bytes:
    """PNG bytes of (1 or 3, height, width) pixels."""
    channels, height, width = pixels.shape
    rows = pixels.transpose(1, 2, 0).reshape(height, width * channels)
    # Each line starts with its filter type, 0 for none.
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    colour = _GREY if channels == 1 else _RGB
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _shrunk(image: NDArray[np.float32]) -> NDArray[np.float64]:
    """Means over square blocks, so that no side is above MAX_SIDE."""
    _, height, width = image.shape
    block = -(-max(height, width) // MAX_SIDE)
    rows, columns = np.arange(0, height, block), np.arange(0, width, block)
    sums = np.add.reduceat(image.astype(np.float64), rows, axis=1)
    sums = np.add.reduceat(sums, columns, axis=2)
    # The last blocks may be cut by the border.
    tall, wide = np.diff(rows, append=height), np.diff(columns, append=width)
    means: NDArray[np.float64] = sums / (tall[:, None] * wide[None, :])
    return means


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
