"""What a person decides about an application: approve, reject, later, verify, by hand, pause, resume, withdraw, answer.

API, pages and commands call these functions. Each works in the transaction of its caller and returns the instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from interlock.apps.jobs.autoapply.answers.bank import AnswerError, Scope, save
from interlock.apps.jobs.autoapply.answers.values import Answered, Value
from interlock.apps.jobs.autoapply.machine import (
    FAILED,
    PAUSED,
    PREPARING,
    QUEUED,
    READY_TO_SUBMIT,
    REQUIRES_REVIEW,
    application,
)
from interlock.apps.jobs.autoapply.models import ReviewReason
from interlock.apps.jobs.autoapply.packets.form import context_of
from interlock.apps.jobs.autoapply.packets.stored import stored_packet
from interlock.apps.jobs.autoapply.planned import SCHEDULED, VALIDATING
from interlock.apps.jobs.autoapply.records import already_applied, answers, applications, rules, seekers
from interlock.apps.jobs.autoapply.review import by_hand
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.engine import EngineError, Instance, InvalidData, NotFound, reviews
from interlock.engine.application import Unit, find, fire, under_way
from interlock.machine import Actor, LimitReached, WorkError
from interlock.machine.transitions import PEOPLE
from interlock.store import moment

UNDER_WAY = (QUEUED, VALIDATING, PREPARING, READY_TO_SUBMIT, SCHEDULED, FAILED)
"""States that a rule's pause, or the pause of everything, stops. It also stops what is approved and not sent yet, and
what the system has paused until a moment."""
MAY_GO_ON = (*UNDER_WAY, REQUIRES_REVIEW, PAUSED)
BY_RULE, BY_ALL = "rule:", "all:"


def existing(unit: Unit, workspace: str, application_id: UUID) -> Instance:
    """The application, locked. NotFound for one of another workspace."""
    if find(unit.conn, application_id, machine=application.name, workspace=workspace) is None:
        raise NotFound(f"there is no application {application_id}")
    return unit.lock(application_id)


def require_person(actor: Actor) -> None:
    """What only the user can do, or say about themselves, no agent's token does."""
    if actor.kind not in PEOPLE:
        raise NotPossible("only a person may do this; an agent's token may not")


# -- the packet


def approve(
    unit: Unit, workspace: str, application_id: UUID, packet_hash: str, actor: Actor, *, reason: str = ""
) -> Instance:
    """Approve exactly this packet; a worker then sends it. Refused if the packet is another one by now."""
    found = existing(unit, workspace, application_id)
    if found.state == REQUIRES_REVIEW:
        require_packet(found, packet_hash)
    return _decide(unit, found, REQUIRES_REVIEW, "approve", actor, {"approved_packet": packet_hash}, reason)


def require_packet(found: Instance, packet_hash: str) -> None:
    """Refuse an approval of another packet than the present one, or of one whose form has open questions."""
    if found.data.get("open_questions"):
        raise NotPossible(
            f"application {found.id} has {found.data['open_questions']} questions that need your answer first"
        )
    if packet_hash != found.data.get("packet_hash"):
        raise NotPossible(
            f"the packet of application {found.id} is {found.data.get('packet_hash')}, not "
            f"{packet_hash[:80]!r}; look at it again, then approve that one"
        )


