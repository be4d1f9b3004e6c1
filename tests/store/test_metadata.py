"""Whoever looks through all tables has them all, whatever else a process has imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interlock.store import service_tables
from interlock.store.columns import metadata

NAMES = sorted(metadata.tables)
SHOWN = "from interlock.store.columns import metadata; print(*sorted(metadata.tables))"
DECLARED = "from interlock.store.application_tables import declared; declared([])"


@pytest.mark.parametrize("code", ["import interlock.store.snapshot", DECLARED])
def test_a_process_of_its_own_knows_every_table(code: str) -> None:
    assert service_tables.person.name in NAMES
    done = subprocess.run([sys.executable, "-c", f"{code}\n{SHOWN}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == NAMES
