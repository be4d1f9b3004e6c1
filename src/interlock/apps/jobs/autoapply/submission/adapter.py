"""What every way of submitting does: read the form, check what would be sent, and send it once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from interlock.apps.jobs.autoapply.answers import form_of
from interlock.apps.jobs.autoapply.submission.validation import problems_of
from interlock.apps.jobs.autoapply.submission.values import (
    Capabilities,
    FilledForm,
    HandOver,
    HandOverItem,
    Outcome,
    Problem,
)
from interlock.apps.jobs.finder.postings.posting import Posting, Question


class Adapter(ABC):
    """One way of submitting. `adapter_for` chooses it for a posting.

    `submit` returns an outcome once a byte may have left, and raises SiteUnreachable only when none has. It never sends
    twice by itself. What a site answers is data: it is shortened, cleaned, and obeyed in nothing.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    note: str = ""
    """Why this adapter was chosen and not a better one; shown to the user."""

    async def form(self, posting: Posting) -> tuple[Question, ...]:
        """The questions of the posting's form in their order, as far as they can be known."""
        return form_of(posting)

    def validate(self, form: FilledForm) -> tuple[Problem, ...]:
        """What would keep the form from being accepted, as far as it can be known before it is sent."""
        return problems_of(form)

    @abstractmethod
    async def submit(self, form: FilledForm, key: str) -> Outcome:
        """Send the application once. `key` is the idempotency key of the effect."""

    def hand_over(self, form: FilledForm) -> HandOver:
        """What a person copies and uploads to send the same packet by hand."""
        items = []
        for question in form.questions:
            value = form.packet.answers.get(question.key)
            if question.type == "file":
                name = value if isinstance(value, str) and value in form.files else None
                items.append(HandOverItem(question, None, name))
            else:
                items.append(HandOverItem(question, shown(value)))
        return HandOver(form.posting.apply_url or form.posting.url, tuple(items), self.note)


def shown(value: object) -> str | None:
    """An answer as a person types it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list | tuple):
        return "; ".join(str(one) for one in value)
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
