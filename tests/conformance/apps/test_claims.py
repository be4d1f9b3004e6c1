"""Many agents, one application per job: the job, the run, and the lease that stands between two agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs.claims.machine import job, run
from interlock.engine import EngineError, KeyTaken, Lease, LeaseTaken, Refused, firing, leases, lineage
from interlock.engine.unit import Unit
from interlock.machine import AGENT, Actor
from interlock.store import Store, open_store
from interlock.testing import Trial, broken_laws
from tests.conformance.apps.play import ANN, CLOCK, ROBOT

OTHER = Actor(AGENT, "other")
TTL = timedelta(seconds=300)
AGENTS = 6


class Board(Trial):
    """One board, and what an agent's claim comes to: lease, run and job in one transaction."""

    def __init__(self, store: Store) -> None:
        super().__init__([job, run], store=store)

    def post(self, number: str | None = None, board: str = "ramp") -> UUID:
        number = number or str(uuid4())
        return self.create("job", {"board": board, "job_id": number}, key=f"{board}/{number}")

    def lock(self, it: UUID) -> str:
        data = self.data(it)
        return f"lock:apply:{data['board']}:{data['job_id']}"

    def apply(self, it: UUID, agent: Actor) -> tuple[UUID, Lease]:
        """The agent claims the job, as POST action "run" does."""
        return self.engine.write(lambda unit: self.claim_in(unit, it, agent))

    def claim_in(self, unit: Unit, it: UUID, agent: Actor) -> tuple[UUID, Lease]:
        name = f"{agent.name}-{uuid4()}"
        firing.fire(unit, it, "claim", agent, data={"run_id": name})
        lease = leases.take(unit.conn, unit.now, self.lock(it), name, TTL)
        made = lineage.create(unit, run, {"run_id": name, "agent": agent.name}, agent, key=name)
        return made.id, lease

    def take_over(self, it: UUID, lost: UUID, agent: Actor) -> tuple[UUID, Lease]:
        """A claim that comes after the lease ran out and before the sweeper: it expires the old run itself."""

        def over(unit: Unit) -> tuple[UUID, Lease]:
            firing.fire(unit, lost, "lose", CLOCK)
            firing.fire(unit, it, "release", CLOCK)
            return self.claim_in(unit, it, agent)

        return self.engine.write(over)


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
    won = [a for a in answers if isinstance(a, tuple)]
    assert len(won) == 1
    assert all(isinstance(a, Refused) for a in answers if a not in won)
    (made, lease) = won[0]
    assert (board.state(it), board.state(made)) == ("queued", "pending")
    assert board.data(it)["run_id"] == lease.holder
    assert [row.event for row in board.engine.history(it) if row.kind == "moved"] == ["claim"]


def test_a_claim_that_is_refused_leaves_neither_a_run_nor_a_lease(board: Board) -> None:
    it = board.post()
    board.engine.fire(it, "reject", actor=ANN)
    before = board.engine.verify().instances
    with pytest.raises(Refused):
        board.apply(it, ROBOT)
    assert board.engine.leases.find(board.lock(it)) is None
    assert board.engine.verify().instances == before


@pytest.mark.parametrize("minutes", [0, 5, 60])
def test_a_claimed_job_is_not_claimed_again_though_the_lease_ran_out(board: Board, minutes: int) -> None:
    """Claims 3: the second agent would apply too."""
    it = board.post()
    board.apply(it, ROBOT)
    board.advance(minutes=minutes)
    before = board.get(it)
    with pytest.raises(Refused, match="is in 'queued', where 'claim' means nothing"):
        board.apply(it, OTHER)
    assert board.get(it) == before


def test_success_ends_the_job_and_failure_frees_it(board: Board) -> None:
    first, second = board.post(), board.post()
    for it, event, then in ((first, "succeed", "apply"), (second, "fail", "release")):
        made, lease = board.apply(it, ROBOT)
        board.engine.fire(made, event, actor=ROBOT)
        board.engine.fire(it, then, actor=ROBOT)
        assert board.engine.leases.release(lease)
    assert (board.state(first), board.state(second)) == ("applied", "discovered")
    with pytest.raises(Refused):
        board.apply(first, OTHER)
    board.apply(second, OTHER)


