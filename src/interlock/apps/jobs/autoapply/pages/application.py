"""The page of one application: its state, its packet exactly as it will be sent, and what the person decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.answers import Scope
from interlock.apps.jobs.autoapply.api.access import workspace_of_application
from interlock.apps.jobs.autoapply.api.reading import download, mail_draft
from interlock.apps.jobs.autoapply.followers import chosen_time
from interlock.apps.jobs.autoapply.machine import FAILED, PAUSED, READY_TO_SUBMIT, REQUIRES_REVIEW, WITHDRAWN
from interlock.apps.jobs.autoapply.models import FailureKind, ReviewReason
from interlock.apps.jobs.autoapply.packets import details
from interlock.apps.jobs.autoapply.packets.details import ApplicationDetails
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.pages.times import asked_time, field_of, zone_of
from interlock.apps.jobs.autoapply.planned import SCHEDULED
from interlock.apps.jobs.autoapply.records import logs
from interlock.apps.jobs.autoapply.review import by_hand, deciding, scheduling
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.pages.frame import JobsFrame, show
from interlock.apps.jobs.finder.pages.wording import web_address
from interlock.dashboard.forms import Done, Form, Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.engine import Instance, NotFound
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.machine import Actor
from interlock.store import moment

router = APIRouter(include_in_schema=False)
Workspace = Annotated[str, Query(max_length=200)]
LOGGED = 50
Do = Callable[[Unit, str, UUID, Actor, Form, str], Instance]
SCOPES = {
    Scope.EVERYWHERE.value: "everywhere",
    Scope.COMPANY.value: "this company",
    Scope.ONCE.value: "only here",
}


@router.get("/ui/jobs/applications/{id}")
async def application(v: Reader, id: UUID, workspace: Workspace = "") -> Response:
    """`workspace` may be named, as in all addresses of these pages; the application has its own."""
    settings = settings_in(v.service.engine.setting("jobs"))
    place = await v.service.read(lambda conn: workspace_of_application(conn, id, v.who))
    served = v.service.engine.core.served

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        found = details.whole(conn, place, id)
        machine = served.get((found.item.machine, found.item.version)) if found.item is not None else None
        timed = machine is not None and SCHEDULED in machine.states
        chosen, zone = chosen_time(_data(found)) if timed else None, zone_of(jobs)
        return {
            "found": found,
            "row": found.row,
            "data": _data(found),
            "needed": wording.needed(_data(found)) if found.row.status == REQUIRES_REVIEW else "",
            "may_do": may_do(found, timed=timed),
            "chosen": chosen,
            "chosen_field": field_of(chosen, zone) if chosen is not None else "",
            "zone": zone,
            "packet": _packet(conn, jobs, found, settings),
            "url": web_address(found.row.url),
            "confirmation": web_address(_data(found).get("confirmation_url")),
            "log": logs.page(conn, place, application=found.row.instance_id, limit=LOGGED)
            if found.row.instance_id is not None
            else [],
        }

    return await show(
        v,
        "application.html",
        place,
        read,
        folder="apply",
        kind_of_status=wording.kind_of,
        said_value=wording.said,
        scopes=SCOPES,
        sent_by=wording.sent_by,
        failures=[one.value for one in FailureKind],
        logged=LOGGED,
    )


def _data(found: ApplicationDetails) -> Mapping[str, Any]:
    return found.item.data if found.item is not None and not found.item.erased else {}


def may_do(found: ApplicationDetails, *, timed: bool = False) -> set[str]:
    """What a person can do with the application now. `timed` is whether its life cycle has chosen times."""
    item = found.item
    if item is None or item.erased or item.state == WITHDRAWN:
        return set()
    can = {"withdraw"}
    if item.state in deciding.UNDER_WAY or deciding.resumes_itself(item):
        can.add("pause")
    if item.state in (PAUSED, FAILED):
        can.add("resume")
    if timed and item.state in (*scheduling.BEFORE, READY_TO_SUBMIT):
        can.add("schedule")
    if item.state != REQUIRES_REVIEW:
        return can
    if item.data.get("review_reason") == ReviewReason.VERIFY_SUBMISSION:
        return can | {"verify"}
    can |= {"reject", "later", "answer"}
    if by_hand.is_by_hand(item):
        return can | {"by_hand"}
    return can | ({"approve", "schedule"} if timed else {"approve"})


def _packet(conn: sa.Connection, jobs: JobsFrame, found: ApplicationDetails, settings: Any) -> dict[str, Any] | None:
    """The packet with its texts in pieces; None while there is none."""
    if found.item is None or found.item.erased or not found.row.packet_hash:
        return None
    try:
        packet = details.packet(conn, jobs.workspace, found.row.id, settings)
    except NotFound:
        return None
    check = packet["claim_check"]
    packet["texts"] = [
        (name, wording.marked(packet[key] or "", check.get(part) or []))
        for name, key, part in (("Resume", "resume_text", "resume"), ("Letter", "letter_text", "letter"))
    ]
    packet["refused"] = [
        (part, wording.marked(one.get("text") or "", one.get("findings") or []))
        for part, one in packet["dropped"].items()
    ]
    packet["claims"] = [(part, one) for part, some in check.items() for one in some]
    packet["open"] = [one for one in packet["answers"] if one["answer"]["needs_user"]]
    hand = packet["hand_over"]
    packet["form_url"] = web_address(hand["url"]) if hand else None
    packet["by_mail"] = hand is not None and hand["adapter"] == "email_draft"
    if packet["by_mail"] and str(hand["url"]).startswith("mailto:"):
        packet["form_url"] = hand["url"]
    packet["copies"] = (hand["items"] if hand else None) or _usual(jobs, packet)
    return packet


def _usual(jobs: JobsFrame, packet: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What nearly every form asks for, to copy into one whose questions are unknown."""
    identity = jobs.stored.profile.identity if jobs.stored is not None else None
    known = {name: getattr(identity, name, None) for name in ("name", "email", "phone")} if identity else {}
    texts = [(name.capitalize(), value, None) for name, value in known.items() if value]
    texts.append(("Letter", packet["letter_text"], None))
    files = [(name, None, name) for name in ("resume.pdf", "letter.pdf") if name in packet["files"]]
    return [
        {"key": label, "label": label, "value": value, "file": file}
        for label, value, file in (*texts, *files)
        if value or file
    ]


