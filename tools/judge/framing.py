"""Messages on a byte stream: four bytes of length, then that many bytes."""

from __future__ import annotations

import struct
from typing import BinaryIO

HEADER = struct.Struct("=I")


def write(stream: BinaryIO, data: bytes) -> None:
    """Send one message."""
    stream.write(HEADER.pack(len(data)) + data)
    stream.flush()


def read(stream: BinaryIO) -> bytes | None:
    """The next message, or None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    data = stream.read(size)
    return data if len(data) == size else None
