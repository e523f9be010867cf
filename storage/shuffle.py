"""A shuffle of any size that is worked out one place at a time, so that nothing has to be stored or scanned."""

from __future__ import annotations

import hashlib

_MASK = (1 << 64) - 1
_ROUNDS = 4


def shuffle_key(*parts: object) -> int:
    """Return a key for these parts, the same on every machine."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def shuffled(rank: int, total: int, key: int) -> int:
    """Return the number that stands at this rank when 0 … total-1 are shuffled by the key.

    A Feistel network permutes the next larger square of numbers; walking on until the result is in range
    leaves a permutation of the range itself.
    """
    half = max(1, ((total - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    place = rank
    while True:
        left, right = place >> half, place & mask
        for step in range(_ROUNDS):
            left, right = right, left ^ (_mix(right + (key ^ (step * 0x9E3779B97F4A7C15 & _MASK))) & mask)
        place = left << half | right
        if place < total:
            return place


def _mix(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)
