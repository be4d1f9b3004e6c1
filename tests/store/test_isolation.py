"""Isolation: the engine counts limits at READ COMMITTED, whatever the database's default, and takes no other level."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.machine import FINAL, SYSTEM, WAITING, LimitReached, Machine, State, Transition, Window
from interlock.store import Store, WrongIsolation, open_store, tables
from tests.support.racing import race

PLACES = 5
door = Machine(
    "door",
    initial="outside",
    states=[State("outside", WAITING, waits_for="a place"), State("inside", FINAL)],
    transitions=[Transition("outside", "inside", on="enter", by=SYSTEM, takes=("places",))],
    limits=[Window("places", "all", PLACES, timedelta(hours=1))],
)


def enter(engine: Engine, guest: UUID) -> bool:
    try:
        engine.fire(guest, "enter")
    except LimitReached:
        return False
    return True


def uses(engine: Engine) -> int:
    return int(engine.read(lambda conn: conn.execute(sa.select(sa.func.count(tables.limit_use.c.id))).scalar_one()))


# -- the engine's own transactions


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_limit_holds_whatever_the_databases_default_is(postgres_url: str, level: str) -> None:
    name = postgres_url.rsplit("/", 1)[1]
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'".encode())
    with open_store(postgres_url, durability="normal", wakeup="poll") as store:
        asked = store.write(lambda conn: conn.exec_driver_sql("SHOW transaction_isolation").scalar_one())
        vital = store.vital(lambda conn: conn.exec_driver_sql("SHOW transaction_isolation").scalar_one())
        assert (asked, vital) == ("read committed", "read committed")
        engine = Engine(store, [door])
        guests = engine.create_many("door", [{}] * 32)
        entered = race(8, lambda n: sum(enter(engine, guest) for guest in guests[n::8]))
        assert (sum(entered), uses(engine)) == (PLACES, PLACES)


# -- the user's


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [door])


@pytest.fixture
def on_postgresql(postgres_url: str) -> Iterator[Engine]:
    with open_store(postgres_url, durability="normal", wakeup="poll") as store:
        yield Engine(store, [door])


@pytest.fixture
def mine(url: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(url)
    yield made
    made.dispose()


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("how", ["option", "default", "statement"])
def test_on_postgresql_other_levels_are_refused_by_name(
    on_postgresql: Engine, postgres_url: str, level: str, how: str
) -> None:
    engine = on_postgresql
    guest = engine.create("door").id
    mine = sa.create_engine(postgres_url)
    with mine.connect() as conn:
        if how == "option":
            conn = conn.execution_options(isolation_level=level)
        elif how == "default":
            conn.exec_driver_sql(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            conn.commit()
        else:
            conn.exec_driver_sql(f"SET TRANSACTION ISOLATION LEVEL {level}")
        with pytest.raises(WrongIsolation, match=f"is at {level}, .*execution_options") as refused:
            engine.within(conn).fire(guest, "enter")
        assert refused.value.level == level
    mine.dispose()
    assert engine.get(guest).state == "outside"


def test_each_transaction_of_a_connection_is_looked_at(on_postgresql: Engine, postgres_url: str) -> None:
    engine = on_postgresql
    mine = sa.create_engine(postgres_url)
    with mine.connect() as conn:
        inside = engine.within(conn)
        first = inside.create("door").id
        assert inside.get(first).state == "outside"
        conn.commit()
        conn.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with pytest.raises(WrongIsolation):
            inside.create("door")
        conn.rollback()
        inside.create("door")
        conn.commit()
    mine.dispose()
    assert engine.count().n == 2


@pytest.mark.parametrize("how", ["option", "engine"])
def test_a_connection_that_commits_each_statement_is_refused(
    engine: Engine, mine: sa.Engine, url: str, how: str
) -> None:
    auto = mine if how == "option" else sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with auto.connect() as conn:
        conn = conn.execution_options(isolation_level="AUTOCOMMIT") if how == "option" else conn
        with pytest.raises(WrongIsolation, match="is at AUTOCOMMIT, where each statement commits by itself; "):
            engine.within(conn).create("door")
    auto.dispose()
    assert engine.count().n == 0


def test_on_sqlite_whoever_begins_transactions_himself_is_served(sqlite_url: str) -> None:
    """SQLAlchemy's own recipe: the driver is in autocommit mode, and an event begins each transaction."""
    mine = sa.create_engine(sqlite_url)

    @sa.event.listens_for(mine, "connect")
    def connect(dbapi: object, _: object) -> None:
        dbapi.isolation_level = None  # type: ignore[attr-defined]

    @sa.event.listens_for(mine, "begin")
    def begin(conn: sa.Connection) -> None:
        conn.exec_driver_sql("BEGIN")

    with open_store(sqlite_url, durability="normal") as store:
        engine = Engine(store, [door])
        with mine.connect() as conn:
            engine.within(conn).create("door")
            conn.rollback()
            kept = engine.within(conn).create("door").id
            conn.commit()
        mine.dispose()
        assert [one.id for one in engine.page().instances] == [kept]
