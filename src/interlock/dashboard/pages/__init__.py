"""The pages, one file per subject."""

from fastapi import APIRouter

from interlock.dashboard.pages import (
    alerts,
    audit,
    bulk,
    costs,
    dead_letters,
    flow,
    halting,
    instance,
    instance_actions,
    instances,
    login,
    machines,
    operations,
    overview,
    reviews,
    settings,
)

PAGES: tuple[APIRouter, ...] = (
    login.router,
    overview.router,
    machines.router,
    flow.router,
    reviews.router,
    instances.router,
    instance.router,
    instance_actions.router,
    bulk.router,
    dead_letters.router,
    halting.router,
    operations.router,
    alerts.router,
    costs.router,
    audit.router,
    settings.router,
)
