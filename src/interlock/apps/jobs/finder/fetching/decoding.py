"""Bodies as they arrive: decompressed piece by piece, and no further than a limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

ACCEPTED = "gzip, deflate"
PIECE = 1 << 18
"""Bytes that one step of decompression gives, so that a small piece cannot become a huge one before it is counted."""
MAGIC = b"\x1f\x8b"


class Undecodable(Exception):
    """The body is not compressed as its header says."""


class Decoder(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def is_complete(self) -> bool: ...


class Identity:
    """A body that is not compressed."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def is_complete(self) -> bool:
        return True


class Inflating:
    """A body in gzip or deflate."""

    def __init__(self, window: int) -> None:
        self._inner = zlib.decompressobj(window)
        self._window, self._is_new = window, True
        self._held = b""
        """The beginning of a stream, too short to tell what it is."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        is_full = False
        # A full piece may leave output inside although all input is consumed.
        while data or is_full:
            if self._inner.eof:
                if data.startswith(MAGIC):  # gzip may have several members
                    self._inner = zlib.decompressobj(self._window)
                elif MAGIC.startswith(data):
                    self._held = data
                    return
                else:
                    return  # what follows the end means nothing
            if self._is_new and len(data) < 2:
                self._held = data
                return
            try:
                piece = self._inner.decompress(data, PIECE)
            except zlib.error as error:
                if self._is_new and self._window == zlib.MAX_WBITS:
                    # "deflate" should have the header of zlib, and often has none.
                    self._inner, self._window = zlib.decompressobj(-zlib.MAX_WBITS), -zlib.MAX_WBITS
                    continue
                raise Undecodable(str(error)) from None
            self._is_new = False
            if piece:
                yield piece
            data, is_full = self._inner.unconsumed_tail, len(piece) == PIECE
            if self._inner.eof:
                data, is_full = self._inner.unused_data, False

    def is_complete(self) -> bool:
        return self._inner.eof or (self._is_new and not self._held)


DECODERS: dict[str, Callable[[], Decoder]] = {
    "": Identity,
    "identity": Identity,
    "gzip": lambda: Inflating(16 + zlib.MAX_WBITS),
    "x-gzip": lambda: Inflating(16 + zlib.MAX_WBITS),
    "deflate": lambda: Inflating(zlib.MAX_WBITS),
}


def decoder(encoding: str) -> Decoder:
    """The decoder for a header Content-Encoding. One layer only: more are a bomb or a mistake."""
    make = DECODERS.get(encoding.strip().lower())
    if make is None:
        raise Undecodable(f"the encoding {encoding[:50]!r} was not asked for")
    return make()
