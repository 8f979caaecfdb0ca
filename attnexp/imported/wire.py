"""Reads messages of protocol buffers by the numbers of their fields, without their schema.

The format is that of https://protobuf.dev/programming-guides/encoding: a field is a varint of its
number and kind, and then its value.
"""

import struct
from collections.abc import Iterator

Field = int | bytes
"""A number that was written as a varint, or the bytes of any other field."""

WIDTHS = {1: 8, 5: 4}
"""The bytes of a field of each kind that has a fixed width."""

VARINT, LENGTH = 0, 2
"""The other kinds: a varint, and bytes whose number comes first."""

LONGEST = 10
"""The most bytes of a varint."""


class DamagedError(ValueError):
    """Bytes are not a message."""


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Yield the number and the value of each field. Raises DamagedError for other bytes."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind == LENGTH:
            width, place = _varint(message, place)
        elif kind in WIDTHS:
            width = WIDTHS[kind]
        else:
            raise DamagedError(f"a field of kind {kind}")
        if place + width > len(message):
            raise DamagedError("a field that is cut off")
        yield tag >> 3, message[place : place + width]
        place += width


def inside(message: bytes, *path: int) -> list[bytes]:
    """Return the bytes of all fields at a path of numbers through messages in messages."""
    level = [message]
    for number in path:
        level = [
            value
            for each in level
            for own, value in fields(each)
            if own == number and isinstance(value, bytes)
        ]
    return level


def whole(message: bytes, number: int, default: int = 0) -> int:
    """Return the last varint with a number as a signed integer, or the default."""
    found = default
    for own, value in fields(message):
        if own == number and isinstance(value, int):
            found = value - (1 << 64) if value >> 63 else value
    return found


def text(message: bytes, *path: int) -> str:
    """Return the last text at a path, empty if there is none."""
    return (inside(message, *path) or [b""])[-1].decode(errors="replace")


def real(content: bytes) -> float:
    """Return a number of 8 or 4 bytes. Raises DamagedError for another length."""
    if len(content) not in (4, 8):
        raise DamagedError(f"a number of {len(content)} bytes")
    found: float = struct.unpack("<d" if len(content) == 8 else "<f", content)[0]
    return found


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return a varint of at most 64 bits and the place after it."""
    number = 0
    for i, byte in enumerate(message[place : place + LONGEST]):
        number |= (byte & 127) << (7 * i)
        if byte < 128:
            return number & ((1 << 64) - 1), place + i + 1
    raise DamagedError("a number that is cut off")
