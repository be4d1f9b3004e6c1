"""What the form of a posting would ask, and what in it may reject the person: shown before work is spent on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.answers import form_of
from interlock.apps.jobs.autoapply.packets.form import context_of, fill
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.records import answers, applications
from interlock.apps.jobs.autoapply.submission import adapter_for
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.pages.cards import Card
from interlock.apps.jobs.finder.pages.frame import JobsFrame
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.store import moment


def form_of_posting(conn: sa.Connection, jobs: JobsFrame, card: Card) -> Mapping[str, Any]:
    """The application for the posting if there is one, and its questions as far as they are known without the site."""
    rows = applications.page(conn, jobs.workspace, posting=card.row.id, limit=1)
    found: dict[str, Any] = {
        "apply_row": rows[0] if rows else None,
        "apply_form": None,
        "kind_of_status": wording.kind_of,
    }
    if jobs.stored is None:
        return found
    posting = card.posting
    adapter = adapter_for(posting, settings_in(jobs.v.service.engine.setting("jobs")))
    context = context_of(posting, moment(jobs.v.now), None)
    bank = answers.bank(conn, jobs.workspace)
    form = fill(form_of(posting), ReadPosting(posting), jobs.stored.profile, bank, context)
    return {
        **found,
        "apply_form": form,
        "apply_sent_by": wording.sent_by(adapter.name),
        "apply_note": adapter.note,
    }