def test_a_run_that_vanished_before_it_submitted_is_taken_over_in_one_transaction(board: Board) -> None:
    it = board.post()
    lost, old = board.apply(it, ROBOT)
    board.advance(TTL)
    made, lease = board.take_over(it, lost, OTHER)
    assert [board.state(i) for i in (it, lost, made)] == ["queued", "lost", "pending"]
    assert (board.data(it)["run_id"], lease.fence) == (lease.holder, old.fence + 1)
    with pytest.raises(Refused, match="where 'submit' means nothing; nothing is allowed now"):
        board.engine.fire(lost, "submit", actor=ROBOT)


def test_who_takes_over_too_early_changes_nothing(board: Board) -> None:
    it = board.post()
    lost, lease = board.apply(it, ROBOT)
    board.advance(seconds=299)
    with pytest.raises(LeaseTaken):
        board.take_over(it, lost, OTHER)
    assert [board.state(i) for i in (it, lost)] == ["queued", "pending"]
    assert board.engine.leases.find(board.lock(it)) == lease


def test_a_run_that_submitted_and_vanished_blocks_its_job_until_somebody_verifies_it(board: Board) -> None:
    it = board.post()
    vanished, _ = board.apply(it, ROBOT)
    board.engine.fire(vanished, "submit", actor=ROBOT)
    board.advance(days=30)
    with pytest.raises(Refused, match="where 'lose' means nothing"):
        board.take_over(it, vanished, OTHER)
    with pytest.raises(Refused, match="is for agent, user, worker, not for system"):
        board.engine.fire(vanished, "fail", actor=CLOCK)
    assert [board.state(i) for i in (it, vanished)] == ["queued", "submitted"]
    assert board.engine.explain(vanished).waits_for == "person"


@pytest.mark.parametrize(("found", "then", "end"), [("succeed", "apply", "applied"), ("fail", "release", "discovered")])
def test_a_person_says_how_such_a_run_ended(board: Board, found: str, then: str, end: str) -> None:
    it = board.post()
    vanished, _ = board.apply(it, ROBOT)
    board.engine.fire(vanished, "submit", actor=ROBOT)
    board.engine.fire(vanished, found, actor=ANN)
    board.engine.fire(it, then, actor=ANN)
    assert board.state(it) == end


def test_a_submission_without_an_end_is_reminded_of_after_an_hour(board: Board) -> None:
    it, _ = board.apply(board.post(), ROBOT)
    board.engine.fire(it, "submit", actor=ROBOT)
    board.advance(minutes=60)
    assert [row.kind for row in board.engine.history(it)] == ["created", "moved", "reminded"]
    assert board.state(it) == "submitted"


# -- who writes


@pytest.mark.parametrize("event", ["submit", "succeed", "fail"])
@pytest.mark.parametrize("submitted", [False, True])
def test_only_the_agent_of_a_run_reports_for_it(board: Board, event: str, submitted: bool) -> None:
    """Claims 2: any caller may not write to any run."""
    made, _ = board.apply(board.post(), ROBOT)
    if submitted:
        board.engine.fire(made, "submit", actor=ROBOT)
    before = board.get(made)
    with pytest.raises(Refused):
        board.engine.fire(made, event, actor=OTHER)
    assert board.get(made) == before
    if not (submitted and event == "submit"):
        board.engine.fire(made, event, actor=ROBOT)


def test_a_report_that_comes_again_is_refused_and_changes_nothing(board: Board) -> None:
    made, _ = board.apply(board.post(), ROBOT)
    board.engine.fire(made, "succeed", actor=ROBOT, data={"artifacts": {"notes": "sent"}})
    before = board.get(made)
    for event in ("succeed", "fail", "submit"):
        with pytest.raises(Refused, match="nothing is allowed now"):
            board.engine.fire(made, event, actor=ROBOT, data={"artifacts": {"notes": "again"}})
    assert board.get(made) == before


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
    for step in way:
        board.engine.fire(it, step, actor=ROBOT)
    if event == "reject" or way == ("claim", "apply"):
        with pytest.raises(Refused):
            board.engine.fire(it, event, actor=CLOCK)
    board.engine.fire(it, event, actor=ANN, reason="the posting is a hoax")
    assert board.state(it) == {"expire": "expired", "reject": "rejected"}[event]
