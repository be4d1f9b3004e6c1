"""Many agents, one application per job: the job, the run, and the lease that stands between two agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs.claims import followers, steps
from interlock.apps.jobs.claims.machine import job, run
from interlock.engine import EngineError, InvalidData, KeyTaken, LeaseTaken, OpenReview, Refused, creating
from interlock.engine.unit import Unit
from interlock.machine import AGENT, Actor
from interlock.store import Store, open_store
from interlock.testing import Trial, broken_laws
from tests.apps.machines.scripted_trial import ANN, CLOCK, ROBOT

OTHER = Actor(AGENT, "other")
TTL = timedelta(seconds=300)
AGENTS = 6


class Board(Trial):
    """One board, and agents that claim its jobs as the endpoint lets them."""

    def __init__(self, store: Store) -> None:
        super().__init__([job, run], store=store)

    def post(self, number: str | None = None, board: str = "ramp") -> UUID:
        number = number or str(uuid4())
        return self.create("job", {"board": board, "job_id": number}, key=steps.job_key(board, number))

    def lock(self, it: UUID) -> str:
        return steps.lock_of(self.get(it))

    def apply(self, it: UUID, agent: Actor, run_id: str | None = None) -> UUID:
        """The agent claims the job, as POST action "run" does."""
        data = self.data(it)
        wish = steps.ClaimRequest(run_id or f"{agent.name}-{uuid4()}", data["board"], data["job_id"])
        return self.engine.write(lambda unit: steps.claim(unit, "default", wish, agent)).id

    def report(self, it: UUID, agent: Actor, status: str | None = None, **body: Any) -> str:
        name = str(self.get(it).key)
        return self.engine.write(lambda unit: steps.report(unit, "default", name, agent, status=status, **body)).state

    def sweep(self) -> None:
        followers.sweep(self.engine)

    def holder(self, it: UUID) -> str | None:
        found = self.engine.leases.find(self.lock(it))
        return found.holder if found else None

    def questions(self, it: UUID) -> list[OpenReview]:
        return self.engine.reviews.waiting(instance_id=it)


@pytest.fixture(scope="module")
def board(shared_url: str) -> Iterator[Board]:
    with open_store(shared_url, durability="normal", wakeup="poll") as store, Board(store) as board:
        yield board
        assert broken_laws(board.engine) == []


@pytest.fixture
def lock() -> str:
    """The name of a lease that no other test knows."""
    return f"lock:apply:ramp:{uuid4()}"


def together(count: int, act: Callable[[int], object]) -> list[object]:
    """What came of it when so many did it at the same moment."""
    barrier = Barrier(count)

    def one(number: int) -> object:
        barrier.wait(30)
        try:
            return act(number)
        except EngineError as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


# -- the lease


def test_who_lost_the_lease_does_not_release_that_of_the_next(board: Board, lock: str) -> None:
    """Claims 1: a release compares the holder."""
    first = board.engine.leases.take(lock, "r1", TTL)
    board.advance(TTL)
    second = board.engine.leases.take(lock, "r2", TTL)
    assert second.fence > first.fence
    assert board.engine.leases.release(first) is False
    assert board.engine.leases.find(lock) == second
    with pytest.raises(LeaseTaken, match="no longer held by r1"):
        board.engine.leases.renew(first, TTL)
    assert board.engine.leases.release(second) is True


def test_a_lease_that_is_renewed_lasts_as_long_as_its_agent_types(board: Board, lock: str) -> None:
    """Claims 3: after 300 seconds the lock is not gone while the agent is still at it."""
    lease = board.engine.leases.take(lock, "r1", TTL)
    for _ in range(5):
        board.advance(seconds=200)
        lease = board.engine.leases.renew(lease, TTL)
        with pytest.raises(LeaseTaken, match="held by r1"):
            board.engine.leases.take(lock, "r2", TTL)


def test_of_many_who_take_a_lease_at_once_one_has_it(board: Board, lock: str) -> None:
    """Claims 6."""
    answers = together(AGENTS, lambda n: board.engine.leases.take(lock, f"r{n}", TTL))
    assert [type(a).__name__ for a in answers].count("Lease") == 1
    assert [type(a).__name__ for a in answers].count("LeaseTaken") == AGENTS - 1


# -- one application per job


def test_of_many_agents_who_claim_a_job_at_once_one_applies(board: Board) -> None:
    """Claims 6: looking at the status and taking the job is one act."""
    it = board.post()
    answers = together(AGENTS, lambda n: board.apply(it, Actor(AGENT, f"a{n}")))
    won = [a for a in answers if isinstance(a, UUID)]
    assert len(won) == 1
    assert all(isinstance(a, steps.Conflict) for a in answers if a not in won)
    assert (board.state(it), board.state(won[0])) == ("queued", "pending")
    assert board.data(it)["run_id"] == board.get(won[0]).key == board.holder(it)
    assert [row.event for row in board.engine.history(it) if row.kind == "moved"] == ["claim"]


@pytest.mark.parametrize("status", ["applied", "expired", "rejected"])
def test_a_job_that_is_not_open_is_not_claimed_and_leaves_neither_a_run_nor_a_lease(board: Board, status: str) -> None:
    it = board.post()
    if status == "applied":
        board.report(board.apply(it, ROBOT), ROBOT, "success")
    else:
        board.engine.fire(it, {"expired": "expire", "rejected": "reject"}[status], actor=ANN)
    before = board.engine.verify().instances
    with pytest.raises(steps.NotClaimable, match=f"is {status}; only a discovered one can be claimed"):
        board.apply(it, ROBOT)
    assert board.holder(it) is None
    assert board.engine.verify().instances == before


def test_a_claim_that_comes_again_is_answered_alike_and_for_another_job_refused(board: Board) -> None:
    it, other = board.post(), board.post()
    made = board.apply(it, ROBOT, "twice" + it.hex)
    before = [row.seq for row in board.engine.history(made)]
    assert board.apply(it, ROBOT, "twice" + it.hex) == made
    assert [row.seq for row in board.engine.history(made)] == before
    with pytest.raises(steps.Conflict, match="was used for job"):
        board.apply(other, ROBOT, "twice" + it.hex)
    with pytest.raises(steps.Conflict):
        board.apply(it, OTHER, "twice" + it.hex)
    assert board.state(other) == "discovered"


@pytest.mark.parametrize("end", ["success", "failed", "lost"])
def test_a_run_that_is_over_does_not_claim_again_under_its_name(board: Board, end: str) -> None:
    """Its agent would apply a second time."""
    it = board.post()
    name = "over" + it.hex
    made = board.apply(it, ROBOT, name)
    if end == "lost":
        board.advance(TTL)
        board.sweep()
    else:
        board.report(made, ROBOT, end)
    with pytest.raises((steps.Conflict, steps.NotClaimable)):
        board.apply(it, ROBOT, name)
    assert board.state(made) == end


@pytest.mark.parametrize("renewed", [0, 3])
def test_a_claimed_job_is_not_claimed_again_while_its_agent_is_at_it(board: Board, renewed: int) -> None:
    """Claims 3: after 300 seconds the lock is not gone while the agent is still typing."""
    it = board.post()
    made = board.apply(it, ROBOT)
    for _ in range(renewed):
        board.advance(seconds=299)
        board.report(made, ROBOT)
    board.advance(seconds=299)
    board.sweep()
    with pytest.raises(steps.Conflict, match="already has an active application"):
        board.apply(it, OTHER)
    assert board.state(made) == "pending"


def test_success_ends_the_job_and_failure_frees_it(board: Board) -> None:
    first, second = board.post(), board.post()
    for it, status in ((first, "success"), (second, "failed")):
        made = board.apply(it, ROBOT)
        assert board.report(made, ROBOT, status, error="the form timed out") == status
        assert board.holder(it) is None
    assert (board.state(first), board.state(second)) == ("applied", "discovered")
    board.apply(second, OTHER)


def test_a_failure_beside_another_active_run_leaves_the_job_claimed(board: Board) -> None:
    """As it may come out of an older installation; the lock is the failed run's and is gone with it."""
    it = board.post()
    made = board.apply(it, ROBOT)

    def another(unit: Unit) -> None:
        data = {"run_id": f"beside{it.hex}", "agent": "other", "board": "ramp", "job_id": board.data(it)["job_id"]}
        creating.create(unit, run, data, OTHER, key=data["run_id"], parent=unit.lock(it), by_application=True)

    board.engine.write(another)
    board.report(made, ROBOT, "failed")
    assert (board.state(it), board.holder(it)) == ("queued", None)


