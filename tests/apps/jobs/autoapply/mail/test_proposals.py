"""From a mailbox to a card: a mail is proposed once, with its evidence, and only a person's answer moves the card."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs import registry
from interlock.apps.jobs.autoapply.mail.duty import read_mailbox
from interlock.apps.jobs.settings import JobsSettings
from interlock.store import moment, open_store
from interlock.testing import Trial, VirtualClock
from tests.apps.jobs.autoapply.board.carded import sent
from tests.apps.jobs.finder.seekers import NOW
from tests.support.api import Api, open_api

from .mails import CONFIRMED, INVITED, REJECTED, mail_bytes

MAIL = "/api/auto-apply/mail"
BOARD = "/api/auto-apply/board"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mails"
    made.mkdir()
    return made


@pytest.fixture
def api(sqlite_url: str, folder: Path) -> Iterator[Api]:
    jobs = JobsSettings.model_validate({"autoapply": {"mail": {"mailbox": folder, "every": 15}}})
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made,
    ):
        made.engine.core.settings = {**made.engine.core.settings, "jobs": jobs}
        yield made


def arrive(api: Api, folder: Path, text: str, number: int = 1, **more: Any) -> None:
    at = moment(api.engine.clock.now()) + timedelta(hours=1)
    (folder / f"{number}.eml").write_bytes(mail_bytes(text, ident=f"<{number}@kind.example>", at=at, **more))
    api.clock.advance(timedelta(minutes=20))
    read_mailbox(api.engine)


def proposals(api: Api, **wanted: str) -> list[dict[str, Any]]:
    query = "&".join(f"{name}={value}" for name, value in wanted.items())
    found: list[dict[str, Any]] = api.get(f"{MAIL}?{query}").json()["proposals"]
    return found


def test_a_mail_is_proposed_with_its_evidence_and_decides_nothing(api: Api, folder: Path) -> None:
    it = sent(api.engine)
    arrive(api, folder, f"Dear Mika, thank you for your interest in Kind Boats.\n\n{REJECTED}")
    [one] = proposals(api)
    assert (one["application"], one["kind"], one["leads_to"], one["state"]) == (str(it), "rejection", "closed", "open")
    assert (one["quote"], one["sender"]) == (REJECTED, "Bo Sailor <bo@kind-boats.example>")
    assert (one["message_id"], one["matched_by"]) == ("<1@kind.example>", "company")
    assert api.get(f"{BOARD}/{it}").json()["stage"] == "submitted"


def test_the_same_mail_is_proposed_once_wherever_it_lies(api: Api, folder: Path) -> None:
    sent(api.engine)
    arrive(api, folder, CONFIRMED)
    (folder / "copy.eml").write_bytes((folder / "1.eml").read_bytes())
    api.clock.advance(timedelta(minutes=20))
    read_mailbox(api.engine)
    assert len(proposals(api)) == 1


def test_it_is_read_as_often_as_configured(api: Api, folder: Path) -> None:
    sent(api.engine)
    arrive(api, folder, CONFIRMED)
    (folder / "2.eml").write_bytes(mail_bytes(INVITED + " Kind Boats", ident="<2@kind.example>"))
    read_mailbox(api.engine)
    assert len(proposals(api)) == 1


def test_who_accepts_moves_the_card_with_the_sentence_as_the_reason(api: Api, folder: Path) -> None:
    it = sent(api.engine)
    arrive(api, folder, f"{INVITED} Kind Boats")
    [one] = proposals(api)
    assert api.post(f"{MAIL}/{one['id']}/accept", None, "viewer").status_code == 403
    assert api.post(f"{MAIL}/{one['id']}/accept", None, "north-owner").status_code == 404
    done = api.post(f"{MAIL}/{one['id']}/accept").json()
    assert (done["card"]["stage"], done["proposal"]["state"]) == ("interview", "accepted")
    last = api.get(f"{BOARD}/{it}").json()["history"][-1]
    assert INVITED.split(".")[0] in last["reason"]
    assert api.post(f"{MAIL}/{one['id']}/accept").status_code == 409
    assert api.post(f"{MAIL}/{one['id']}/dismiss").status_code == 409
    assert proposals(api) == []
    assert [found["id"] for found in proposals(api, state="accepted")] == [one["id"]]


def test_who_dismisses_moves_nothing(api: Api, folder: Path) -> None:
    it = sent(api.engine)
    arrive(api, folder, f"{REJECTED} Kind Boats")
    [one] = proposals(api)
    assert api.post(f"{MAIL}/{one['id']}/dismiss").json()["state"] == "dismissed"
    assert api.get(f"{BOARD}/{it}").json()["stage"] == "submitted"


def test_a_mail_that_fits_several_asks_which(api: Api, folder: Path) -> None:
    two = [sent(api.engine, "Cook"), sent(api.engine, "Cook")]
    arrive(api, folder, CONFIRMED)
    [one] = proposals(api)
    assert (one["application"], set(one["candidates"])) == (None, {str(ident) for ident in two})
    assert api.post(f"{MAIL}/{one['id']}/accept").status_code == 409
    named = api.post(f"{MAIL}/{one['id']}/accept", {"application": str(two[0])}).json()
    assert (named["proposal"]["application"], named["card"]["stage"]) == (str(two[0]), "submitted")
    other = sent(api.engine, workspace="north")
    arrive(api, folder, f"{CONFIRMED} Again.", 2)
    [again] = proposals(api)
    assert api.post(f"{MAIL}/{again['id']}/accept", {"application": str(other)}).status_code == 404


def test_an_answer_in_the_thread_is_of_the_same_application(api: Api, folder: Path) -> None:
    cook, _ = sent(api.engine, "Cook"), sent(api.engine, "Baker")
    arrive(api, folder, CONFIRMED)
    arrive(
        api, folder, "Which day suits you for your application?", 2, answers="<1@kind.example>", sender="x@y.example"
    )
    found = proposals(api)
    assert [(one["application"], one["kind"]) for one in found] == [(str(cook), "other"), (str(cook), "confirmation")]


def test_mail_about_nothing_known_is_not_stored(api: Api, folder: Path) -> None:
    sent(api.engine, "Cook", "Grim Corp")
    arrive(api, folder, CONFIRMED)
    assert proposals(api, state="all") == []


def test_a_mailbox_that_is_gone_is_tried_again(api: Api, folder: Path) -> None:
    sent(api.engine)
    folder.rename(folder.with_name("away"))
    api.clock.advance(timedelta(minutes=20))
    assert read_mailbox(api.engine) is False
    folder.with_name("away").rename(folder)
    arrive(api, folder, CONFIRMED)
    assert len(proposals(api)) == 1


def test_without_a_mailbox_nothing_is_read(sqlite_url: str) -> None:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        Trial(registry, store=store, settings={"jobs": JobsSettings()}) as trial,
    ):
        assert read_mailbox(trial.engine) is False


def test_ids_are_of_their_workspace(api: Api, folder: Path) -> None:
    sent(api.engine)
    arrive(api, folder, CONFIRMED)
    [one] = proposals(api)
    assert api.get(MAIL, "north-owner").json()["proposals"] == []
    assert api.post(f"{MAIL}/{one['id']}/dismiss", None, "north-owner").status_code == 404
    assert api.post(f"{MAIL}/{UUID(int=1)}/dismiss").status_code == 404
    assert api.get(MAIL, None).status_code == 401
