"""Addresses of boards and postings of the applicant tracking systems: which system, which board, which posting.

Every name that goes into an address we build is checked (`slug`), or a crafted page could steer our requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")
"""Ashby's boards and Workday's sites are named by people, with spaces and capitals."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
LOCALE = re.compile(r"[a-z]{2}-[A-Z]{2}")
SITE_COPY = re.compile(r"(?<=\d)-\d{1,2}$")
"""The suffix that Workday adds when one requisition is on several sites, as in `R-123456-2`."""
RESERVED = {
    "greenhouse": {"embed", "v1", "api", "js", "css", "assets"},
    "lever": {"v0", "api", "assets"},
    "ashby": {"api", "_next", "assets"},
    "smartrecruiters": {"oneclick-ui", "api", "v1", "job-widget"},
    "workable": {"api", "j", "www", "apply", "help", "jobs", "resources", "support", "assets", "static", "blog"},
    "recruitee": {"api", "www", "app", "docs", "help", "support", "status", "careers"},
    "teamtailor": {"www", "api", "app", "scripts", "docs", "support", "status", "tt"},
    "bamboohr": {"api", "app", "help", "static", "www", "resources", "documentation"},
    "jobvite": {"careers", "api", "support", "search", "app", "www", "company"},
    "personio": {"www", "api"},
    "workday": {"wday", "www"},
}
"""Words that stand where a board's name does and name none."""


@dataclass(frozen=True, slots=True)
class Address:
    """A board of a system, or one of its postings."""

    ats: str
    board: str
    external_id: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """What else the system's requests need: a host, a region, a tenant."""


def slug(text: str | None, ats: str, pattern: re.Pattern[str] = SLUG) -> str | None:
    """The text when it can be a board's name, else None."""
    if not text or not pattern.fullmatch(text) or ".." in text or text.endswith((".", " ")):
        return None
    return None if text.lower() in RESERVED.get(ats, set()) else text


def address_of(url: str, known: tuple[str, str] | None = None) -> Address | None:
    """The board or posting that an address belongs to; None when it is no known system's."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    for ending, read in HOSTS:
        if host == ending or host.endswith("." + ending):
            return read(parts, host, _segments(parts))
    return _embedded(parts, known) if known else None


def private_address(url: str, hosts: Collection[str]) -> Address | None:
    """The board of a system that one of these hosts plays under `/SYSTEM-host/`, with the origin of its requests.

    Where a board has a host of its own, its name comes first in the path: `/recruitee-host/acme/o/cook`.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    first, _, rest = parts.path.lstrip("/").partition("/")
    ats = first.removesuffix("-host")
    played = PLAYED.get(ats)
    if parts.scheme not in ("http", "https") or parts.netloc not in hosts or played is None or first == ats:
        return None
    name, _, inner = rest.partition("/") if "{}" in played else ("", "", rest)
    if "{}" in played and slug(name, ats) is None:
        return None
    found = address_of(f"https://{played.format(name)}/{inner}" + (f"?{parts.query}" if parts.query else ""))
    if found is None:
        return None
    origin = "/".join(piece for piece in (f"{parts.scheme}://{parts.netloc}/{first}", name) if piece)
    return Address(ats, found.board, found.external_id, {**found.options, "origin": origin})


def workday_id(path: str) -> str | None:
    """The requisition at the end of a posting's path, without the suffix of a copy on another site."""
    pieces = [piece for piece in path.split("/") if piece]
    for stop, piece in enumerate(pieces):
        # A title may begin with "apply"; only what stands after a requisition is the form's address.
        if piece.startswith("apply") and stop and "_" in pieces[stop - 1]:
            pieces = pieces[:stop]
            break
    if not pieces:
        return None
    last = pieces[-1]
    found = SITE_COPY.sub("", last.rpartition("_")[2]) if "_" in last else last
    return found if found and len(found) <= 200 else None


