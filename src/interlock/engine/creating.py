"""Creating instances: the row, its first history row and its first work, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from uuid_utils.compat import uuid7

from interlock.engine import moves, values
from interlock.engine.audit import chain
from interlock.engine.errors import CreatedElsewhere, InvalidData
from interlock.engine.instance import Instance
from interlock.engine.text import canonical, joined
from interlock.engine.unit import Unit, payload_text
from interlock.machine import Actor, Edge, Kind, Machine, Patch
from interlock.store import Micros
from interlock.store.tables import FIRST_WORKSPACE

DEFAULT_WORKSPACE = FIRST_WORKSPACE
_text = json.encoder.encode_basestring_ascii


def create(
    unit: Unit,
    machine: Machine,
    data: Patch,
    actor: Actor,
    *,
    key: str | None = None,
    workspace: str = DEFAULT_WORKSPACE,
    priority: int = 2,
    queue: str | None = None,
    host: str | None = None,
    labels: Mapping[str, str] | None = None,
    at: Micros | None = None,
    unstarted: bool = False,
    state: str | None = None,
    parent: Instance | None = None,
    depth: int = 0,
    payload: Mapping[str, Any] | None = None,
    take_key_from: Instance | None = None,
    by_application: bool = False,
) -> Instance:
    """Create an instance. Raises KeyTaken, which names the instance that has the key.

    A machine that declares `created_through` is refused, unless its own application passes `by_application`. `depth` is
    that of a root which continues another lineage: its descendants end where those of the other would.
    """
    if not by_application:
        require_creatable(machine)
    if priority not in range(4):
        raise InvalidData(f"priority {priority!r} is not one of 0 (first), 1, 2, 3 (last)")
    if key == "":
        raise InvalidData("the key is empty; give it at least a character, or leave it out")
    for what, text, most in (
        ("key", key, values.KEY),
        ("workspace", workspace, values.NAME),
        ("queue", queue, values.NAME),
        ("host", host, values.NAME),
    ):
        if text is not None:
            values.indexed(text, f"the {what}", most)
    given = data.model_dump(mode="json") if isinstance(data, BaseModel) else data or {}
    if not isinstance(given, Mapping):
        raise InvalidData(f"data must be a model or a mapping of fields, not {type(data).__name__}")
    valid = moves.validated(machine, given)
    made = uuid7()
    instance = Instance(
        id=made,
        machine=machine.name,
        version=unit.core.current[machine.name],
        workspace=workspace,
        key=key,
        unique_key=None,
        state=state or machine.initial,
        previous=None,
        seq=0,
        head=chain.START,
        stored_data=None,
        labels=canonical(values.labels(labels)) if labels else None,
        queue=route(queue or machine.queue, host),
        priority=priority,
        parent=parent.id if parent else None,
        root=parent.root if parent else made,
        depth=parent.depth + 1 if parent else depth,
        trace_id=parent.trace_id if parent else made.hex,
        created_at=unit.now,
        updated_at=unit.now,
    )
    instance.set_data(valid)
    if unstarted:
        moves.check_unstarted(machine, instance.state)
    if take_key_from is not None:
        take_key_from.unique_key = None
        unit.touch(take_key_from)
    if machine.states[instance.state].kind is not Kind.FINAL:
        moves.take_key(unit, instance)
    unit.add(instance)
    # Most payloads are only the data, which is JSON already.
    text = f'{{"set":{instance.stored_data}}}' if valid else None
    if payload:
        text = payload_text({**payload, "set": valid})
    unit.record(instance, "created", actor, to_state=instance.state, text=joined(identity(instance), text))
    moves.enter(unit, instance, machine, unstarted=unstarted, at=at)
    if instance.state in machine.followers:
        moves.run_followers(unit, instance, machine, Edge("", instance.state, "created", frozenset(), None), actor)
    return instance


def require_creatable(machine: Machine) -> None:
    """Raise CreatedElsewhere if only the machine's application may create instances."""
    if machine.created_through is not None:
        raise CreatedElsewhere(machine.name, machine.created_through)


def identity(instance: Instance) -> str:
    """The identity of an instance for its first history row, as JSON members. Defaults are left out."""
    said = f'"machine":{_text(instance.machine)},"version":{instance.version}'
    if instance.key is not None:
        said += f',"key":{_text(instance.key)}'
    if instance.labels is not None:
        said += f',"labels":{instance.labels}'
    if instance.parent is not None:
        said += f',"parent":"{instance.parent}","root":"{instance.root}"'
    if instance.workspace != DEFAULT_WORKSPACE:
        said += f',"workspace":{_text(instance.workspace)}'
    return said


def route(queue: str, host: str | None) -> str:
    """The name of a queue, or of the same queue for one host: a queue of its own, so that claims skip no rows."""
    return f"{queue}@{host}" if host else queue
