"""Assisted submission: everything is prepared, and the person sends it."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.submission.adapter import Adapter
from interlock.apps.jobs.autoapply.submission.validation import problems_of
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Capabilities,
    FilledForm,
    Outcome,
    Problem,
)


class Assisted(Adapter):
    """The default for every site. It sends nothing."""

    name = "assisted"
    capabilities = Capabilities(read_form=True, prefill=True, needs_person=True)

    def __init__(self, note: str = "") -> None:
        self.note = note

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        """Only what is wrong in the packet: the person answers what is left open."""
        missing = {one.key for one in form.questions if form.packet.answers.get(one.key) in (None, "", [], ())}
        return tuple(one for one in problems_of(form) if one.question not in missing)

    async def submit(self, form: FilledForm, key: str) -> Outcome:
        return Blocked(BlockKind.PERSON, self.note or "this site takes applications by hand")
