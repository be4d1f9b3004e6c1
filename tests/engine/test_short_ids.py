"""Objects are found by the end of their id, as lists show it."""

from __future__ import annotations

from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, InvalidData, NotFound, short_ids
from interlock.engine.application import Unit
from interlock.engine.listing import Where
from interlock.store import Store
from interlock.store import tables as t
from tests.support.machines import PARCEL


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [PARCEL])


def test_an_id_is_found_by_its_last_characters_with_or_without_hyphens(engine: Engine) -> None:
    made, other = engine.create("parcel"), engine.create("parcel")
    for given in (str(made.id)[-8:], str(made.id)[-15:], str(made.id)[-8:].upper(), str(made.id), made.id.hex):
        assert engine.read(lambda conn, given=given: short_ids.find(conn, "instance", given)) == made.id
    assert made.id != other.id


def test_what_is_no_id_is_refused_by_name(engine: Engine) -> None:
    with pytest.raises(InvalidData, match="'nope' is not an instance id"):
        engine.read(lambda conn: short_ids.find(conn, "instance", "nope"))
    with pytest.raises(InvalidData, match="'abc' is not a review id"):
        engine.read(lambda conn: short_ids.find(conn, "review", "abc"))
    with pytest.raises(NotFound, match="no dead letter has an id that ends with '0000ffff'"):
        engine.read(lambda conn: short_ids.find(conn, "dead letter", "0000ffff"))


def test_an_ending_of_several_ids_lists_them(engine: Engine) -> None:
    made = engine.create("parcel")
    twin = UUID(int=made.id.int ^ (1 << 100))

    def copy(unit: Unit) -> None:
        row = unit.conn.execute(sa.select(t.instance).where(t.instance.c.id == made.id)).mappings().one()
        unit.conn.execute(sa.insert(t.instance).values({**row, "id": twin, "root": twin}))

    engine.write(copy)
    with pytest.raises(InvalidData) as refused:
        engine.read(lambda conn: short_ids.find(conn, "instance", str(made.id)[-8:]))
    assert {str(made.id), str(twin)} <= set(str(refused.value).replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize("given", ["%%%%", "____", "'--a"])
def test_a_pattern_is_no_ending(engine: Engine, given: str) -> None:
    engine.create("parcel")
    with pytest.raises(InvalidData, match="is not an instance id"):
        engine.read(lambda conn: short_ids.find(conn, "instance", given))


def test_the_search_of_lists_finds_an_id_by_its_end(engine: Engine) -> None:
    made = [engine.create("parcel") for _ in range(5)]
    page = engine.page(Where(text=str(made[2].id)[-8:]))
    assert [one.id for one in page.instances] == [made[2].id]
