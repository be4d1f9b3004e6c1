"""How a request reached the service: by which host name, and through which proxies.

A browser can be tricked into using a foreign name for this service (DNS rebinding), so only known names are answered.
`X-Forwarded-…` headers are only accepted from configured proxies. From everybody else, and in other spellings from
everybody, they are removed before anything can trust them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from interlock.config import HttpSettings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - only compared with
FOR, PROTO, HOST = b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"
FORWARDED = frozenset(
    {FOR, PROTO, HOST, b"x-forwarded-port", b"x-forwarded-prefix", b"x-forwarded-server", b"x-real-ip", b"forwarded"}
)
AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::\d{1,5})?", re.ASCII)
KNOWN = 1000
"""Cached results, of each kind."""


class HostCheck:
    """Decides which host names and proxies are accepted."""

    def __init__(self, settings: HttpSettings) -> None:
        named = [*LOOPBACK, *settings.hosts]
        if settings.url:
            named.append(urlsplit(settings.url).hostname or "")
        if settings.host not in EVERYWHERE:
            named.append(settings.host)
        self._names = frozenset(name.lower().strip("[]").rstrip(".") for name in named)
        self._below = tuple(name[1:] for name in self._names if name.startswith("*."))
        self._any_number = settings.host in EVERYWHERE
        """When listening on all interfaces, any IP address may be ours; DNS rebinding needs a name."""
        self._proxies = [ipaddress.ip_network(one, strict=False) for one in settings.proxies]
        self._answers: dict[bytes, bool] = {}
        self._trusted: dict[str, bool] = {}

    def trusts(self, address: str) -> bool:
        """Whether a configured proxy has this address."""
        if not self._proxies:
            return False
        found = self._trusted.get(address)
        if found is None:
            if len(self._trusted) >= KNOWN:
                self._trusted.clear()
            found = self._trusted[address] = self._is_proxy(address)
        return found

    def _is_proxy(self, address: str) -> bool:
        parsed = _address(address)
        return parsed is not None and any(parsed in network for network in self._proxies)

    def knows(self, authority: bytes) -> bool:
        """Whether the name in a `Host` header belongs to this service."""
        found = self._answers.get(authority)
        if found is None:
            if len(self._answers) >= KNOWN:
                self._answers.clear()
            found = self._answers[authority] = self._is_ours(authority.decode("latin-1").lower())
        return found

    def _is_ours(self, authority: str) -> bool:
        parts = AUTHORITY.fullmatch(authority)
        if parts is None:
            return False
        name = parts[1].strip("[]").rstrip(".")
        if name in self._names or name.endswith(self._below):
            return True
        return self._any_number and _address(name) is not None

    def admit(self, scope: MutableMapping[str, Any]) -> str:
        """Set the client, scheme and host name of the scope. Returns the reason of a refusal, or an empty string.

        Called for each request: one pass over its headers (1 µs), and no more without a proxy.
        """
        hosts, forwarded = [], False
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name in FORWARDED:
                forwarded = True
        if forwarded:
            hosts = self._forwarded(scope, hosts)
        if len(hosts) != 1:
            return f"a request must have one Host header, this one has {len(hosts)}"
        if self.knows(hosts[0]):
            return ""
        name = hosts[0][:100].decode("latin-1")
        return (
            f"this service has no host name {name!r}; use one of its names, "
            "or ask its operator to add this one to http.hosts, or to set http.url"
        )

    def _forwarded(self, scope: MutableMapping[str, Any], hosts: list[bytes]) -> list[bytes]:
        """Remove the forwarding headers. From a configured proxy, apply them first."""
        said: dict[bytes, list[str]] = {}
        kept = []
        for name, value in scope["headers"]:
            if name in FORWARDED:
                said.setdefault(name, []).extend(part.strip() for part in value.decode("latin-1").split(","))
            else:
                kept.append((name, value))
        scope["headers"] = kept
        peer = scope.get("client")
        if peer is None or not self.trusts(peer[0]):
            return hosts
        client = self._client(said.get(FOR, []))
        if client:
            scope["client"] = (client, 0)
        if PROTO in said and said[PROTO][-1].lower() in {"http", "https"}:
            scope["scheme"] = said[PROTO][-1].lower()
        if HOST not in said:
            return hosts
        named = said[HOST][-1].encode("latin-1")
        scope["headers"] = [pair for pair in kept if pair[0] != b"host"] + [(b"host", named)]
        return [named]

    def _client(self, chain: list[str]) -> str:
        """The last address that is not one of our proxies; each proxy appends its client."""
        found = ""
        for one in reversed(chain):
            address = _address(one)
            if address is None:
                break
            found = str(address)
            if not self.trusts(found):
                break
        return found


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address as proxies write it, with or without a port."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found
