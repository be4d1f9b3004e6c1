"""The allocator over HTTP, in the product: both families of paths, the statuses of the facts, and who may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.apps.sessions import registry
from interlock.store import open_store
from tests.support.api import Api, open_api

ITEM = {"mcp_json_string": '{"mcpServers":{}}', "api_url": "http://sandbox-1"}


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, applications=[registry]) as made,
    ):
        yield made


def submit(api: Api, *items: Any) -> None:
    for item in items:
        assert api.post("/submit", {"item": item}).status_code == 200


def stats(api: Api) -> dict[str, int]:
    found: dict[str, int] = api.get("/admin/stats").json()
    return found


def test_an_item_is_submitted_borrowed_and_returned(api: Api) -> None:
    submit(api, ITEM)
    lent = api.get('/borrow?wait=0&params={"k":"v"}', "agent")
    assert (lent.status_code, lent.json()["item"]) == (200, ITEM)
    assert stats(api)["borrowed_count"] == 1
    body = {"item": ITEM, "borrow_token": lent.json()["borrow_token"]}
    returned = api.post("/return", body, "agent")
    assert (returned.status_code, returned.json()["status"]) == (200, "accepted")
    operation = api.get(f"/operations/{returned.json()['operation_id']}", "agent").json()
    assert operation == {"operation_id": returned.json()["operation_id"], "status": "succeeded", "message": None}
    assert api.post("/return", body, "agent").json() == returned.json(), "a second return gets the same operation"
    assert (stats(api)["free_count"], stats(api)["total_count"]) == (1, 1)
