"""Endpoints that list and show applications, decisions, logs and numbers."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.answers import contradictions
from interlock.apps.jobs.autoapply.api.access import endpoint, workspace_of_application
from interlock.apps.jobs.autoapply.api.answers import (
    ApplicationOut,
    ApplicationsOut,
    DecisionOut,
    DecisionsOut,
    LogOut,
    LogsOut,
    MetricsOut,
    PacketOut,
    SavedAnswerOut,
    SavedAnswersOut,
    WholeApplicationOut,
)
from interlock.apps.jobs.autoapply.packets import details
from interlock.apps.jobs.autoapply.planned import planned
from interlock.apps.jobs.autoapply.records import answers, applications, artifacts, decisions, logs, seekers
from interlock.apps.jobs.autoapply.records.numbers import numbers
from interlock.apps.jobs.finder.api.access import Workspace, readable_workspace
from interlock.apps.jobs.finder.intake import settings_in
from interlock.engine import NotFound
from interlock.engine import artifacts as contents
from interlock.http.caller import Caller, TheService
from interlock.http.problems import BadRequest

Limit = Annotated[int, Query(ge=1, le=500)]
After = Annotated[UUID | None, Query(description="`next` of the page before.")]
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
STATUSES = frozenset(planned.states)


def whole(conn: sa.Connection, workspace: str, id: UUID) -> WholeApplicationOut:
    """An application with its files."""
    found = details.whole(conn, workspace, id)
    return WholeApplicationOut.whole(found.row, found.item, found.files, found.outdated)


@endpoint("GET", "/applications", summary="List applications", response_model=ApplicationsOut)
async def list_applications(
    service: TheService,
    who: Caller,
    status: Annotated[list[str] | None, Query(max_length=20)] = None,
    rule_id: UUID | None = None,
    posting_id: UUID | None = None,
    q: Annotated[str, Query(max_length=200, description="Words of title and company.")] = "",
    after: After = None,
    limit: Limit = 100,
    workspace: Workspace = None,
) -> ApplicationsOut:
    """The newest first."""
    place = readable_workspace(who, workspace)
    for one in status or ():
        if one not in STATUSES:
            raise BadRequest(f"{one[:50]!r} is not a status; there are {', '.join(sorted(STATUSES))}")

    def read(conn: sa.Connection) -> ApplicationsOut:
        rows = applications.page(
            conn, place, statuses=status, rule=rule_id, posting=posting_id, q=q, after=after, limit=limit + 1
        )
        return ApplicationsOut(
            applications=[ApplicationOut.of(one) for one in rows[:limit]],
            next=rows[limit - 1].id if len(rows) > limit else None,
            counts=applications.counts(conn, place),
            stopped=seekers.stopped(conn, place) is not None,
        )

    return await service.read(read)


@endpoint("GET", "/applications/{id}", summary="Show an application", response_model=WholeApplicationOut)
async def show_application(service: TheService, who: Caller, id: UUID) -> WholeApplicationOut:
    def read(conn: sa.Connection) -> WholeApplicationOut:
        return whole(conn, workspace_of_application(conn, id, who), id)

    return await service.read(read)


@endpoint("GET", "/applications/{id}/packet", summary="Show a packet", response_model=PacketOut)
async def show_packet(service: TheService, who: Caller, id: UUID) -> PacketOut:
    """Everything as it will be sent, with the claim check, the knock-outs and the form in its order."""
    settings = settings_in(service.engine.setting("jobs"))

    def read(conn: sa.Connection) -> PacketOut:
        place = workspace_of_application(conn, id, who)
        return PacketOut(**details.packet(conn, place, id, settings))

    return await service.read(read)


@endpoint(
    "GET",
    "/applications/{id}/draft.eml",
    summary="The application as a mail",
    response_class=Response,
    responses={200: {"content": {"message/rfc822": {}}}},
)
async def mail_draft(service: TheService, who: Caller, id: UUID) -> Response:
    """For postings that take applications by mail: a draft with the letter and the files. Nothing is sent."""
    settings = settings_in(service.engine.setting("jobs"))

    def read(conn: sa.Connection) -> bytes:
        return details.draft(conn, workspace_of_application(conn, id, who), id, settings)

    return _as_file(await service.read(read), "message/rfc822", "application.eml")


@endpoint(
    "GET", "/applications/{id}/artifacts/{name}", summary="A file of a packet", response_class=Response, responses=FILE
)
async def download(service: TheService, who: Caller, id: UUID, name: str) -> Response:
    """The newest file of that name."""

    def read(conn: sa.Connection) -> tuple[artifacts.ArtifactRow, bytes]:
        workspace_of_application(conn, id, who)
        found = [one for one in artifacts.of(conn, id) if one.name == name]
        if not found:
            raise NotFound(f"application {id} has no file {name[:80]!r}")
        return found[-1], contents.read(conn, id, found[-1].hash)

    row, content = await service.read(read)
    return _as_file(content, row.media_type, row.name)


def _as_file(content: bytes, media_type: str, name: str) -> Response:
    """Always served as a download, because its content comes from outside."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(content, media_type=media_type, headers=headers)


