"""The content of the review page: fields by risk, with evidence, doubts, alternatives and decisions so far."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts.fields import calibration_store
from interlock.apps.contracts.fields.validate import validate
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.pages.claiming import task_of
from interlock.apps.contracts.pages.document import PDF
from interlock.apps.contracts.pages.entered import Given
from interlock.apps.contracts.reading import Span
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.steps import DEFAULTS, vertical_of
from interlock.dashboard.confidence import grade
from interlock.engine import Instance, OpenReview, artifacts
from interlock.store import moment

LOW = 0.9
"""Below this confidence a required field needs a person's decision."""
MOST_ALTERNATIVES = 6
UNDERSTOOD = {"date", "money", "duration", "number", "law"}
"""Types whose normalised form tells a person more than the original text."""
SHORT = 80
Boxes = Sequence[Sequence[float]]
_boxes: dict[tuple[UUID, str], dict[str, list[Boxes]]] = {}


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another value that was found, with its place."""

    value: str
    quote: str
    page: int
    place: str
    boxes: Boxes = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One field as a reviewer sees it."""

    name: str
    label: str
    type: str
    help: str
    required: bool
    value: str
    """The text in the document; empty if nothing was found."""
    meaning: str
    """The normalised value, if it differs from the text."""
    quote: str
    page: int | None
    start: int
    end: int
    boxes: Boxes
    confidence: float | None
    """0 to 100."""
    words: str
    problems: Sequence[str]
    alternatives: Sequence[Alternative]
    choices: Sequence[str]
    flagged: bool
    """It needs a decision before anybody can approve."""
    human: Mapping[str, Any] | None
    machine: str
    """The machine's value, if a person changed it."""
    given: Given

    @property
    def short(self) -> str:
        return shortened(self.value)

    @property
    def unsure(self) -> bool:
        """Somebody should look: it needs a decision, or its confidence is not in the colour of the good ones."""
        low = self.confidence is not None and bool(self.value) and grade(self.confidence).kind != "done"
        return self.human is None and (self.flagged or low)

    @property
    def before(self) -> str:
        """The value that the machine read and a person, now or earlier, says is wrong."""
        if self.human is not None and self.human["action"] != "accept":
            return shortened(self.machine)
        changed = self.given.action == "correct" and self.given.value != self.value
        return self.short if changed or self.given.action in {"clear", "absent"} else ""

    @property
    def now(self) -> str:
        """The value in force, with what the reviewer has entered so far."""
        if self.given.action in {"clear", "absent"}:
            return ""
        return shortened(self.given.value) if self.given.action == "correct" else self.short

    @property
    def long(self) -> bool:
        return self.type == "parties" or len(self.value) > SHORT

    @property
    def open(self) -> bool:
        return self.flagged or bool(self.given.error)

    @property
    def marks(self) -> str:
        return json.dumps(self.boxes, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Sheet:
    """The whole page."""

    instance: Instance
    review: OpenReview | None
    """The open review, else the latest one."""
    vertical: Vertical
    rows: Sequence[Row]
    calibrated_with: int
    """The number of documents behind the calibration."""
    sizes: Sequence[tuple[float, float]]
    text: str
    """The text of the page, if there is no image."""
    page: int
    chosen: Row | None
    form: Given = field(default_factory=Given)

    @property
    def pdf(self) -> bool:
        return bool(self.instance.data["media_type"] == PDF)

    @property
    def pages(self) -> int:
        return len(self.sizes)

    @property
    def open(self) -> bool:
        return self.review is not None and self.review.status == "open"

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        flagged = [r for r in self.rows if r.flagged]
        found = [r for r in self.rows if not r.flagged and (r.value or r.human)]
        rest = [r for r in self.rows if not r.flagged and not r.value and not r.human]
        named = (("Needs a decision" if self.open else "Was doubtful", flagged), ("Other fields", found))
        return [(name, some) for name, some in (*named, ("Not found in the document", rest)) if some]

    @property
    def undecided(self) -> list[Row]:
        return [r for r in self.rows if r.flagged and not r.given.action]

    @property
    def lit(self) -> Boxes:
        return self.chosen.boxes if self.chosen is not None and self.chosen.page == self.page else ()

    @property
    def parts(self) -> tuple[str, str, str]:
        """The text before, in and after the chosen field's quote."""
        row = self.chosen
        if row is None or row.page != self.page:
            return self.text, "", ""
        return self.text[: row.start], self.text[row.start : row.end], self.text[row.end :]

    def size(self) -> tuple[float, float]:
        return self.sizes[self.page - 1] if self.sizes else (0.0, 0.0)


def shortened(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= SHORT else text[: SHORT - 2] + " …"


def sheet(
    conn: sa.Connection,
    instance: Instance,
    settings: ContractSettings = DEFAULTS,
    *,
    field: str = "",
    page: int | None = None,
    given: Mapping[str, Given] | None = None,
) -> Sheet:
    """Read everything for the page in one transaction; `given` is what the reviewer has entered already."""
    data = instance.data
    vertical = vertical_of(data["vertical"], settings)
    read = stored.fields(conn, instance.id, data)
    document = stored.document(conn, instance.id, data)
    boxes = _boxes.get(_place(instance), {})
    problems = _problems(conn, instance, vertical, read)
    rows = [
        _row(one, read.get(one.name, {}), problems.get(one.name, []), boxes.get(one.name, []), (given or {}))
        for one in vertical.fields
    ]
    rows.sort(key=lambda r: (not r.required, r.confidence if r.confidence is not None else (0 if r.required else 101)))
    ordered = sorted(rows, key=lambda r: not r.flagged)
    chosen = next((r for r in ordered if r.name == field), None) or next(
        (r for r in ordered if r.given.error), next((r for r in ordered if r.flagged or r.page), None)
    )
    shown = page or (chosen.page if chosen is not None else None) or 1
    shown = min(max(shown, 1), max(len(document.pages), 1))
    return Sheet(
        instance,
        task_of(conn, instance, "review"),
        vertical,
        ordered,
        round(calibration_store.calibration(conn, vertical.name).table.documents),
        [(p.width, p.height) for p in document.pages],
        "" if data["media_type"] == PDF else document.page(shown).text,
        shown,
        chosen,
    )


def _problems(
    conn: sa.Connection, instance: Instance, vertical: Vertical, read: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str]]:
    values = {name: one.get("normalised") for name, one in read.items()}
    today = moment(instance.entered_at).date()
    found: dict[str, list[str]] = {}
    for one in validate(vertical, values, today=today, providers=calibration_store.providers(conn, vertical)):
        found.setdefault(one.field, []).append(one.message)
    return found


def _row(
    definition: FieldDefinition,
    one: Mapping[str, Any],
    problems: Sequence[str],
    boxes: Sequence[Boxes],
    given: Mapping[str, Given],
) -> Row:
    value, human = _text(one.get("value")), one.get("human")
    meaning = _text(one.get("normalised")) if definition.type in UNDERSTOOD else ""
    confidence = one.get("confidence")
    doubts = [f"{doubt[:1].upper()}{doubt[1:]}" for doubt in one.get("doubts") or []]
    low = definition.required and (confidence is None or confidence < LOW)
    alternatives = [
        Alternative(
            _text(other["value"]),
            _spaced(other["quote"]),
            other["page"],
            f"{other['page']}:{other['start']}-{other['end']}",
            boxes[at] if at < len(boxes) else (),
        )
        for at, other in enumerate((one.get("alternatives") or [])[:MOST_ALTERNATIVES])
    ]
    return Row(
        name=definition.name,
        label=definition.label,
        type=definition.type,
        help=definition.help,
        required=definition.required,
        value=value,
        meaning="" if meaning.casefold() == value.casefold() else meaning,
        quote=_spaced(one.get("quote")),
        page=one.get("page"),
        start=one.get("start") or 0,
        end=one.get("end") or 0,
        boxes=one.get("boxes") or (),
        confidence=None if confidence is None else 100 * confidence,
        words=one.get("words") or "",
        problems=[*doubts, *problems],
        alternatives=alternatives,
        choices=("yes", "no") if definition.type == "clause" else definition.choices,
        flagged=bool(low or doubts or problems),
        human=human,
        machine=_text((one.get("machine") or {}).get("value")),
        given=given.get(definition.name) or Given(value=value),
    )


def _spaced(quote: str | None) -> str:
    """The quote with ordinary spaces, where lines may break."""
    return (quote or "").replace("\u00a0", " ")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _place(instance: Instance) -> tuple[UUID, str]:
    return instance.id, str(instance.data.get("fields"))


def unseen(conn: sa.Connection, instance: Instance) -> Callable[[], None] | None:
    """What looks up where the alternatives stand on their pages; None when that is known, or there is nothing to know.

    It opens the file, which may take long: no sheet waits for it, and without it the alternatives are not lit.
    """
    data, place = instance.data, _place(instance)
    if place in _boxes or not data.get("fields") or data["media_type"] != PDF:
        return None
    read = stored.fields(conn, instance.id, data)
    places = [
        (name, Span(other["page"], other["start"], other["end"]))
        for name, one in read.items()
        for other in (one.get("alternatives") or [])[:MOST_ALTERNATIVES]
    ]
    if not places:
        return None
    document, original = stored.document(conn, instance.id, data), artifacts.read(conn, instance.id, data["pdf"])

    def look() -> None:
        found: dict[str, list[Boxes]] = {}
        lines = stored.reader().boxes_of(document, [span for _, span in places], original)
        for (name, _), boxes in zip(places, lines, strict=True):
            found.setdefault(name, []).append([[b.left, b.top, b.right, b.bottom] for b in boxes])
        if len(_boxes) >= 200:
            _boxes.clear()
        _boxes[place] = found

    return look
