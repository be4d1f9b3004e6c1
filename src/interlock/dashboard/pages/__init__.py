"""The pages, one file per subject."""

from fastapi import APIRouter

from interlock.dashboard.pages import (
    bulk,
    dead_letters,
    halting,
    instance,
    instances,
    login,
    machines,
    overview,
    reviews,
    running,
    watching,
)

PAGES: tuple[APIRouter, ...] = (
    login.router,
    overview.router,
    machines.router,
    reviews.router,
    instances.router,
    instance.router,
    bulk.router,
    dead_letters.router,
    halting.router,
    running.router,
    watching.router,
)
