"""Reminders are sent once, for approved contracts only; rows are written with the contract, and go with it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.register import duties, records
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.tables import contract_record as R
from interlock.apps.contracts.tables import contract_text as T
from interlock.store import moment
from interlock.store.tables import outbox
from tests.support.contracts import CLEAR, DOUBTFUL, Contracts

WHOM = "mail:ann@example.org"


@pytest.fixture
def reminding(both: Contracts) -> Contracts:
    both.engine.core.settings["contracts"] = ContractSettings(remind=[WHOM], remind_before=[30, 7], blind_share=0.0)
    return both


def sent(contracts: Contracts) -> list[str]:
    query = sa.select(outbox.c.subject).where(outbox.c.recipient == "ann@example.org").order_by(outbox.c.id)
    return [str(subject) for (subject,) in contracts.engine.read(lambda conn: conn.execute(query).all())]


def to_day(contracts: Contracts, day: str) -> None:
    here = moment(contracts.api.clock.now())
    wanted = here.fromisoformat(f"{day}T09:00:00+00:00")
    contracts.api.clock.advance(wanted - here)


def test_each_deadline_is_announced_once_a_step(reminding: Contracts) -> None:
    reminding.taken(CLEAR, filename="clear.pdf")  # ends on 2027-03-05, with 90 days of notice: 2026-12-05
    duties.remind(reminding.engine)
    assert sent(reminding) == []
    to_day(reminding, "2026-11-10")
    for _ in range(3):
        duties.remind(reminding.engine)
    title = "clear.pdf · Nordwind Tools, Inc. and Harbor Retail LLC"
    first = f"{title} can be ended by notice until 2026-12-05 (in 25 days)"
    assert sent(reminding) == [first]
    to_day(reminding, "2026-12-04")
    for _ in range(2):
        duties.remind(reminding.engine)
    assert sent(reminding) == [first, f"{title} can be ended by notice until 2026-12-05 (tomorrow)"]
    to_day(reminding, "2027-03-05")
    duties.remind(reminding.engine)
    assert sent(reminding)[2:] == [f"{title} ends on 2027-03-05 (today)"], "the latest step only"


def test_a_contract_in_review_reminds_nobody(reminding: Contracts) -> None:
    reminding.taken(DOUBTFUL)
    to_day(reminding, "2026-01-05")
    reminding.engine.write(lambda unit: unit.conn.execute(sa.update(R).values(ends="2026-01-10")), name="x")
    duties.remind(reminding.engine)
    assert sent(reminding) == []


def test_nobody_is_reminded_unless_somebody_is_named(contracts: Contracts) -> None:
    contracts.taken(CLEAR)
    contracts.api.clock.advance(timedelta(days=320))
    duties.remind(contracts.engine)
    assert (
        contracts.engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(outbox)).scalar()) == 0
    )


def row(contracts: Contracts, it: UUID) -> sa.Row[tuple[object, ...]]:
    return contracts.engine.read(lambda conn: records.of(conn, [it]))[it]


def test_a_correction_changes_the_row(both: Contracts) -> None:
    it = both.in_review()
    assert row(both, it).law == "New York"
    both.review(it, "correct", {"field": "governing_law", "action": "correct", "value": "Delaware"})
    assert row(both, it).law == "Delaware"


def test_missing_rows_are_filled_once(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    contracts.engine.write(lambda unit: (unit.conn.execute(sa.delete(R)), unit.conn.execute(sa.delete(T))), name="x")
    assert duties.fill(contracts.engine) is False
    assert row(contracts, it).ends == "2027-03-05"
    assert contracts.engine.read(lambda conn: len(records.texts_of(conn, [it]))) == 1


def test_small_letters_keep_their_places() -> None:
    text = "İstanbul ÜBERLASSUNG Straße"
    assert len(records.folded(text)) == len(text)
    assert "überlassung" in records.folded(text)
