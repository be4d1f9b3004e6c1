"""Ids that systems give an opening, made from its key. `turn` makes them new ones that still name the same opening."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from uuid import UUID, uuid5

from interlock.apps.jobs.world.opening import Board, Opening

NAMESPACE = UUID("6f5f0c52-6a0e-5b1c-9c53-6c3f5e0b9a77")
SPAN = 1_000_000_000
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def number(key: str, turn: int = 0) -> int:
    """A number of nine digits; with a turn, more digits in front."""
    return turn * SPAN + 100_000_000 + _hash(key) % 800_000_000


def uuid(key: str, turn: int = 0) -> str:
    made = str(uuid5(NAMESPACE, key))
    return f"{turn:08x}{made[8:]}" if turn else made


def code(key: str, turn: int = 0) -> str:
    """A code of ten letters and digits."""
    value, made = _hash(key), ""
    for _ in range(8):
        value, at = divmod(value, len(LETTERS))
        made += LETTERS[at]
    return f"{LETTERS[turn // 32 % 32]}{LETTERS[turn % 32]}{made}"


def by_number(board: Board, given: str) -> Opening | None:
    found = int(given) % SPAN if given.isdecimal() and len(given) < 20 else None
    return next((one for one in board.openings if number(one.key) == found), None)


def by_uuid(board: Board, given: str) -> Opening | None:
    return next((one for one in board.openings if uuid(one.key)[8:] == given.lower()[8:]), None)


def by_code(board: Board, given: str) -> Opening | None:
    return next((one for one in board.openings if code(one.key)[2:] == given[2:]), None)


@lru_cache(maxsize=10_000)
def _hash(key: str) -> int:
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big")
