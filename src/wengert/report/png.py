"""Arrays as PNG pictures inside a page. The background is transparent: a page may be light or dark."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from wengert.engine.core.markup import Markup, element

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {2: 4, 4: 6}  # grey with opacity, red-green-blue with opacity
_POSITIVE, _NEGATIVE = (43, 108, 196), (208, 93, 32)


def png(pixels: Any) -> bytes:
    r"""Return a PNG file (ISO/IEC 15948) of uint8 pixels (height, width, channels).

    2 channels are grey and opacity, 4 are red, green, blue and opacity.

    Example:
        >>> png(np.zeros((2, 3, 2), np.uint8))[:8]
        b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with 0: no filter
    lines[:, 1:] = pixels.reshape(height, -1)
    body = zlib.compress(lines.tobytes(), 9)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def ink(image: Any) -> bytes:
    """Return the picture of an array (height, width): black ink, its opacity from 0 to 1; values are clipped."""
    opacity = _bytes(np.clip(np.nan_to_num(image), 0, 1))
    return png(np.stack([np.zeros_like(opacity), opacity], axis=-1))


def signed(image: Any, largest: float) -> bytes:
    """Return the picture of an array (height, width): orange at -largest, transparent at 0, blue at largest."""
    parts = np.clip(np.nan_to_num(image) / (largest or 1.0), -1, 1)
    colours = np.where(parts[..., np.newaxis] < 0, _NEGATIVE, _POSITIVE).astype(np.uint8)
    return png(np.concatenate([colours, _bytes(np.abs(parts))[..., np.newaxis]], axis=-1))


def _bytes(parts: Any) -> Any:
    return np.asarray(255 * parts + 0.5, np.uint8)


def picture(content: bytes, alt: str, class_: str) -> Markup:
    """Return a PNG file as an image element."""
    width, height = struct.unpack(">II", content[16:24])
    source = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    return element("img", src=source, alt=alt, width=width, height=height, class_=class_)
