"""A row that cannot be read is shown as such, with its id; the rows beside it are served."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from interlock.engine import outbox
from interlock.engine.values import Unreadable
from interlock.store import Store, open_store
from interlock.watch import rollups, rules
from tests.attack.planting import Planted, plant, world
from tests.attack.walking import NOTES, operations
from tests.support.api import APPLICATIONS, open_api
from tests.support.commands import command
from tests.support.site import Site

SOAK = bool(os.environ.get("INTERLOCK_SOAK"))


@pytest.fixture
def site(store: Store) -> Iterator[Site]:
    with open_api(store, applications=(*APPLICATIONS, NOTES)) as api:
        yield Site(api)


LISTS = {
    "instance": "/api/instances?limit=500",
    "dead_letter": "/api/dead-letters?limit=200",
    "outbox": "/api/outbox?limit=500",
    "review": "/api/reviews?limit=200",
    "bulk": "/api/bulk?limit=500",
}


@pytest.mark.soak("postgresql")
def test_every_list_export_and_page_survives_rows_that_it_cannot_show(site: Site) -> None:
    known = world(site.api)
    planted = plant(site.api.engine)
    assert len(planted) > 150
    site.api.service.callers.forget()
    bad: list[str] = []
    browser = site.browser()
    browser.follow_redirects = False
    broken: dict[str, list[Planted]] = {}
    for one in planted:
        broken.setdefault(one.table, []).append(one)
    for number, operation in enumerate(operations(site.app)):
        if operation.method != "GET" or operation.path.endswith(("/events", "/live", "/stream")):
            continue
        chosen = broken if SOAK else {table: some(rows, number) for table, rows in broken.items()}
        for where in places(operation.path, operation.places, known, chosen):
            address = operation.at(where)
            answer = browser.get(address)
            if answer.status_code >= 500:
                bad.append(f"{operation.path} {where}: {answer.status_code}")
    assert bad == []
    _neighbours(site, known, planted)


def some(rows: list[Planted], number: int) -> list[Planted]:
    """A third of what is wrong with each column, another one for each number."""
    columns: dict[str, list[Planted]] = {}
    for one in rows:
        columns.setdefault(one.column, []).append(one)
    return [one for wrong in columns.values() for one in wrong[number % min(3, len(wrong)) :: 3]]


def places(
    path: str, names: list[str], known: dict[str, object], broken: dict[str, list[Planted]]
) -> Iterator[dict[str, str]]:
    if not names:
        yield {}
        return
    table = next((t for part, t in TABLES.items() if f"/{part}/" in path), "instance")
    rest = {"name": "nightly", "workspace": "default", "machine": "order", "hash": "x", "digest": "x"}
    ids = [known.get(table), *[one.id for one in broken.get(table, []) if one.id is not None]]
    for one in ids:
        yield {name: rest.get(name, str(one)) for name in names}


TABLES = {
    "instances": "instance",
    "reviews": "review",
    "dead-letters": "dead_letter",
    "outbox": "outbox",
    "bulk": "bulk",
    "postings": "jobs_posting",
    "companies": "jobs_company",
    "sources": "jobs_source",
}


def _neighbours(site: Site, known: dict[str, UUID], planted: list[Planted]) -> None:
    """In each list the sound row is there, and so are the others, with their ids and why they are not whole."""
    for table, address in LISTS.items():
        text = site.api.get(address).text
        assert str(known.get(table, "")) in text, table
        for one in planted:
            if one.table == table and one.json:
                assert str(one.id) in text, one
        assert "unreadable" in text, table


WRITES = (
    ("instance", "/api/instances/{id}/events", {"event": "approve", "data": {"note": "x"}}),
    ("instance", "/api/instances/{id}/pause", {"reason": "x"}),
    ("instance", "/api/instances/{id}/resume", {"reason": "x"}),
    ("instance", "/api/instances/{id}/cancel", {"reason": "x"}),
    ("instance", "/api/instances/{id}/force", {"to": "sent", "reason": "x"}),
    ("review", "/api/reviews/{id}/claim", {}),
    ("review", "/api/reviews/{id}/assign", {"to": None}),
    ("review", "/api/reviews/{id}/decide", {"decision": "yes", "answer": {"note": "x"}}),
    ("dead_letter", "/api/dead-letters/{id}/retry", {"note": "x"}),
    ("outbox", "/api/outbox/{id}/retry", {}),
    ("bulk", "/api/bulk/{id}/stop", {}),
)


@pytest.mark.soak("postgresql")
def test_nothing_that_is_done_to_such_a_row_is_an_error_of_ours(site: Site) -> None:
    world(site.api)
    planted = plant(site.api.engine)
    bad: list[str] = []
    for table, path, body in WRITES:
        for one in planted:
            if one.table == table:
                answer = site.api.post(path.format(id=one.id), body)
                if answer.status_code >= 500:
                    bad.append(f"{path} {one.column} {one.id}: {answer.status_code}")
                assert answer.status_code != 404 or "there is no" in answer.text, path
    assert bad == []


def test_what_is_done_in_the_background_is_not_held_up_by_such_rows(site: Site) -> None:
    engine = site.api.engine
    world(site.api)
    plant(engine)
    fine = engine.outbox.put("mail", "fine@b.c", "hello", {"text": "x"}, workspace="default")
    site.api.clock.advance(timedelta(days=2))
    while engine.write(rollups.roll):
        pass
    engine.schedules.due(limit=500)
    assert engine.schedules.due(limit=500) == 0
    taken = engine.write(lambda unit: outbox.take(unit, ["mail"], 500, timedelta(minutes=1)))
    assert fine in {message.id for message in taken}
    assert not any(isinstance(message.body, Unreadable) for message in taken)
    while (left := engine.bulk.step()) is not None:
        assert left.status != "running" or left.done
    with site.api.service.engine.store.read(lambda conn: nullcontext(rules.own(conn))) as own:
        assert own == []
    assert engine.verify().problems


def test_every_export_of_the_command_line_survives_them(sqlite_url: str, tmp_path: Path) -> None:
    with open_store(sqlite_url) as store, open_api(store) as api:
        known = world(api)
        planted = [one for one in plant(api.engine) if one.table == "instance"]
    for arguments in (
        ["export"],
        ["export", "--format", "csv"],
        ["instance", "list", "--json"],
        ["review", "list", "--json"],
        ["dead-letter", "list", "--json"],
        ["audit", "verify"],
        ["token", "list", "--json"],
        ["worker", "list", "--json"],
        ["instance", "show", str(planted[0].id)],
        ["retention", "status", "--json"],
    ):
        done = command(*arguments, "--database", sqlite_url, cwd=tmp_path)
        assert "Traceback" not in done.err, (arguments, done.err[-1000:])
        assert done.code in {0, 1}, (arguments, done.err)
        if arguments[0] == "export":
            assert str(known["instance"]) in done.out
            assert all(str(one.id) in done.out for one in planted)
