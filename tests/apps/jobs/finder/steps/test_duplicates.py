"""One opening on several boards is one match, and the employer's own system stands for it."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.records import lists, postings
from interlock.machine import AGENT, Actor
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, answer

from .finding import HERE, ME, Acme, active_at, add_source, give_profile, items, rows, run

pytestmark = pytest.mark.soak("postgresql")
TEXT = " ".join(f"You look after service {n} of the harbour in Python and PostgreSQL." for n in range(20))
TITLE = "Senior Python Engineer"


def shown_by_the_feed(trial: Trial, site: Site) -> Any:
    """The match of the company's own feed."""
    item = {
        "id": "f1",
        "url": site.url("/acme/jobs/f1"),
        "title": TITLE,
        "content_html": f"<p>{TEXT}</p>",
        "location": "Portland, OR",
    }
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Acme", "items": [item]}
    site.routes["/acme/feed.json"] = answer(json.dumps(feed), content_type="application/feed+json")
    page = f"<p>{'We build boats for people who like the sea. ' * 4}</p>"
    site.routes["/acme"] = answer(f"{page}<a href='{site.url('/acme/feed.json')}'>Feed of jobs</a>")
    give_profile(trial)
    trial.engine.write(lambda unit: intake.add_company(unit, HERE, "Acme", site.url("/acme"), ME))
    run(trial)
    if not rows(trial):
        active_at(trial, site.url("/acme/feed.json"))
    [found] = rows(trial, "matched")
    return found


def then_by_the_board(trial: Trial, board: Acme) -> Any:
    """The posting of the company's board, crawled after the feed."""
    board.show("1", title=TITLE, location={"name": "Portland, OR"}, content=f"<p>{TEXT}</p>")
    add_source(trial, board.url, company_name="Acme")
    run(trial)
    trial.advance(minutes=1)
    run(trial)
    [found] = [one for one in rows(trial) if one.posting_key.startswith("greenhouse")]
    return found


def beside(trial: Trial, posting: Any) -> list[UUID]:
    """The other postings of a posting's opening."""

    def look(conn: sa.Connection) -> list[UUID]:
        return [one.id for one in lists.sightings(conn, postings.find(conn, HERE, posting.id))]

    return trial.engine.read(look)


def test_the_employers_own_system_takes_over_from_its_feed(trial: Trial, site: Site, board: Acme) -> None:
    feed = shown_by_the_feed(trial, site)
    own = then_by_the_board(trial, board)
    [match] = rows(trial, "matched")
    assert match.id == own.id
    [other] = rows(trial, "skipped")
    assert (other.id, other.opening_id) == (feed.id, own.id)
    assert "same opening" in other.reason
    assert (beside(trial, own), beside(trial, feed)) == ([feed.id], [own.id]), "each shows where else it was seen"
    assert {one.data["board"]: one.state for one in items(trial, "job")}["greenhouse-acme"] == "discovered"
    assert sorted(one.state for one in items(trial, "job")) == ["discovered", "expired"]
    run(trial)
    assert len(rows(trial, "matched")) == 1, "and it stays so"


@pytest.mark.parametrize("done", ["saved", "claimed"])
def test_what_somebody_has_begun_with_stays_the_match(trial: Trial, site: Site, board: Acme, done: str) -> None:
    feed = shown_by_the_feed(trial, site)
    [offered] = items(trial, "job")
    if done == "saved":
        trial.engine.write(lambda unit: intake.decide(unit, HERE, feed.id, "saved", ME))
    else:
        wanted = claims.ClaimRequest(board=offered.data["board"], job_id=offered.data["job_id"], run_id="r1")
        trial.engine.write(lambda unit: claims.claim(unit, HERE, wanted, Actor(AGENT, "bot")))
    own = then_by_the_board(trial, board)
    assert (own.outcome, own.opening_id) == ("skipped", feed.id)
    assert [one.id for one in rows(trial, "matched")] == [feed.id]
    assert len(items(trial, "job")) == 1
