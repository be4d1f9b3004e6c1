"""Views: how an application presents its instances and evidence to people.

An application registers a view for each machine (`Registry(machines, views={"parcel": ParcelView()})`). A view
returns blocks of plain values, and the pages draw them, so that nothing can break out of a page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.engine import Instance, OpenReview, secrets
from interlock.engine.artifacts import Artifact
from interlock.engine.values import Unreadable
from interlock.machine import Registry
from interlock.store import StoreError

log = logging.getLogger("interlock.dashboard")
NAMES = ("title", "name", "subject", "company", "item", "content", "filename", "url", "file", "prompt")
SHORT = 80


@dataclass(frozen=True, slots=True)
class Block:
    """One block of evidence."""

    title: str
    kind: Literal["facts", "text", "quote", "json", "table", "artifact"] = "facts"
    rows: Sequence[tuple[str, str, float | None]] = ()
    """For facts: a name, a value, and a confidence from 0 to 100, if known."""
    text: str = ""
    marks: Sequence[tuple[int, int, str]] = ()
    """For text and quotes: marks as (from, to, sure or doubtful)."""
    value: Any = None
    """For JSON."""
    head: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    """For tables."""
    artifact: str = ""
    """The name of an artifact to link."""


@dataclass(frozen=True, slots=True)
class ViewContext:
    """What a view may read to build its evidence."""

    instance: Instance
    review: OpenReview | None
    artifacts: Sequence[Artifact] = ()
    content: Callable[[str], bytes] = lambda digest: b""
    """Reads the content of an artifact by its hash."""


@dataclass(frozen=True, slots=True)
class View:
    """The default view, and the base class of applications' views."""

    hidden: frozenset[str] = field(default_factory=frozenset)
    """Data fields that are not shown to people."""

    def title(self, instance: Instance) -> str:
        """The title of an instance."""
        for name in NAMES:
            value = instance.shown_data.get(name)
            if isinstance(value, str) and 0 < len(value) <= SHORT and value.isprintable():
                return secrets.hide(value)
        return instance.key or unnamed(instance)

    def key(self, instance: Instance) -> str:
        """The business key as lists show it; empty where it says nothing to people, such as a hash."""
        return instance.key or ""

    def review_title(self, review: OpenReview, instance: Instance) -> str:
        """The title of an instance in the inbox, where it must not say what the reviewer is asked."""
        return self.title(instance)

    def summary(self, review: OpenReview, instance: Instance) -> str:
        """Why a person is asked, in one line."""
        return review.title

    def review_page(self, review: OpenReview, instance: Instance) -> str:
        """The URL of the application's own page for this review; empty if it has none."""
        return ""

    def leads(self, review: OpenReview, instance: Instance) -> Mapping[str, str]:
        """What decisions lead to, as the rest of a sentence after their name, where the machine does not tell it."""
        return {}

    def preview_style(self, artifact: str) -> tuple[str, str]:
        """For the preview of an HTML artifact of this name: a style sheet (`name/file.css`) and the class around it."""
        return "", ""

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        """Links to the application's own pages about an instance, as (label, URL)."""
        return ()

    def evidence(self, context: ViewContext) -> list[Block]:
        """The evidence for a decision."""
        found = []
        review = context.review
        if review is not None and review.evidence:
            found.append(Block("Data", rows=facts(review.evidence)))
        if rows := facts({n: v for n, v in context.instance.shown_data.items() if n not in self.hidden}):
            found.append(Block("Data", rows=rows))
        found += [Block(a.name, kind="artifact", artifact=a.name) for a in context.artifacts[-3:]]
        return found


def unnamed(instance: Instance) -> str:
    """The title of an instance that only its id names."""
    return f"{instance.machine} {str(instance.id)[-8:]}"


def facts(values: Mapping[str, Any], before: str = "") -> list[tuple[str, str, float | None]]:
    """Flatten nested values into rows."""
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
    """The view of an instance whose data was erased, which an application's view would expect."""

    def title(self, instance: Instance) -> str:
        return f"{instance.key or unnamed(instance)}, erased"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return "Its data was erased"

    def evidence(self, context: ViewContext) -> list[Block]:
        return [Block("Its data", rows=[("erased", secrets.hide(context.instance.erased), None)])]


@dataclass(frozen=True, slots=True)
class UnreadableView(View):
    """The view of an instance whose data cannot be read, which an application's view would expect."""

    def title(self, instance: Instance) -> str:
        return f"{instance.key or unnamed(instance)}, unreadable"


PLAIN, ERASED, UNREADABLE = View(), ErasedView(), UnreadableView()
_logged: set[tuple[str, str, str]] = set()


@dataclass(frozen=True, slots=True)
class SafeView(View):
    """An application's view. Where it raises, the default view is shown: a page lists the instances of everybody."""

    own: View = PLAIN

    def title(self, instance: Instance) -> str:
        return str(self._try(instance, "title", instance))

    def key(self, instance: Instance) -> str:
        return str(self._try(instance, "key", instance))

    def review_title(self, review: OpenReview, instance: Instance) -> str:
        return str(self._try(instance, "review_title", review, instance))

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return str(self._try(instance, "summary", review, instance))

    def review_page(self, review: OpenReview, instance: Instance) -> str:
        return str(self._try(instance, "review_page", review, instance))

    def leads(self, review: OpenReview, instance: Instance) -> Mapping[str, str]:
        return dict(self._try(instance, "leads", review, instance))

    def preview_style(self, artifact: str) -> tuple[str, str]:
        return self.own.preview_style(artifact)

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        return list(self._try(instance, "links", instance))

    def evidence(self, context: ViewContext) -> list[Block]:
        return list(self._try(context.instance, "evidence", context))

    def _try(self, instance: Instance, method: str, *args: Any) -> Any:
        try:
            return getattr(self.own, method)(*args)
        except StoreError:
            raise
        except Exception as error:
            kind = instance.machine, method, type(error).__name__
            if kind not in _logged:
                _logged.add(kind)
                log.warning("%s of the view of %s failed for %s", method, instance.machine, instance.id, exc_info=error)
            return getattr(PLAIN, method)(*args)


def view_of(registry: Registry, machine: str) -> View:
    """The application's view of a machine, or the default view."""
    found = registry.views.get(machine)
    return SafeView(own=found) if isinstance(found, View) else PLAIN


def view_for(registry: Registry, instance: Instance) -> View:
    """The view for this instance."""
    if isinstance(instance.shown_data, Unreadable):
        return UNREADABLE
    return ERASED if instance.erased else view_of(registry, instance.machine)
