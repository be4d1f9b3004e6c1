"""The allocator over HTTP, in the product: both families of paths, the statuses of the facts, and who may ask."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.sessions import registry
from interlock.apps.sessions.allocator import lending
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.settings import SessionSettings
from interlock.store import open_store
from tests.support.api import Api, open_api
from tests.support.receiver import Receiver, Reply

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
    counted = ("free_count", "borrowed_count", "in_return_count", "quarantined_count")
    assert sum(found[name] for name in counted) == found["total_count"]
    return found


def borrow(api: Api, key: str | None = None, who: str = "agent", query: str = "") -> Any:
    return api.get(f"/borrow{query}", who, headers={"Idempotency-Key": key} if key else {})


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


def test_the_paths_of_the_specification_do_the_same(api: Api) -> None:
    submit(api, ITEM)
    lent = api.post("/handlers/ip/borrow", {"params": {"session": "s"}}, "agent").json()
    assert lent["item"] == ITEM
    reordered = dict(reversed(ITEM.items()))
    body = {"item": reordered, "borrow_token": lent["borrow_token"], "params": {}}
    assert api.post("/handlers/ip/return", body, "agent").status_code == 200, "the order of keys does not matter"
    assert api.call("agent", "POST", "/handlers/ip/borrow").status_code == 200, "the body may be missing"


def test_events_of_an_operation_are_a_stream_that_ends(api: Api) -> None:
    submit(api, ITEM)
    lent = borrow(api).json()
    operation = api.post("/return", {"item": ITEM, "borrow_token": lent["borrow_token"]}, "agent").json()
    answer = api.get(f"/operations/{operation['operation_id']}/events", "agent")
    assert answer.headers["content-type"].startswith("text/event-stream")
    said = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
    assert said == [{"event": "created"}, {"event": "notifications_ok"}, {"event": "completed"}]


def test_a_lost_answer_is_found_by_the_callers_own_key_alone(api: Api) -> None:
    submit(api, ITEM, ITEM)
    first = borrow(api, "k1").json()
    assert borrow(api, "k1").json() == first == api.get("/borrow/k1", "agent").json()
    assert api.get("/borrow/k1", "owner").status_code == 404, "another caller's key"
    loans = f"loan:{uuid4()}"
    wanted = lending.Request("local", loans, "a session", lending.timedelta(hours=1))
    EngineTransactions(api.engine).write(lending.lend, wanted)
    assert api.get(f"/borrow/{loans}", "agent").status_code == 404, "nobody gets at what a loan holds"
    assert borrow(api, loans).status_code == 503


def test_nothing_free_is_503_also_after_a_wait(api: Api) -> None:
    for query in ("", "?wait=0.05"):
        answer = borrow(api, query=query)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.json() == {"err": "Pool Empty", "msg": "No items available in the freelist"}
    assert stats(api)["waiting_count"] == 0, "who went away keeps no place in line"


def test_a_subscriber_that_must_succeed_and_fails_is_502(api: Api) -> None:
    submit(api, ITEM)
    with Receiver(Reply(500)) as receiver:
        subscriber = {"it": {"post": receiver.url, "mustSuceed": True}}
        settings = SessionSettings.model_validate({"allocator": {"borrow": {"subscribers": subscriber}}})
        api.engine.core.settings["sessions"] = settings
        answer = borrow(api)
    assert (answer.status_code, answer.json()["err"]) == (502, "Subscriber Error")
    assert stats(api)["free_count"] == 1


def test_wrong_tokens_and_unknown_items_are_403_and_404(api: Api) -> None:
    submit(api, ITEM)
    assert borrow(api).status_code == 200
    wrong = api.post("/return", {"item": ITEM, "borrow_token": "guess"}, "agent")
    assert (wrong.status_code, wrong.json()["msg"]) == (
        403,
        "Invalid borrow token: This item is currently borrowed by someone else",
    )
    unknown = api.post("/return", {"item": {"another": 1}, "borrow_token": "guess"}, "agent")
    assert (unknown.status_code, unknown.json()["msg"]) == (404, "Item not found in borrowed items")
    assert api.get(f"/operations/{uuid4()}", "agent").status_code == 404


# -- who may ask

EVERY = (
    ("GET", "/borrow"),
    ("GET", "/borrow/k"),
    ("POST", "/handlers/ip/borrow"),
    ("POST", "/return"),
    ("POST", "/handlers/ip/return"),
    ("POST", "/renew"),
    ("GET", f"/operations/{UUID(int=1)}"),
    ("GET", f"/operations/{UUID(int=1)}/events"),
)
ADMIN = (
    ("POST", "/submit"),
    ("GET", "/admin/items"),
    ("DELETE", "/admin/items"),
    ("GET", "/admin/borrowed"),
    ("DELETE", "/admin/borrowed"),
    ("POST", "/admin/force-return"),
    ("POST", "/admin/quarantine"),
    ("GET", "/admin/operations"),
    ("DELETE", f"/admin/operations/{UUID(int=1)}"),
    ("GET", "/admin/stats"),
)
BODY = {"item": ITEM, "borrow_token": "t", "item_id": str(UUID(int=1)), "reason": "r"}


@pytest.mark.parametrize(("method", "path"), [*EVERY, *ADMIN])
def test_every_request_needs_a_token_of_the_installations_workspace(api: Api, method: str, path: str) -> None:
    body = BODY if method == "POST" else None
    for who, status in ((None, 401), ("viewer", 403), ("north-owner", 404), ("north-agent", 404)):
        answer = api.call(who, method, path, body)
        assert (answer.status_code, set(answer.json())) == (status, {"err", "msg"}), who
    logged_in = api.client.request(method, path, json=body, headers=api.logged_in("owner"))
    assert logged_in.status_code == 403, "a login is not enough: a foreign page could make a browser send it"
    assert api.call(None, method, path, body, headers={"Authorization": "Bearer guess"}).status_code == 401


@pytest.mark.parametrize(("method", "path"), ADMIN)
def test_members_do_not_look_after_pools(api: Api, method: str, path: str) -> None:
    """Whoever adds an item decides what agents start."""
    assert api.call("member", method, path, BODY if method == "POST" else None).status_code == 403


# -- looking after it


def test_items_are_listed_released_and_removed(api: Api) -> None:
    submit(api, ITEM, ITEM, {"n": 3})
    lent = borrow(api, "k").json()
    (its,) = api.get("/admin/borrowed").json()["items"]
    assert (its["id"], its["borrower"], its["state"]) == (lent["item_id"], "agent", "borrowed")
    assert "borrow_token" not in its
    assert len(api.get("/admin/items").json()["items"]) == 2
    released = api.post("/admin/force-return", {"item": ITEM}).json()
    assert (released["item_id"], released["released"]) == (lent["item_id"], True)
    assert api.post("/admin/quarantine", {"item_id": lent["item_id"], "reason": "broken"}).status_code == 200
    assert api.call("owner", "DELETE", "/admin/items").json() == {"removed": 2}
    assert (stats(api)["quarantined_count"], stats(api)["total_count"]) == (1, 1)


def test_of_equal_items_one_has_to_be_named(api: Api) -> None:
    submit(api, ITEM, ITEM)
    assert [borrow(api).status_code for _ in range(2)] == [200, 200]
    assert api.post("/admin/force-return", {"item": ITEM}).status_code == 409
    assert api.post("/admin/force-return", {}).status_code == 400
    assert api.call("owner", "DELETE", "/admin/borrowed").json() == {"removed": 2}


def test_operations_are_listed_and_forgotten(api: Api) -> None:
    submit(api, ITEM)
    (one,) = api.get("/admin/operations?status=succeeded").json()["operations"]
    assert (one["kind"], one["item_id"] is not None) == ("submit", True)
    assert api.call("owner", "DELETE", f"/admin/operations/{one['operation_id']}").json() == {"removed": 1}
    assert api.call("owner", "DELETE", f"/admin/operations/{one['operation_id']}").status_code == 404


def test_what_people_do_is_recorded(api: Api) -> None:
    submit(api, ITEM)
    api.call("owner", "DELETE", "/admin/items")
    done = [one["what"] for one in api.get("/api/actions").json()["actions"]]
    assert {"sandbox.submit", "sandbox.remove"} <= set(done)


# -- hostile requests

DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    "query",
    [
        "?wait=-1",
        "?wait=nan",
        "?wait=inf",
        "?wait=301",
        "?wait=x",
        "?params=1",
        "?params=[]",
        "?params={",
        f"?params={DEEP}",
        '?params={"a":"' + "x" * 20_000 + '"}',
        "?pool=../etc",
        "?pool=",
        "?nonsense=1",
    ],
    ids=[
        *("negative", "NaN", "infinite", "too long", "a word", "a number", "a list", "broken", "deep", "large"),
        *("a path", "no name", "unknown"),
    ],
)
def test_parameters_that_cannot_be_used_are_400(api: Api, query: str) -> None:
    answer = borrow(api, query=query)
    assert (answer.status_code, set(answer.json())) == (400, {"err", "msg"})


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"item": {}, "borrow_token": 5}',
        '{"item": {}, "borrow_token": ""}',
        '{"item": NaN, "borrow_token": "t"}',
        '{"item": "\\ud800", "borrow_token": "t"}',
        f'{{"item": {DEEP}, "borrow_token": "t"}}',
        json.dumps({"item": "x" * 300_000, "borrow_token": "t"}),
        json.dumps({"item": {}, "borrow_token": "t", "params": {"a": "x" * 20_000}}),
    ],
    ids=[
        *("empty", "no JSON", "a list", "nothing", "a number", "no token", "NaN", "half a character"),
        *("deep", "a large item", "large params"),
    ],
)
def test_bodies_that_cannot_be_used_are_refused(api: Api, body: str) -> None:
    headers = {"content-type": "application/json", "authorization": f"Bearer {api.tokens['agent']}"}
    answer = api.client.post("/return", content=body, headers=headers)
    assert (answer.status_code, set(answer.json())) == (400, {"err", "msg"})


def test_a_huge_body_is_cut_off(api: Api) -> None:
    answer = api.post("/return", {"item": "x" * 2_000_000, "borrow_token": "t"}, "agent")
    assert answer.status_code == 413


@pytest.mark.parametrize("key", ["a b", "x" * 201, "é"])
def test_keys_that_cannot_be_used_are_refused(api: Api, key: str) -> None:
    answer = api.get("/borrow", "agent", headers={"Idempotency-Key": key.encode("latin-1")})
    assert answer.status_code == 400


@pytest.mark.parametrize("item", [None, 0, "", "text", [], {"a": [1, {"b": None}]}, 1e308], ids=repr)
def test_any_json_is_an_item_and_comes_back_as_it_was(api: Api, item: Any) -> None:
    submit(api, item)
    lent = borrow(api).json()
    assert lent["item"] == item
    assert api.post("/return", {"item": item, "borrow_token": lent["borrow_token"]}, "agent").status_code == 200