@router.get("/ui/jobs/applications/{id}/files/{name}")
async def file(v: Reader, id: UUID, name: str) -> Response:
    """The newest file of that name, always as a download: it is made of what strangers wrote."""
    return await download(v.service, v.who, id, name)


@router.get("/ui/jobs/applications/{id}/draft.eml")
async def draft(v: Reader, id: UUID) -> Response:
    """The application as a mail, where the posting takes it by mail."""
    return await mail_draft(v.service, v.who, id)


# -- what a person decides


def _approve(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    return deciding.approve(unit, place, id, form["packet_hash"], actor, reason=reason)


def _open_form(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    return deciding.open_form(unit, place, id, actor)


def _submitted(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    proof = form.get("proof").strip()
    if len(proof) > 2000:
        raise BadRequest(f"the proof has {len(proof):,} characters; 2,000 are kept. Send the address of the page")
    return deciding.report(unit, place, id, "submitted", actor, proof=proof, reason=reason)


def _not_sent(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    kind = form["kind"]
    if kind not in list(FailureKind):
        raise BadRequest(f"{kind[:40]!r} is not a kind of failure; there are {', '.join(FailureKind)}")
    retry = form.get("retry") == "yes"
    return deciding.report(unit, place, id, "failed", actor, kind=kind, retry=retry, reason=reason)


def _schedule(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    at = moment(asked_time(unit.conn, place, form["at"]))
    packet = form.get("packet_hash") or None
    return scheduling.schedule(unit, place, id, at, actor, packet_hash=packet, reason=reason)


def _unschedule(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
    return scheduling.schedule(unit, place, id, None, actor, reason=reason)


def _plain(do: Callable[..., Instance]) -> Do:
    def run(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
        return do(unit, place, id, actor, reason=reason)

    return run


def _verify(arrived: bool) -> Do:
    def run(unit: Unit, place: str, id: UUID, actor: Actor, form: Form, reason: str) -> Instance:
        return deciding.verify(unit, place, id, arrived, actor, reason=reason)

    return run


ACTIONS: dict[str, tuple[str, Do]] = {
    "approve": ("Approved: exactly this packet is sent, once.", _approve),
    "reject": ("Rejected: it is withdrawn.", _plain(deciding.reject)),
    "later": ("Paused until you resume it.", _plain(deciding.later)),
    "pause": ("Paused.", _plain(deciding.pause)),
    "resume": ("Resumed.", _plain(deciding.resume)),
    "withdraw": ("Withdrawn.", _plain(deciding.withdraw)),
    "prepare": ("It is prepared again.", _plain(deciding.prepare_again)),
    "schedule": ("Kept: it is sent at that time.", _schedule),
    "unschedule": ("Kept: it is sent as soon as it is ready.", _unschedule),
    "open_form": ("The job is reserved for you until you report the outcome. Open the form and send it.", _open_form),
    "submitted": ("Saved: you submitted it.", _submitted),
    "failed": ("Saved: it failed.", _not_sent),
    "arrived": ("Saved: it arrived.", _verify(True)),
    "not_arrived": ("Saved: it did not arrive. It is tried again.", _verify(False)),
}
"""What a form may do → what is said then, and how."""


@router.post("/ui/jobs/applications/{id}")
async def act(form: Posted, id: UUID) -> Response:
    wanted = form["do"]
    if wanted not in ACTIONS:
        raise BadRequest(f"{wanted[:40]!r} cannot be done with an application; there are {', '.join(ACTIONS)}")
    words, do = ACTIONS[wanted]
    place, actor = await _mine(form.v, id)
    reason = " ".join(form.get("reason").split())[:300]

    def job(unit: Unit) -> Done:
        do(unit, place, id, actor, form, reason)
        return Done(said=words)

    return await form.do(job, "fire")


@router.post("/ui/jobs/applications/{id}/answers")
async def answer(form: Posted, id: UUID) -> Response:
    """Answers to questions of the form. A question that is left empty stays open."""
    place, actor = await _mine(form.v, id)
    given = _given(form)
    if not given:
        raise BadRequest("no question is answered; answer at least one")

    def job(unit: Unit) -> Done:
        deciding.answer(unit, place, id, given, actor)
        some = f"{len(given)} answer{'' if len(given) == 1 else 's'}"
        return Done(said=f"Remembered: {some}. The packet is prepared again with them.")

    return await form.do(job, "fire")


def _given(form: Form) -> list[deciding.Given]:
    """The form names its questions by numbers: a key may be anything."""
    found = []
    for number, key in enumerate(form.many.get("question", ())):
        values = [one.strip() for one in form.many.get(f"value-{number}", ()) if one.strip()]
        scope = form.get(f"scope-{number}", Scope.EVERYWHERE.value)
        if scope not in SCOPES:
            raise BadRequest(f"{scope[:40]!r} is not a scope; there are {', '.join(SCOPES)}")
        if values:
            found.append(deciding.Given(key, tuple(values) if len(values) > 1 else values[0], Scope(scope)))
    return found


async def _mine(v: Visitor, id: UUID) -> tuple[str, Actor]:
    """The application's workspace, if the reader may change it. It does not exist for readers elsewhere."""
    place = await v.service.read(lambda conn: workspace_of_application(conn, id, v.who, write=True))
    return place, v.who.actor_in(place)