def test_a_run_that_vanished_before_it_submitted_is_lost_and_its_job_free(board: Board) -> None:
    it = board.post()
    made = board.apply(it, ROBOT)
    board.advance(TTL)
    board.sweep()
    assert (board.state(it), board.state(made), board.holder(it)) == ("discovered", "lost", None)
    assert board.engine.history(made)[-1].actor == "system"


def test_a_claim_that_comes_before_the_sweeper_expires_the_old_run_itself(board: Board) -> None:
    it = board.post()
    lost = board.apply(it, ROBOT)
    board.advance(TTL)
    made = board.apply(it, OTHER)
    assert [board.state(i) for i in (it, lost, made)] == ["queued", "lost", "pending"]
    assert board.data(it)["run_id"] == board.get(made).key == board.holder(it)
    for status in ("submitted", "success", "failed", None):
        with pytest.raises(steps.Conflict):
            board.report(lost, ROBOT, status, artifacts={"notes": "late"})
    assert "notes" not in board.data(lost)["artifacts"]
    assert board.state(made) == "pending"


# -- what may be out there


def test_a_run_that_submitted_and_vanished_blocks_its_job_until_somebody_verifies_it(board: Board) -> None:
    it = board.post()
    vanished = board.apply(it, ROBOT)
    board.report(vanished, ROBOT, "submitted")
    for _ in range(3):
        board.advance(days=1)
        board.sweep()
        with pytest.raises(steps.Conflict, match="active application"):
            board.apply(it, OTHER)
    assert [board.state(i) for i in (it, vanished)] == ["queued", "submitted"]
    (question,) = board.questions(vanished)
    assert question.title.startswith("Requires verification")
    assert board.engine.explain(vanished).waits_for == "person"
    for status in ("success", "failed", None):
        with pytest.raises(steps.Conflict):
            board.report(vanished, ROBOT, status)


