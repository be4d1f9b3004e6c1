"""Dead letters of sessions: sandboxes that could not be borrowed or given back, and steps of sessions that failed.

A person retries one, resolves it (it was solved elsewhere), discards it (the sandbox is given up and taken out of
use), or releases the sandbox by force. Each is in the history of its loan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending, pool
from interlock.apps.sessions.allocator.choosing import lender_of
from interlock.apps.sessions.allocator.lender import (
    AllocatorRefused,
    AllocatorUnavailable,
    AnswerLost,
    Lender,
    Lent,
    WrongToken,
)
from interlock.apps.sessions.allocator.local_lender import LocalLender
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.loans.keys import key_of
from interlock.apps.sessions.loans.saving import commit_by_hand
from interlock.apps.sessions.loans.session_loans import sandbox_of
from interlock.apps.sessions.machine import BORROWING, RETURNED, STUCK, loan, session
from interlock.apps.sessions.models import Resolution
from interlock.apps.sessions.settings import settings_in
from interlock.engine import DeadLetter, Engine, Filter, Instance, NotFound, Refused, deadletters
from interlock.engine.application import Unit, find, fire, history
from interlock.machine import Actor
from interlock.store import Micros

STATUSES = {"pending": "open", "retried": "retried", "resolved": "resolved", "abandoned": "discarded"}
"""The specification's names of what the engine calls open, retried, resolved and discarded."""
LOOKED_AT = 60
"""Rows of a history in which the first failure is looked for."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A dead letter with what it is about. It has no secrets."""

    letter: DeadLetter
    instance: Instance | None
    session_id: UUID | None
    first_failed_at: Micros

    @property
    def status(self) -> str:
        return next(name for name, engines in STATUSES.items() if engines == self.letter.status)

    @property
    def source(self) -> str:
        """Where it failed, as the specification names it."""
        if self.letter.machine != loan.name:
            return "session"
        return "ip_borrow" if self.letter.step.partition(":")[0] == BORROWING else "ip_return_poller"

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done about it."""
        if self.letter.status != "open":
            return ()
        if self.letter.machine == loan.name:
            return ("retry", "resolve", "discard", "release-force")
        return ("retry", "resolve", "discard")


# -- reading


def page(
    conn: sa.Connection,
    workspaces: frozenset[str],
    machines: Sequence[str],
    *,
    status: str | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[Stuck]:
    """Dead letters of these workspaces, the newest first."""
    wanted = [STATUSES[status]] if status is not None else list(STATUSES.values())
    found = [
        letter
        for machine in machines
        for one in wanted
        for letter in deadletters.find(
            conn, Filter(machine=machine, workspaces=workspaces), status=one, after=after, limit=limit
        )
    ]
    return [_about(conn, one) for one in sorted(found, key=lambda one: one.id, reverse=True)[:limit]]


def get(conn: sa.Connection, letter_id: UUID) -> Stuck:
    """One dead letter; NotFound for those of other applications."""
    found = deadletters.get(conn, letter_id)
    if found.machine not in {loan.name, session.name}:
        raise NotFound(f"there is no dead letter {letter_id}")
    return _about(conn, found)


def _about(conn: sa.Connection, letter: DeadLetter) -> Stuck:
    instance = find(conn, letter.instance_id, machine=letter.machine)
    if letter.machine == session.name:
        session_id: UUID | None = letter.instance_id
    else:
        session_id = instance.parent if instance is not None else None
    return Stuck(letter, instance, session_id, _first_failure(conn, letter))


def _first_failure(conn: sa.Connection, letter: DeadLetter) -> Micros:
    """When the step first failed, of the attempts that led to this letter."""
    if letter.seq is None:
        return letter.at
    rows = history(conn, letter.instance_id, after=max(0, letter.seq - LOOKED_AT), limit=LOOKED_AT)
    failed = [row.at for row in rows if row.kind in {"retry", "failed"} and row.seq <= letter.seq]
    recent = failed[-letter.attempts :] if letter.attempts else failed
    return min([letter.at, *recent])


# -- what a person does


def retry(unit: Unit, letter_id: UUID, actor: Actor, note: str) -> Instance:
    """Try again, with all attempts. What may have been lent is looked up and given back."""
    return deadletters.retry(unit, letter_id, actor, reason=note)


def resolve(unit: Unit, letter_id: UUID, actor: Actor, note: str) -> Instance:
    """It was solved elsewhere: the loan has ended."""
    return _settle(unit, letter_id, actor, note, "resolved", Resolution.RESOLVED)


def discard(unit: Unit, letter_id: UUID, actor: Actor, note: str) -> Instance:
    """Give the sandbox up: it is taken out of use in the allocator of this installation, and the loan has ended."""
    found = _loan_of(unit, letter_id)
    if found is not None and _is_inside(unit):
        item_id = _ours(unit, found)
        if item_id is not None and pool.locked_item(unit, item_id).state != pool.IN_RETURN:
            lending.quarantine(unit, item_id, note or "a person gave it up in the dead letters")
    return _settle(unit, letter_id, actor, note, "discarded", Resolution.DISCARDED)


def release(unit: Unit, letter_id: UUID, actor: Actor, note: str) -> Instance:
    """Make the sandbox free without its borrower. In an allocator elsewhere, `release_outside` has done it before."""
    found = _loan_of(unit, letter_id)
    if found is None:
        raise Refused("only a sandbox is released by force; retry, resolve or discard this dead letter")
    if _is_inside(unit):
        item_id = _ours(unit, found)
        if item_id is not None:
            lending.release(unit, item_id, key_of(found.id))
    return _settle(unit, letter_id, actor, note, "resolved", Resolution.RELEASED_BY_FORCE)


def _settle(unit: Unit, letter_id: UUID, actor: Actor, note: str, status: str, resolution: Resolution) -> Instance:
    letter = deadletters.close(unit, letter_id, status, actor, note=note)
    instance = unit.lock(letter.instance_id)
    if letter.machine == loan.name and instance.state == STUCK:
        fire(unit, instance.id, "resolve", actor, reason=note, data={"resolution": resolution.value})
    return instance


def _loan_of(unit: Unit, letter_id: UUID) -> Instance | None:
    """The loan that the letter is about, locked, with its session; None for another machine."""
    letter = deadletters.get(unit.conn, letter_id)
    if letter.machine != loan.name:
        return None
    if letter.status != "open":
        raise Refused(f"dead letter {letter_id} was {letter.status} by {letter.closed_by}")
    seen = find(unit.conn, letter.instance_id, machine=loan.name)
    unit.lock_many([one for one in ((seen.parent if seen else None), letter.instance_id) if one is not None])
    found = unit.lock(letter.instance_id)
    if found.state == RETURNED:
        raise Refused(f"loan {found.id} has ended since; resolve the dead letter")
    return found


def _is_inside(unit: Unit) -> bool:
    """Whether the allocator is this installation's."""
    return settings_in(unit.setting("sessions")).allocator.url is None


