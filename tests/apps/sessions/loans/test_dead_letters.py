"""`/dead-letter-queue`: what could not be given back, who may act on it, and what each action does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.sessions.allocator import lending, pool
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.settings import AllocatorSettings
from interlock.engine.application import Unit, set_aside
from tests.support.sessions import Sessions

NOBODY = "http://127.0.0.1:9"
NOTE = {"note": "looked at the rack"}


def broken(sessions: Sessions) -> None:
    cleaner = {"post": NOBODY, "must_succeed": True}
    sessions.set(allocator={"give_back": {"subscribers": {"cleaner": cleaner}}})


def stuck(sessions: Sessions) -> tuple[str, dict[str, Any]]:
    """A session whose sandbox could not be given back, and its dead letter."""
    broken(sessions)
    made = sessions.start("Write done.txt")
    sessions.go_on(400)
    (letter,) = sessions.api.get("/dead-letter-queue?status=pending", "member").json()["dead_letters"]
    return made["id"], letter


def act(sessions: Sessions, letter: dict[str, Any], action: str, who: str = "member", body: Any = None) -> Any:
    return sessions.api.post(f"/dead-letter-queue/{letter['id']}/{action}", NOTE if body is None else body, who)


def counts(sessions: Sessions) -> pool.Counts:
    return sessions.engine.read(lambda conn: pool.counts(conn, "local"))


def test_it_has_the_names_of_the_specification_and_those_of_other_clients_and_no_secrets(sessions: Sessions) -> None:
    """Trap A19: it is seen on the session, too."""
    session_id, letter = stuck(sessions)
    assert (letter["source"], letter["session_id"], letter["retry_count"]) == ("ip_return_poller", session_id, 5)
    assert "cleaner failed" in letter["error_message"]
    assert letter["original_data"]["sbx_config"] == {"item": "********", "borrow_token": "********"}
    same = {"task_type": "source", "entity_id": "session_id", "last_error": "error_message"}
    assert all(letter[one] == letter[other] for one, other in same.items())
    assert letter["first_failed_at"] < letter["last_error_at"]
    shown = sessions.look(session_id)
    assert (shown["ui_status"], shown["lease"]["state"], shown["ip_return_retry_count"]) == ("needs_review", "stuck", 5)
    holder = sessions.engine.read(lambda conn: lending.find_by_key(conn, f"loan:{letter['loan_id']}"))
    assert holder is not None
    everything = sessions.api.get("/dead-letter-queue").text + sessions.api.get(f"/sessions/{session_id}").text
    assert holder.token not in everything
    assert "mcpServers" not in everything


def test_a_retry_has_all_attempts_again_and_ends_well(sessions: Sessions) -> None:
    """Trap A8."""
    session_id, letter = stuck(sessions)
    sessions.set(allocator=AllocatorSettings().model_dump(include={"pool"}))
    answer = act(sessions, letter, "retry")
    assert (answer.status_code, answer.json()["status"]) == (200, "retried")
    sessions.go_on(20)
    assert (sessions.state(session_id), counts(sessions).free) == ("needs_review_ip_returned", 4)
    assert act(sessions, letter, "retry").status_code == 409


def test_what_is_resolved_is_over_and_tried_no_more(sessions: Sessions) -> None:
    session_id, letter = stuck(sessions)
    answer = act(sessions, letter, "resolve", body={"resolution_notes": "it is free"})
    assert (answer.json()["status"], answer.json()["resolution_notes"]) == ("resolved", "it is free")
    sessions.go_on(60)
    assert sessions.look(session_id)["lease"]["resolution"] == "resolved"
    assert sessions.state(session_id) == "needs_review_ip_returned"
    last = sessions.engine.history(UUID(letter["loan_id"]))[-1]
    assert (last.event, last.actor, last.payload["reason"]) == ("resolve", "user:member/t", "it is free")


@pytest.mark.parametrize("action", ["discard", "abandon"])
def test_what_is_discarded_is_lent_to_nobody(sessions: Sessions, action: str) -> None:
    session_id, letter = stuck(sessions)
    assert act(sessions, letter, action).json()["status"] == "abandoned"
    sessions.go_on(60)
    assert (sessions.look(session_id)["lease"]["resolution"], counts(sessions).quarantined) == ("discarded", 1)
    (closed,) = sessions.api.get("/dead-letter-queue?status=abandoned").json()["dead_letters"]
    assert (closed["id"], closed["actions"]) == (letter["id"], [])


def test_owners_release_by_force(sessions: Sessions) -> None:
    session_id, letter = stuck(sessions)
    assert act(sessions, letter, "release-force", "member").status_code == 403
    assert act(sessions, letter, "release-force", "owner").status_code == 200
    assert (counts(sessions).free, sessions.state(session_id)) == (4, "needs_review_ip_returned")
    assert sessions.look(session_id)["lease"]["resolution"] == "released_by_force"


def test_a_release_takes_the_sandbox_from_nobody_else(sessions: Sessions) -> None:
    _, letter = stuck(sessions)
    db = EngineTransactions(sessions.engine)
    lent = db.read(lending.find_by_key, f"loan:{letter['loan_id']}")
    assert lent is not None
    db.write(lending.release, UUID(lent.item_id), None)
    for number in range(4):
        request = lending.Request("local", f"http:{number}", "bob", timedelta(hours=24))
        db.write(lending.lend, request)
    assert act(sessions, letter, "release-force", "owner").status_code == 200
    assert counts(sessions).borrowed == 4, "bob keeps what he has"


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("reviewer", 403), ("north-owner", 404), (None, 401)], ids=str
)
@pytest.mark.parametrize("action", ["retry", "resolve", "discard", "abandon", "release-force"])
def test_only_those_who_may_act_on_it(
    sessions: Sessions, dead: dict[str, Any], who: Any, status: int, action: str
) -> None:
    assert act(sessions, dead, action, who).status_code == status


@pytest.fixture
def dead(sessions: Sessions) -> dict[str, Any]:
    """A dead letter that is made quickly."""
    sessions.set(pool_size=0)
    made = sessions.start("Do it")
    sessions.trial.run_until_idle()
    (its,) = sessions.engine.children(UUID(made["id"]))
    sessions.engine.write(lambda unit: _set_aside(unit, its.id), name="set_aside")
    (letter,) = sessions.api.get("/dead-letter-queue").json()["dead_letters"]
    found: dict[str, Any] = letter
    return found


def _set_aside(unit: Unit, loan_id: UUID) -> None:
    set_aside(unit, unit.lock(loan_id), RuntimeError("no"), "test")


def test_other_workspaces_do_not_see_it(sessions: Sessions, dead: dict[str, Any]) -> None:
    assert sessions.api.get("/dead-letter-queue", "north-owner").json()["dead_letters"] == []
    assert sessions.api.get(f"/dead-letter-queue/{dead['id']}", "north-owner").status_code == 404
    assert sessions.api.get(f"/dead-letter-queue/{dead['id']}", "viewer").status_code == 200
    assert sessions.api.get("/dead-letter-queue?status=nonsense").status_code == 422
    assert sessions.api.get(f"/dead-letter-queue/{UUID(int=0)}").status_code == 404


def test_an_allocator_says_that_a_return_has_ended_and_the_loan_looks(sessions: Sessions) -> None:
    broken(sessions)
    sessions.start("Do it")
    sessions.trial.look_after()
    sessions.trial.run_until_idle()
    sessions.trial.look_after()
    sessions.trial.run_until_idle()
    answer = sessions.api.post("/webhook/return", {"operation_id": "nothing", "more": 1}, "agent")
    assert (answer.status_code, answer.json()) == (200, {"success": True, "woken": 0})
    assert sessions.api.post("/webhook/return", {"operation_id": "x"}, None).status_code == 401
    assert sessions.api.post("/webhook/return", {}, "agent").status_code == 422
