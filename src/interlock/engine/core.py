"""What all parts of the engine share: the store, the clock, and the machines with their versions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.engine.errors import NotServed
from interlock.engine.values import readable
from interlock.machine import Machine, Registry, compatible
from interlock.store import Clock, Store
from interlock.store.ready import Probes, probes, serving
from interlock.store.tables import definition

if TYPE_CHECKING:
    from interlock.engine.audit.signing import Keys
    from interlock.engine.leases import Mirror


def _problems(stored: str, spec: dict[str, Any]) -> list[str]:
    """Why this code cannot serve a version. A version whose row was edited by hand cannot be served at all."""
    try:
        return compatible(readable(stored), spec)
    except (LookupError, TypeError, AttributeError, ValueError):
        return ["its specification in the database cannot be read; repair its row, or migrate its instances"]


def _defaults(registry: Registry) -> dict[str, Any]:
    """Default settings of the applications that need none to be given. A service replaces them by its configuration."""
    models = {name: one.settings for name, one in registry.applications.items() if one.settings is not None}
    return {
        name: model()
        for name, model in models.items()
        if not any(field.is_required() for field in model.model_fields.values())
    }


class Core:
    """The shared state of an engine. `register` fills `served`."""

    def __init__(self, store: Store, registry: Registry, clock: Clock, *, seed: int | None = None) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock
        self.random = random.Random(seed)  # noqa: S311 - spreads retries; nothing secret
        self.secrets: Mapping[str, str] = {}
        """Secrets that handlers ask for by name."""
        self.settings: dict[str, Any] = _defaults(registry)
        """Settings of applications for their handlers, by name. They can be pickled for handlers in other processes."""
        self.mirror: Mirror | None = None
        """Where named leases are shown as well."""
        self.audit_keys: Keys | None = None
        """The keys that sign checkpoints and seal removals; None if this process has none."""
        self.claims_in_place = False
        """Whether every process that claims work knows claims in place. A worker finds out when it starts and beats."""
        self.current: dict[str, int] = {}
        self.served: dict[tuple[str, int], Machine] = {}
        self._probes: dict[frozenset[str], Probes] = {}
        self.served_condition = sa.text("1 = 0")
        """The SQL condition that a row has a version which this process serves."""
        self.unserved: dict[tuple[str, int], list[str]] = {}
        """Versions in the database that this process cannot serve, with the reasons."""

    def register(self, *, write: bool = True) -> None:
        """Give each machine its version, and find the older versions that this code can serve as well.

        Without `write`, nothing is written to the database.
        """
        if write:
            self.store.write(lambda conn: self._register(conn, self._add))
        else:
            self.store.read(lambda conn: self._register(conn, None))

    def _add(self, conn: sa.Connection, machine: Machine, version: int) -> None:
        conn.execute(
            sa.insert(definition).values(
                machine=machine.name,
                version=version,
                digest=machine.digest(),
                spec=json.dumps(machine.spec(), sort_keys=True),
                registered_at=self.clock.now(),
            )
        )

    def _register(self, conn: sa.Connection, add: Callable[[sa.Connection, Machine, int], None] | None) -> None:
        self.served.clear()
        self.unserved.clear()
        for machine in self.registry:
            digest, spec = machine.digest(), machine.spec()
            rows = conn.execute(
                sa.select(definition).where(definition.c.machine == machine.name).order_by(definition.c.version)
            ).all()
            known = {row.digest: row.version for row in rows}
            for one in (*machine.earlier, machine):
                if one.digest() not in known:
                    known[one.digest()] = 1 + max(known.values(), default=0)
                    if add is not None:
                        add(conn, one, known[one.digest()])
            version = known[digest]
            self.current[machine.name] = version
            self.served[machine.name, version] = machine
            others = {known[other.digest()]: other for other in machine.others if other.digest() in known}
            self.served |= {(machine.name, number): other for number, other in others.items()}
            for row in rows:
                if row.version == version or row.version in others:
                    continue
                problems = _problems(row.spec, spec)
                if row.version > version:
                    problems.append("it is newer than this code")
                if problems:
                    self.unserved[machine.name, row.version] = problems
                else:
                    self.served[machine.name, row.version] = machine
        self._probes.clear()
        self.served_condition = sa.text(f"({serving(sorted(self.served))})")

    def probes_without(self, halted: frozenset[str]) -> Probes:
        """The probes for all served machines except these; made once for each set."""
        mine = halted.intersection(self.current)
        found = self._probes.get(mine)
        if found is None:
            rest = sorted(served for served in self.served if served[0] not in mine)
            found = self._probes[mine] = probes(rest, self.store)
        return found

    def machine(self, name: str, version: int) -> Machine:
        found = self.served.get((name, version))
        if found is None:
            unknown = "it was never registered here" if name in self.registry else "no machine here has that name"
            why = "; ".join(self.unserved.get((name, version), [unknown]))
            raise NotServed(f"this process has no code for {name} version {version}: {why}")
        return found
