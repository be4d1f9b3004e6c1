"""Artifacts: a hash opens nothing; only an instance that the caller may read and that keeps the content does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.ingest import stored
from interlock.engine import InvalidData, NotFound, artifacts
from interlock.store import open_store
from interlock.store.tables import artifact as A
from tests.support.contracts import CLEAR, Contracts, close_reader, open_contracts
from tests.support.files import pdf

SECRET = b"their secret offer"
DIGEST = hashlib.sha256(SECRET).hexdigest()


@pytest.fixture
def contracts(sqlite_url: str) -> Iterator[Contracts]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_contracts(store) as made:
        yield made
    close_reader()


def put(contracts: Contracts, it: UUID, name: str, content: bytes, who: str = "owner") -> Any:
    return contracts.api.call(
        who, "PUT", f"/api/instances/{it}/artifacts/{name}", content=content, headers={"Content-Type": "text/plain"}
    )


def theirs(contracts: Contracts) -> UUID:
    """An instance of the other workspace that keeps the secret."""
    it = contracts.api.new(workspace="north")
    assert put(contracts, it, "offer", SECRET, "north-owner").status_code == 200
    return it


def test_nobody_reads_through_an_instance_that_is_not_theirs(contracts: Contracts) -> None:
    it = theirs(contracts)
    for who in ("owner", "member", "reviewer", "viewer", "agent"):
        for path in (f"/api/instances/{it}/artifacts/offer", f"/api/instances/{it}/artifacts"):
            assert contracts.api.get(path, who).status_code == 404
    assert contracts.api.get(f"/api/instances/{it}/artifacts/offer", "north-viewer").content == SECRET


def test_a_hash_is_no_name_of_an_artifact(contracts: Contracts) -> None:
    theirs(contracts)
    mine = contracts.api.new()
    assert contracts.api.get(f"/api/instances/{mine}/artifacts/{DIGEST}").status_code == 404
    contracts.api.client.cookies.set("interlock_session", "none")
    assert contracts.api.get(f"/ui/instances/{mine}/artifacts/{DIGEST}").status_code in {401, 403, 404}
    with pytest.raises(NotFound):
        contracts.engine.artifact(mine, DIGEST)


def test_data_that_names_a_hash_does_not_open_it(contracts: Contracts) -> None:
    """As a workflow that came in by a door that is closed now, or by an older release: nothing of it is shown."""
    theirs(contracts)
    other = contracts.send(pdf(CLEAR), "north-owner", query="?wait=0").json()["data"]
    contracts.trial.run_until_idle()
    text = contracts.engine.get(UUID(other["workflowId"])).data["text"]
    named = {"pdf": DIGEST, "text": text, "fields": DIGEST, "comparison": DIGEST, "pages": 1, "filename": "mine"}
    it = contracts.engine.create("contract", named, by_application=True, unstarted=True).id
    for path in (
        f"/workflows/{it}",
        f"/workflows/{it}/pages/1",
        f"/workflows/{it}/pages/1/text",
    ):
        response = contracts.api.get(path)
        assert response.status_code == 404, path
        assert SECRET.decode() not in response.text
    with pytest.raises(NotFound):
        contracts.engine.read(lambda conn: stored.document(conn, it, contracts.engine.get(it).data))


def test_a_step_of_such_an_instance_reads_nothing_either(contracts: Contracts) -> None:
    theirs(contracts)
    it = contracts.engine.create("contract", {"pdf": DIGEST, "filename": "mine.txt"}, by_application=True).id
    contracts.trial.run_until_idle()
    body = contracts.look(it)
    assert body["state"] in {"failed", "rejected"}
    assert "fields" not in body
    assert contracts.engine.artifacts(it) == []


def test_a_comparison_with_a_workflow_of_another_workspace_reads_nothing(contracts: Contracts) -> None:
    other = contracts.send(pdf(CLEAR), "north-owner", query="?wait=0").json()["data"]["workflowId"]
    contracts.trial.run_until_idle()
    it = contracts.taken(CLEAR, drive=False)
    contracts.done(it, "extract")
    assert contracts.call(it, "compare", {"with": other}).status_code == 422


def test_whoever_has_the_content_keeps_it_too_and_learns_nothing_of_others(contracts: Contracts) -> None:
    theirs(contracts)
    mine, new = contracts.api.new(), b"never seen before"
    known, unknown = put(contracts, mine, "a", SECRET), put(contracts, mine, "b", new)
    assert (known.status_code, unknown.status_code) == (200, 200)
    assert known.json().keys() == unknown.json().keys()
    assert contracts.api.get(f"/api/instances/{mine}/artifacts/a").content == SECRET
    contents = contracts.engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(A)).scalar_one())
    assert contents == 2, "stored once, referred to twice"


def test_a_caller_does_not_put_his_own_in_the_place_of_what_a_step_kept(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    for name in ("original", "document", "extraction.json", "fields.json", "comparison.json", "comparison.html"):
        before = contracts.api.get(f"/api/instances/{it}/artifacts/{name}").content
        response = put(contracts, it, name, b"forged")
        assert (response.status_code, response.json()["type"]) == (409, "name-taken"), name
        assert contracts.api.get(f"/api/instances/{it}/artifacts/{name}").content == before != b"forged"
    assert put(contracts, it, "note", b"mine").status_code == 200
    assert put(contracts, it, "note", b"mine, again").status_code == 200


def test_what_is_taken_over_stays_in_the_workspace(contracts: Contracts) -> None:
    """The only way to a reference without the content is to take an instance over; it never leaves its workspace."""
    first, second = theirs(contracts), contracts.api.new()
    with pytest.raises(InvalidData, match="another workspace"):
        contracts.engine.write(lambda unit: artifacts.link_all(unit, first, second))
    again = contracts.api.new(workspace="north")
    contracts.engine.write(lambda unit: artifacts.link_all(unit, first, again))
    assert contracts.engine.artifact(again, DIGEST) == SECRET
