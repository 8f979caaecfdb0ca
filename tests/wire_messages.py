"""Writes messages of protocol buffers field by field, for tests of their readers."""

import struct


def varint(number):
    number %= 1 << 64
    content = b""
    while number > 127:
        content += bytes([number % 128 + 128])
        number //= 128
    return content + bytes([number])


def entry(number, value):
    if isinstance(value, float):
        return varint(number * 8 + 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number * 8 + 2) + varint(len(value)) + value
