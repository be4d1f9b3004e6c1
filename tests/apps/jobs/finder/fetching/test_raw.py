"""Raw answers are kept by hash, found again by their request, and contain no secrets."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.apps.jobs import tables as t
from interlock.apps.jobs.finder.fetching.raw import (
    body,
    keep,
    known,
    remove_unused,
    request_key,
    stored_answer,
    without_secrets,
)
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.store import Store

ASKED = Request("https://api.example.com/jobs?page=1")
PAGE = b"<h1>Jobs</h1>" * 1000
GIVEN = Answer(PAGE, ASKED.url, 200, {"ETag": '"v1"', "Content-Type": "text/html", "Last-Modified": "yesterday"})


def count(store: Store, table: sa.Table) -> int:
    return store.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def test_an_answer_is_kept_and_found_by_its_request(store: Store) -> None:
    digest = store.write(lambda conn: keep(conn, "a", ASKED, GIVEN, 1))
    assert digest is not None
    assert store.read(lambda conn: body(conn, digest)) == PAGE
    found = store.read(lambda conn: known(conn, "a", ASKED))
    assert found is not None
    assert (found.etag, found.last_modified, found.hash, found.url) == ('"v1"', "yesterday", digest, ASKED.url)
    assert store.read(lambda conn: known(conn, "b", ASKED)) is None, "another workspace has its own"
    again = store.read(lambda conn: stored_answer(conn, "a", ASKED))
    assert again is not None
    assert (again.body, again.status, again.header("etag"), again.request) == (PAGE, 200, '"v1"', ASKED)


def test_equal_bodies_are_stored_once_and_the_last_answer_counts(store: Store) -> None:
    other = Request(ASKED.url, headers={"Accept": "text/html"})
    store.write(lambda conn: keep(conn, "a", ASKED, GIVEN, 1))
    store.write(lambda conn: keep(conn, "a", other, GIVEN, 2))
    assert (count(store, t.raw), count(store, t.answer)) == (1, 2)
    newer = store.write(lambda conn: keep(conn, "a", ASKED, Answer(b"{}", ASKED.url), 3))
    found = store.read(lambda conn: known(conn, "a", ASKED))
    assert found is not None
    assert (found.hash, found.etag, found.fetched_at) == (newer, None, 3)
    assert (count(store, t.raw), count(store, t.answer)) == (2, 2)


def test_a_304_confirms_what_is_stored(store: Store) -> None:
    unchanged = Answer(b"", ASKED.url, 304)
    assert store.write(lambda conn: keep(conn, "a", ASKED, unchanged, 1)) is None
    digest = store.write(lambda conn: keep(conn, "a", ASKED, GIVEN, 2))
    assert store.write(lambda conn: keep(conn, "a", ASKED, unchanged, 3)) == digest
    found = store.read(lambda conn: known(conn, "a", ASKED))
    assert found is not None
    assert (found.fetched_at, found.etag) == (3, '"v1"')


def test_a_failure_does_not_replace_a_good_answer(store: Store) -> None:
    digest = store.write(lambda conn: keep(conn, "a", ASKED, GIVEN, 1))
    for status in (302, 404, 429, 500):
        assert (
            store.write(lambda conn, status=status: keep(conn, "a", ASKED, Answer(b"x", ASKED.url, status), 2)) is None
        )
    found = store.read(lambda conn: known(conn, "a", ASKED))
    assert found is not None
    assert found.hash == digest


def test_no_secret_is_stored(store: Store) -> None:
    asked = Request(
        "https://api.example.com/jobs?API_KEY=hush&token=posting&q=a%20b",
        headers={"Authorization": "Bearer hush", "Accept": "application/json"},
        note={"api_key": "named"},
    )
    store.write(lambda conn: keep(conn, "a", asked, Answer(b"{}", asked.url), 1))
    rows = store.read(lambda conn: [tuple(row) for row in conn.execute(sa.select(t.answer))])
    assert "hush" not in str(rows)
    assert rows[0][2] == "https://api.example.com/jobs?API_KEY=***&token=posting&q=a+b"
    assert without_secrets(ASKED.url) == ASKED.url


def test_requests_with_the_same_answer_have_the_same_key() -> None:
    one = Request("https://a.example/", "POST", {"Accept": "x", "Authorization": "1"}, {"a": 1, "b": 2}, {"page": 1})
    two = Request("https://a.example/", "POST", {"accept": "x", "Authorization": "2"}, {"b": 2, "a": 1}, {"page": 2})
    assert request_key(one) == request_key(two)
    assert request_key(one) != request_key(Request("https://a.example/", "POST", {"Accept": "x"}, {"a": 1, "b": 3}))


def test_what_a_hostile_site_sends_can_be_stored(store: Store) -> None:
    headers = {"etag": '"' + "x" * 5000 + '"', "content-type": "é" * 5000, "last-modified": "\xff"}
    hostile = Answer(bytes(range(256)), "https://a.example/%00", 200, headers)
    digest = store.write(lambda conn: keep(conn, "a", ASKED, hostile, 1))
    assert digest is not None
    assert store.read(lambda conn: body(conn, digest)) == bytes(range(256))
    found = store.read(lambda conn: known(conn, "a", ASKED))
    assert found is not None
    assert (found.etag, len(found.content_type or "")) == (None, 200)


def test_what_nothing_names_any_more_is_removed(store: Store) -> None:
    def old(conn: sa.Connection) -> None:
        keep(conn, "a", ASKED, GIVEN, 1)
        keep(conn, "a", ASKED, Answer(b"new", ASKED.url), 100)

    store.write(old)
    assert store.write(lambda conn: remove_unused(conn, 50)) == 1
    assert (count(store, t.raw), count(store, t.answer)) == (1, 1)
    assert store.write(lambda conn: remove_unused(conn, 101)) == 2
    assert (count(store, t.raw), count(store, t.answer)) == (0, 0)