@endpoint("GET", "/decisions", summary="List decisions of rules", response_model=DecisionsOut)
async def list_decisions(
    service: TheService,
    who: Caller,
    rule_id: UUID | None = None,
    posting_id: UUID | None = None,
    taken: bool | None = None,
    blocked_by: Annotated[str | None, Query(max_length=50, description="The name of a check.")] = None,
    after: After = None,
    limit: Limit = 100,
    workspace: Workspace = None,
) -> DecisionsOut:
    """With every check, also for postings that were not selected; the newest first."""
    place = readable_workspace(who, workspace)

    def read(conn: sa.Connection) -> DecisionsOut:
        rows = decisions.page(
            conn,
            place,
            rule=rule_id,
            posting=posting_id,
            taken=taken,
            blocked_by=blocked_by,
            after=after,
            limit=limit + 1,
        )
        return DecisionsOut(
            decisions=[DecisionOut.of(one) for one in rows[:limit]],
            next=rows[limit - 1].id if len(rows) > limit else None,
        )

    return await service.read(read)


@endpoint("GET", "/logs", summary="The log", response_model=LogsOut)
async def list_logs(
    service: TheService,
    who: Caller,
    application_id: UUID | None = None,
    rule_id: UUID | None = None,
    status: Annotated[str | None, Query(max_length=50)] = None,
    after: After = None,
    limit: Limit = 100,
    workspace: Workspace = None,
) -> LogsOut:
    """Every transition with who, when, why and the trace; the newest first."""
    place = readable_workspace(who, workspace)

    def read(conn: sa.Connection) -> LogsOut:
        rows = logs.page(
            conn, place, application=application_id, rule=rule_id, status=status, after=after, limit=limit + 1
        )
        return LogsOut(
            logs=[LogOut.of(one) for one in rows[:limit]], next=rows[limit - 1].id if len(rows) > limit else None
        )

    return await service.read(read)


@endpoint("GET", "/metrics", summary="The numbers of the last 24 hours", response_model=MetricsOut)
async def show_metrics(service: TheService, who: Caller, workspace: Workspace = None) -> MetricsOut:
    place = readable_workspace(who, workspace)
    now = service.engine.clock.now()
    found = await service.read(lambda conn: numbers(conn, now, place))
    return MetricsOut(**found.json())


@endpoint("GET", "/answers", summary="Saved answers", response_model=SavedAnswersOut)
async def list_answers(service: TheService, who: Caller, workspace: Workspace = None) -> SavedAnswersOut:
    """What you answered to questions of forms, with its scope and uses, and answers that contradict each other."""
    place = readable_workspace(who, workspace)
    rows = await service.read(lambda conn: answers.page(conn, place))
    against = contradictions([one.answer for one in rows])
    return SavedAnswersOut(
        answers=[SavedAnswerOut.of(one) for one in rows],
        contradictions=[
            {"subject": one.subject, "values": [str(saved.value) for saved in one.answers]} for one in against
        ],
    )
