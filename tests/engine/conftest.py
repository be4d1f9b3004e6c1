"""A trial of small machines, for tests that need no machine of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import INVOICE, PARCEL, job, trial_of


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    """At its end the laws must hold, whatever the test did."""
    with trial_of(store, PARCEL, INVOICE, job()) as made:
        yield made
