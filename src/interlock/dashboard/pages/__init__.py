"""The pages, one file a subject."""

from fastapi import APIRouter

from interlock.dashboard.pages import login, machines, overview, reviews, running, watching

PAGES: tuple[APIRouter, ...] = (
    login.router,
    overview.router,
    machines.router,
    reviews.router,
    running.router,
    watching.router,
)
