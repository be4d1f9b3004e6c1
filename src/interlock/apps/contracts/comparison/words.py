"""Which words differ between two texts, exactly: all pieces without the inserted give A, without the deleted give B.

The cost is bounded. A long pair is split at words that occur once in both; a part that is still too large counts as
replaced as a whole, which is correct but coarse.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rapidfuzz.distance import LCSseq

Op = Literal["same", "deleted", "inserted"]

CELLS = 4_000_000
"""Two runs of words up to this product are compared exactly; 0.03 s and half a megabyte here."""
DEPTH = 12
"""How often a long pair is cut again; each cut reads it once."""
ISLAND = 14
"""An equal run up to this many characters between two changes only breaks a phrase apart."""

_IDEOGRAPH = r"\u2e80-\u9fff\uf900-\ufaff"
_WORD = rf"[^\W{_IDEOGRAPH}]+"
_TOKEN = re.compile(rf" ?(?:[{_IDEOGRAPH}]|{_WORD}(?:['.,/]{_WORD})*|[^\w ])| ", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=\.) ")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text that both sides have, only the first, or only the second."""

    op: Op
    text: str


def tokens(text: str) -> list[str]:
    """Cut a text into words and signs, each with the space before it; put together they are the text again."""
    return _TOKEN.findall(text)


def sentences(text: str) -> list[str]:
    """Cut a text after each full stop."""
    return _SENTENCE_END.split(text) if text else []


def difference(before: str, after: str) -> tuple[Piece, ...]:
    """Return two normal texts as one run of pieces.

    The first piece starts with a space that neither text has, so that a first word is equal to the same word later on.
    """
    if before == after:
        return (Piece("same", f" {before}"),) if before else ()
    a, b = (tokens(f" {text}") if text else [] for text in (before, after))
    pieces: list[Piece] = []
    at_a = at_b = 0
    for i, j, size in (*blocks(a, b), (len(a), len(b), 0)):
        pieces += _pieces(("deleted", a[at_a:i]), ("inserted", b[at_b:j]), ("same", a[i : i + size]))
        at_a, at_b = i + size, j + size
    return _without_islands(pieces)


def accepted(pieces: Iterable[Piece]) -> str:
    """Return the second text."""
    return "".join(piece.text for piece in pieces if piece.op != "deleted").removeprefix(" ")


def rejected(pieces: Iterable[Piece]) -> str:
    """Return the first text."""
    return "".join(piece.text for piece in pieces if piece.op != "inserted").removeprefix(" ")


def changed_blocks(before: str, after: str) -> int:
    """Count the places where the sentences of two texts differ."""
    a, b = sentences(before), sentences(after)
    count = at_a = at_b = 0
    for i, j, size in (*blocks(a, b), (len(a), len(b), 0)):
        count += i > at_a or j > at_b
        at_a, at_b = i + size, j + size
    return count


