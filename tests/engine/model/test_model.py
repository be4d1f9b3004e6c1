"""The engine against the plain model, on both databases: whatever is done in whatever order, they agree.

Hypothesis makes up the order. After every step the laws hold in the database, and every instance, effect, review and
dead letter is as the model says. INTERLOCK_SOAK=1 looks longer, and elsewhere each time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.model.databases import on_postgres, on_sqlite, profile, run_stories
from tests.support.servers import Postgres

pytestmark = [pytest.mark.slow, pytest.mark.longer]


def test_the_engine_agrees_with_the_model_on_sqlite(sqlite_template: Path, tmp_path: Path) -> None:
    run_stories(on_sqlite(sqlite_template, tmp_path), profile(8, soak=1500))


@pytest.mark.usefixtures("databases")
def test_the_engine_agrees_with_the_model_on_postgresql(postgres: Postgres) -> None:
    run_stories(on_postgres(postgres), profile(3, soak=300))
