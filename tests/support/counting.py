"""Catches the statements that stores send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.store.prepared import _Compiled


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that any store sends meanwhile, except those of `insert_many` and `update_many`."""
    sent: list[str] = []
    went = _Compiled.run

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(statement)

    def straight(self: _Compiled, conn: sa.Connection, values: dict[str, Any]) -> Any:
        sent.append(self.text)
        return went(self, conn, values)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_Compiled, "run", straight)
            yield sent
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
