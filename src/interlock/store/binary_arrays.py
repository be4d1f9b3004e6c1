"""Arrays in PostgreSQL's binary format, which neither side has to spell out or to parse.

As text the same arrays take 1.7 µs an item more in the worker and 3.3 more in the server, of 65 for both together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import NoneType
from typing import Any
from uuid import UUID

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from interlock.store.arrays import array

UUID_OID, BIGINT_OID, BYTEA_OID = 2950, 20, 17


class BinaryArray(bytes):
    """An array that is sent as it is."""


class UuidArray(BinaryArray):
    """Of uuid."""


class BigintArray(BinaryArray):
    """Of bigint."""


class ByteaArray(BinaryArray):
    """Of bytea."""


class _SentAsIs(Dumper):
    format = Format.BINARY

    def dump(self, obj: BinaryArray) -> bytes:
        return obj


def _register(kind: type[BinaryArray], array_oid: int) -> None:
    psycopg.adapters.register_dumper(kind, type(f"{kind.__name__}Dumper", (_SentAsIs,), {"oid": array_oid}))


_register(UuidArray, 2951)
_register(BigintArray, 1016)
_register(ByteaArray, 1001)


def binary_array(values: Sequence[Any]) -> BinaryArray | str:
    """One column's values: binary where all are ids, all are numbers or all are bytes of one length, else as text."""
    kinds = set(map(type, values))
    kind = kinds.pop() if len(kinds) == 1 else NoneType
    if kind is UUID:
        return UuidArray(_joined(UUID_OID, [value.bytes for value in values]))
    if kind is int:
        try:
            return BigintArray(_joined(BIGINT_OID, [value.to_bytes(8, "big", signed=True) for value in values]))
        except OverflowError:  # as text the database refuses it by name
            return array(values)
    if kind is bytes and len(set(map(len, values))) == 1:
        return ByteaArray(_joined(BYTEA_OID, values))
    return array(values)


def _joined(oid: int, values: Sequence[bytes]) -> bytes:
    """One dimension, no NULL, counted from 1; each value follows its length."""
    length = struct.pack("!i", len(values[0]))
    return struct.pack("!iiIii", 1, 0, oid, len(values), 1) + length + length.join(values)
