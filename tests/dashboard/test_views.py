"""Views of applications: one that raises hides nothing of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from interlock.dashboard.views import SafeView, View
from interlock.engine import Instance, OpenReview


class Raising(View):
    def leads(self, review: OpenReview, instance: Instance) -> dict[str, str]:
        raise ValueError(review)


class Saying(View):
    def leads(self, review: OpenReview, instance: Instance) -> dict[str, str]:
        return {"allow": "it goes on"}


def test_what_decisions_lead_to_is_asked_of_the_own_view() -> None:
    review, instance = cast(Any, None), cast(Any, SimpleNamespace(machine="m", id="i"))
    assert SafeView(own=Saying()).leads(review, instance) == {"allow": "it goes on"}
    assert SafeView(own=Raising()).leads(review, instance) == {}
