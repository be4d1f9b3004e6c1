"""Live events: sent in order, from any position, to whoever may see them, and nothing is missed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.store import Store, open_store
from tests.support.api import Api, open_api
from tests.support.listening import DEADLINE, Listener, listening


@pytest.fixture
def served(store: Store) -> Iterator[tuple[Api, str]]:
    """An API behind a real server: the test client would wait for the end of a stream that has none."""
    with open_api(store) as api, InThread(create_app(api.service), api.service) as server:
        yield api, server.url


def heard(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(event["instance_id"], event["seq"]) for event in events]


def test_events_are_shown_as_they_happen(served: tuple[Api, str]) -> None:
    api, url = served
    with listening(url, api, query="?after=0-0") as ears:
        it = api.asked()
        events = ears.wait_for(2)
        assert heard(events) == [(str(it.id), 1), (str(it.id), 2)]
        assert (events[1]["kind"], events[1]["from_state"], events[1]["to_state"]) == ("moved", "new", "asked")


def test_a_listener_that_was_away_goes_on_where_it_was(served: tuple[Api, str]) -> None:
    api, url = served
    first = api.new()
    with listening(url, api, query="?after=0-0") as ears:
        [seen] = ears.wait_for(1)
    assert seen["instance_id"] == str(first)
    missed = [str(api.new()) for _ in range(3)]
    headers = {"Last-Event-ID": seen["position"]}
    ears = Listener(url, api.tokens["owner"], headers=headers)
    assert [i for i, _ in heard(ears.wait_for(3))] == missed
    ears.close()


def test_without_a_position_it_begins_now(served: tuple[Api, str]) -> None:
    api, url = served
    api.new()
    with listening(url, api) as ears:
        while not ears.events:  # until the stream has begun, what is made may still lie before it
            made = str(api.new())
            if ears.ended.wait(0.05):
                break
        assert ears.wait_for(1)[0]["seq"] == 1
        assert made


def test_only_what_the_listener_may_see_is_sent(served: tuple[Api, str]) -> None:
    api, url = served
    with listening(url, api, "north-viewer", "?after=0-0") as ears:
        api.new()
        north = api.new(workspace="north")
        assert [i for i, _ in heard(ears.wait_for(1))] == [str(north)]


def test_only_events_of_the_asked_machine_and_instance_are_sent(served: tuple[Api, str]) -> None:
    api, url = served
    api.new()
    wanted = api.new()
    with listening(url, api, query=f"?after=0-0&instance={wanted}&machine=order") as ears:
        assert [i for i, _ in heard(ears.wait_for(1))] == [str(wanted)]


def test_nobody_listens_without_a_token(served: tuple[Api, str]) -> None:
    _, url = served
    answer = httpx2.get(f"{url}/api/events/stream")
    assert (answer.status_code, answer.json()["type"]) == (401, "not-authenticated")


def test_a_position_that_is_none_is_refused(served: tuple[Api, str]) -> None:
    api, url = served
    headers = {"Authorization": f"Bearer {api.tokens['owner']}"}
    assert httpx2.get(f"{url}/api/events/stream?after=yesterday", headers=headers).status_code == 422


def test_what_another_process_does_is_heard_too(postgres_url: str) -> None:
    """The hints of one process reach the other through the database."""
    with open_store(postgres_url) as here, open_store(postgres_url) as there, open_api(here) as api:
        from interlock.engine import Engine
        from tests.support.api import order

        other = Engine(there, [order], migrate_schema=False)
        with (
            InThread(create_app(api.service), api.service) as server,
            listening(server.url, api, query="?after=0-0") as ears,
        ):
            it = other.create("order")
            assert heard(ears.wait_for(1)) == [(str(it.id), 1)]


def test_a_transaction_that_commits_late_is_sent_late_and_not_missed(postgres_url: str) -> None:
    with open_store(postgres_url) as store, open_api(store) as api:
        inside, go_on = threading.Event(), threading.Event()
        slow: list[str] = []

        def late(conn: sa.Connection) -> None:
            slow.append(str(api.engine.within(conn).create("order").id))
            inside.set()
            assert go_on.wait(DEADLINE)

        with (
            InThread(create_app(api.service), api.service) as server,
            listening(server.url, api, query="?after=0-0") as ears,
        ):
            thread = threading.Thread(target=store.write, args=(late,))
            thread.start()
            assert inside.wait(DEADLINE)
            quick = [str(api.new()) for _ in range(3)]
            go_on.set()
            thread.join(DEADLINE)
            ids = [i for i, _ in heard(ears.wait_for(4))]
            assert sorted(ids) == sorted([*slow, *quick])


def test_a_thousand_events_from_eight_writers_are_each_sent_once(served: tuple[Api, str]) -> None:
    api, url = served
    with listening(url, api, query="?after=0-0") as early, listening(url, api, query="?after=0-0") as late:
        made: list[str] = []
        lock = threading.Lock()

        def write() -> None:
            for _ in range(5):
                ids = [str(i) for i in api.engine.create_many("order", [{} for _ in range(25)])]
                with lock:
                    made.extend(ids)

        writers = [threading.Thread(target=write) for _ in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(DEADLINE)
        for ears in (early, late):
            received = [i for i, _ in heard(ears.wait_for(1000))]
            assert len(received) == 1000
            assert sorted(received) == sorted(made)


def test_the_server_stops_although_somebody_listens(sqlite_url: str) -> None:
    with open_store(sqlite_url, durability="normal") as store, open_api(store) as api:
        with InThread(create_app(api.service), api.service) as server:
            ears = Listener(server.url, api.tokens["owner"], "?after=0-0")
            assert ears.listening.wait(DEADLINE)
        assert ears.ended.wait(DEADLINE)
        ears.close()


def test_no_more_streams_than_are_allowed_are_open_at_once(sqlite_url: str) -> None:
    with (
        open_store(sqlite_url) as store,
        open_api(store, http={"stream_limit": 1}) as api,
        InThread(create_app(api.service), api.service) as server,
        listening(server.url, api, query="?after=0-0") as ears,
    ):
        api.new()
        ears.wait_for(1)
        headers = {"Authorization": f"Bearer {api.tokens['owner']}"}
        refused = httpx2.get(f"{server.url}/api/events/stream", headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (503, "streams")


def test_pages_of_events_can_be_read_without_a_stream(api: Api) -> None:
    made = [str(api.new()) for _ in range(5)]
    page = api.get("/api/events?limit=3").json()
    rest = api.get(f"/api/events?limit=3&after={page['next']}").json()
    assert [e["instance_id"] for e in page["events"] + rest["events"]] == made
    again = api.get(f"/api/events?after={rest['next']}").json()
    assert (again["events"], again["next"]) == ([], rest["next"])
