"""A file of one kilobyte whose page takes an hour to draw: it stops nobody, and nobody pays for it who has gone."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from interlock.apps.contracts.ingest import stored
from interlock.http.app import create_app
from interlock.http.heavy import CallerGone, Heavy, Stop, TooBusy, TookTooLong
from interlock.http.server import InThread
from interlock.store import open_store
from tests.attack.talking import connected
from tests.support.contracts import DOUBTFUL, Contracts, close_reader, open_contracts
from tests.support.waiting import eventually

SHADED = 20_000


def hostile() -> bytes:
    """A page with one line of text, and so many gradients over all of it that nobody can wait for them."""
    drawn = zlib.compress(b"BT /F1 12 Tf 72 700 Td (Agreement between A and B) Tj ET\n" + b"/S1 sh\n" * SHADED)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>/Shading<</S1 6 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</ShadingType 3/ColorSpace/DeviceRGB/Coords[306 396 0 306 396 500]/Extend[true true]"
        b"/Function<</FunctionType 2/Domain[0 1]/C0[1 0 0]/C1[0 0 1]/N 1>>>>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(made))
    return made + head + table + tail


@pytest.fixture
def contracts(sqlite_url: str) -> Iterator[Contracts]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_contracts(store) as made:
        yield made
    close_reader()


def taken(contracts: Contracts, content: bytes) -> str:
    made = contracts.send(content, query="?wait=0")
    assert made.status_code == 202, made.text
    contracts.trial.run_until_idle()
    return str(made.json()["data"]["workflowId"])


@pytest.mark.soak
def test_a_page_that_cannot_be_drawn_is_given_up_and_others_are_served_meanwhile(contracts: Contracts) -> None:
    good, bad = contracts.taken(DOUBTFUL), taken(contracts, hostile())
    service = contracts.api.service
    assert contracts.api.get(f"/workflows/{good}/pages/1", "owner").status_code == 200
    service.heavy = Heavy(seconds=4.0, concurrency=2, waiting=0)
    answers: list[httpx2.Response] = []

    def attack(client: httpx2.Client) -> None:
        answers.append(client.get(f"/workflows/{bad}/pages/1", headers=who("member")))

    def who(name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {contracts.api.tokens[name]}"}

    app = create_app(service, routers=contracts.engine.registry.routers)
    with InThread(app, service) as server, httpx2.Client(base_url=server.url, timeout=60) as client:
        threads = [threading.Thread(target=attack, args=(client,)) for _ in range(8)]
        for one in threads:
            one.start()
        eventually(lambda: len(answers) == 7)
        assert {answer.status_code for answer in answers} == {429}, "past the one that runs"
        assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)
        service.heavy.seconds = 60.0  # for this one, whatever else the machine does
        seen = client.get(f"/workflows/{good}/pages/1", headers=who("owner"))
        assert (seen.status_code, seen.content[:4]) == (200, b"\x89PNG")
        for one in threads:
            one.join()
    late = answers[7:]
    assert [answer.status_code for answer in late] == [422]
    assert all("was stopped" in answer.json()["error"]["message"] for answer in late)
    assert service.heavy.taken == 0


@pytest.mark.soak
def test_who_goes_away_takes_the_work_along(contracts: Contracts) -> None:
    bad = taken(contracts, hostile())
    service = contracts.api.service
    service.heavy = Heavy(seconds=3600)
    app = create_app(service, routers=contracts.engine.registry.routers)
    with InThread(app, service) as server:
        with connected(server.url) as sock:
            token = contracts.api.tokens["owner"]
            head = f"GET /workflows/{bad}/pages/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
            sock.sendall(head.encode())
            eventually(lambda: service.heavy._running)
        eventually(lambda: service.heavy.taken == 0)
        assert not service.heavy._running
    assert all(one._child is None for one in stored._idle), "the process that drew it is gone"


# -- the machinery


def request(gone: asyncio.Event) -> Request:
    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


def until_stopped(stop: Stop) -> None:
    assert stop.wait(60)


async def test_one_caller_has_one_hand_and_a_few_places() -> None:
    heavy, gone = Heavy(concurrency=2, waiting=1), asyncio.Event()
    mine = [asyncio.ensure_future(heavy.run(request(gone), "a", until_stopped)) for _ in range(3)]
    other = asyncio.ensure_future(heavy.run(request(asyncio.Event()), "b", lambda _: 7))
    assert await other == 7
    with pytest.raises(TooBusy) as refused:
        await mine[2]
    assert not refused.value.of_all
    assert len(heavy._running) == 1
    gone.set()
    for one in mine[:2]:
        with pytest.raises(CallerGone):
            await one
    assert heavy.taken == 0
    heavy.close()


async def test_all_together_have_a_bound_too() -> None:
    heavy, gone = Heavy(concurrency=1, places=2), asyncio.Event()
    tasks = [asyncio.ensure_future(heavy.run(request(gone), name, until_stopped)) for name in "abc"]
    with pytest.raises(TooBusy) as refused:
        await tasks[2]
    assert refused.value.of_all
    gone.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert heavy.taken == 0
    heavy.close()


async def test_what_takes_too_long_is_asked_to_stop_and_its_slot_is_free_again() -> None:
    heavy = Heavy(concurrency=1, seconds=0.05)
    with pytest.raises(TookTooLong):
        await heavy.run(request(asyncio.Event()), "a", until_stopped)
    assert await heavy.run(request(asyncio.Event()), "a", lambda _: 7) == 7
    heavy.close()


async def test_an_error_of_the_job_arrives_as_what_it_is() -> None:
    def broken(_: Stop) -> None:
        raise KeyError("x")

    heavy = Heavy()
    with pytest.raises(KeyError):
        await heavy.run(request(asyncio.Event()), "a", broken)
    assert heavy.taken == 0
    heavy.close()
