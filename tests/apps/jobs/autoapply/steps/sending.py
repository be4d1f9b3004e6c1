"""An applicant whose matches are openings of the demo world: from the match to the application that arrived."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from interlock.apps.jobs import registry
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.engine import OpenReview
from interlock.machine import Actor
from interlock.store import Store
from interlock.testing import Trial
from tests.apps.jobs.autoapply.applicant import ANN, Applicant
from tests.apps.jobs.finder.seekers import NOW

AUTHORISED = "Are you legally authorised to work in the United States?"
PERSON: dict[str, Any] = {
    "identity": {"name": "Mika Sand", "email": "mika@sand.example", "phone": "+1 503 555 0100"},
    "work_authorisation": ["US"],
}


class WorldApplicant(Applicant):
    """An applicant, and the world to which the applications go."""

    def __init__(self, trial: Trial, world: World) -> None:
        super().__init__(trial)
        self.world, self.ann = world, ANN

    def opening(self, key: str = "booking-backend", company: str = "tidewater", **said: Any) -> UUID:
        """A match with the address of an opening; by default all of them are at different companies."""
        return self.finder.settled(f"{self.world.url}/{company}/jobs/{key}", **{"company": f"Co {key}", **said})

    def apply(self, posting: UUID | None = None, **options: Any) -> UUID:
        """Choose a posting, and let everything that is ready happen."""
        made = self.choose(posting or self.opening(), **options)
        self.trial.run_until_idle()
        return made

    def reviews(self, it: UUID) -> dict[str, OpenReview]:
        return {one.name: one for one in self.engine.reviews.waiting(instance_id=it)}

    def decide(self, it: UUID, name: str, decision: str, *, by: Actor = ANN, **answer: Any) -> None:
        self.engine.reviews.decide(self.reviews(it)[name].id, decision, actor=by, answer=answer)
        self.trial.run_until_idle()

    def approve(self, it: UUID) -> None:
        self.decide(it, "requires_review", "approve", approved_packet=self.trial.data(it)["packet_hash"])

    @property
    def arrived(self) -> list[dict[str, Any]]:
        return self.world.received.list()


def settings_for(host: str, *, planned: bool = False, **settings: Any) -> JobsSettings:
    """Settings with which the demo world at that host takes applications."""
    return JobsSettings(
        private_hosts=[host],
        rate=0,
        timeout=5,
        **{"autoapply": {"demo_host": host, "submit_timeout": 5, "planned": planned}, **settings},
    )


@contextmanager
def open_world_applicant(
    store: Store, world: World, *, planned: bool = False, **settings: Any
) -> Iterator[WorldApplicant]:
    """With `planned`, new applications get version 2 of the machine."""
    given = settings_for(world.host, planned=planned, **settings)
    with Trial(registry.configured({"jobs": given}), store=store, start=NOW, settings={"jobs": given}) as trial:
        made = WorldApplicant(trial, world)
        made.profile(**PERSON)
        yield made
