"""Requests that wait: none waits for a caller who has gone or is disabled, and one caller leaves slots for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest

from interlock.config import HttpSettings
from interlock.http.app import create_app
from interlock.http.heavy import TooBusy
from interlock.http.host_check import HostCheck
from interlock.http.protocol import Bounds
from interlock.http.server import InThread
from interlock.http.waiting_slots import WaitingSlots, counted_for
from interlock.people import Principal
from interlock.store import open_store
from tests.attack.talking import connected, everything, status_of
from tests.support.api import BY, Api, open_api
from tests.support.contracts import DOUBTFUL, Contracts, close_reader, open_contracts
from tests.support.listening import listening
from tests.support.waiting import eventually

# -- answers that are waited for


@pytest.fixture
def contracts(sqlite_url: str) -> Iterator[Contracts]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_contracts(store) as made:
        yield made
    close_reader()


@pytest.fixture
def url(contracts: Contracts) -> Iterator[str]:
    service = contracts.api.service
    with InThread(create_app(service, routers=contracts.engine.registry.routers), service) as server:
        yield server.url


def extract(contracts: Contracts, it: object, who: str = "agent") -> bytes:
    return (
        f"POST /workflows/{it}/extract?wait=3600 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
        f"Authorization: Bearer {contracts.api.tokens[who]}\r\n\r\n"
    ).encode()


def test_nobody_is_waited_for_who_has_gone(contracts: Contracts, url: str) -> None:
    it, waits = contracts.taken(DOUBTFUL, drive=False), contracts.api.service.waits
    with connected(url) as sock:
        sock.sendall(extract(contracts, it))
        eventually(lambda: waits.taken == 1)
    eventually(lambda: waits.taken == 0)


def test_a_wait_ends_with_the_token(contracts: Contracts, url: str) -> None:
    it, api = contracts.taken(DOUBTFUL, drive=False), contracts.api
    with connected(url) as sock:
        sock.sendall(extract(contracts, it))
        eventually(lambda: api.service.waits.taken == 1)
        [token] = [t for t in api.people.tokens() if t.name == "agent"]
        assert api.post(f"/api/tokens/{token.id}/revoke").status_code == 200
        assert status_of(sock.recv(65536)) == 401
    assert api.service.waits.taken == 0


def test_without_a_waiting_slot_the_answer_says_at_once_that_it_runs(contracts: Contracts, url: str) -> None:
    it, service = contracts.taken(DOUBTFUL, drive=False), contracts.api.service
    service.waits = WaitingSlots("requests that wait", each=1, of_all=2, kind="too-busy")
    with connected(url) as first, connected(url) as second:
        first.sendall(extract(contracts, it))
        eventually(lambda: service.waits.taken == 1)
        second.sendall(extract(contracts, it))
        answer = second.recv(65536)
    assert status_of(answer) == 202
    assert b"retry-after: 2" in answer.lower()


# -- live streams


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    http = {"stream_limit": 3, "streams_per_caller": 2}
    with open_store(sqlite_url, durability="normal") as store, open_api(store, http=http) as made:
        yield made


@pytest.mark.soak
def test_one_caller_does_not_take_all_streams(api: Api) -> None:
    owner = api.people.find("member")
    again = api.people.create_token("default", "second", kind="person", person_id=owner.id, by=BY)[1]
    with InThread(create_app(api.service), api.service) as server, ExitStack() as open_:
        for _ in range(2):
            open_.enter_context(listening(server.url, api, "member"))
        for token in (api.tokens["member"], again):
            refused = httpx2.get(f"{server.url}/api/events/stream", headers={"Authorization": f"Bearer {token}"})
            assert (refused.status_code, refused.json()["type"]) == (429, "streams")
            assert int(refused.headers["retry-after"]) > 0
        assert open_.enter_context(listening(server.url, api, "owner")).status == 200
        full = httpx2.get(
            f"{server.url}/api/events/stream", headers={"Authorization": f"Bearer {api.tokens['viewer']}"}
        )
        assert (full.status_code, full.json()["type"]) == (503, "streams")
        open_.close()
        eventually(lambda: api.service.streams.taken == 0)


def test_who_may_read_nothing_has_nothing_to_listen_to(api: Api) -> None:
    token = api.people.create_token("default", "maker", kind="agent", scopes=["create"], by=BY)[1]
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    with InThread(create_app(api.service), api.service) as server, connected(server.url) as sock:
        sock.sendall(f"GET /api/events/stream HTTP/1.1\r\n{head}".encode())
        assert status_of(everything(sock)) == 403


# -- connections


def test_all_addresses_of_one_ipv6_network_count_together() -> None:
    settings = HttpSettings(connections_per_address=2)
    bounds = Bounds(settings, HostCheck(settings))
    assert [bounds.enter(f"2001:db8:0:1::{n}") for n in range(1, 4)] == [True, True, False]
    assert bounds.enter("2001:db8:0:2::1")
    assert [bounds.enter(f"192.0.2.{n}") for n in range(1, 4)] == [True, True, True]
    for n in range(1, 4):
        bounds.leave(f"2001:db8:0:1::{n}")
    assert bounds.enter("2001:db8:0:1::9")


# -- the machinery


def test_a_person_is_one_caller_through_all_their_tokens(api: Api) -> None:
    member = api.people.find("member")
    secrets = [
        api.people.create_token("default", name, kind="person", person_id=member.id, by=BY)[1] for name in ("a", "b")
    ]
    people = [api.people.by_token(secret) for secret in (*secrets, api.tokens["member"])]
    assert {counted_for(who) for who in people} == {f"person:{member.id}"}
    agents = [api.people.by_token(api.tokens[name]) for name in ("agent", "north-agent")]
    assert len({counted_for(who) for who in agents}) == 2


def test_a_place_is_free_again_whatever_happens(api: Api) -> None:
    places, who = WaitingSlots("things", each=1, of_all=1, kind="too-busy"), api.people.by_token(api.tokens["agent"])

    def fail(one: Principal) -> None:
        with places.occupy(one):
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail(who)
    with places.occupy(who), pytest.raises(TooBusy):
        fail(who)
    assert places.taken == 0
