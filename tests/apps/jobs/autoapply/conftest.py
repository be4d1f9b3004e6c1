"""An applicant on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store

from .applicant import Applicant, open_applicant


@pytest.fixture
def applicant(store: Store) -> Iterator[Applicant]:
    with open_applicant(store) as made:
        yield made
