"""Which addresses may be fetched: no private ones, so that a crafted link cannot reach what only this machine can.

An address is checked twice. `Guard.target` checks its text before anything is sent, `Guard.addresses` what its host
resolves to. The connection is then made to an address that was checked (`connecting.py`), not to the name: DNS that
answers differently a second time changes nothing. A host of `[jobs] private_hosts` is exempt from both checks.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import httpx2

from interlock.apps.jobs.finder.fetching.errors import Forbidden, Unreachable

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → its IP addresses, as texts."""

LONGEST_URL = 4096
PORTS = {80, 443, 8080, 8443}
"""Ports on which sites are. Others belong to services that might understand a request as something else."""
DEFAULT_PORTS = {"http": 80, "https": 443}
NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})+")
NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
LOCAL_NAMES = {"localhost", "local", "internal", "localdomain", "lan", "home", "corp", "intranet", "arpa", "onion"}
"""Last labels of names that are not on the internet."""

# Written out, because `is_global` of the standard library differs between versions of Python, and calls multicast and
# NAT64 global. IANA, special-purpose address registries; 168.63.129.16 is the metadata service of Azure.
SPECIAL_4 = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
168.63.129.16/32
"""
NOT_PUBLIC_4 = [ipaddress.IPv4Network(one) for one in SPECIAL_4.split()]
PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
# Teredo and others of 2001::/23, documentation, 6to4: all but the documentation can carry an IPv4 address inside.
NOT_PUBLIC_6 = [
    ipaddress.IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48")
]
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")


def is_public(text: str) -> bool:
    """Whether an IP address is one of the public internet. An IPv4 address inside an IPv6 one counts."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return is_public(str(address.ipv4_mapped))
    if address in NAT64:
        return is_public(str(ipaddress.IPv4Address(address.packed[12:])))
    if address not in PUBLIC_6 or address.packed[8:12] in ISATAP:
        return False
    return not any(address in network for network in NOT_PUBLIC_6)


@dataclass(frozen=True, slots=True)
class Target:
    """An address that was checked, in parts that go into the request as they are."""

    url: str
    scheme: str
    host: str
    port: int
    path: str
    """The path with its query."""
    private: bool
    """Whether the host is one of `private_hosts`."""

    @property
    def authority(self) -> str:
        """The host as the header Host has it, with its port unless it is the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Guard:
    """Checks addresses against the rules and `private_hosts`."""

    def __init__(self, private_hosts: Collection[str] = (), resolver: Resolver | None = None) -> None:
        self._private = frozenset(private_hosts)
        self._resolver = resolver or resolve

    def target(self, url: str) -> Target:
        """The address in parts. Raises Forbidden when it may not be fetched."""
        try:
            # The same parser as for the request: two parsers could see two hosts in one text.
            parsed = httpx2.URL(url) if len(url) <= LONGEST_URL else None
        except (httpx2.InvalidURL, ValueError, TypeError) as error:
            raise Forbidden(f"{brief(url)} is not an address: {error}") from None
        if parsed is None:
            raise Forbidden(f"{brief(url)} has more than {LONGEST_URL} characters")
        if parsed.scheme not in DEFAULT_PORTS:
            raise Forbidden(f"{brief(url)}: only http and https addresses are fetched")
        if parsed.userinfo:
            raise Forbidden(f"an address on {parsed.host!r} contains a user or a password; remove them")
        port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
        host = parsed.raw_host.decode("ascii").lower()
        host = host.removesuffix(".") if not host.endswith("..") else host
        clean = str(parsed.copy_with(fragment=None, host=host)) if host else ""
        found = Target(clean, parsed.scheme, host, port, parsed.raw_path.decode("ascii"), False)
        if host and found.authority in self._private:
            return Target(clean, found.scheme, host, port, found.path, True)
        self._check(found, url)
        return found

    def _check(self, target: Target, url: str) -> None:
        host = target.host
        if ":" in host or _is_numeric(host):
            if not _is_address(host):
                raise Forbidden(f"{brief(url)}: {host!r} is not a usual way to write a host or an IP address")
            if not is_public(host):
                raise private(target.authority, host)
        elif host.rpartition(".")[2] in LOCAL_NAMES:
            raise private(target.authority, host)
        elif not NAME.fullmatch(host) or len(host) > 253:
            raise Forbidden(f"{brief(url)}: {host!r} is not a name of a host on the internet{remedy(target.authority)}")
        if target.port not in PORTS:
            allowed = ", ".join(map(str, sorted(PORTS)))
            raise Forbidden(f"{brief(url)}: port {target.port} is none of {allowed}{remedy(target.authority)}")

    async def addresses(self, host: str, port: int, *, is_exempt: bool) -> Sequence[str]:
        """The IP addresses of a host, all of them checked. Raises Forbidden when any of them is not public."""
        try:
            found = [host] if _is_address(host) else list(dict.fromkeys(await self._resolver(host, port)))
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{host} has no address: {error}; check the name") from None
        if not found:
            raise Unreachable(f"{host} has no address; check the name")
        for one in found:
            if not is_exempt and not is_public(one):
                raise private(host if port in DEFAULT_PORTS.values() else f"{host}:{port}", one)
        return found

    def is_exempt(self, host: str, port: int) -> bool:
        """Whether a connection to this host and port may go to a private address."""
        name = f"[{host}]" if ":" in host else host
        return f"{name}:{port}" in self._private or (port in DEFAULT_PORTS.values() and name in self._private)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The system's resolver."""
    rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in rows]


def private(authority: str, address: str) -> Forbidden:
    what = authority if authority == address else f"{authority} ({address})"
    return Forbidden(f"{what} is not on the public internet{remedy(authority)}")


def remedy(authority: str) -> str:
    return f"; to fetch from it, name {authority!r} in [jobs] private_hosts"


def brief(url: str) -> str:
    """An address as messages show it, without a password."""
    scheme, slashes, rest = url[:1000].partition("://")
    host, slash, path = rest.partition("/")
    text = scheme + slashes + host.rpartition("@")[2] + slash + path
    text = text if len(text) <= 200 else text[:200] + "…"
    return text if text.isprintable() else repr(text)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_numeric(host: str) -> bool:
    """Whether a resolver might read the host as an IPv4 address: decimal, octal, hexadecimal or shortened."""
    return NUMBER.fullmatch(host.rpartition(".")[2]) is not None
