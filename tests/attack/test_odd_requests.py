"""Text that no page, export or database could carry, sent to every endpoint and page: refused, and nothing is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import values
from interlock.store import Store
from tests.attack.walking import NOTES, Operation, operations
from tests.support.api import APPLICATIONS, Api, open_api
from tests.support.databases import all_tables
from tests.support.site import Site

ODD = ("a%00b", "%ED%A0%80", "x" * 3000, "'\"%5c%25%0d%0a")

BODILESS = {"POST /api/logout", "DELETE /api/auto-apply/calendar"}
"""They do not read what is sent to them."""


@pytest.fixture
def site(store: Store) -> Iterator[Site]:
    with open_api(store, applications=(*APPLICATIONS, NOTES)) as api:
        yield Site(api)


def counts(api: Api) -> dict[str, int]:
    """How many rows each table has."""
    tables = [table for table in all_tables() if table.name not in {"login_attempt", "token", "login_session"}]
    return api.engine.read(
        lambda conn: {
            table.name: conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in tables
        }
    )


def ends(operation: Operation) -> bool:
    return not operation.path.endswith(("/events", "/live", "/stream"))


def plain(operation: Operation) -> dict[str, str]:
    """Parts of a path that lead nowhere."""
    return {name: "00000000-0000-0000-0000-000000000001" if "id" in name else "x" for name in operation.places}


@pytest.mark.soak("postgresql")
def test_no_odd_path_or_query_is_an_error_of_ours(site: Site) -> None:
    bad: list[str] = []
    browser = site.browser()
    browser.follow_redirects = False
    asked = 0
    for operation in filter(ends, operations(site.app)):
        addresses = [operation.at({**plain(operation), name: odd}) for name in operation.places for odd in ODD]
        if operation.method == "GET":
            addresses += [f"{operation.at(plain(operation))}?{name}={odd}" for name in operation.queries for odd in ODD]
            addresses += [f"{operation.at(plain(operation))}?{odd}={odd}" for odd in ODD[:2]]
        for address in addresses:
            asked += 1
            answer = browser.request(operation.method, address)
            if answer.status_code >= 500:
                bad.append(f"{operation.method} {address[:150]}: {answer.status_code}")
            if "%00" in address and not 400 <= answer.status_code < 500:
                bad.append(f"{operation.method} {address[:150]}: {answer.status_code} for a NUL")
    assert bad == [], "\n".join(bad)
    assert asked > 500


def deep(levels: int) -> str:
    return '{"d":' * levels + "1" + "}" * levels


UNFIT: dict[str, tuple[str, str]] = {
    "a NUL": ('{"tags": ["a", "b", {"x": "c\\u0000"}]}', "data.tags[2].x has a NUL"),
    "half of a pair": ('{"tags": ["a", "\\ud800"]}', "data.tags[1] has half of a surrogate pair"),
    "half of a pair in a name": ('{"odd": {"\\udc00": 1}}', "a key of body.data.odd has half of a surrogate pair"),
    "300 levels": (deep(300), "nested more than"),
    "100,000 levels": (deep(100_000), "nested more than"),
    "100,000 open": ("[" * 100_000, "nested more than"),
    "lists": ("[" * 40_000 + "]" * 40_000, "nested more than"),
    "one level too many": (deep(values.DEEPEST + 1), "nested more than"),
    "not a number": ('{"x": NaN}', "data.x is nan"),
    "too big a number": ('{"x": 1e999}', "data.x is inf"),
    "a number of 2,000 digits": ('{"x": 1' + "0" * 2000 + "}", "data.x is a whole number"),
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("what", UNFIT)
def test_unfit_data_is_refused_with_its_place_and_nothing_is_kept(site: Site, what: str) -> None:
    data, message = UNFIT[what]
    before = counts(site.api)
    headers = {"Authorization": f"Bearer {site.api.tokens['owner']}", "Content-Type": "application/json"}
    body = f'{{"machine": "note", "data": {data}}}'
    answer = site.api.client.post("/api/instances", content=body.encode(), headers=headers)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert counts(site.api) == before


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_json_in_another_encoding_is_no_way_around(site: Site, encoding: str) -> None:
    headers = {"Authorization": f"Bearer {site.api.tokens['owner']}", "Content-Type": "application/json"}
    body = json.dumps({"machine": "order", "data": {"note": "a\x00b"}})
    answer = site.api.client.post("/api/instances", content=body.encode(encoding), headers=headers)
    assert 400 <= answer.status_code < 500
    assert site.api.engine.count().n == 0


def test_half_of_a_pair_as_raw_bytes_is_no_way_around(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.api.tokens['owner']}", "Content-Type": "application/json"}
    body = b'{"machine": "order", "data": {"note": "a\xed\xa0\x80b"}}'
    answer = site.api.client.post("/api/instances", content=body, headers=headers)
    assert 400 <= answer.status_code < 500
    assert site.api.engine.count().n == 0


def test_a_whole_pair_and_an_escaped_backslash_are_fine(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.api.tokens['owner']}", "Content-Type": "application/json"}
    body = '{"machine": "order", "data": {"note": "\\ud83e\\udd9c \\\\u0000 \\\\ud800"}}'
    answer = site.api.client.post("/api/instances", content=body.encode(), headers=headers)
    assert answer.status_code == 201
    assert answer.json()["data"]["note"] == "🦜 \\u0000 \\ud800"


def bodies(odd: str) -> list[Any]:
    """Bodies with the text in every field that an endpoint takes, and some that none takes."""
    names = (
        "machine",
        "data",
        "workspace",
        "key",
        "labels",
        "event",
        "to",
        "reason",
        "note",
        "decision",
        "answer",
        "name",
        "title",
        "password",
        "email",
        "person",
        "scopes",
        "cron",
        "zone",
        "target",
        "action",
        "where",
        "arguments",
        "role",
        "old",
        "new",
        "map",
        "text",
        "pdf",
        "filename",
        "kind",
        "agent_id",
        "board",
        "job_id",
        "status",
    )
    one = dict.fromkeys(names, odd)
    return [one, {**one, "data": {"x": odd}, "labels": {odd: odd}, "scopes": [odd], "answer": {odd: odd}}, [odd], odd]


@pytest.mark.soak("postgresql")
def test_no_odd_body_is_an_error_of_ours(site: Site) -> None:
    bad: list[str] = []
    it = site.api.asked()
    review = site.api.engine.reviews.waiting(instance_id=it.id)[0]
    letter = site.api.dead()
    known = {"instances": it.id, "reviews": review.id, "dead-letters": letter}
    browser = site.browser()
    before = counts(site.api)
    for operation in operations(site.app):
        if operation.method == "GET":
            continue
        ids = next((str(i) for part, i in known.items() if f"/{part}/" in operation.path), None)
        where = {name: ids if ids and "id" in name else value for name, value in plain(operation).items()}
        for odd in ("a\x00b", "a\ud800b"):
            for body in bodies(odd):
                answer = site.api.call(
                    "owner",
                    operation.method,
                    operation.at(where),
                    content=json.dumps(body).encode(),
                    headers={"Content-Type": "application/json"},
                )
                if not 400 <= answer.status_code < 500 and f"{operation.method} {operation.path}" not in BODILESS:
                    bad.append(f"{operation.method} {operation.path} {str(body)[:60]!a}: {answer.status_code}")
        fields = dict.fromkeys(("name", "password", "reason", "note", "data", "event", "decision", "csrf"), "a\x00b")
        answer = browser.request(operation.method, operation.at(where), data=fields)
        if not 400 <= answer.status_code < 500:
            bad.append(f"{operation.method} {operation.path} as a form: {answer.status_code}")
    assert bad == [], "\n".join(bad)
    assert {name: n for name, n in counts(site.api).items() if n != before[name]} == {}
