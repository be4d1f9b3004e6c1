"""What every part of the engine shares: the store, the clock, and the machines with their versions."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from interlock.engine import picking
from interlock.engine.errors import NotServed
from interlock.machine import Machine, Registry, compatible
from interlock.store import Clock, Store
from interlock.store.tables import definition


class Core:
    """The engine's surroundings. `served` is filled by `register`."""

    def __init__(self, store: Store, registry: Registry, clock: Clock, *, seed: int | None = None) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock
        self.chance = random.Random(seed)  # noqa: S311 - spreads retries; nothing secret
        self.current: dict[str, int] = {}
        self.served: dict[tuple[str, int], Machine] = {}
        self.statements: dict[str, Any] = {}
        self.stranded: dict[tuple[str, int], list[str]] = {}
        """Versions in the database that this process has no code for, with what keeps it from serving them."""

    def register(self) -> None:
        """Give each machine its version, and find the older versions that this code can serve as well."""
        self.store.write(self._register)

    def _register(self, conn: sa.Connection) -> None:
        self.served.clear()
        self.stranded.clear()
        for machine in self.registry:
            digest, spec = machine.digest(), machine.spec()
            rows = conn.execute(
                sa.select(definition).where(definition.c.machine == machine.name).order_by(definition.c.version)
            ).all()
            known: Mapping[str, int] = {row.digest: row.version for row in rows}
            version = known.get(digest)
            if version is None:
                version = 1 + max(known.values(), default=0)
                conn.execute(
                    sa.insert(definition).values(
                        machine=machine.name,
                        version=version,
                        digest=digest,
                        spec=json.dumps(spec, sort_keys=True),
                        registered_at=self.clock.now(),
                    )
                )
            self.current[machine.name] = version
            self.served[machine.name, version] = machine
            for row in rows:
                if row.version == version:
                    continue
                problems = compatible(json.loads(row.spec), spec)
                if row.version > version:
                    problems.append("it is newer than this code")
                if problems:
                    self.stranded[machine.name, row.version] = problems
                else:
                    self.served[machine.name, row.version] = machine
        self.statements = picking.statements(sorted(self.served), self.store.dialect)

    def machine(self, name: str, version: int) -> Machine:
        found = self.served.get((name, version))
        if found is None:
            self.registry[name]  # an unknown name has the clearer message
            why = "; ".join(self.stranded.get((name, version), ["it was never registered here"]))
            raise NotServed(f"this process has no code for {name} version {version}: {why}")
        return found
