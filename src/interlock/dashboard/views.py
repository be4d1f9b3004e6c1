"""Views: how an application shows its instances and its evidence to a person.

An application gives its registry a view for each machine (`Registry(machines, views={"contract": ContractView()})`).
It returns blocks, which are plain values; the pages draw them, so nothing of an application can break out of a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.engine import Instance, OpenReview, secrets
from interlock.engine.artifacts import Artifact
from interlock.engine.values import Unreadable
from interlock.machine import Registry

NAMES = ("title", "name", "subject", "company", "item", "content", "url", "file", "prompt")
SHORT = 80


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of evidence."""

    title: str
    kind: Literal["facts", "text", "quote", "json", "table", "artifact"] = "facts"
    rows: Sequence[tuple[str, str, float | None]] = ()
    """For facts: a name, a value, and how sure that is (0 to 100), if anybody knows."""
    text: str = ""
    marks: Sequence[tuple[int, int, str]] = ()
    """For text and quotes: parts to mark, from, to, and whether they are sure or doubtful."""
    value: Any = None
    """For JSON."""
    head: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    """For tables."""
    artifact: str = ""
    """The name of an artifact to show."""


@dataclass(frozen=True, slots=True)
class Looking:
    """What a view may look at."""

    instance: Instance
    review: OpenReview | None
    artifacts: Sequence[Artifact] = ()
    content: Callable[[str], bytes] = lambda digest: b""
    """The content of an artifact, by its hash."""


@dataclass(frozen=True, slots=True)
class View:
    """What everybody gets who brings nothing of their own; the root of what applications bring."""

    hidden: frozenset[str] = field(default_factory=frozenset)
    """Fields of the data that say nothing to a person."""

    def title(self, instance: Instance) -> str:
        """What people call it."""
        for name in NAMES:
            value = instance.shown_data.get(name)
            if isinstance(value, str) and 0 < len(value) <= SHORT and value.isprintable():
                return secrets.hide(value)
        return instance.key or f"{instance.machine} {str(instance.id)[-8:]}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        """Why a person is asked, in one line."""
        return review.title

    def desk(self, review: OpenReview, instance: Instance) -> str:
        """The address where this review is decided, if the application has a page of its own for it."""
        return ""

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        """Pages of the application's own about an instance: what each is called, and its address."""
        return ()

    def evidence(self, looking: Looking) -> list[Block]:
        """What a person should see before deciding."""
        found = []
        review = looking.review
        if review is not None and review.evidence:
            found.append(Block("What is known", rows=facts(review.evidence)))
        if rows := facts({n: v for n, v in looking.instance.shown_data.items() if n not in self.hidden}):
            found.append(Block("Data", rows=rows))
        found += [Block(a.name, kind="artifact", artifact=a.name) for a in looking.artifacts[-3:]]
        return found


def facts(values: Mapping[str, Any], before: str = "") -> list[tuple[str, str, float | None]]:
    """Nested values as rows that a person can read."""
    rows: list[tuple[str, str, float | None]] = []
    for name, value in secrets.shown(values).items():
        said = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += facts(value, f"{said} · ") if value else []
        elif isinstance(value, list):
            rows.append((said, ", ".join(map(str, value[:20])) + (" …" if len(value) > 20 else ""), None))
        elif value not in (None, ""):
            rows.append((said, "yes" if value is True else "no" if value is False else str(value), None))
    return rows[:60]


@dataclass(frozen=True, slots=True)
class ErasedView(View):
    """What is left to see where somebody's data was erased; an application's own view would look for that data."""

    def title(self, instance: Instance) -> str:
        return f"{instance.key or f'{instance.machine} {str(instance.id)[-8:]}'}, erased"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return "Its data was erased"

    def evidence(self, looking: Looking) -> list[Block]:
        return [Block("Its data", rows=[("erased", secrets.hide(looking.instance.erased), None)])]


@dataclass(frozen=True, slots=True)
class UnreadableView(View):
    """What is left to see where the row holds no data that can be read; an application's own view would look for it."""

    def title(self, instance: Instance) -> str:
        return f"{instance.key or f'{instance.machine} {str(instance.id)[-8:]}'}, unreadable"


PLAIN, ERASED, UNREADABLE = View(), ErasedView(), UnreadableView()


def view_of(registry: Registry, machine: str) -> View:
    """The application's own view of a machine, or the plain one."""
    found = registry.views.get(machine)
    return found if isinstance(found, View) else PLAIN


def view_for(registry: Registry, instance: Instance) -> View:
    """How this very instance is shown."""
    if isinstance(instance.shown_data, Unreadable):
        return UNREADABLE
    return ERASED if instance.erased else view_of(registry, instance.machine)
