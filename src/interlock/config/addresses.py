"""Addresses whose path is a password: whoever knows the address of a webhook may post to it."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

LONG_PART, LONG_VALUE = 16, 8
"""Characters from which on a part of a path, or a value of a query, is a secret by itself."""


def origin(url: str) -> str:
    """What may be shown of it: scheme, host and port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def secret_parts(url: str) -> list[str]:
    """What must not be seen of it: what follows the host, and of that what is long enough to be a secret alone."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    target = url.partition("://")[2].partition(parts.netloc)[2]
    name = parts.username or ""
    alone = parts.password is None or len(name) >= LONG_VALUE  # a token stands where a name does
    found = [target, name if alone else "", parts.password or "", parts.path if len(parts.path) >= LONG_PART else ""]
    found += [one for one in parts.path.split("/") if len(one) >= LONG_PART]
    found += [value for _, value in parse_qsl(parts.query) if len(value) >= LONG_VALUE]
    found += [parts.fragment if len(parts.fragment) >= LONG_VALUE else ""]
    found += [value for _, value in parse_qsl(parts.fragment) if len(value) >= LONG_VALUE]
    return [form for one in found if len(one) > 1 for form in dict.fromkeys((one, unquote(one)))]