def reject(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Withdraw it because of its packet."""
    found = existing(unit, workspace, application_id)
    return _decide(unit, found, _review(found), "reject", actor, {}, reason)


def later(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Postpone the decision: the application is paused until it is resumed."""
    found = existing(unit, workspace, application_id)
    return _decide(unit, found, _review(found), "later", actor, {}, reason)


def verify(
    unit: Unit, workspace: str, application_id: UUID, arrived: bool, actor: Actor, *, reason: str = ""
) -> Instance:
    """Say whether a submission with an unknown outcome arrived."""
    found = existing(unit, workspace, application_id)
    decision = "arrived" if arrived else "not_arrived"
    return _decide(unit, found, ReviewReason.VERIFY_SUBMISSION, decision, actor, {}, reason)


# -- by hand


def open_form(unit: Unit, workspace: str, application_id: UUID, actor: Actor) -> Instance:
    """Take the claim before the person fills in the form. Refused where somebody has applied, or a limit is reached."""
    require_person(actor)
    found = existing(unit, workspace, application_id)
    if not by_hand.is_by_hand(found):
        raise NotPossible(f"application {application_id} is {found.state}; nothing of it is to be sent by hand")
    already_applied.lock_seeker(unit, workspace)
    row = _posting(unit, found)
    if row is not None and not found.data.get("again"):
        before = already_applied.applied_before(unit, already_applied.sightings_of(unit.conn, row), but=found.id)
        if before is not None:
            raise NotPossible(before)
    try:
        with unit.attempt(found):
            by_hand.take_claim(unit, found, actor)
    except LimitReached as error:
        raise NotPossible(str(error)) from None
    except WorkError as error:
        raise NotPossible(f"the job cannot be claimed: {error}") from None
    return found


def report(
    unit: Unit,
    workspace: str,
    application_id: UUID,
    outcome: str,
    actor: Actor,
    *,
    proof: str = "",
    kind: str | None = None,
    retry: bool = True,
    reason: str = "",
) -> Instance:
    """Say how a submission by hand ended: `submitted` or `failed`."""
    found = existing(unit, workspace, application_id)
    answer = {"proof": proof, "kind": kind, "retry": retry}
    return _decide(unit, found, ReviewReason.SUBMIT_BY_HAND, outcome, actor, answer, reason)


# -- pause, resume, withdraw


def pause(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Pause it until its user resumes it; also one that the system has paused until a moment."""
    found = existing(unit, workspace, application_id)
    return _fire(unit, found, _pausing(found), actor, reason)


def _pausing(found: Instance) -> str | tuple[str, ...]:
    """The events that pause it. One that would go on by itself is resumed first, so that it keeps no moment."""
    return ("resume", "pause") if resumes_itself(found) else "pause"


def resumes_itself(found: Instance) -> bool:
    """Whether it is paused until a moment, such as the reset of a quota."""
    return found.state == PAUSED and found.due_event is not None


def resume(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Queue it again: one that is paused, or one that failed and waits for its retry."""
    found = existing(unit, workspace, application_id)
    return _fire(unit, found, "retry" if found.state == FAILED else "resume", actor, reason)


def withdraw(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Withdraw it, at any time; also one that was submitted."""
    found = existing(unit, workspace, application_id)
    events = ("pause", "withdraw") if found.state in (VALIDATING, PREPARING) else "withdraw"
    return _fire(unit, found, events, actor, reason)


@dataclass(frozen=True, slots=True)
class Changed:
    """What a pause or a resume of many did."""

    applications: int
    skipped: int
    """Applications that could not be moved at that moment."""


def pause_rule(unit: Unit, workspace: str, rule_id: UUID, actor: Actor, *, reason: str = "") -> Changed:
    """Stop a rule, and pause its applications that are under way."""
    _set_rule(unit, workspace, rule_id, True, actor)
    found = applications.of_rule(unit.conn, rule_id, MAY_GO_ON)
    return _pause_each(unit, found, actor, f"{BY_RULE}{rule_id}", reason)


def resume_rule(unit: Unit, workspace: str, rule_id: UUID, actor: Actor, *, reason: str = "") -> Changed:
    """Start a rule again, with the applications that its pause stopped. While all are stopped, they stay paused."""
    _set_rule(unit, workspace, rule_id, False, actor)
    mark, stopped = f"{BY_RULE}{rule_id}", seekers.stopped(unit.conn, workspace)
    if stopped is None:
        return _resume_each(unit, workspace, mark, actor, reason)
    waiting = _paused_by(unit, workspace, mark)
    for one in waiting:
        applications.update(unit, one, paused_by=f"{BY_ALL}{stopped.by}")
    return Changed(0, len(waiting))


def pause_all(unit: Unit, workspace: str, actor: Actor, *, reason: str = "") -> Changed:
    """Stop everything: nothing is queued by rules, and everything that is under way is paused."""
    require_person(actor)
    already_applied.lock_seeker(unit, workspace)
    seekers.stop(unit, workspace, actor.name)
    found = applications.with_status(unit.conn, workspace, MAY_GO_ON)
    return _pause_each(unit, found, actor, BY_ALL, reason or "all applications were paused")


def resume_all(unit: Unit, workspace: str, actor: Actor, *, reason: str = "") -> Changed:
    """Start everything again that `pause_all` stopped."""
    require_person(actor)
    seekers.start(unit, workspace)
    return _resume_each(unit, workspace, BY_ALL, actor, reason)


def _set_rule(unit: Unit, workspace: str, rule_id: UUID, paused: bool, actor: Actor) -> None:
    require_person(actor)
    already_applied.lock_seeker(unit, workspace)
    found = rules.find(unit.conn, workspace, rule_id)
    if found is None:
        raise NotFound(f"there is no rule {rule_id}")
    if found.paused != paused:
        rules.put(unit, workspace, rule_id, found.rule.model_copy(update={"paused": paused}), actor.name)


def _pause_each(unit: Unit, ids: Sequence[UUID], actor: Actor, mark: str, reason: str) -> Changed:
    done = skipped = 0
    for found in _locked(unit, ids):
        waits = found.state == REQUIRES_REVIEW and not under_way(found)
        if waits or (found.state == PAUSED and not resumes_itself(found)):
            continue  # nothing happens to it before its user decides
        if found.state in MAY_GO_ON and _try(unit, found, _pausing(found), actor, reason):
            applications.update(unit, found.id, paused_by=f"{mark}{actor.name}" if mark == BY_ALL else mark)
            done += 1
        else:
            skipped += 1
    return Changed(done, skipped)


def _paused_by(unit: Unit, workspace: str, mark: str) -> list[UUID]:
    """The applications that a pause of a rule, or of everything, has stopped."""
    return [
        one.instance_id
        for one in applications.page(unit.conn, workspace, statuses=[PAUSED], limit=10_000)
        if one.instance_id is not None and (one.paused_by or "").startswith(mark)
    ]


def _resume_each(unit: Unit, workspace: str, mark: str, actor: Actor, reason: str) -> Changed:
    paused = _paused_by(unit, workspace, mark)
    done = sum(_try(unit, one, "resume", actor, reason) for one in _locked(unit, paused) if one.state == PAUSED)
    return Changed(done, len(paused) - done)


def _locked(unit: Unit, ids: Sequence[UUID]) -> list[Instance]:
    unit.lock_many(sorted(ids))
    return [unit.lock(one) for one in ids]


def _try(unit: Unit, found: Instance, events: str | tuple[str, ...], actor: Actor, reason: str) -> bool:
    try:
        with unit.attempt(found):
            fire(unit, found.id, events, actor, reason=reason)
    except EngineError:  # refused, or it cannot be read: it delays no other
        return False
    return True


# -- answers


@dataclass(frozen=True, slots=True)
class Given:
    """An answer of the user to a question of a form."""

    key: str
    value: Value
    scope: Scope = Scope.EVERYWHERE


def answer(unit: Unit, workspace: str, application_id: UUID, given: Sequence[Given], actor: Actor) -> Instance:
    """Remember answers to the form's questions, and prepare the packet again with them.

    An application that waits for its user goes back through the queue; one that is paused stays paused.
    """
    require_person(actor)
    found = existing(unit, workspace, application_id)
    asked = {one.question.key: one for one in questions_of(unit, found)}
    row = _posting(unit, found)
    if row is None or not asked:
        raise NotPossible(f"application {application_id} has no form yet; it is read when it is prepared")
    context = context_of(row.posting, moment(unit.now), found.id)
    for one in given:
        question = asked.get(one.key)
        if question is None:
            raise InvalidData(f"{one.key[:80]!r} is not a question of this form; it has {', '.join(asked)}")
        try:
            saved = save(question.question, one.value, context, one.scope)
        except AnswerError as error:
            raise InvalidData(str(error)) from None
        answers.remember(unit, workspace, saved, actor.name)
    if found.state == REQUIRES_REVIEW and not _is_sent(found):
        fire(unit, found.id, ("pause", "resume"), actor, reason="its questions were answered")
    return found


def questions_of(unit: Unit, found: Instance) -> Sequence[Answered]:
    """The questions of the form with their answers, as they were when the packet was made."""
    digest = found.data.get("packet_hash")
    stored = stored_packet(unit.conn, found.id, digest, files=False) if digest else None
    return stored.form.answered if stored is not None else ()


def prepare_again(unit: Unit, workspace: str, application_id: UUID, actor: Actor, *, reason: str = "") -> Instance:
    """Prepare it now: one that waits for its user or is paused goes through the queue again."""
    found = existing(unit, workspace, application_id)
    if found.state == REQUIRES_REVIEW and not _is_sent(found):
        return _fire(unit, found, ("pause", "resume"), actor, reason or "prepare it again")
    if found.state == PAUSED:
        return _fire(unit, found, "resume", actor, reason or "prepare it again")
    if found.state in (QUEUED, VALIDATING, PREPARING):
        return found
    raise NotPossible(f"application {application_id} is {found.state}; there is nothing to prepare")


def _is_sent(found: Instance) -> bool:
    """Whether something has left, or is being sent by the person at this moment."""
    return found.data.get("review_reason") == ReviewReason.VERIFY_SUBMISSION or (
        by_hand.is_by_hand(found) and found.data.get("run_id") is not None
    )


# -- what all of them do


def _posting(unit: Unit, found: Instance) -> PostingRow | None:
    posting_id = found.data.get("posting_id")
    return postings.find(unit.conn, found.workspace, UUID(posting_id)) if posting_id else None


def _review(found: Instance) -> str:
    """The review that a decision about the packet answers."""
    return ReviewReason.SUBMIT_BY_HAND if by_hand.is_by_hand(found) else REQUIRES_REVIEW


def _decide(
    unit: Unit, found: Instance, name: str, decision: str, actor: Actor, given: Mapping[str, Any], reason: str
) -> Instance:
    """Answer the open review of that name."""
    waiting = reviews.waiting(unit.conn, reviews.ReviewFilter(instance_id=found.id, machine=application.name))
    review = next((one for one in waiting if one.name == name), None)
    if review is None:
        said = decision.replace("_", " ")
        raise NotPossible(f"application {found.id} is {found.state}, where {said!r} answers nothing; look at it again")
    reviews.decide(unit, review.id, decision, actor, answer=given, reason=reason)
    return unit.lock(found.id)


def _fire(unit: Unit, found: Instance, events: str | tuple[str, ...], actor: Actor, reason: str) -> Instance:
    return fire(unit, found.id, events, actor, reason=reason)
