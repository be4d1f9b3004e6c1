"""The profile's endpoints, and what a changed one would do."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.api import profile_exchange
from interlock.apps.jobs.finder.api.access import (
    Workspace,
    readable_workspace,
    router,
    writable_workspace,
)
from interlock.apps.jobs.finder.api.reason_answers import PreviewOut, ProfileOut
from interlock.apps.jobs.finder.records import profiles, what_if
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService
from interlock.http.waiting_slots import counted_for
from interlock.http.writing import Write


@router.get("/profile", summary="The profile", response_model=ProfileOut, responses=profile_exchange.RESPONSES)
async def get_profile(request: Request, service: TheService, who: Caller, workspace: Workspace = None) -> Response:
    """As JSON, or as YAML with `Accept: application/yaml`."""
    place = readable_workspace(who, workspace)
    found = await service.read(lambda conn: profiles.find(conn, place))
    if found is None:
        raise NotFound("there is no profile yet; PUT one here, as YAML or JSON")
    return profile_exchange.answer(request, found.profile, found.digest)


@router.put(
    "/profile", summary="Set the profile", response_model=ProfileOut, openapi_extra=profile_exchange.REQUEST_BODY
)
async def put_profile(request: Request, write: Write, workspace: Workspace = None) -> Response:
    """The body is YAML or JSON. A changed profile filters and scores the stored postings again."""
    place = writable_workspace(write.who, workspace)
    wanted = profile_exchange.read(request, await request.body())
    actor = write.who.actor_in(place)

    def store(unit: Unit) -> ProfileOut:
        intake.set_profile(unit, place, wanted, actor)
        return ProfileOut(profile_exchange.values(wanted))

    return await write(store, name="set_profile")


@router.post(
    "/profile/preview",
    summary="Preview a changed profile",
    response_model=PreviewOut,
    openapi_extra=profile_exchange.REQUEST_BODY,
)
async def preview_profile(request: Request, service: TheService, who: Caller, workspace: Workspace = None) -> Response:
    """Nothing is stored. Only the newest 2,000 open postings are checked, for at most 5 seconds."""
    place = readable_workspace(who, workspace)
    wanted = profile_exchange.read(request, await request.body())
    now = service.engine.clock.now()
    found = await service.heavy.run(
        request,
        counted_for(who),
        lambda stop: service.engine.read(lambda conn: what_if.what_if(conn, place, wanted, now, stopped=stop.is_set)),
    )
    return await service.answer(lambda: PreviewOut.of(found))
