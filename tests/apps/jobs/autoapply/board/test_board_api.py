"""The endpoints of the board: what each is answered, and who may not see or change it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs import registry
from interlock.store import open_store
from interlock.testing import VirtualClock
from tests.apps.jobs.finder.seekers import NOW
from tests.support.api import Api, open_api

from .carded import sent

BOARD = "/api/auto-apply/board"
CALENDAR = "/api/auto-apply/calendar"


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made,
    ):
        yield made


@pytest.fixture
def it(api: Api) -> UUID:
    return sent(api.engine, source="lever", score=90)


def test_the_board_lists_cards_with_their_counts(api: Api, it: UUID) -> None:
    sent(api.engine, "Baker", workspace="north")
    found = api.get(BOARD, "viewer").json()
    assert found["stages"] == {"submitted": 1, "screening": 0, "interview": 0, "offer": 0, "closed": 0}
    assert [(one["id"], one["title"], one["stage"]) for one in found["cards"]] == [(str(it), "Cook", "submitted")]
    assert found["next"] is None
    assert api.get(f"{BOARD}?stage=offer").json()["cards"] == []
    assert api.get(f"{BOARD}?after=xx").status_code == 422


def test_pages_have_a_cursor(api: Api) -> None:
    made = {str(sent(api.engine, f"Cook {number}")) for number in range(3)}
    first = api.get(f"{BOARD}?limit=2").json()
    second = api.get(f"{BOARD}?limit=2&after={first['next']}").json()
    assert {one["id"] for one in first["cards"] + second["cards"]} == made
    assert second["next"] is None


def test_a_card_is_moved_and_keeps_notes_contacts_and_dates(api: Api, it: UUID) -> None:
    moved = api.post(f"{BOARD}/{it}/move", {"stage": "interview", "reason": "they called"}).json()
    assert (moved["stage"], moved["history"][-1]["by"]) == ("interview", "owner:owner/setup")
    noted = api.post(f"{BOARD}/{it}/notes", {"text": " Ask about the team "}).json()
    assert noted["notes_kept"][0]["text"] == "Ask about the team"
    known = api.post(f"{BOARD}/{it}/contacts", {"name": "Bo", "role": "Recruiter"}).json()
    at = "2026-12-01T10:00:00+01:00"
    dated = api.post(
        f"{BOARD}/{it}/dates", {"kind": "interview", "what": "With Bo", "at": at, "place": "Pier 7"}
    ).json()
    assert dated["next_date"] == "2026-12-01T09:00:00Z"
    [date] = [one for one in dated["dates"] if one["kind"] == "interview"]
    file = api.get(f"{BOARD}/{it}/dates/{date['id']}.ics")
    assert file.headers["content-type"].startswith("text/calendar")
    assert "LOCATION:Pier 7" in file.text
    later = api.post(f"{BOARD}/{it}/dates/{date['id']}/put-off", {"at": "2026-12-02T10:00:00Z"}).json()
    assert later["next_date"] == "2026-12-02T10:00:00Z"
    assert api.post(f"{BOARD}/{it}/dates/{date['id']}/done").json()["next_date"] is None
    for path in (
        f"notes/{noted['notes_kept'][0]['id']}",
        f"contacts/{known['contacts'][0]['id']}",
        f"dates/{date['id']}",
    ):
        assert api.call("member", "DELETE", f"{BOARD}/{it}/{path}").status_code == 200
        assert api.call("member", "DELETE", f"{BOARD}/{it}/{path}").status_code == 404
    end = api.get(f"{BOARD}/{it}").json()
    assert (end["notes_kept"], end["contacts"], [one["kind"] for one in end["dates"]]) == ([], [], ["follow_up"])


WRONG: list[tuple[str, dict[str, Any], int]] = [
    ("move", {"stage": "hired"}, 422),
    ("move", {"stage": "offer", "ending": "accepted"}, 409),
    ("move", {"stage": "offer", "expected": "interview"}, 409),
    ("notes", {"text": "   "}, 422),
    ("notes", {"text": "x" * 20_001}, 422),
    ("contacts", {"name": ""}, 422),
    ("dates", {"what": "x", "at": "tomorrow"}, 422),
    ("dates", {"what": "x", "at": "2026-12-01T10:00:00"}, 422),
    ("dates", {"what": "x", "at": "2026-12-01T10:00:00Z", "until": "2026-11-01T10:00:00Z"}, 422),
]


@pytest.mark.parametrize(("path", "body", "status"), WRONG)
def test_what_is_wrong_is_refused(api: Api, it: UUID, path: str, body: dict[str, Any], status: int) -> None:
    assert api.post(f"{BOARD}/{it}/{path}", body).status_code == status
    assert api.get(f"{BOARD}/{it}").json()["stage"] == "submitted"


def test_others_do_not_see_it_and_viewers_do_not_change_it(api: Api, it: UUID) -> None:
    paths = ["move", "notes", "contacts", "dates"]
    bodies: list[Any] = [{"stage": "offer"}, {"text": "x"}, {"name": "x"}, {"what": "x", "at": "2026-12-01T10:00:00Z"}]
    for path, body in zip(paths, bodies, strict=True):
        assert api.post(f"{BOARD}/{it}/{path}", body, "viewer").status_code == 403
        assert api.post(f"{BOARD}/{it}/{path}", body, "north-owner").status_code == 404
        assert api.post(f"{BOARD}/{it}/{path}", body, None).status_code == 401
        assert api.post(f"{BOARD}/{uuid4()}/{path}", body).status_code == 404
    assert api.get(f"{BOARD}/{it}", "north-owner").status_code == 404
    assert api.get(f"{BOARD}/{it}", None).status_code == 401
    assert api.get(BOARD, "north-owner").json()["cards"] == []
    assert api.get(f"{BOARD}?workspace=default", "north-owner").status_code == 404
    assert api.get(f"{BOARD}/{it}").json()["stage"] == "submitted"


def test_what_is_due_and_the_rates(api: Api, it: UUID) -> None:
    assert api.get(f"{BOARD}/due").json()["dates"] == []
    assert [one["application_id"] for one in api.get(f"{BOARD}/due?days=7").json()["dates"]] == [str(it)]
    api.clock.advance(timedelta(days=20))
    found = api.get(f"{BOARD}/rates?by=score").json()["rates"]
    assert [(one["key"], one["counted"], one["rate"], one["small"]) for one in found] == [
        ("90 to 100", 1, 0.0, True),
        ("", 1, 0.0, True),
    ]
    assert api.get(f"{BOARD}/rates?by=shoe").status_code == 422


def test_the_calendar_opens_at_its_secret_address_alone(api: Api, it: UUID) -> None:
    assert api.get(CALENDAR).json() == {"made_at": None}
    assert api.post(CALENDAR, None, "viewer").status_code == 403
    made = api.call("owner", "POST", CALENDAR, {}, headers={"Idempotency-Key": "k1"})
    path = made.json()["path"]
    got = api.get(path, None)
    assert (got.status_code, "SUMMARY:Follow up: Kind Boats" in got.text) == (200, True)
    assert got.headers["cache-control"] == "no-store"
    again = api.call("owner", "POST", CALENDAR, {}, headers={"Idempotency-Key": "k1"})
    assert "***" in again.json()["path"]
    assert api.get(path, None).status_code == 200
    assert path.rpartition("/")[2] not in api.get(CALENDAR).text
    for wrong in ("x", "A" * 43):
        assert api.get(f"{CALENDAR}/{wrong}.ics", None).status_code == 404
    assert api.call("owner", "DELETE", CALENDAR).json() == {"made_at": None}
    assert api.call("owner", "DELETE", CALENDAR).status_code == 404
    assert api.get(path, None).status_code == 404
