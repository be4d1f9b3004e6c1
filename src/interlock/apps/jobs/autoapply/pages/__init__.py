"""Pages of auto-apply: applications with their packets, rules, the board, answers, numbers, and the person's data."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from interlock.apps.jobs.autoapply.pages import (
    answers,
    application,
    applications,
    board,
    calendar,
    numbers,
    posting_form,
    rules,
    seeker_data,
    today,
)
from interlock.apps.jobs.finder.pages import posting
from interlock.apps.jobs.finder.pages import today as day
from interlock.dashboard.site import bring

bring("apply", "interlock.apps.jobs.autoapply.pages")
day.SECTIONS.append(day.Section(today.today, "apply/today_main.html", "apply/today_side.html", "apply/apply.css"))

posting.SECTIONS.append(posting.Section(posting_form.form_of_posting, "apply/posting_side.html", "apply/apply.css"))

routers: Sequence[APIRouter] = tuple(
    one.router for one in (applications, application, rules, board, calendar, answers, numbers, seeker_data)
)

__all__ = ["routers"]
