"""URLs that contain secrets: whoever knows the URL of a webhook can post to it."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

LONG_PART, LONG_VALUE = 16, 8
"""From this length on, a part of a path, or a value of a query, counts as a secret."""


def origin(url: str) -> str:
    """The part of a URL that may be shown: scheme, host and port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def secret_parts(url: str) -> list[str]:
    """The parts of a URL that must be hidden: all that follows the host, and each piece that is long enough."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    target = url.partition("://")[2].partition(parts.netloc)[2]
    name = parts.username or ""
    is_token = parts.password is None or len(name) >= LONG_VALUE  # a token may stand in place of the user
    found = [target, name if is_token else "", parts.password or "", parts.path if len(parts.path) >= LONG_PART else ""]
    found += [one for one in parts.path.split("/") if len(one) >= LONG_PART]
    found += [value for _, value in parse_qsl(parts.query) if len(value) >= LONG_VALUE]
    found += [parts.fragment if len(parts.fragment) >= LONG_VALUE else ""]
    found += [value for _, value in parse_qsl(parts.fragment) if len(value) >= LONG_VALUE]
    return [form for one in found if len(one) > 1 for form in dict.fromkeys((one, unquote(one)))]
