"""Names that nobody knows: machines, states and events that this process, or any, has never heard of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from interlock.engine import Engine, InvalidData, NotFound, NotServed, Refused, workers
from interlock.machine import (
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Go,
    InterlockError,
    Machine,
    MachineError,
    State,
    Timer,
    Transition,
    UnknownMachine,
)
from interlock.store import Store
from interlock.testing import VirtualClock
from interlock.worker import Task, Worker
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

ADA, BOSS = Actor(USER, "ada"), Actor(OWNER, "boss")
HOUR = timedelta(hours=1)


def test_an_unknown_machine_is_refused_with_those_there_are(live_engine: Opener) -> None:
    with pytest.raises(UnknownMachine, match="there are: errand"):
        live_engine(errand()).engine.create("erand")


def test_an_unknown_instance_is_not_found(live_engine: Opener) -> None:
    live = live_engine(errand())
    for ask in (live.engine.get, live.engine.explain, lambda i: live.engine.fire(i, "finish"), live.engine.verify):
        with pytest.raises(NotFound):
            ask(uuid4())


def test_an_unknown_event_is_refused_with_what_is_allowed(live_engine: Opener) -> None:
    live = live_engine(errand())
    it = live.create()
    with pytest.raises(Refused, match="'fly' is not declared") as refusal:
        live.engine.fire(it, "fly", actor=ADA)
    assert [one.event for one in refusal.value.allowed] == ["begin", "wait", "finish", "withdraw"]
    assert len(live.engine.history(it)) == 1


def test_an_unknown_state_is_refused(live_engine: Opener) -> None:
    live = live_engine(errand())
    it = live.create()
    with pytest.raises(InvalidData, match="has no state 'nowhere'; it has todo"):
        live.engine.force(it, "nowhere", actor=BOSS, reason="a typing mistake")
    assert live.get(it).state == "todo"


def test_a_handler_that_moves_to_an_unknown_state_gets_the_possible_states(live_engine: Opener) -> None:
    box: list[BaseException] = []

    def work(task: Task[Any]) -> Go:
        try:
            task.move("nowhere")
        except InvalidData as error:
            box.append(error)
        return Go("done")

    live = live_engine(errand(todo=work))
    it = live.create()
    live.start_worker()
    live.reaches(it, "done")
    assert "from here lead: doing, waiting, done, withdrawn" in str(box[0])


def test_a_worker_without_a_handler_for_its_work_is_refused(store: Store) -> None:
    machine = errand().with_handlers({"todo": lambda task: Go("done")})
    with pytest.raises(MachineError, match="state 'doing' is work, but has neither a handler nor a pick-up"):
        Worker(Engine(store, [machine]))


def test_a_worker_without_machines_is_refused(store: Store) -> None:
    with pytest.raises(InterlockError, match="at least one queue"):
        Worker(Engine(store, []))


def meeting() -> Machine:
    """Another application's machine on the same database: a timer, a retry, and work."""
    machine = Machine(
        "meeting",
        initial="invited",
        states=[
            State("invited", WAITING, waits_for="answers", timers=(Timer(HOUR, "begin"),)),
            State("held"),
            State("over", FINAL),
        ],
        transitions=[
            Transition("invited", "held", on="begin", by=(USER, SYSTEM)),
            Transition("held", "over", on="end"),
        ],
    )
    return machine.with_handlers({"held": lambda task: Go("over")})


def settled(worker: Worker) -> None:
    """Each loop has had a round that began after now."""
    for loop in (worker.sweeper, worker.watcher, worker.claimer):
        seen = loop.rounds
        loop.wake()
        eventually(lambda loop=loop, seen=seen: loop.rounds > seen + 1 or loop.troubles, what=loop.name)
        assert loop.troubles == 0, loop.name


def test_a_worker_leaves_the_machines_of_other_processes_alone(store: Store) -> None:
    """Their timers, their lost workers, their paused and overdue instances: it neither touches nor trips over them."""
    clock = VirtualClock()
    theirs = Engine(store, [meeting()], clock=clock)
    timed = theirs.create("meeting").id
    late = theirs.create("meeting").id
    theirs.fire(late, "begin", actor=ADA)
    holder = sign_up(theirs)
    assert [claim.id for claim in theirs.claim(holder, ["meeting"], 1)] == [late]
    paused = theirs.create("meeting").id
    theirs.pause(paused, actor=ADA, resume_at=clock.time + timedelta(minutes=1))
    live = LiveEngine(store, errand(), clock=clock)
    worker = live.start_worker(lease=timedelta(days=9), queues=["errand", "meeting"])
    clock.advance(2 * HOUR)
    settled(worker)
    assert [theirs.get(one).state for one in (timed, late, paused)] == ["invited", "held", "invited"]
    live.reaches(live.create(), "done")
    clock.advance(10 * HOUR)  # past the word of the process that held one of them
    settled(worker)
    other = LiveEngine(store, [meeting(), errand()], clock=clock)
    other.start_worker(lease=timedelta(days=9))
    for one in (timed, late, paused):
        other.reaches(one, "over")
    live.stop()
    other.stop()
    other.laws_hold()


def sign_up(engine: Engine) -> Any:
    worker = uuid4()
    engine.store.write(
        lambda conn: workers.start(
            conn,
            engine.clock.now(),
            worker,
            host="elsewhere",
            pid=1,
            queues=["meeting"],
            lock_file=None,
            lease=timedelta(hours=5),
        )
    )
    return worker


def test_an_instance_of_a_machine_that_is_unknown_here_is_explained_all_the_same(store: Store) -> None:
    it = Engine(store, [meeting()]).create("meeting").id
    engine = Engine(store, [errand()])
    assert "No process here has code" in engine.explain(it).sentence
    with pytest.raises(NotServed):
        engine.fire(it, "begin", actor=ADA)
