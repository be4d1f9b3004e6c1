"""Companies that cannot be read, and jobs whose life goes on while their postings change."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.tables import company as C
from interlock.engine import Instance
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, answer

from .finding import GOOD, HERE, ME, Acme, active, crawl, give_profile, items, row, rows, run, the_source

pytestmark = pytest.mark.soak("postgresql")


def companies(trial: Trial) -> list[Any]:
    return trial.engine.read(lambda conn: list(conn.execute(sa.select(C).order_by(C.c.id))))


def add(trial: Trial, name: str, website: str | None) -> Instance:
    return trial.engine.write(lambda unit: intake.add_company(unit, HERE, name, website, ME)).item


def test_a_company_that_cannot_be_read_is_tried_again_in_thirty_days(trial: Trial, site: Site) -> None:
    item = add(trial, "Acme", site.url("/acme"))
    trial.advance(hours=2)
    assert trial.state(item.id) == "FAILED"
    assert companies(trial)[0].status == "insufficient"
    trial.look_after()
    assert len(items(trial, "company")) == 1
    trial.advance(days=31)
    trial.look_after()
    assert len(items(trial, "company")) == 2


def test_a_company_on_a_private_address_fails_at_once(trial: Trial) -> None:
    item = add(trial, "Acme", "http://10.0.0.1/")
    trial.run_until_idle()
    found = trial.get(item.id)
    assert (found.state, found.finished_at is not None) == ("FAILED", True)
    assert "10.0.0.1 is not on the public internet" in found.data["message"]


def test_a_company_whose_only_source_is_disabled_is_looked_at_again(trial: Trial, site: Site, board: Acme) -> None:
    page = f"<p>{'We build boats for people who like the sea. ' * 4}</p><a href='{board.url}'>Jobs</a>"
    site.routes["/acme"] = answer(page)
    board.show("1")
    add(trial, "Acme", site.url("/acme"))
    run(trial)
    source = the_source(trial)
    assert source.company_id == companies(trial)[0].id
    trial.advance(days=31)
    trial.look_after()
    assert len(items(trial, "company")) == 1, "its source is crawled"
    trial.engine.write(lambda unit: intake.disable_source(unit, HERE, source.id, ME))
    trial.look_after()
    assert len(items(trial, "company")) == 2


def test_an_office_in_the_home_city_lowers_the_threshold_of_the_companys_remote_postings(
    trial: Trial, site: Site, board: Acme
) -> None:
    page = (
        f"<p>{'We build boats for people who like the sea. ' * 4}</p><p>Our headquarters are in Portland, Oregon.</p>"
    )
    site.routes["/acme"] = answer(f"{page}<a href='{board.url}'>Jobs</a>")
    board.show("1", title="Software Tinkerer")
    give_profile(trial)
    add(trial, "Acme", site.url("/acme"))
    run(trial)
    [found] = rows(trial, "matched")
    result = json.loads(found.match_result)
    assert (result["threshold"], result["office_bonus"]) == (65, True)


def test_a_company_without_a_website_is_known_by_name(trial: Trial) -> None:
    item = add(trial, "Acme", None)
    run(trial)
    assert trial.state(item.id) == "SKIPPED"
    assert companies(trial)[0].status == "named"


def test_a_company_that_nobody_could_look_at_delays_no_other(trial: Trial, site: Site) -> None:
    for name in ("Acme", "Bolt"):
        add(trial, name, site.url(f"/{name}"))
    trial.advance(hours=2)
    broken = sa.update(C).where(C.c.id == companies(trial)[0].id).values(website="no address", name="")
    trial.engine.write(lambda unit: unit.conn.execute(broken))
    trial.advance(days=31)
    trial.look_after()
    assert [one.status for one in companies(trial)] == ["named", "analyzing"]


@pytest.mark.parametrize("event", ["expire", "reject"])
def test_a_posting_that_changes_after_its_job_has_ended_is_still_scored(trial: Trial, board: Acme, event: str) -> None:
    give_profile(trial)
    board.show("1")
    source_id = active(trial, board)
    [found] = rows(trial, "matched")
    [offered] = items(trial, "job")
    trial.engine.fire(offered.id, event, actor=ME)
    board.rows["1"] = row(board, "1", title="Senior Python Engineer, Payments")
    crawl(trial, source_id)
    trial.advance(minutes=15)
    run(trial)
    [again] = rows(trial, "matched")
    assert again.id == found.id
    assert again.item_id != found.item_id
    [same] = items(trial, "job")
    assert same.state == {"expire": "expired", "reject": "rejected"}[event], "final is final"


def test_pages_of_a_company_that_ask_for_a_pause_are_waited_for(trial: Trial, site: Site) -> None:
    for path in ("", "/about", "/about-us", "/company", "/careers"):
        site.routes[f"/acme{path}"] = answer("later", 429, retry_after="1200")
    item = add(trial, "Acme", site.url("/acme"))
    trial.run_until_idle()
    assert trial.get(item.id).failures == {}
    assert trial.state(item.id) == "PROCESSING"


def test_a_posting_waits_ten_minutes_for_its_company_and_goes_on_without(trial: Trial, site: Site) -> None:
    give_profile(trial)
    for path in ("", "/about", "/about-us", "/company", "/careers"):
        site.routes[f"/acme{path}"] = answer("later", 429, retry_after="5400")
    said = {
        "title": "Senior Python Engineer",
        "company": "Acme",
        "company_website": site.url("/acme"),
        "location": "Remote - United States",
        "description": GOOD,
    }
    url = "https://acme.example/jobs/1"
    made = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, url, ME, job_data=said)).item
    trial.run_until_idle()
    [company] = items(trial, "company")
    assert company.trace_id == made.trace_id, "the listing started it"
    waits = trial.get(made.id)
    assert (waits.data["stage"], waits.data["filter_result"]["passed"], waits.finished_at) == ("ANALYZE", True, None)
    trial.advance(minutes=9, seconds=30)
    assert trial.get(made.id).data["stage"] == "ANALYZE"
    assert trial.get(made.id).failures == {}, "waiting is no failure"
    trial.advance(minutes=1)
    assert companies(trial)[0].status == "analyzing"
    assert trial.state(made.id) == "SUCCESS"
    [match] = rows(trial, "matched")
    assert match.company_id == companies(trial)[0].id