def blocks(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the runs that two sequences share, in order: where in the first, where in the second, how long."""
    # Numbers instead of words: rapidfuzz compares hashes, and only those of numbers cannot collide.
    numbers: dict[str, int] = {}
    first = [numbers.setdefault(item, len(numbers)) for item in a]
    second = [numbers.setdefault(item, len(numbers)) for item in b]
    found: list[tuple[int, int, int]] = []
    work = [(0, len(first), 0, len(second), 0)]
    while work:
        low_a, high_a, low_b, high_b, depth = work.pop()
        start_a, start_b = low_a, low_b
        while low_a < high_a and low_b < high_b and first[low_a] == second[low_b]:
            low_a, low_b = low_a + 1, low_b + 1
        if low_a > start_a:
            found.append((start_a, start_b, low_a - start_a))
        end_a = high_a
        while high_a > low_a and high_b > low_b and first[high_a - 1] == second[high_b - 1]:
            high_a, high_b = high_a - 1, high_b - 1
        if end_a > high_a:
            found.append((high_a, high_b, end_a - high_a))
        if low_a == high_a or low_b == high_b:
            continue
        if (high_a - low_a) * (high_b - low_b) <= CELLS:
            found += [
                (low_a + op.src_start, low_b + op.dest_start, op.src_end - op.src_start)
                for op in LCSseq.opcodes(first[low_a:high_a], second[low_b:high_b])
                if op.tag == "equal"
            ]
        elif depth < DEPTH:
            corners = _corners(first, second, low_a, high_a, low_b, high_b)
            if corners:
                edges = [(low_a, low_b), *corners, (high_a, high_b)]
                work += [(here[0], there[0], here[1], there[1], depth + 1) for here, there in pairwise(edges)]
    return _whole(sorted(found))


def increasing(values: Sequence[int]) -> list[int]:
    """Return the indexes of a longest run of values that only rises."""
    tails: list[int] = []
    heads: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        at = bisect_left(tails, value)
        before.append(heads[at - 1] if at else -1)
        if at == len(tails):
            tails.append(value)
            heads.append(index)
        else:
            tails[at], heads[at] = value, index
    run: list[int] = []
    at = heads[-1] if heads else -1
    while at >= 0:
        run.append(at)
        at = before[at]
    return run[::-1]


def _whole(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join runs that follow each other without a gap."""
    out: list[tuple[int, int, int]] = []
    for i, j, size in runs:
        if out and out[-1][0] + out[-1][2] == i and out[-1][1] + out[-1][2] == j:
            out[-1] = (out[-1][0], out[-1][1], out[-1][2] + size)
        else:
            out.append((i, j, size))
    return out


def _corners(
    first: Sequence[int], second: Sequence[int], low_a: int, high_a: int, low_b: int, high_b: int
) -> list[tuple[int, int]]:
    """Return places to cut at: words that stand once on each side, as many as keep their order."""
    in_a, in_b = _once(first, low_a, high_a), _once(second, low_b, high_b)
    shared = [(at, in_b[item]) for item, at in in_a.items() if item in in_b]
    return [shared[index] for index in increasing([at for _, at in shared])]


def _once(items: Sequence[int], low: int, high: int) -> dict[int, int]:
    places: dict[int, int] = {}
    for at in range(low, high):
        places[items[at]] = -1 if items[at] in places else at
    return {item: at for item, at in places.items() if at >= 0}


def _pieces(*runs: tuple[Op, list[str]]) -> list[Piece]:
    return [Piece(op, "".join(words)) for op, words in runs if words]


def _without_islands(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Join changes that only a short equal run parts, so that a changed phrase reads as one."""
    out: list[Piece] = []
    deleted = inserted = ""

    def flush() -> None:
        nonlocal deleted, inserted
        out.extend(Piece(op, text) for op, text in _ops(deleted, inserted) if text)
        deleted = inserted = ""

    for index, piece in enumerate(pieces):
        if piece.op == "deleted":
            deleted += piece.text
        elif piece.op == "inserted":
            inserted += piece.text
        elif (deleted or inserted) and index + 1 < len(pieces) and _island(piece, deleted, inserted, pieces, index):
            deleted, inserted = deleted + piece.text, inserted + piece.text
        else:
            flush()
            out.append(piece)
    flush()
    return tuple(out)


def _ops(deleted: str, inserted: str) -> tuple[tuple[Op, str], tuple[Op, str]]:
    return (("deleted", deleted), ("inserted", inserted))


def _island(piece: Piece, deleted: str, inserted: str, pieces: list[Piece], index: int) -> bool:
    if len(piece.text) > ISLAND or len(piece.text.split()) > 2:
        return False
    following = 0
    for after in pieces[index + 1 :]:
        if after.op == "same":
            break
        following = max(following, len(after.text))
    return len(piece.text) <= max(len(deleted), len(inserted)) and len(piece.text) <= following
