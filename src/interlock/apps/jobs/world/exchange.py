"""Requests and answers of the world as plain values: what plays a system reads a `Call` and returns a `Reply`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape as xml_escape

import orjson

from interlock.apps.jobs.world.opening import Board, Opening

KEY = "world-key"
"""The key of every employer of the world, for endpoints that want one."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a form. Its content is not kept."""

    field: str
    filename: str
    content_type: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Call:
    """A request."""

    method: str
    path: str
    """Below the part that names who is played."""
    base: str
    """The address of the world."""
    now: datetime
    began: datetime
    """When the world began; dates of openings count back from it, so that they stay as they are."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    form: tuple[tuple[str, str], ...] = ()
    files: tuple[SentFile, ...] = ()
    faults: frozenset[str] = frozenset()
    """Faults that change what an answer says."""
    turn: int = 0
    """Not 0 where ids are new in every answer."""

    @property
    def pieces(self) -> list[str]:
        return [piece for piece in self.path.split("/") if piece]

    def json(self) -> dict[str, Any]:
        """The body as an object; empty when it is none."""
        try:
            found = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def number(self, name: str, default: int, most: int = 10**9) -> int:
        text = self.query.get(name, "")
        return min(int(text), most) if text.isdecimal() and len(text) < 12 else default

    @property
    def basic(self) -> str | None:
        """The user of HTTP Basic, where keys are."""
        kind, _, value = self.headers.get("authorization", "").partition(" ")
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[0] if kind == "Basic" else None
        except (binascii.Error, UnicodeDecodeError):
            return None

    @property
    def bearer(self) -> str | None:
        kind, _, value = self.headers.get("authorization", "").partition(" ")
        return value if kind == "Bearer" else None


@dataclass(frozen=True, slots=True)
class Submission:
    """An application that an endpoint or a form accepted."""

    board: Board
    opening: Opening
    by: str
    """How it came: `form`, or the system whose endpoint took it."""
    fields: Mapping[str, Any]
    files: tuple[SentFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    submission: Submission | None = None
    """An application that the server records before it answers."""


def json_reply(value: Any, status: int = 200, submission: Submission | None = None) -> Reply:
    return Reply(orjson.dumps(value), status, submission=submission)


def html_reply(text: str, status: int = 200, submission: Submission | None = None) -> Reply:
    return Reply(text.encode(), status, "text/html; charset=utf-8", submission=submission)


def xml_reply(text: str, content_type: str = "application/xml") -> Reply:
    return Reply(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), 200, f"{content_type}; charset=utf-8")


def redirect(url: str, status: int = 302) -> Reply:
    return Reply(b"", status, "text/plain", {"Location": url})


def element(name: str, content: str, **attributes: str) -> str:
    """An XML element with escaped text."""
    return raw_element(name, xml_escape(content), **attributes)


def raw_element(name: str, inner: str, **attributes: str) -> str:
    said = "".join(f' {key}="{xml_escape(value, {chr(34): "&quot;"})}"' for key, value in attributes.items())
    return f"<{name}{said}>{inner}</{name}>"
