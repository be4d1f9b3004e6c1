"""Several processes keep one rate per host."""

from __future__ import annotations

import math

from interlock.apps.jobs.finder.fetching.shared_rate import block, remaining, remove_free, reserve
from interlock.store import Store

NOW = 1_767_600_000_000_000


def wait(store: Store, host: str, interval: float, most: float = math.inf) -> float:
    return store.write(lambda conn: reserve(conn, host, interval, most, NOW))


def test_those_who_wait_for_a_host_are_served_one_after_the_other(store: Store) -> None:
    assert [wait(store, "a", 2.0) for _ in range(3)] == [0.0, 2.0, 4.0]
    assert wait(store, "b", 2.0) == 0.0, "another host has its own rate"
    assert wait(store, "a", 2.0, 5.0) == 6.0, "too long, so nothing is reserved"
    assert wait(store, "a", 2.0, 6.0) == 6.0
    store.write(lambda conn: block(conn, "a", 3.0, NOW))
    assert wait(store, "a", 2.0) == 8.0, "a pause does not shorten the queue"
    store.write(lambda conn: block(conn, "a", 60.0, NOW))
    assert store.read(lambda conn: remaining(conn, "a", NOW)) == 60.0
    store.write(lambda conn: block(conn, "new", 5.0, NOW))
    assert wait(store, "new", 1.0, 4.0) == 5.0


def test_hosts_that_nobody_waits_for_are_forgotten(store: Store) -> None:
    wait(store, "a", 1.0)
    assert store.write(lambda conn: remove_free(conn, NOW)) == 0
    assert store.write(lambda conn: remove_free(conn, NOW + 2_000_000)) == 1
