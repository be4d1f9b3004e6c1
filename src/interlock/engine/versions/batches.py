"""Goes through all instances of a machine in batches, and reports what was done, what was not, and why.

Each batch is a transaction of its own. Instances that workers have claimed are left alone and tried again in the next
round. Those that do not fit stay as they are and do not stop the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import error_details
from interlock.engine.attempt import try_item
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.engine.versions.adapting import Adapted, ReviewChange, Route, Unfit

EXAMPLES = 3
Progress = Callable[[int], None]
"""Called with the number of instances that were looked at since the last call."""


@dataclass(slots=True)
class Refusal:
    """Why instances stay as they are, with examples."""

    count: int = 0
    examples: list[tuple[UUID, str]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What was done, or would be."""

    moved: Counter[tuple[int, str, int, str]] = field(default_factory=Counter)
    """Moved, by version and state before and after."""
    busy: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Left alone for now, because workers have claimed them, by version and state."""
    refused: dict[tuple[int, str, str], Refusal] = field(default_factory=dict)
    """Not moved, by version, state and reason."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many gain, lose or change a field of their data, by kind of change and field."""
    timers: Counter[tuple[str, str]] = field(default_factory=Counter)
    reviews: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: bool = False
    """Whether it was stopped before the end. What was done stays done."""

    @property
    def refusals(self) -> int:
        return sum(trouble.count for trouble in self.refused.values())

    @property
    def seen(self) -> int:
        """How many instances were read."""
        return self.moved.total() + self.busy.total() + self.refusals

    def as_values(self) -> dict[str, list[dict[str, Any]]]:
        """The report as plain values."""
        return {
            "moved": [
                {"from_version": a, "from": s, "to_version": b, "to": u, "count": n}
                for (a, s, b, u), n in sorted(self.moved.items())
            ],
            "busy": [{"version": v, "state": s, "count": n} for (v, s), n in sorted(self.busy.items())],
            "refused": [
                {
                    "version": v,
                    "state": s,
                    "reason": reason,
                    "count": trouble.count,
                    "examples": [{"instance": str(i), "detail": detail} for i, detail in trouble.examples],
                }
                for (v, s, reason), trouble in sorted(self.refused.items())
            ],
            "fields": [{"field": f, "what": what, "count": n} for (what, f), n in sorted(self.fields.items())],
            "timers": [{"state": s, "change": change, "count": n} for (s, change), n in sorted(self.timers.items())],
            "reviews": [{"state": s, "what": what, "count": n} for (s, what), n in sorted(self.reviews.items())],
        }

    def refuse(self, instance: Instance, reason: str, detail: str) -> None:
        trouble = self.refused.setdefault((instance.version, instance.state, reason), Refusal())
        trouble.count += 1
        if len(trouble.examples) < EXAMPLES:
            trouble.examples.append((instance.id, detail))

    def note(self, route: Route, instance: Instance, adapted: Adapted, questions: Sequence[ReviewChange]) -> None:
        self.moved[instance.version, instance.state, route.to.number, adapted.state] += 1
        for name in adapted.sets:
            self.fields["changed" if name in instance.data else "added", name] += 1
        for name in adapted.gone:
            self.fields["removed", name] += 1
        if adapted.timers:
            self.timers[adapted.state, adapted.timers] += 1
        for one in questions:
            self.reviews[adapted.state, one.what] += 1


def run_batches(
    some: Callable[..., UUID | None],
    run: Callable[..., Any],
    states: Sequence[str],
    patience: float,
    progress: Progress,
    look: Callable[[], Report] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Run all batches of all states, and again while workers have claimed some or others have moved some.

    `look` finds what is left to do, and so whether a batch has missed rows that others were writing. Without it there
    is one round. `stopping` is called after each batch.
    """
    done = Report()
    deadline, wait = time.monotonic() + patience, 0.05
    while True:
        before = done.moved.total()
        done.busy.clear()
        done.refused.clear()
        for state in states:
            after: UUID | None = None
            while True:
                part, after = run(partial(_fresh, some, state=state, after=after))
                _add(done, part)
                progress(part.seen)
                if stopping():
                    done.stopped = True
                    return done
                if after is None:
                    break
        if look is None or (done.busy and time.monotonic() >= deadline):
            return done
        if not done.busy and done.moved.total() == before and look().moved.total() <= done.refusals:
            return done
        if done.busy:
            time.sleep(wait)
            wait = min(wait * 2, 2.0)


def _fresh(
    some: Callable[..., UUID | None], given: Unit | sa.Connection, state: str, after: UUID | None
) -> tuple[Report, UUID | None]:
    """A new report for each try, because a transaction may run twice."""
    part = Report()
    return part, some(given, state, after, part)


def _add(total: Report, part: Report) -> None:
    total.moved += part.moved
    total.busy += part.busy
    total.fields += part.fields
    total.timers += part.timers
    total.reviews += part.reviews
    for place, trouble in part.refused.items():
        known = total.refused.setdefault(place, Refusal())
        known.count += trouble.count
        known.examples += trouble.examples[: EXAMPLES - len(known.examples)]


def lock_batch(unit: Unit, query: sa.Select[Any], batch: int) -> tuple[list[Instance], UUID | None]:
    """A locked batch, and where the next one begins."""
    rows = unit.conn.execute(query.with_for_update()).all()
    return unit.adopt(rows), rows[-1].id if len(rows) == batch else None


def try_one(unit: Unit, instance: Instance, report: Report, do: Callable[[Unit, Instance], None]) -> None:
    """Do it completely or not at all, unless a worker has claimed it. A problem of one does not stop the others."""
    if instance.holder is not None:
        report.busy[instance.version, instance.state] += 1
        return
    place = copy(instance)
    if error := try_item(unit, instance, do):
        reason = error.reason if isinstance(error, Unfit) else f"{type(error).__name__} on the way"
        report.refuse(place, reason, error_details.message_of(error))