@pytest.mark.parametrize(
    ("decision", "end", "then"), [("it_went_out", "success", "applied"), ("it_did_not", "failed", "discovered")]
)
def test_a_person_says_how_such_a_run_ended(board: Board, decision: str, end: str, then: str) -> None:
    it = board.post()
    vanished = board.apply(it, ROBOT)
    board.report(vanished, ROBOT, "submitted", artifacts={"answers": {"yoe": "5"}})
    board.advance(TTL)
    board.sweep()
    (question,) = board.questions(vanished)
    answer = {"confirmation_url": "https://ramp.example/1", "error": "the site lost it"}
    board.engine.reviews.decide(question.id, decision, actor=ANN, answer=answer)
    assert (board.state(vanished), board.state(it), board.holder(it)) == (end, then, None)
    shown = board.data(vanished)["artifacts"]
    assert shown == {"answers": {"yoe": "5"}, "confirmation_url": "https://ramp.example/1"}


def test_a_person_may_decide_at_the_job_as_well(board: Board) -> None:
    """Whatever door is used, job, run and lease change together."""
    for event, end in (("apply", "success"), ("release", "failed")):
        it = board.post()
        vanished = board.apply(it, ROBOT)
        board.report(vanished, ROBOT, "submitted")
        board.advance(TTL)
        board.sweep()
        board.engine.fire(it, event, actor=ANN)
        assert (board.state(vanished), board.holder(it), board.questions(vanished)) == (end, None, [])


@pytest.mark.parametrize("event", ["expire", "reject"])
@pytest.mark.parametrize("submitted", [False, True])
def test_a_job_that_a_person_puts_aside_takes_its_run_along(board: Board, event: str, submitted: bool) -> None:
    it = board.post()
    made = board.apply(it, ROBOT)
    if submitted:
        board.report(made, ROBOT, "submitted")
    board.engine.fire(it, event, actor=ANN, reason="it is a hoax")
    assert board.state(made) == ("submitted" if submitted else "lost")
    assert len(board.questions(made)) == submitted
    with pytest.raises(steps.Conflict):
        board.report(made, ROBOT, "success")


def test_a_submission_without_an_end_is_reminded_of_after_an_hour(board: Board) -> None:
    it = board.apply(board.post(), ROBOT)
    board.report(it, ROBOT, "submitted")
    board.advance(minutes=60)
    assert [row.kind for row in board.engine.history(it)] == ["created", "moved", "reminded"]
    assert board.state(it) == "submitted"


# -- who writes


@pytest.mark.parametrize("status", ["submitted", "success", "failed", None])
def test_only_the_agent_of_a_run_reports_for_it(board: Board, status: str | None) -> None:
    """Claims 2: any caller may not write to any run."""
    made = board.apply(board.post(), ROBOT)
    before = board.get(made)
    with pytest.raises(steps.Conflict, match="no other agent reports for it"):
        board.report(made, OTHER, status)
    assert board.get(made) == before


