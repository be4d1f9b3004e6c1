"""Forms as `multipart/form-data` (RFC 7578)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

UNSAFE = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A", "\0": None})


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file of a form."""

    name: str
    """The name of the form's field."""
    filename: str
    media_type: str
    content: bytes


def encode(fields: Iterable[tuple[str, str]], files: Iterable[FormFile] = ()) -> tuple[bytes, str]:
    """The body, and its content type. A name may come several times."""
    boundary = secrets.token_hex(24)
    body = bytearray()
    for name, value in fields:
        body += _head(boundary, name) + b"\r\n\r\n" + _bytes(value) + b"\r\n"
    for one in files:
        body += _head(boundary, one.name, one.filename)
        body += b"\r\nContent-Type: " + _bytes(one.media_type) + b"\r\n\r\n" + one.content + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return bytes(body), f"multipart/form-data; boundary={boundary}"


def _head(boundary: str, name: str, filename: str | None = None) -> bytes:
    said = f'; filename="{filename.translate(UNSAFE)}"' if filename is not None else ""
    return _bytes(f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(UNSAFE)}"{said}')


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
