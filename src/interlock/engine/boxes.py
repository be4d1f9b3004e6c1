"""The engine's boxes for people: reviews to decide, dead letters to deal with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from interlock.engine import deadletters, reviews
from interlock.engine.instance import Instance
from interlock.machine import Actor

if TYPE_CHECKING:
    from interlock.engine.engine import Engine


class Reviews:
    """Everything that waits for a person's decision."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def waiting(
        self, *, workspace: str | None = None, instance_id: UUID | None = None, limit: int = 100
    ) -> list[reviews.OpenReview]:
        """Open ones, the most urgent first."""
        return self._engine.read(
            lambda conn: reviews.waiting(
                conn, reviews.Wanted(workspace=workspace, instance_id=instance_id), limit=limit
            )
        )

    def get(self, review_id: UUID) -> reviews.OpenReview:
        return self._engine.read(lambda conn: reviews.get(conn, review_id))

    def claim(self, review_id: UUID, *, actor: Actor, length: timedelta = reviews.CLAIM_FOR) -> reviews.OpenReview:
        """Tell others that this person is at it."""
        return self._engine.write(lambda unit: reviews.claim(unit, review_id, actor, length=length), name="review")

    def decide(
        self,
        review_id: UUID,
        decision: str,
        *,
        actor: Actor,
        answer: Mapping[str, Any] | None = None,
        reason: str = "",
        expected_seq: int | None = None,
    ) -> reviews.OpenReview:
        """Decide; AlreadyDecided when somebody was first."""
        return self._engine.write(
            lambda unit: reviews.decide(
                unit, review_id, decision, actor, answer=answer, reason=reason, expected_seq=expected_seq
            ),
            name="review",
        )


class DeadLetters:
    """Everything that failed for good."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(
        self, where: deadletters.Filter | None = None, *, status: str = "open", limit: int = 100
    ) -> list[deadletters.DeadLetter]:
        chosen = where or deadletters.Filter()
        return self._engine.read(lambda conn: deadletters.find(conn, chosen, status=status, limit=limit))

    def get(self, letter_id: UUID) -> deadletters.DeadLetter:
        return self._engine.read(lambda conn: deadletters.get(conn, letter_id))

    def retry(self, letter_id: UUID, *, actor: Actor, reason: str = "") -> Instance:
        """Do the failed step again; the instance that does it."""
        return self._engine.write(
            lambda unit: deadletters.retry(unit, letter_id, actor, reason=reason), name="dead_letter"
        )

    def resolve(self, letter_id: UUID, *, actor: Actor, note: str = "") -> deadletters.DeadLetter:
        """It was put right elsewhere."""
        return self._engine.write(
            lambda unit: deadletters.close(unit, letter_id, "resolved", actor, note=note), name="dead_letter"
        )

    def discard(self, letter_id: UUID, *, actor: Actor, note: str = "") -> deadletters.DeadLetter:
        """It is not worth doing."""
        return self._engine.write(
            lambda unit: deadletters.close(unit, letter_id, "discarded", actor, note=note), name="dead_letter"
        )

    def many(
        self, action: str, where: deadletters.Filter, *, actor: Actor, note: str = "", limit: int = 100
    ) -> list[UUID]:
        """Retry, resolve or discard those that match; an empty filter is refused."""
        return self._engine.write(
            lambda unit: deadletters.many(unit, action, where, actor, note=note, limit=limit), name="dead_letter"
        )