@pytest.mark.parametrize("event", ["submit", "succeed", "fail"])
def test_no_other_door_lets_a_late_agent_in(board: Board, event: str) -> None:
    it = board.post()
    made = board.apply(it, ROBOT)
    board.advance(TTL)
    with pytest.raises(steps.Conflict, match="does not hold the lease"):
        board.engine.fire(made, event, actor=ROBOT)
    assert (board.state(made), board.state(it)) == ("pending", "queued")


def test_an_event_alone_claims_nothing(board: Board) -> None:
    it = board.post()
    with pytest.raises(steps.Conflict, match="claim it with POST"):
        board.engine.fire(it, "claim", actor=ROBOT, data={"run_id": "r1"})
    assert board.state(it) == "discovered"


def test_the_same_end_again_changes_nothing_and_another_is_refused(board: Board) -> None:
    made = board.apply(board.post(), ROBOT)
    board.report(made, ROBOT, "success", artifacts={"notes": "sent"})
    before = board.get(made)
    assert board.report(made, ROBOT, "success", artifacts={"notes": "again"}) == "success"
    for status in ("failed", "submitted", "pending", None):
        with pytest.raises(steps.Conflict):
            board.report(made, ROBOT, status)
    assert board.get(made) == before


# -- artifacts


def test_artifacts_are_added_deeply_and_history_keeps_each_patch(board: Board) -> None:
    made = board.apply(board.post(), ROBOT)
    board.report(made, ROBOT, artifacts={"resume_url": "s3://v2", "answers": {"yoe": "5", "deep": {"a": 1}}})
    board.report(made, ROBOT, "submitted", artifacts={"answers": {"deep": {"b": 2}}, "notes": None})
    board.report(made, ROBOT, "success", artifacts={"answers": {"yoe": "6"}, "else": [1]})
    assert board.data(made)["artifacts"] == {
        "resume_url": "s3://v2",
        "answers": {"yoe": "6", "deep": {"a": 1, "b": 2}},
        "else": [1],
    }
    kept = [row.payload["merge"]["artifacts"] for row in board.engine.history(made) if "merge" in row.payload]
    assert [sorted(one) for one in kept] == [["answers", "resume_url"], ["answers", "notes"], ["answers", "else"]]
    assert board.engine.verify(made).problems == ()


def test_a_patch_that_would_take_earlier_fields_away_is_refused(board: Board) -> None:
    made = board.apply(board.post(), ROBOT)
    board.report(made, ROBOT, artifacts={"extra": {"a": 1}})
    with pytest.raises(InvalidData, match=r"artifacts\.extra is an object already"):
        board.report(made, ROBOT, artifacts={"extra": "gone"})
    assert board.data(made)["artifacts"] == {"extra": {"a": 1}}


def test_patches_at_once_lose_nothing(board: Board) -> None:
    made = board.apply(board.post(), ROBOT)
    together(AGENTS, lambda n: [board.report(made, ROBOT, artifacts={"answers": {f"q{n}-{i}": i}}) for i in range(10)])
    assert len(board.data(made)["artifacts"]["answers"]) == 10 * AGENTS
    assert board.engine.verify(made).problems == ()


# -- keys and clean-up


def test_ids_are_scoped_by_board_and_a_job_is_known_for_ever(board: Board) -> None:
    number = str(uuid4())
    it = board.post(number, board="ramp")
    board.post(number, board="stripe")
    board.engine.fire(it, "expire", actor=CLOCK)
    with pytest.raises(KeyTaken) as taken:
        board.post(number, board="ramp")
    assert taken.value.existing == it


@pytest.mark.parametrize("event", ["expire", "reject"])
@pytest.mark.parametrize("way", [(), ("claim",), ("claim", "apply")], ids=["discovered", "queued", "applied"])
def test_clean_up_touches_nothing_that_is_decided_and_a_person_may_correct_anything(
    board: Board, event: str, way: tuple[str, ...]
) -> None:
    it = board.post()
    if way:
        made = board.apply(it, ROBOT)
    if "apply" in way:
        board.report(made, ROBOT, "success")
    if event == "reject" or way == ("claim", "apply"):
        with pytest.raises(Refused):
            board.engine.fire(it, event, actor=CLOCK)
    board.engine.fire(it, event, actor=ANN, reason="the posting is a hoax")
    assert board.state(it) == {"expire": "expired", "reject": "rejected"}[event]
