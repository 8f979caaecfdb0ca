"""CRC-32C, the checksum of event files."""

POLYNOMIAL = 0x82F63B78
"""The polynomial of Castagnoli, in reversed order of bits."""


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE = tuple(map(_entry, range(256)))


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of bytes."""
    value = 0xFFFFFFFF
    for byte in content:
        value = TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def masked_crc32c(content: bytes) -> int:
    """Return the CRC-32C as TensorFlow's records have it: turned by 15 bits, plus a constant."""
    value = crc32c(content)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
