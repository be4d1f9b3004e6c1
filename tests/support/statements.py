"""SQL is compiled once for all tests of a process.

Each test opens a database of its own, and SQLAlchemy keeps what it has compiled with the one who opened it: a quarter
of the tests' time went into compiling the same statements anew. A process of the product compiles them once, too.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

MOST = 5000
"""Statements that are kept; some tests make many that never come again."""


class Statements(dict[Any, Any]):
    """What was compiled, by the statement and the kind of database, where SQLAlchemy's key has the opened one."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        if len(self) >= MOST:
            self.clear()
        super().__setitem__((type(key[0]), *key[1:]), compiled)


def share() -> None:
    """From now on all connections of this process have one memory for it."""
    compiled = Statements()

    @sa.event.listens_for(sa.Engine, "engine_connect")
    def use(connection: sa.Connection) -> None:
        connection.execution_options(compiled_cache=compiled)
