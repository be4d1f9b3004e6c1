"""An applicant on SQLite, and one on each database for what depends on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.apps.jobs.autoapply.applicant import Applicant, open_applicant


@pytest.fixture
def applicant(sqlite_url: str) -> Iterator[Applicant]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_applicant(store) as made:
        yield made


@pytest.fixture
def any_applicant(store: Store) -> Iterator[Applicant]:
    with open_applicant(store) as made:
        yield made
