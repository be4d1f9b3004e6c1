"""A live stream ends with the right to listen: at once here, and with the next look elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.people import People
from interlock.store import Store, moment
from tests.http.test_live import DEADLINE, listening
from tests.support.api import BY, QUICK, Desk, opened


@pytest.fixture
def served(store: Store) -> Iterator[tuple[Desk, str]]:
    with opened(store) as desk, InThread(create_app(desk.service), desk.service) as server:
        yield desk, server.url


def token_of(desk: Desk, name: str) -> str:
    person = next((p.id for p in desk.people.everyone() if p.name == name), None)
    [found] = [t for t in desk.people.tokens() if (t.person_id == person if person else t.name == name)]
    return str(found.id)


def revoked(desk: Desk) -> None:
    assert desk.post(f"/api/tokens/{token_of(desk, 'viewer')}/revoke").status_code == 200


def disabled(desk: Desk) -> None:
    assert desk.post(f"/api/users/{desk.people.find('viewer').id}/disable").status_code == 200


def taken_out(desk: Desk) -> None:
    body = {"role": None, "workspace": "default"}
    assert desk.post(f"/api/users/{desk.people.find('viewer').id}/role", body).status_code == 200


def elsewhere(desk: Desk) -> None:
    """In another process, as the command line does it."""
    other = People(desk.engine, hasher=QUICK)
    other.disable(other.find("viewer").id, by=BY)


@pytest.mark.parametrize("loss", [revoked, disabled, taken_out, elsewhere])
def test_a_stream_ends_when_its_listener_may_not_listen_any_more(
    served: tuple[Desk, str], loss: Callable[[Desk], None]
) -> None:
    desk, url = served
    with listening(url, desk, "viewer", "?after=0-0") as ears:
        desk.new()
        ears.wait_for(1)
        loss(desk)
        after = desk.new()
        assert ears.ended.wait(DEADLINE)
        assert str(after) not in {one["instance_id"] for one in ears.events}


def test_a_stream_ends_when_its_token_is_out_of_date(served: tuple[Desk, str]) -> None:
    desk, url = served
    end = moment(desk.clock.now()) + timedelta(hours=1)
    made = desk.people.create_token("default", "brief", kind="agent", scopes=["read"], until=end, by=BY)
    desk.tokens["brief"] = made[1]
    with listening(url, desk, "brief") as ears:
        desk.clock.advance(timedelta(hours=1))
        desk.service.callers.forget()
        assert ears.ended.wait(DEADLINE)


def test_others_go_on_listening(served: tuple[Desk, str]) -> None:
    desk, url = served
    with listening(url, desk, "member", "?after=0-0") as ears:
        revoked(desk)
        after = desk.new()
        assert [one["instance_id"] for one in ears.wait_for(1)] == [str(after)]
        assert not ears.ended.is_set()