def _segments(parts: SplitResult) -> list[str]:
    return [unquote(piece) for piece in parts.path.split("/") if piece]


def _one(parts: SplitResult, name: str) -> str | None:
    try:
        return parse_qs(parts.query, max_num_fields=200).get(name, [None])[0]
    except ValueError:
        return None


def _embedded(parts: SplitResult, known: tuple[str, str]) -> Address | None:
    """An employer's own page, whose parameter names the posting of the board it was found on."""
    ats, board = known
    name, shape = {"greenhouse": ("gh_jid", r"\d+"), "ashby": ("ashby_jid", UUID.pattern)}.get(ats, (None, ""))
    value = _one(parts, name) if name else None
    return Address(ats, board, value) if value and re.fullmatch(shape, value) else None


def _greenhouse(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host.split(".")[0] not in ("boards", "job-boards", "boards-api", "api"):
        return None
    posting = _one(parts, "gh_jid")
    if path[:1] == ["embed"]:
        token, posting = _one(parts, "for"), _one(parts, "token") or posting
    else:
        if path[:2] == ["v1", "boards"]:
            path = path[2:]
        token = path[0] if path else None
        posting = path[2] if path[1:2] == ["jobs"] and len(path) > 2 else posting
    board = slug(token, "greenhouse")
    if board is None:
        return None
    region = {"region": "eu"} if ".eu." in host else {}
    return Address("greenhouse", board, posting if posting and posting.isdecimal() else None, region)


def _lever(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host.split(".")[0] not in ("jobs", "api"):
        return None
    if path[:2] == ["v0", "postings"]:
        path = path[2:]
    board = slug(path[0] if path else None, "lever")
    if board is None:
        return None
    posting = path[1].lower() if len(path) > 1 and UUID.fullmatch(path[1]) else None
    return Address("lever", board, posting, {"region": "eu"} if ".eu." in host else {})


def _ashby(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host not in ("jobs.ashbyhq.com", "api.ashbyhq.com"):
        return None
    if path[:2] == ["posting-api", "job-board"]:
        path = path[2:]
    elif host.startswith("api."):
        return None
    board = slug(path[0] if path else None, "ashby", NAME)
    if board is None:
        return None
    posting = path[1].lower() if len(path) > 1 and UUID.fullmatch(path[1]) else None
    return Address("ashby", board, posting)


def _workday(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    labels = host.split(".")
    if len(labels) != 4 or not re.fullmatch(r"wd[\w-]*", labels[1]):
        return None
    tenant = slug(labels[0], "workday")
    if path[:2] == ["wday", "cxs"]:
        path = path[3:]
    elif path and LOCALE.fullmatch(path[0]):
        path = path[1:]
    site = slug(path[0] if path else None, "workday", NAME)
    if tenant is None or site is None:
        return None
    posting = workday_id("/".join(path[2:])) if path[1:2] in (["job"], ["details"]) else None
    return Address("workday", f"{tenant}.{site}", posting, {"host": host, "tenant": tenant, "site": site})


def _smartrecruiters(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host.split(".")[0] not in ("careers", "jobs", "api", "www"):
        return None
    if path[:2] == ["oneclick-ui", "company"] or path[:2] == ["v1", "companies"]:
        company, posting = path[2:3], path[4:5]
    elif host.startswith(("careers.", "jobs.")):
        company, posting = path[:1], path[1:2]
    else:
        return None
    board = slug(company[0] if company else None, "smartrecruiters")
    if board is None:
        return None
    # What follows the number is decoration.
    number = re.match(r"\d{6,}(?=-|$)", posting[0]) if posting else None
    return Address("smartrecruiters", board, number[0] if number else None)


def _workable(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host == "apply.workable.com":
        if path[:1] == ["api"]:
            # /api/v1/widget/accounts/{slug}, /api/v3/accounts/{slug}/jobs, /api/v2/accounts/{slug}/jobs/{code}
            path = path[path.index("accounts") + 1 :] if "accounts" in path else []
            board = slug(path[0] if path else None, "workable")
            code = path[2] if path[1:2] == ["jobs"] and len(path) > 2 else None
            return Address("workable", board, code) if board else None
        if path[:1] == ["j"]:
            return Address("workable", "", path[1]) if len(path) > 1 and path[1].isalnum() else None
        board, path = slug(path[0] if path else None, "workable"), path[1:]
    else:
        board = slug(host.removesuffix(".workable.com"), "workable") if host.count(".") == 2 else None
    if board is None:
        return None
    code = path[1] if path[:1] == ["j"] and len(path) > 1 and path[1].isalnum() else None
    return Address("workable", board, code)


def _subdomain(
    ats: str, ending: str, posting: Callable[[list[str]], str | None], first: tuple[str, ...] = ()
) -> Callable[[SplitResult, str, list[str]], Address | None]:
    """Systems whose boards are hosts of their own. `first` are the path's first words that alone are a board's."""

    def read(parts: SplitResult, host: str, path: list[str]) -> Address | None:
        label = host.removesuffix("." + ending)
        board = slug(label.split(".")[0], ats)
        if board is None or label == host or (first and path[:1] and path[0] not in first) or (first and not path):
            return None
        return Address(ats, board, posting(path), {"host": host})

    return read


def _after(word: str, shape: str) -> Callable[[list[str]], str | None]:
    def read(path: list[str]) -> str | None:
        found = re.match(shape, path[1]) if path[:1] == [word] and len(path) > 1 else None
        return found[0] if found else None

    return read


def _jobvite(parts: SplitResult, host: str, path: list[str]) -> Address | None:
    if host == "app.jobvite.com":
        company = slug(_one(parts, "c"), "jobvite")
        return Address("jobvite", company, None, {"company": company}) if company else None
    if host != "jobs.jobvite.com":
        return None
    if path[:1] == ["careers"]:
        path = path[1:]
    board = slug(path[0] if path else None, "jobvite")
    if board is None:
        return None
    posting = path[2] if path[1:2] == ["job"] and len(path) > 2 and SLUG.fullmatch(path[2]) else None
    return Address("jobvite", board, posting)


HOSTS: tuple[tuple[str, Callable[[SplitResult, str, list[str]], Address | None]], ...] = (
    ("greenhouse.io", _greenhouse),
    ("lever.co", _lever),
    ("ashbyhq.com", _ashby),
    ("myworkdayjobs.com", _workday),
    ("smartrecruiters.com", _smartrecruiters),
    ("workable.com", _workable),
    ("recruitee.com", _subdomain("recruitee", "recruitee.com", lambda path: None)),
    ("jobs.personio.de", _subdomain("personio", "jobs.personio.de", _after("job", r"\d+"))),
    ("jobs.personio.com", _subdomain("personio", "jobs.personio.com", _after("job", r"\d+"))),
    ("teamtailor.com", _subdomain("teamtailor", "teamtailor.com", _after("jobs", r"\d+"))),
    (
        "bamboohr.com",
        _subdomain("bamboohr", "bamboohr.com", _after("careers", r"\d+"), first=("careers", "jobs", "js")),
    ),
    ("jobvite.com", _jobvite),
)
PLAYED = {
    "greenhouse": "boards.greenhouse.io",
    "lever": "jobs.lever.co",
    "ashby": "jobs.ashbyhq.com",
    "workday": "{}.wd1.myworkdayjobs.com",
    "recruitee": "{}.recruitee.com",
    "smartrecruiters": "jobs.smartrecruiters.com",
    "workable": "apply.workable.com",
    "personio": "{}.jobs.personio.de",
    "teamtailor": "{}.teamtailor.com",
    "bamboohr": "{}.bamboohr.com",
    "jobvite": "jobs.jobvite.com",
}
"""The host that a private one stands in for."""
