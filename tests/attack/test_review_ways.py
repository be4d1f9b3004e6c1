"""A review's role and claim hold on every way to the transition that its decision means."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Forbidden, ReviewClaimed, moves
from interlock.engine.firing import allowed
from interlock.engine.unit import Unit
from interlock.machine import (
    AGENT,
    FINAL,
    USER,
    WAITING,
    WORKER,
    Actor,
    Arm,
    Go,
    Machine,
    MachineError,
    Review,
    State,
    Transition,
)
from interlock.people import Role, person_actor
from interlock.store import Store
from interlock.store.tables import review as R
from interlock.testing import Trial
from tests.support.api import BY, Api
from tests.support.site import Site

pytestmark = pytest.mark.soak("postgresql")


def for_role(api: Api, instance: UUID, role: str) -> None:
    """Only people with this role may decide its review from now on."""
    api.engine.write(lambda unit: unit.conn.execute(sa.update(R).where(R.c.instance_id == instance).values(role=role)))


def hold(api: Api, instance: UUID) -> None:
    """Somebody is at its review."""
    [found] = api.engine.reviews.waiting(instance_id=instance)
    assert api.post(f"/api/reviews/{found.id}/claim", {}, "reviewer").status_code == 200


def assert_untouched(api: Api, instance: UUID) -> None:
    assert api.engine.get(instance).state == "asked"
    assert len(api.engine.reviews.waiting(instance_id=instance)) == 1


def test_an_event_over_http_is_for_the_role_of_the_review_that_it_answers(both: Api) -> None:
    it = both.asked().id
    for_role(both, it, "owner")
    refused = both.post(f"/api/instances/{it}/events", {"event": "approve"}, "member")
    assert (refused.status_code, refused.json()["type"]) == (403, "forbidden")
    assert "for the role owner" in refused.json()["detail"]
    assert_untouched(both, it)
    assert both.post(f"/api/instances/{it}/events", {"event": "approve"}).status_code == 200


def test_an_event_over_http_waits_for_whoever_is_at_the_review(both: Api) -> None:
    it = both.asked().id
    hold(both, it)
    refused = both.post(f"/api/instances/{it}/events", {"event": "refuse"}, "member")
    assert (refused.status_code, refused.json()["type"]) == (409, "review-claimed")
    assert_untouched(both, it)


def test_a_bulk_action_is_refused_where_the_review_is_not_its_starters(both: Api) -> None:
    higher, held, free = both.asked().id, both.asked().id, both.asked().id
    for_role(both, higher, "owner")
    hold(both, held)
    body = {"action": "fire", "filter": {"machine": "order", "state": "asked"}, "arguments": {"event": "refuse"}}
    started = both.post("/api/bulk", body, "member").json()
    both.engine.bulk.step()
    answer = both.get(f"/api/bulk/{started['id']}").json()
    assert (answer["done"], answer["refused"]) == (1, 2)
    assert both.engine.get(free).state == "refused"
    assert_untouched(both, higher)
    assert_untouched(both, held)


def test_a_bulk_action_over_workspaces_has_the_least_role_of_its_starter(both: Api) -> None:
    person = both.people.add("both", role=Role.MEMBER, by=BY)
    both.people.set_role(person.id, Role.OWNER, by=BY, workspace="north")
    site = Site(both)
    theirs = both.asked(workspace="north").id
    for_role(both, theirs, "owner")
    me = site.browser("both")
    token = me.get("/api/me").json()["csrf"]
    body = {"action": "fire", "filter": {"machine": "order"}, "arguments": {"event": "refuse"}}
    assert me.post("/api/bulk", json=body, headers={"X-CSRF-Token": token}).status_code == 202
    both.engine.bulk.step()
    assert_untouched(both, theirs)


@pytest.mark.parametrize("way", ["/ui/instances/{it}/fire", "/ui/bulk", "/ui/reviews/undo"])
@pytest.mark.parametrize("why", ["role", "claim"])
def test_pages_are_no_way_around_it(site: Site, way: str, why: str) -> None:
    it = site.api.asked().id
    if why == "role":
        for_role(site.api, it, "owner")
    else:
        hold(site.api, it)
    me = site.browser("member")
    csrf = me.get("/api/me").json()["csrf"]
    fields = {"csrf": csrf, "event": "refuse", "action": "fire", "id": str(it), "instance": str(it)}
    answer = me.post(way.format(it=it), data=fields)
    assert answer.status_code in ({200, 403} if why == "role" else {200, 409}), answer.text
    assert_untouched(site.api, it)


gate = Machine(
    "gate",
    initial="shut",
    states=[
        State(
            "shut",
            WAITING,
            waits_for="the owner",
            review=Review("Open it?", decisions={"open": "open", "ring": "ring"}, role="owner"),
        ),
        State("open", FINAL),
    ],
    transitions=[Transition("shut", "open", on="open", by=(USER, AGENT, WORKER))],
    arms=[Arm("shut", on="ring", by=(USER, AGENT))],
).with_handlers({"shut": lambda task: Go("open")})
MEMBER = person_actor("mia", Role.MEMBER)
CHIEF = person_actor("olga", Role.OWNER)


def test_an_agent_takes_no_decision_that_a_person_is_asked_for(store: Store) -> None:
    with Trial([gate], store=store) as trial:
        it = trial.create("gate", {})
        for event in ("open", "ring"):
            with pytest.raises(Forbidden, match="decided by a person"):
                trial.engine.fire(it, event, actor=Actor(AGENT, "bot"))
        assert trial.state(it) == "shut"


def test_the_role_holds_for_transitions_and_for_what_starts_the_work(store: Store) -> None:
    with Trial([gate], store=store) as trial:
        it = trial.create("gate", {})
        for event in ("open", "ring"):
            with pytest.raises(Forbidden, match="for the role owner"):
                trial.engine.fire(it, event, actor=MEMBER)
        trial.engine.fire(it, "open", actor=CHIEF)
        assert trial.state(it) == "open"


def test_what_is_allowed_leaves_out_what_the_review_keeps_from_the_asker() -> None:
    with Trial([gate]) as trial:
        it = trial.get(trial.create("gate", {}))
        assert allowed(it, gate, MEMBER) == []
        assert {one.event for one in allowed(it, gate, CHIEF)} == {"open", "ring"}


def test_a_review_for_a_role_that_nobody_can_have_is_not_declared() -> None:
    with pytest.raises(MachineError, match="for the role 'lawyer'; there are viewer, reviewer, member, owner"):
        Machine(
            "odd",
            initial="a",
            states=[
                State("a", WAITING, waits_for="one", review=Review("?", decisions={"go": "go"}, role="lawyer")),
                State("b", FINAL),
            ],
            transitions=[Transition("a", "b", on="go", by=USER)],
        )


def test_one_of_two_reviews_that_lead_the_same_way_is_enough(both: Api) -> None:
    it = both.asked().id
    hold(both, it)

    def ask_beside(unit: Unit) -> None:
        moves.open_review(unit, unit.lock(it), "second", Review("Really?", decisions={"no": "refuse"}))

    both.engine.write(ask_beside)
    both.engine.fire(it, "refuse", actor=MEMBER)
    assert both.engine.get(it).state == "refused"


def test_a_claim_holds_in_the_engine_whoever_asks(both: Api) -> None:
    it = both.asked().id
    hold(both, it)
    with pytest.raises(ReviewClaimed):
        both.engine.fire(it, "refuse", actor=Actor(USER, "cli"))
    assert_untouched(both, it)


def test_the_clock_is_still_free_to_answer_by_its_timer(both: Api) -> None:
    it = both.asked().id
    for_role(both, it, "owner")
    both.clock.advance(timedelta(hours=24))
    both.engine.tick()
    assert both.engine.get(it).state == "refused"
