"""Which addresses the stage FETCH tries, from a website as people write it."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit, urlunsplit

from interlock.apps.jobs.finder.companies.markup import read_page
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.identity.urls import canonical_url

PATHS = ("/about", "/about-us", "/company", "/careers", "")
"""Paths below the website, in the order in which they are tried. The last one is the website itself."""
MOST_LINKED = 4
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,20}:(?!\d)", re.IGNORECASE)
_ENDING = re.compile(
    r"/(?:about|about[-_]us|company|careers?|jobs?|karriere|stellen(?:angebote)?|ueber[-_]uns|unternehmen|home|"
    r"(?:index|default|home)\.(?:html?|php|aspx?|jsp))$",
    re.IGNORECASE,
)
"""The last part of a path that is one page of a website rather than the place where the website begins."""
_ABOUT = re.compile(r"about|company|unternehmen|u(?:e)?ber[-_]?uns|wer[-_]wir[-_]sind|who[-_]we[-_]are|our[-_]story")
_CAREERS = re.compile(
    r"careers?|jobs?|join(?:[-_]us)?|work[-_]with[-_]us|vacanc|karriere|stellen|open(?:ings|[-_]positions)"
)


def website_of(text: str | None, private_hosts: Collection[str] = ()) -> str | None:
    """The address under which a website's pages are: with a scheme, without query, fragment and slash at its end.

    A path is kept, because a company may live under one; the name of a page such as /about or /index.html goes.
    Returns None for anything but a web address.
    """
    if not text or len(text) > 1000:
        return None
    bare = text.strip().strip("<>\"'").strip()
    if bare.startswith("//"):
        bare = bare[2:]
    if not _SCHEME.match(bare):
        host = re.split(r"[/?#]", bare, maxsplit=1)[0]
        bare = f"{'http' if host.lower() in private_hosts else 'https'}://{bare}"
    canonical = canonical_url(bare)
    if canonical is None:
        return None
    parts, plain = urlsplit(bare), urlsplit(canonical)
    host, path = plain.netloc, plain.path.rstrip("/")
    # A name without a dot is a word, unless it is a host of the configuration.
    if not ("." in host or host.startswith("[") or host in private_hosts or parts.netloc in private_hosts):
        return None
    while found := _ENDING.search(path):
        path = path[: found.start()].rstrip("/")
    return urlunsplit((parts.scheme.lower(), host, path, "", ""))


def page_addresses(website: str | None, private_hosts: Collection[str] = ()) -> tuple[str, ...]:
    """The addresses to try, in their order; none where the website is no web address."""
    base = website_of(website, private_hosts)
    if base is None:
        return ()
    return (*(f"{base}{path}" for path in PATHS[:-1]), base if urlsplit(base).path else f"{base}/")


def linked_pages(url: str, html: str) -> tuple[str, ...]:
    """Pages about the company and its openings that a page links to on its own host, such as /karriere or /ueber-uns.

    They are worth a request where the usual addresses answer with nothing.
    """
    host = urlsplit(url).netloc.lower()
    found: dict[str, str] = {}
    kinds: dict[str, int] = {}
    for link in read_page(url, html).links:
        parts = urlsplit(link.url)
        if parts.netloc.lower() != host or parts.path.count("/") > 4:
            continue
        said = f"{parts.path.lower()} {fold(link.text, 60).replace(' ', '-')}"
        kind = "careers" if _CAREERS.search(said) else "about" if _ABOUT.search(said) else None
        key = canonical_url(link.url)
        if kind is None or key is None or key in found or key == canonical_url(url):
            continue
        if kinds.get(kind, 0) < MOST_LINKED // 2:
            kinds[kind] = kinds.get(kind, 0) + 1
            found[key] = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
    return tuple(found.values())
