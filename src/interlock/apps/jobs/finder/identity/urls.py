"""Addresses in one form, so that the same posting has the same key.

The rules under-strip on purpose: a duplicate that shows is cheap, two postings merged in silence lose one. Only
parameters that are known to track are removed, and whatever is not a web address has no key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, quote_from_bytes, unquote_to_bytes, urljoin, urlsplit

from interlock.apps.jobs.finder.identity.addresses import address_of
from interlock.apps.jobs.finder.identity.keys import bounded, word_list
from interlock.machine.extras import require

if TYPE_CHECKING:
    require("jobs", "tldextract")
    from tldextract import TLDExtract

MOST_CHARACTERS = 4000
TRACKING = word_list("""
    gh_src lever-source lever-origin lever-source[] fbclid gclid msclkid mc_cid mc_eid _hsenc _hsmi
    trk trackingid igshid _ga _gl yclid
""")
TRACKING_OF_HOST = {".myworkdayjobs.com": "source", ".greenhouse.io": "t"}
"""Parameters that track on one system's hosts and may be identity elsewhere."""
LOWER_CASE_BOARDS = frozenset({"greenhouse", "lever", "smartrecruiters", "workable"})
KEYED = frozenset({"greenhouse", "lever", "ashby", "workday", "smartrecruiters", "workable"})
"""Systems with several addresses for one posting."""

HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
UNFIT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that no address has, and that a database may refuse."""
LINE_ENDS = re.compile(r"[\t\r\n]")
"""Browsers leave them out of an address."""
ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def web_url(url: object, base: str | None = None) -> str | None:
    """The address as a source gave it, made absolute with `base`; None unless it is a web address."""
    if not isinstance(url, str) or not url.strip() or len(url) > MOST_CHARACTERS:
        return None
    try:
        text = LINE_ENDS.sub("", url.strip())
        whole = urljoin(base, text) if base else text
        return whole if canonical_url(whole) else None
    except ValueError:
        return None


def typed_url(text: str) -> str | None:
    """The address that somebody typed, `https://example.com` for `example.com`; None unless it is a web address.

    A single word is no address: it is more likely a mistake than a host of the own network.
    """
    whole = text.strip()
    if "://" not in whole:
        host = whole.partition("/")[0]
        if "." not in host.strip(".") and ":" not in host:
            return None
        whole = f"https://{whole}"
    return whole if canonical_url(whole) else None


def canonical_url(url: str | None) -> str | None:
    """The address in its one form: https, sorted query, no tracking, no fragment; None unless it is a web address."""
    if not url or len(url) > MOST_CHARACTERS or UNFIT.search(url):
        return None
    try:
        parts = urlsplit(url.strip())
        host = _host(parts)
        if parts.scheme not in ("http", "https") or host is None:
            return None
        # The fragment never reaches the server, and a user's name is no part of a public address.
        where = "https://" + host + _path(parts.path)
        query = _query(parts.query, host)
    except (ValueError, UnicodeError):
        return None
    return f"{where}?{query}" if query else where


def url_key(url: str | None, known: tuple[str, str] | None = None) -> str | None:
    """`ats:board:id` where the address is a known system's posting, else the canonical address.

    `known` is the system and board that the address was found on; it names the board of an employer's own page
    with `gh_jid` or `ashby_jid`.
    """
    canonical = canonical_url(url)
    if canonical is None:
        return None
    found = address_of(canonical, known)
    if found is None or found.external_id is None or found.ats not in KEYED:
        return bounded(canonical)
    if found.ats == "workable":
        # The short address names no board; the code alone identifies the posting.
        return bounded(f"workable:j:{found.external_id}")
    board = found.board.lower() if found.ats in LOWER_CASE_BOARDS else found.board
    return bounded(f"{found.ats}:{board}:{found.external_id}")


def registered_domain(url: str | None) -> str | None:
    """`acme.co.uk` for an address anywhere under it; an IP address as it is."""
    canonical = canonical_url(url)
    if canonical is None:
        return None
    host = urlsplit(canonical).hostname or ""
    return _suffixes()(host).top_domain_under_public_suffix or host or None


@lru_cache(maxsize=1)
def _suffixes() -> TLDExtract:
    require("jobs", "tldextract")
    from tldextract import TLDExtract

    # Without addresses and cache it reads the list in its wheel, and nothing else.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)


def _host(parts: SplitResult) -> str | None:
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        host = host.encode("idna").decode("ascii").lower()
    if len(host) > 253 or not HOST.fullmatch(host):
        return None
    port = parts.port
    if port is None or port == 443 or (port == 80 and parts.scheme == "http"):
        return host
    return f"{host}:{port}"


def _path(path: str) -> str:
    plain = _escapes(path)
    kept: list[str] = []
    pieces = plain.split("/")[1:] if plain.startswith("/") else plain.split("/")
    for piece in pieces:
        if piece == "..":
            del kept[-1:]
        elif piece != ".":
            kept.append(piece)
    if pieces and pieces[-1] in (".", ".."):
        kept.append("")
    whole = "/" + "/".join(kept)
    # One slash at the end goes; two are left, or the rule would give another answer for its own answer.
    return whole[:-1] if whole.endswith("/") and not whole.endswith("//") else whole


def _escapes(path: str) -> str:
    def one(found: re.Match[str]) -> str:
        char = chr(int(found[1], 16))
        return char if char in UNRESERVED else found[0].upper()

    # A "%" that escapes nothing is one character; written so, it stays one the next time.
    whole = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", path)
    return ESCAPED.sub(one, quote(whole, safe="/%!$&'()*+,;=:@~"))


def _query(query: str, host: str) -> str:
    kept = []
    for pair in query.split("&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition("=")
        name, value = (unquote_to_bytes(part.replace("+", " ")) for part in (raw_name, raw_value))
        if not _tracks(name.decode("utf-8", "replace"), host):
            kept.append((quote_from_bytes(name, safe=""), quote_from_bytes(value, safe="")))
    return "&".join(f"{name}={value}" for name, value in sorted(kept))


def _tracks(name: str, host: str) -> bool:
    low = name.lower()
    if low.startswith("utm_") or low in TRACKING:
        return True
    bare = host.partition(":")[0]
    return any(bare.endswith(ending) and low == word for ending, word in TRACKING_OF_HOST.items())
