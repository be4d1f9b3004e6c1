"""Import, export and deletion over HTTP: previews store nothing, archives are whole, and deleted is deleted."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.autoapply.board import cards, entries
from interlock.apps.jobs.autoapply.exchange import deleting
from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED, JSON, OTHERS, TIMES
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.records import artifacts as files
from interlock.apps.jobs.autoapply.steps import duties
from interlock.engine import artifacts
from interlock.machine import OWNER, USER, Actor
from interlock.store import open_store
from interlock.testing import VirtualClock
from tests.apps.jobs.finder.rows import Finder
from tests.apps.jobs.finder.seekers import NOW
from tests.support.api import Api, open_api

AT = "/api/auto-apply"
CSV = {"Content-Type": "text/csv"}
PAST = b"company,title,date,notes\nKind Boats,Cook,2026-01-05,=cmd()\nGrim Corp,,2026-01-05,\n"
ANN = Actor(USER, "ann")


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made,
    ):
        yield made


def send(api: Api, path: str, who: str | None = "owner", content: bytes = PAST) -> Any:
    return api.call(who, "POST", f"{AT}/{path}", None, content=content, headers=CSV)


def application(api: Api, number: int = 1) -> UUID:
    """An application with a document."""
    finder = Finder(api.engine)
    finder.profile(identity={"name": "Mika Sand", "email": "mika@sand.example"})
    posting = finder.settled(f"https://jobs.kind{number}.example/{number}", company=f"Kind Boats {number}")
    queued = api.engine.write(lambda unit: enqueueing.enqueue_by_person(unit, "default", posting, ANN))
    assert queued.application is not None
    it = queued.application.id

    def keep(unit: Any) -> None:
        digest = artifacts.keep(unit, it, "resume.pdf", b"%PDF secret", media_type="application/pdf", actor=ANN)
        files.note(
            unit,
            "default",
            it,
            "packet",
            kind="resume_pdf",
            name="../resume.pdf",
            media_type="application/pdf",
            hash=digest,
            size=11,
        )

    api.engine.write(keep)
    return it


def test_a_preview_says_what_is_understood_and_stores_nothing(api: Api) -> None:
    found = send(api, "import/preview", "viewer").json()
    assert found["counts"] == {"new": 1, "known": 0, "bad": 1}
    assert found["columns"] == {"company": "company", "title": "title", "date": "date", "notes": "notes"}
    assert (found["new"][0]["company"], found["bad"][0]["line"], found["imported"]) == ("Kind Boats", 3, [])
    assert api.get(f"{AT}/board").json()["cards"] == []


def test_an_import_is_on_the_board_and_only_once(api: Api) -> None:
    assert send(api, "import", "viewer").status_code == 403
    assert len(send(api, "import", "member").json()["imported"]) == 1
    assert send(api, "import", "member").json()["imported"] == []
    assert [one["origin"] for one in api.get(f"{AT}/board").json()["cards"]] == ["import"]
    assert send(api, "import", content=b"nothing").status_code == 422
    assert send(api, "import", content=b"x" * 5_000_001).status_code == 413
    assert send(api, "import", None).status_code == 401


def test_an_export_has_everything_and_its_documents(api: Api) -> None:
    it = application(api)
    send(api, "import")
    got = api.get(f"{AT}/export", "viewer")
    assert got.headers["content-disposition"].endswith('.zip"')
    with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
        names = archive.namelist()
        [document] = [one for one in names if one.startswith("documents/")]
        assert archive.read(document) == b"%PDF secret"
        assert ".." not in document.split("/")
        whole = json.loads(archive.read("applications.json"))
        rows = list(csv.DictReader(io.StringIO(archive.read("csv/board_notes.csv").decode())))
    assert {f"csv/{name}.csv" for name in EXPORTED} <= set(names)
    assert {one["id"] for one in whole["applications"]} >= {str(it)}
    assert whole["profile"]["identity"]["name"] == "Mika Sand"
    assert rows[0]["text"] == "'=cmd()"
    assert json.loads(api.get(f"{AT}/export?format=json").text)["format"] == 1
    assert api.get(f"{AT}/export?format=csv&what=board").text.startswith("application_id,")
    assert api.get(f"{AT}/export?format=csv&what=people").status_code == 422


def test_an_export_is_of_one_workspace(api: Api) -> None:
    application(api)
    found = json.loads(api.get(f"{AT}/export?format=json", "north-owner").text)
    assert [found[name] for name in EXPORTED] == [[] for _ in EXPORTED]
    assert api.get(f"{AT}/export?workspace=default", "north-owner").status_code == 404
    assert api.get(f"{AT}/export", None).status_code == 401


def test_all_columns_with_times_or_json_are_known() -> None:
    for table in EXPORTED.values():
        times = {one.name for one in table.c if one.name.endswith("_at") or one.name in ("at", "until")}
        assert times <= TIMES, table.name
    names = {one.name for table in EXPORTED.values() for one in table.c}
    assert names >= JSON


def test_deleted_is_deleted_but_nobody_applies_twice(api: Api) -> None:
    it, other = application(api), application(api, 2)
    api.engine.force(other, "submitted", actor=Actor(OWNER, "owner"), reason="sent")
    row = api.engine.read(lambda conn: cards.card_of(conn, "default", other)).application
    api.engine.write(lambda unit: entries.add_note(unit, row, "a secret note", "ann"))
    send(api, "import")
    body = {"confirm": "delete everything"}
    assert api.post(f"{AT}/delete-everything", body, "member").status_code == 403
    assert api.post(f"{AT}/delete-everything", body, "north-owner").json()["erased"] == 0
    assert api.post(f"{AT}/delete-everything", {"confirm": "yes"}).status_code == 422
    made = api.post(f"{AT}/delete-everything", body).json()
    assert (made["withdrawn"], made["erased"], made["left"]) == (1, 2, [])
    for table in (*EXPORTED.values(), *OTHERS):
        rows = api.engine.read(lambda conn, table=table: [str(one) for one in conn.execute(sa.select(table))])
        if table.name != "jobs_application":
            assert rows == [], table.name
        assert not [one for one in rows if "Kind Boats" in one or "secret" in one], table.name
    assert api.engine.get(it).erased
    posting = api.engine.read(
        lambda conn: conn.execute(sa.select(EXPORTED["applications"].c.posting_id)).scalars().all()
    )
    assert len(posting) == 3
    again = api.post(f"{AT}/delete-everything", body).json()
    assert (again["erased"], again["rows"]) == (0, 1), "the stop that it begins with"
    assert api.engine.verify().problems == ()
    made = api.post(f"{AT}/delete-everything", {**body, "forget_openings": True}).json()
    assert made["rows"] == 4


def test_what_was_imported_and_deleted_is_not_applied_for_again_and_may_be_imported_again(api: Api) -> None:
    finder = Finder(api.engine)
    finder.profile(identity={"name": "Mika Sand", "email": "mika@sand.example"})
    past = (
        b"company,title,url,date\nOther Name,,https://jobs.kind1.example/1,2026-01-05\nKind Boats 2,Cook,,2026-01-05\n"
    )
    assert len(send(api, "import", content=past).json()["imported"]) == 2
    by_address = finder.settled("https://jobs.kind1.example/1", company="Kind Boats 1")
    by_role = finder.settled("https://jobs.kind2.example/2", company="Kind Boats 2", title="Cook")
    body = {"confirm": "delete everything"}
    api.post(f"{AT}/delete-everything", body)
    table = EXPORTED["applications"]
    for row in api.engine.read(lambda conn: conn.execute(sa.select(table)).all()):
        assert not [one for one in row if isinstance(one, str) and ("Kind Boats" in one or "kind1" in one)]
    for posting in (by_address, by_role):
        refused = api.post(f"{AT[4:]}/enqueue", {"posting_id": str(posting)})
        assert (refused.status_code, "applied for" in refused.text) == (409, True)
    assert len(send(api, "import", content=past).json()["imported"]) == 2
    api.post(f"{AT}/delete-everything", {**body, "forget_openings": True})
    assert api.post(f"{AT[4:]}/enqueue", {"posting_id": str(by_address)}).status_code == 200


def test_rules_queue_nothing_while_everything_is_deleted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    application(api)
    api.post(f"{AT}/rules", {"rule": {"name": "all"}})
    Finder(api.engine).settled("https://jobs.kind9.example/9", company="Kind Boats 9")
    erase = deleting._erase

    def erase_and_match(*arguments: Any) -> None:
        erase(*arguments)
        duties.match_rules(api.engine)

    monkeypatch.setattr(deleting, "_erase", erase_and_match)
    api.post(f"{AT}/delete-everything", {"confirm": "delete everything"})
    assert api.get(f"{AT}/applications").json()["counts"] == {"withdrawn": 1}
