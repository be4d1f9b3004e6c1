"""Raw answers, kept by their hash, so that a better parser can read them again.

A request is known by its method, address, body and what it accepts, never by a key or another header: those may be
secrets and are not stored. Equal bodies are stored once.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import orjson
import sqlalchemy as sa

from interlock.apps.jobs.finder.fetching.fetcher import Known
from interlock.apps.jobs.finder.fetching.keys import HIDDEN
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.tables import answer as A
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.tables import raw as R
from interlock.store import Micros
from interlock.store.sql import upsert

LONGEST_VALIDATOR = 500
LEVEL = 6
SECRET_NAMES = {
    *("api_key", "apikey", "api-key", "app_key", "appkey", "access_token", "auth_token", "auth", "authorization"),
    *("client_secret", "secret", "password", "passwd", "pwd", "signature", "sig"),
}
"""Parameters whose values are hidden in stored addresses. `token` is none: Greenhouse names postings by it."""


@dataclass(frozen=True, slots=True)
class Stored(Known):
    """The last good answer to a request. `Fetcher.fetch` takes it as `known`."""

    hash: str = ""
    url: str = ""
    status: int = 200
    content_type: str | None = None
    fetched_at: Micros = 0


def request_key(request: Request) -> str:
    """The same for requests that have the same answer."""
    accept = next((value for name, value in request.headers.items() if name.lower() == "accept"), "")
    parts = [request.method, request.url, accept, request.body]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def packed(answer: Answer) -> bytes:
    """The body as it is stored. Compressing 10 MB takes a third of a second: outside of a transaction, please."""
    return zlib.compress(answer.body, LEVEL) if 200 <= answer.status < 300 else b""


def keep(
    conn: sa.Connection,
    workspace: str,
    request: Request,
    answer: Answer,
    now: Micros,
    compressed: bytes | None = None,
) -> str | None:
    """Store an answer, and return the hash of its body. None for a failure (4xx, 5xx), which is not stored.

    A 304 confirms the answer that is stored, and returns its hash.
    """
    key = request_key(request)
    if answer.status == 304:
        found = known(conn, workspace, request)
        if found is None:
            return None
        conn.execute(sa.update(A).where(*_one(workspace, key)).values(fetched_at=now))
        return found.hash
    if not 200 <= answer.status < 300:
        return None
    digest = hashlib.sha256(answer.body).hexdigest()
    content = compressed if compressed is not None else packed(answer)
    values = {"hash": digest, "body": content, "size": len(answer.body), "stored_at": now}
    conn.execute(upsert(R).values(values).on_conflict_do_nothing())
    row = {
        "url": without_secrets(answer.url or request.url),
        "status": answer.status,
        "etag": _validator(answer, "etag"),
        "last_modified": _validator(answer, "last-modified"),
        "content_type": (answer.header("content-type") or "")[:200] or None,
        "hash": digest,
        "fetched_at": now,
    }
    conn.execute(
        upsert(A)
        .values(workspace=workspace, request_key=key, **row)
        .on_conflict_do_update(index_elements=[A.c.workspace, A.c.request_key], set_=row)
    )
    return digest


def known(conn: sa.Connection, workspace: str, request: Request) -> Stored | None:
    """The stored answer to a request, if its body is still there."""
    columns = (A.c.etag, A.c.last_modified, A.c.hash, A.c.url, A.c.status, A.c.content_type, A.c.fetched_at)
    stored = sa.select(*columns).join(R, R.c.hash == A.c.hash).where(*_one(workspace, request_key(request)))
    row = conn.execute(stored).one_or_none()
    return None if row is None else Stored(*row)


def body(conn: sa.Connection, digest: str) -> bytes | None:
    """A stored body by its hash."""
    found = conn.execute(sa.select(R.c.body).where(R.c.hash == digest)).scalar_one_or_none()
    return None if found is None else zlib.decompress(found)


def stored_answer(conn: sa.Connection, workspace: str, request: Request) -> Answer | None:
    """The stored answer as it was received, to read again: after a 304, or with a better parser."""
    found = known(conn, workspace, request)
    content = body(conn, found.hash) if found is not None else None
    if found is None or content is None:
        return None
    headers = {"content-type": found.content_type, "etag": found.etag, "last-modified": found.last_modified}
    given = {name: value for name, value in headers.items() if value}
    return Answer(content, found.url, found.status, given, request)


def remove_unused(conn: sa.Connection, before: Micros, most: int = 1000) -> int:
    """Remove answers that were last fetched before then, and bodies that no answer or posting names any more."""
    old = sa.select(A.c.workspace, A.c.request_key).where(A.c.fetched_at < before).limit(most)
    rows = conn.execute(old).all()
    for workspace, key in rows:
        conn.execute(sa.delete(A).where(*_one(workspace, key)))
    used = sa.or_(
        sa.exists().where(A.c.hash == R.c.hash),
        sa.exists().where(P.c.raw_ref == R.c.hash),
    )
    unused = conn.execute(sa.select(R.c.hash).where(R.c.stored_at < before, ~used).limit(most)).scalars().all()
    if unused:
        conn.execute(sa.delete(R).where(R.c.hash.in_(unused)))
    return len(rows) + len(unused)


def without_secrets(url: str) -> str:
    """The address with the values of parameters that are secrets hidden."""
    parts = urlsplit(url)
    if not parts.query:
        return url
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    if not any(name.lower() in SECRET_NAMES for name, _ in pairs):
        return url
    hidden = [(name, HIDDEN if name.lower() in SECRET_NAMES else value) for name, value in pairs]
    return urlunsplit(parts._replace(query=urlencode(hidden, safe="*")))


def _validator(answer: Answer, name: str) -> str | None:
    value = answer.header(name)
    return value if value and len(value) <= LONGEST_VALIDATOR else None


def _one(workspace: str, key: str) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return A.c.workspace == workspace, A.c.request_key == key
