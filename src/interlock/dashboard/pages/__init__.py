"""The pages, one file a subject."""

from fastapi import APIRouter

from interlock.dashboard.pages import login, overview, reviews, running, watching

PAGES: tuple[APIRouter, ...] = (login.router, overview.router, reviews.router, running.router, watching.router)
