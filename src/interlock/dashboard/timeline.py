"""The history of an instance for people: what happened, who did it, why, and how long it took.

Each history row becomes an item with a kind (its colour and icon), a title, the error and the data changes. Future
automatic moves are added as coming items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from interlock.dashboard import formatting
from interlock.dashboard.kinds import kind_of
from interlock.engine import Instance, secrets
from interlock.engine.audit import replaying
from interlock.engine.audit.replaying import Row
from interlock.engine.explain import Explanation
from interlock.engine.instance import ANEW
from interlock.engine.values import alike
from interlock.machine import Machine
from interlock.store import Micros, micros

PAGE = 60
BEYOND = 40
"""Extra rows read after the page, so that the duration of its last step is known."""
LONGEST = 300
MOST_CHANGES = 40
WHY = {
    "timer": "automatic, its timer expired",
    "due": "automatic, it was due",
    "worker_lost": "the worker was lost",
    "timeout": "it took too long",
    "error": "",
}
ICONS = {
    "created": "wait",
    "paused": "pause",
    "resumed": "play",
    "reviewed": "reviews",
    "asked": "reviews",
    "armed": "play",
    "lost": "failed",
    "failed": "failed",
    "given_back": "ended",
    "advanced": "check",
    "worked": "check",
    "again": "wait",
    "saved": "check",
    "forced": "person",
    "reminded": "alerts",
    "refused": "failed",
    "retried": "play",
    "dead_letter_closed": "letters",
    "sent": "outbox",
    "effect": "outbox",
    "artifact": "link",
    "spawned": "link",
    "spawn_refused": "link",
    "migrated": "link",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A data field before and after a step; None if absent."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One past or future event."""

    key: str
    at: Micros
    kind: str
    icon: str
    title: str
    said: str
    """Actor and reason."""
    moves: bool = False
    took: str = ""
    error: dict[str, Any] | None = None
    hint: str = ""
    """The automatic consequence."""
    changes: Sequence[Change] = ()
    link: tuple[str, str] | None = None
    coming: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """One page of the timeline, newest first."""

    coming: Sequence[Item]
    items: Sequence[Item] = field(default_factory=tuple)
    older: int | None = None
    newer: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A page of the history: first and last seq, and the rows with some extra ones."""

    first: int
    last: int
    rows: Sequence[Row]


def read(conn: sa.Connection, instance: Instance, before: int | None) -> Span:
    """The rows that end at `before`, or at the newest row."""
    last = min(before or instance.seq, instance.seq)
    first = max(last - PAGE + 1, 1)
    return Span(first, last, replaying.history(conn, instance.id, after=first - 1, limit=PAGE + BEYOND))


def make(
    span: Span,
    instance: Instance,
    machine: Machine | None,
    why: Explanation,
    now: Micros,
    data_before: dict[str, Any],
) -> Timeline:
    """Build the timeline of these rows. `data_before` is the data before the first of them."""
    data, items = dict(data_before), []
    for number, row in enumerate(span.rows):
        if row.seq > span.last:
            break
        items.append(_item(row, span.rows[number + 1 :], instance, machine, now, data))
        _replay(data, row)
    newest = span.last >= instance.seq
    return Timeline(
        coming=list(_coming(why, machine, now)) if newest else [],
        items=items[::-1],
        older=span.first - 1 if span.first > 1 else None,
        newer=None if newest else min(span.last + PAGE, instance.seq),
    )


def _replay(data: dict[str, Any], row: Row) -> None:
    if row.payload.get(ANEW) is True:
        data.clear()
    for name in row.payload.get("unset", ()):
        data.pop(name, None)
    data.update(row.payload.get("set", {}))


def _item(
    row: Row, after: Sequence[Row], instance: Instance, machine: Machine | None, now: Micros, data: dict[str, Any]
) -> Item:
    moves = row.to_state is not None
    kind = kind_of(machine, row.to_state) if row.to_state is not None else _kind(row)
    title, link = _title(row)
    return Item(
        key=str(row.seq),
        at=row.at,
        kind=kind,
        icon=kind if moves else ICONS.get(row.kind, "ended"),
        title=title,
        said=_said(row),
        moves=moves,
        took=_took(row, after, instance, now),
        error=_error(row),
        hint=_hint(row, now),
        changes=list(changes(data, row.payload))[:MOST_CHANGES],
        link=link,
    )


def _kind(row: Row) -> str:
    if row.kind in {"failed", "lost", "refused"} or row.payload.get("status") in {"failed", "unknown"}:
        return "failed"
    return "person" if row.kind in {"paused", "reviewed", "armed", "dead_letter_closed", "reminded"} else "ended"


def _title(row: Row) -> tuple[str, tuple[str, str] | None]:
    """The title of a row, and the link it leads to."""
    p = row.payload
    step = formatting.title(str(p.get("step", "")).replace(":", ", "))
    match row.kind:
        case _ if row.to_state is not None:
            return formatting.title(row.to_state), _link("instance", p.get("retry_of"), "the failed instance")
        case "failed":
            return f"{step or 'the step'} failed", None
        case "lost":
            return "its worker was lost", None
        case "effect":
            statuses = {
                "intended": "about to send",
                "intended again": "about to send again",
                "confirmed": "sent",
                "failed": "could not send",
                "unknown": "outcome unknown:",
                "asked": "a person is asked to verify:",
                "inherited": "inherited, not sent again:",
            }
            return f"{statuses.get(str(p.get('status')), 'effect')} {formatting.title(str(p.get('kind', '')))}", None
        case "artifact":
            return f"stored {p.get('name', '')}", None
        case "spawned":
            return f"started {formatting.title(str(p.get('machine', '')))}", _link("instance", p.get("child"), "open")
        case "spawn_refused":
            return f"did not start {formatting.title(str(p.get('machine', '')))}", None
        case "retried":
            return f"{step or 'the step'} is retried", _link("instance", p.get("as"), "as a new instance")
        case "dead_letter_closed":
            return f"dead letter {p.get('as', 'closed')}", None
        case "asked":
            asked = f"asked a person: {formatting.title(str(p.get('name', '')))}"
            return asked, (f"/ui/reviews?review={p.get('review', '')}", "open it")
        case "reviewed":
            return f"review: {formatting.title(str(p.get('decision', '')))}", None
        case "armed":
            return formatting.title(row.event or "started"), None
        case "refused":
            return f"{formatting.title(row.event or 'an event')} was refused", None
        case "again":
            return f"{step or 'the step'} runs again", None
        case "reminded":
            return "reminder", None
        case "sent":
            return "message put into the outbox", None
        case "advanced":
            return "got further, so the workers lost before do not count", None
        case "given_back":
            return "given back by its worker", None
    return formatting.title(row.kind), None


def _link(what: str, target: object, said: str) -> tuple[str, str] | None:
    return (f"/ui/{what}s/{target}", said) if isinstance(target, str) and target else None


def _said(row: Row) -> str:
    """Actor and reason."""
    p, parts = row.payload, []
    if row.kind == "created":
        parts.append(f"created by {formatting.person(row.actor)}")
    elif row.kind == "forced":
        parts.append(f"forced by {formatting.person(row.actor)}, outside the declared transitions")
    elif row.kind == "migrated":
        back = "put back" if p.get("back") else "moved"
        parts.append(
            f"{back} from version {p.get('from_version')} to {p.get('to_version')} by {formatting.person(row.actor)}"
        )
    elif row.event and row.to_state is not None:
        parts.append(f"{formatting.title(row.event)}, by {formatting.person(row.actor)}")
    elif not row.actor.startswith(("worker:", "system")):
        parts.append(f"by {formatting.person(row.actor)}")
    parts += [str(p[name]) for name in ("reason", "note", "message") if p.get(name)]
    if why := WHY.get(str(p.get("why", "")), str(p.get("why", ""))):
        parts.append(why)
    if isinstance(p.get("messages"), list):
        parts.append(", ".join(map(str, p["messages"][:5])))
    if row.kind == "artifact":
        parts.append(f"{p.get('type', '')}, {_size(p.get('size'))}")
    if row.erased:
        parts.append("details erased")
    return secrets.hide("; ".join(one for one in parts if one))


def _size(size: object) -> str:
    n = size if isinstance(size, int) else 0
    return f"{n:,} bytes" if n < 10_000 else f"{n / 1000:,.0f} kB" if n < 10_000_000 else f"{n / 1_000_000:,.0f} MB"


def _took(row: Row, after: Sequence[Row], instance: Instance, now: Micros) -> str:
    """The time spent in the state, or the duration of the step."""
    if row.to_state is not None:
        left = next((later.at for later in after if later.to_state is not None), None)
        if left is not None:
            return formatting.duration(left - row.at)
        stays = row.to_state == instance.state and row.at <= instance.entered_at
        return f"so far {formatting.duration(now - row.at)}" if stays and instance.finished_at is None else ""
    took = row.payload.get("took")
    return (
        f"after {formatting.duration(took)}"
        if isinstance(took, int) and row.kind in {"failed", "again", "worked"}
        else ""
    )


def _error(row: Row) -> dict[str, Any] | None:
    error = row.payload.get("error")
    if isinstance(error, str) and error:
        return {"type": "", "message": secrets.hide(error), "where": []}
    return secrets.shown(error) if isinstance(error, dict) else None


def _hint(row: Row, now: Micros) -> str:
    p = row.payload
    count = p.get("failure")
    parts = [f"failure {count} of this step"] if isinstance(count, int) else []
    if isinstance(p.get("retry_at"), int):
        parts.append(f"retried {'' if p['retry_at'] < now else formatting.ago(p['retry_at'], now)}".strip())
    if p.get("exhausted"):
        parts.append("no retries left; kept as a dead letter")
    return "; ".join(parts)


# -- data changes


def changes(before: dict[str, Any], payload: dict[str, Any]) -> Iterator[Change]:
    """Each field that a row set or removed, including nested fields."""
    sets, unset = payload.get("set"), payload.get("unset")
    after = sets if isinstance(sets, dict) else {}
    gone = {name: before[name] for name in unset if name in before} if isinstance(unset, list) else {}
    # Redacted together, because a field's name decides whether its value is secret.
    was = secrets.shown({**{name: before[name] for name in after if name in before}, **gone})
    yield from _differ(was, secrets.shown(after), "")


def _differ(before: dict[str, Any], after: dict[str, Any], above: str) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differ(old, new, f"{above}{name}.")
        elif not alike(old, new):
            yield Change(
                f"{above}{name}",
                _text(old) if name in before and old not in ("", None) else None,
                _text(new) if name in after else None,
            )


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else formatting.compact(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


# -- coming events and the explanation

FIRES = re.compile(r"the system fires '([^']*)', to (.*)")
MOMENT = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC \([^)]*\)"
SAID = (
    (re.compile(r"\b(?:user|owner|agent):([^\s,;.()]+)"), r"\1"),
    (re.compile(r"\bworker:[0-9a-f-]{36}"), "a worker"),
    (re.compile(r"(?<!\w)'([A-Za-z0-9_]+)'(?!\w)"), lambda m: formatting.title(m[1])),
)


REMINDER = "a reminder: "


def _plain(text: str) -> str:
    """Without the quotes around names of states, events and decisions."""
    pattern, instead = SAID[-1]
    return pattern.sub(instead, text)


def _coming(why: Explanation, machine: Machine | None, now: Micros) -> Iterator[Item]:
    for number, one in reversed(list(enumerate(why.upcoming))):
        at = micros(one.at)
        if at < now:
            continue
        title, said, kind = coming(one.what, machine)
        yield Item(f"c{number}", at, kind, kind, title, said, took=formatting.ago(at, now), coming=True)


def coming(what: str, machine: Machine | None) -> tuple[str, str, str]:
    """An automatic move: its title, reason and kind."""
    fires = FIRES.fullmatch(what)
    if fires is None:
        title, _, rest = what.partition(": ") if what.startswith(REMINDER) else (_plain(what), "", "")
        return title, rest, "work" if "runs" in what else "wait"
    state = fires[2].strip("'")
    kind = kind_of(machine, state) if machine is not None and state in machine.states else "wait"
    return formatting.title(state.replace("'", "")), f"automatic ({formatting.title(fires[1])}), if nobody acts", kind


def upcoming_sentence(what: str) -> str:
    """An automatic move as a sentence."""
    fires = FIRES.fullmatch(what)
    if fires is None:
        return _plain(what).rstrip(".")
    return f"it moves to {formatting.title(fires[2].replace(chr(39), ''))} ({formatting.title(fires[1])})"


def plainly(why: Explanation, now: Micros) -> str:
    """The explanation for people: durations instead of times, names instead of kinds."""
    text = why.sentence.removeprefix(f"{why.machine} is in {why.state!r}. ").partition(" If nothing happens, ")[0]

    def length(found: re.Match[str]) -> Micros:
        return micros(datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)) - now

    text = re.sub(rf" since {MOMENT}", lambda m: f", for {formatting.duration(length(m))}", text)
    text = re.sub(rf"has until {MOMENT}", lambda m: f"has {formatting.duration(length(m))} left", text)
    text = re.sub(rf"at {MOMENT}", lambda m: formatting.ago(length(m), 0), text)
    for pattern, instead in SAID:
        text = pattern.sub(instead, text)
    return secrets.hide(text)
