"""Endpoints of rules: list, show, add, change and delete them, and preview which stored matches one would select."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from interlock.apps.jobs.autoapply.api.access import endpoint, workspace_of_rule
from interlock.apps.jobs.autoapply.api.answers import RuleOut, RulesOut
from interlock.apps.jobs.autoapply.api.bodies import RuleBody, RuleChange
from interlock.apps.jobs.autoapply.queueing import rule_changes
from interlock.apps.jobs.autoapply.records import decisions, rules
from interlock.apps.jobs.finder.api.access import Workspace, readable_workspace, writable_workspace
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService
from interlock.http.waiting_slots import counted_for
from interlock.http.writing import Write


@endpoint("GET", "/rules", summary="List rules", response_model=RulesOut)
async def list_rules(service: TheService, who: Caller, workspace: Workspace = None) -> RulesOut:
    place = readable_workspace(who, workspace)
    found = await service.read(lambda conn: rules.of(conn, place))
    return RulesOut(rules=[RuleOut.of(one) for one in found])


@endpoint("POST", "/rules", summary="Add a rule", response_model=RuleOut, status_code=201)
async def add_rule(write: Write, body: RuleBody) -> Response:
    """A rule decides at once, unless it is `paused`."""
    place = writable_workspace(write.who, body.workspace)
    wanted = rule_changes.checked(body.rule)
    actor = write.who.actor_in(place)
    return await write(
        lambda unit: RuleOut.of(rule_changes.add(unit, place, wanted, actor)), status=201, name="write_rule"
    )


@endpoint("GET", "/rules/{id}", summary="Show a rule", response_model=RuleOut)
async def show_rule(service: TheService, who: Caller, id: UUID) -> RuleOut:
    def read(conn: sa.Connection) -> RuleOut:
        place = workspace_of_rule(conn, id, who)
        return RuleOut.of(rules.existing(conn, place, id), decisions.blocked_counts(conn, id))

    return await service.read(read)


@endpoint("PUT", "/rules/{id}", summary="Replace a rule", response_model=RuleOut)
async def put_rule(write: Write, id: UUID, body: RuleChange) -> Response:
    """A criterion that is left out excludes nothing any more."""
    wanted = rule_changes.checked(body.rule)

    def put(unit: Unit) -> RuleOut:
        place = workspace_of_rule(unit.conn, id, write.who, write=True)
        return RuleOut.of(rule_changes.replace(unit, place, id, wanted, write.who.actor_in(place)))

    return await write(put, name="write_rule")


@endpoint("PATCH", "/rules/{id}", summary="Change a rule", response_model=RuleOut)
async def patch_rule(write: Write, id: UUID, body: RuleChange) -> Response:
    """Only the named criteria are changed."""

    def patch(unit: Unit) -> RuleOut:
        place = workspace_of_rule(unit.conn, id, write.who, write=True)
        before = rules.plain(rules.existing(unit.conn, place, id).rule)
        wanted = rule_changes.checked({**before, **body.rule})
        return RuleOut.of(rule_changes.replace(unit, place, id, wanted, write.who.actor_in(place)))

    return await write(patch, name="write_rule")


class DeletedOut(BaseModel):
    deleted: bool = True


@endpoint("DELETE", "/rules/{id}", summary="Delete a rule", response_model=DeletedOut)
async def delete_rule(write: Write, id: UUID) -> Response:
    """Its applications stay and continue."""

    def delete(unit: Unit) -> DeletedOut:
        place = workspace_of_rule(unit.conn, id, write.who, write=True)
        rules.delete(unit, place, id, write.who.actor_in(place).name)
        return DeletedOut()

    return await write(delete, name="write_rule")


class PreviewOut(BaseModel):
    """Which matches a rule would select by its criteria, why not the others, and what each criterion alone excludes."""

    looked_at: int
    taken: list[dict[str, Any]]
    not_taken: list[dict[str, Any]]
    blocked_by: dict[str, int]
    only_by: dict[str, int]


@endpoint("POST", "/rules/preview", summary="Preview a rule", response_model=PreviewOut)
async def preview_rule(request: Request, service: TheService, who: Caller, body: RuleBody) -> Response:
    """Nothing is stored. Only the best 1,000 open matches are checked."""
    place = readable_workspace(who, body.workspace)
    wanted = rule_changes.checked(body.rule)
    found = await service.heavy.run(
        request,
        counted_for(who),
        lambda stop: service.engine.read(
            lambda conn: rule_changes.preview_of(conn, place, wanted, stopped=stop.is_set)
        ),
    )
    return await service.answer(lambda: PreviewOut(**found))