def _ours(unit: Unit, found: Instance) -> UUID | None:
    """The item that the loan's borrow still has, in the allocator of this installation."""
    lent = lending.find_by_key(unit.conn, key_of(found.id))
    return UUID(lent.item_id) if lent is not None else None


# -- before a release


def save_before(engine: Engine, letter_id: UUID) -> str:
    """Commit the work of a local sandbox that is to be released; what came of it, as a sentence."""

    def read(conn: sa.Connection) -> tuple[Instance | None, Lent | None]:
        found = get(conn, letter_id).instance
        usable = found is not None and found.machine == loan.name and found.state == STUCK
        return found, sandbox_of(conn, found.id) if usable and found is not None else None

    found, lent = engine.read(read)
    if found is None or lent is None or found.data.get("saved"):
        return ""
    return commit_by_hand(engine, str(found.data["session_id"]), lent)


def release_outside(engine: Engine, letter_id: UUID) -> None:
    """Release the sandbox in an allocator elsewhere; it is harmless where it is free already."""
    lender, found, lent = _outside(engine, letter_id)
    if lender is None or found is None or found.machine != loan.name:
        return
    if lent is None:
        try:
            lent = lender.find(key_of(found.id))
        except (AllocatorUnavailable, AllocatorRefused, AnswerLost) as error:
            raise Refused(f"the sandbox cannot be released: {error}") from error
        if lent is None:
            return
    try:
        lender.release_by_force(lent.item_id, lent.item, key_of(found.id))
    except WrongToken as error:
        raise Refused(f"somebody else has the sandbox by now; resolve the dead letter instead ({error})") from error
    except (AllocatorUnavailable, AllocatorRefused, AnswerLost) as error:
        raise Refused(f"the allocator did not release the sandbox: {error}") from error


def quarantine_outside(engine: Engine, letter_id: UUID, note: str) -> None:
    """Ask an allocator elsewhere to take the sandbox out of use; one that cannot is left as it is."""
    lender, _, lent = _outside(engine, letter_id)
    if lender is None or lent is None:
        return
    try:
        lender.quarantine(lent.item_id, note or "given up")
    except (AllocatorUnavailable, AllocatorRefused, AnswerLost):
        return


def _outside(engine: Engine, letter_id: UUID) -> tuple[Lender | None, Instance | None, Lent | None]:
    lender = lender_of(settings_in(engine.setting("sessions")), EngineTransactions(engine))
    if isinstance(lender, LocalLender):
        return None, None, None

    def read(conn: sa.Connection) -> tuple[Instance | None, Lent | None]:
        found = get(conn, letter_id).instance
        return found, sandbox_of(conn, found.id) if found is not None else None

    return lender, *engine.read(read)
