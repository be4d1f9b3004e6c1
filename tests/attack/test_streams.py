"""A live stream ends with the right to listen: at once here, and with the next look elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.people import People
from interlock.store import Store, moment
from tests.support.api import BY, QUICK, Api, open_api
from tests.support.listening import DEADLINE, listening


@pytest.fixture
def served(store: Store) -> Iterator[tuple[Api, str]]:
    with open_api(store) as api, InThread(create_app(api.service), api.service) as server:
        yield api, server.url


def token_of(api: Api, name: str) -> str:
    person = next((p.id for p in api.people.everyone() if p.name == name), None)
    [found] = [t for t in api.people.tokens() if (t.person_id == person if person else t.name == name)]
    return str(found.id)


def revoked(api: Api) -> None:
    assert api.post(f"/api/tokens/{token_of(api, 'viewer')}/revoke").status_code == 200


def disabled(api: Api) -> None:
    assert api.post(f"/api/users/{api.people.find('viewer').id}/disable").status_code == 200


def taken_out(api: Api) -> None:
    body = {"role": None, "workspace": "default"}
    assert api.post(f"/api/users/{api.people.find('viewer').id}/role", body).status_code == 200


def elsewhere(api: Api) -> None:
    """In another process, as the command line does it."""
    other = People(api.engine, hasher=QUICK)
    other.disable(other.find("viewer").id, by=BY)


@pytest.mark.parametrize("loss", [revoked, disabled, taken_out, elsewhere])
def test_a_stream_ends_when_its_listener_may_not_listen_any_more(
    served: tuple[Api, str], loss: Callable[[Api], None]
) -> None:
    api, url = served
    with listening(url, api, "viewer", "?after=0-0") as ears:
        api.new()
        ears.wait_for(1)
        loss(api)
        after = api.new()
        assert ears.ended.wait(DEADLINE)
        assert str(after) not in {one["instance_id"] for one in ears.events}


def test_a_stream_ends_when_its_token_is_out_of_date(served: tuple[Api, str]) -> None:
    api, url = served
    end = moment(api.clock.now()) + timedelta(hours=1)
    made = api.people.create_token("default", "brief", kind="agent", scopes=["read"], until=end, by=BY)
    api.tokens["brief"] = made[1]
    with listening(url, api, "brief") as ears:
        api.clock.advance(timedelta(hours=1))
        api.service.callers.forget()
        assert ears.ended.wait(DEADLINE)


def test_others_go_on_listening(served: tuple[Api, str]) -> None:
    api, url = served
    with listening(url, api, "member", "?after=0-0") as ears:
        revoked(api)
        after = api.new()
        assert [one["instance_id"] for one in ears.wait_for(1)] == [str(after)]
        assert not ears.ended.is_set()
