"""Applies a reviewer's decision: validates the values and stores them beside the machine's, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.apps.contracts import naming
from interlock.apps.contracts.fields import calibration_store
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.validate import validate
from interlock.apps.contracts.fields.vertical import FieldDefinition, Vertical
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import REJECTED, REVIEW_REQUIRED, VALIDATED, contract
from interlock.apps.contracts.models import FieldDecision
from interlock.apps.contracts.reading import Document
from interlock.apps.contracts.register import records
from interlock.apps.contracts.review import evidence_places
from interlock.apps.contracts.steps import DEFAULTS, short, vertical_of
from interlock.engine import Instance, InvalidData, artifacts
from interlock.engine.application import Unit, change
from interlock.machine import Actor, Edge
from interlock.store import moment

EVIDENCE = ("value", "normalised", "quote", "page", "start", "end", "boxes", "confidence", "signals", "words")
NOTHING: dict[str, Any] = {
    "value": None,
    "normalised": None,
    "quote": None,
    "page": None,
    "start": None,
    "end": None,
    "boxes": [],
}
HARD = {"type", "choice"}
"""Errors that a reviewer cannot override: a value of the wrong type."""


@contract.entering(VALIDATED, REJECTED)
def apply_decisions(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Apply the decision to each field. The machine's value stays beside it, and the calibration learns from both."""
    if edge.source != REVIEW_REQUIRED or not instance.data.get("fields"):
        return
    data = instance.data
    settings = unit.core.settings.get("contracts") or DEFAULTS
    vertical = vertical_of(data["vertical"], settings)
    read = stored.fields(unit.conn, instance.id, data)
    before = {name: dict(one) for name, one in read.items()}
    said = [FieldDecision.model_validate(one) for one in data["decisions"]]
    decisions = {one.field: one for one in said}
    if len(decisions) < len(said):
        raise InvalidData("fields: a field is named twice; nothing was decided")
    pointed = any(one.evidence for one in decisions.values())
    document = stored.document(unit.conn, instance.id, data) if pointed else None
    for one in decisions.values():
        _decide(unit, vertical, read, one, actor, document)
    if edge.to == VALIDATED:
        for one in _implied(vertical, read, decisions):
            decisions[one.field] = one
            _decide(unit, vertical, read, one, actor, document, implied=True)
    changed: dict[str, Any] = {}
    if edge.to == VALIDATED:
        changed["problems"] = _check(unit, vertical, read, decisions)
    _learn(unit, instance, vertical, before, decisions, actor)
    digest = artifacts.keep(
        unit, instance.id, stored.FIELDS, stored.packed(read), media_type=stored.JSON, actor=actor, step=REVIEW_REQUIRED
    )
    changed |= {"fields": digest, "values": short(vertical, read), "parties": naming.parties_of(read)}
    change(unit, instance, changed, actor)
    records.keep(unit, instance, vertical, read)
    if edge.to == VALIDATED and not data["drive"]:  # the caller starts the next step
        instance.wake = instance.due_at = None


def _implied(
    vertical: Vertical, read: Mapping[str, Mapping[str, Any]], decisions: Mapping[str, FieldDecision]
) -> list[FieldDecision]:
    """Approving accepts each required field without a decision; a field without a value needs one."""
    left = [one for one in vertical.required if one.name not in decisions]
    empty = [one.name for one in left if read.get(one.name, {}).get("value") in (None, "", [])]
    if empty:
        raise InvalidData(
            f"fields: {', '.join(empty)} must have a value: correct it, or mark it absent; nothing was decided"
        )
    return [FieldDecision(field=one.name, action="accept") for one in left]


def _decide(
    unit: Unit,
    vertical: Vertical,
    read: dict[str, dict[str, Any]],
    one: FieldDecision,
    actor: Actor,
    document: Document | None,
    *,
    implied: bool = False,
) -> None:
    definition = next((f for f in vertical.fields if f.name == one.field), None)
    if definition is None:
        raise InvalidData(f"fields: {one.field!r} is not a field of {vertical.name}; it has {_names(vertical)}")
    field = read.setdefault(one.field, {})
    machine = {name: field[name] for name in EVIDENCE if name in field}
    human: dict[str, Any] = {"action": one.action, "by": str(actor), "at": moment(unit.now).isoformat()}
    if implied:
        human["implied"] = True  # by approving the whole contract
    if one.action == "accept":
        if machine.get("value") in (None, "", []):
            raise InvalidData(f"{definition.label}: there is no value to accept; correct it or mark it absent")
    elif one.action == "correct":
        human |= _value(definition, vertical, one.value)
        field |= {"value": human["value"], "normalised": human["normalised"]}
    else:
        field |= NOTHING
    if one.evidence is not None:
        assert document is not None
        human["evidence"] = evidence_places.place(document, one.field, one.evidence)
        field |= human["evidence"]
    field |= {"human": human, "verified": True, "machine": machine or None}


def _value(definition: FieldDefinition, vertical: Vertical, value: Any) -> dict[str, Any]:
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "").strip()
    meaning = normalise(definition.type, text, vertical.locale) if text else None
    if meaning is None:
        raise InvalidData(f"{definition.label}: {text[:80]!r} is not a {definition.type}; nothing was decided")
    return {"value": text, "normalised": meaning}


def _check(
    unit: Unit,
    vertical: Vertical,
    read: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, FieldDecision],
) -> list[str]:
    """Validate again. A person may insist on an unusual value, but not on one of the wrong type."""
    values = {name: one.get("normalised") for name, one in read.items()}
    today = moment(unit.now).date()
    gone = {name for name, one in decisions.items() if one.action == "absent"}
    left = [
        problem
        for problem in validate(
            vertical, values, today=today, providers=calibration_store.providers(unit.conn, vertical)
        )
        if not (problem.code == "missing" and problem.field in gone)
    ]
    for problem in left:
        decided = decisions.get(problem.field)
        if problem.code in HARD and decided is not None and decided.action == "correct":
            raise InvalidData(f"{problem.message}; nothing was decided")
    return [problem.message for problem in left]


def _learn(
    unit: Unit,
    instance: Instance,
    vertical: Vertical,
    before: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, FieldDecision],
    actor: Actor,
) -> None:
    """Store each decision about a field, explicit or implied, as a known answer."""
    for definition in vertical.fields:
        machine = before.get(definition.name)
        if not machine or "signals" not in machine:
            continue
        decision = decisions.get(definition.name)
        if decision is None:
            continue
        right = decision.action == "accept"
        if decision.action == "correct":
            meant = normalise(definition.type, _text(decision.value), vertical.locale)
            suggested = machine.get("suggestion") or machine  # what was read, and too unlikely to be stated
            right = meant == suggested.get("normalised")
        calibration_store.learn(unit, instance.id, vertical.name, definition.name, machine["signals"], right, actor)


def _text(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(vertical: Vertical) -> str:
    return ", ".join(f.name for f in vertical.fields)
