"""Hostile data: whatever a board or a person gives is stored, refused by name, or skipped. It stops nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.apps.jobs.finder import intake
from interlock.engine import InvalidData
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site, answer

from .finding import HERE, ME, Acme, active, add_source, crawl, crawls, give_profile, items, row, rows, run

NUL, HALF = "a\x00b", "a\ud800b"
LONG = "https://jobs.example.org/" + "x" * 3900
FAR = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "1e400", "-1", "Infinity"]
ODD: dict[str, dict[str, Any]] = {
    "nul": {"title": NUL, "company_name": NUL, "content": NUL * 50, "location": {"name": NUL}},
    "half": {"title": HALF, "company_name": HALF, "content": HALF * 50, "location": {"name": HALF}},
    "script": {"title": "<script>alert(1)</script>Engineer <img src=x onerror=alert(1)>"},
    "long address": {"absolute_url": LONG},
    "address with nul": {"absolute_url": "https://jobs.example.org/\x00"},
    "private address": {"absolute_url": "http://169.254.169.254/latest/meta-data"},
    "no web address": {"absolute_url": "javascript:alert(1)"},
    "long title": {"title": "Engineer " * 10_000},
    "long company": {"company_name": "ﷺ" * 2000},
    "controls": {"company_name": "\x01\x02\u202e", "title": "\u202eEngineer\u0007"},
    "empty": {"company_name": "", "title": ""},
    "numbers": {"company_name": 7, "title": [], "location": "x", "content": {"a": 1}},
    "salary": {"content": "<p>Pay: $999999999999999999999999 - $9e999 per hour. 1e400 EUR.</p>" * 5},
    **{f"date {n}": {"first_published": at, "application_deadline": at} for n, at in enumerate(FAR)},
    "many places": {"location": {"name": "; ".join(f"Town {n}, OR" for n in range(5000))}},
    "odd id ☃ /../ :": {},
    "many questions": {"questions": [{"label": "x" * 10_000, "fields": [{"name": "y" * 10_000}]}] * 300},
}


@pytest.mark.soak("sqlite")
def test_odd_rows_of_a_board_stop_no_other(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("1")
    source_id = active(trial, board)
    board.rows |= {key: row(board, key) | odd for key, odd in ODD.items()}
    item = crawl(trial, source_id)
    assert item.state == "SUCCESS", item.error
    trial.advance(minutes=15)
    run(trial)
    last = crawls(trial)[-1]
    assert last["parsed"] + last["unreadable"] == len(ODD) + 1, last
    listings = items(trial, "listing")
    assert not [one.error for one in listings if one.state == "FAILED"]
    assert {one.finished_at is None for one in listings} == {False}
    stored = "".join(str(one.title) + str(one.company_name) + str(one.location) for one in rows(trial))
    assert "<" not in stored
    assert "\x00" not in stored
    assert "\u202e" not in stored
    assert all(len(one.posting_key.encode()) <= 1100 for one in rows(trial))


SAID: list[dict[str, Any]] = [
    {"title": NUL, "company": NUL, "description": NUL, "location": NUL, "salary": NUL, "company_website": NUL},
    {"title": HALF, "company": HALF, "description": HALF, "location": HALF, "salary": HALF, "posted_date": HALF},
    {"title": "x" * 100_000, "company": "ﷺ" * 5000, "description": "x" * 3_000_000, "location": "y, " * 100_000},
    {"title": ["a"], "company": {"b": 1}, "description": 7, "location": [1, 2], "salary": -1e400, "posted_date": 1e400},
    {"salary": "$" + "9" * 400 + " per hour", "posted_date": "0001-01-01", "company_website": "http://127.0.0.1/"},
]


@pytest.mark.parametrize("said", SAID)
def test_odd_data_of_a_listing_is_cleaned(trial: Trial, said: dict[str, Any]) -> None:
    give_profile(trial)
    url = "https://jobs.example.org/1"
    item = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, url, ME, job_data=said)).item
    run(trial)
    trial.advance(hours=3)
    run(trial)
    found = trial.get(item.id)
    assert found.finished_at is not None
    assert found.state != "FAILED", found.error


def test_an_address_of_any_length_has_a_key_that_fits(trial: Trial) -> None:
    made = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, LONG, ME, job_data={"title": "x"}))
    again = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, LONG, ME, job_data={"title": "x"}))
    assert (made.item.id, again.new) == (again.item.id, False)
    other = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, LONG[:-1] + "y", ME))
    assert other.new
    for make in (intake.add_company, intake.add_source):
        args = ("Acme", LONG, ME) if make is intake.add_company else (LONG, ME)
        assert trial.engine.write(lambda unit, make=make, args=args: make(unit, HERE, *args)).new
    for url in ("https://x.org/" + "x" * 5000, NUL, HALF, "", "file:///etc/passwd", "https://", "https://a b"):
        with pytest.raises(InvalidData):
            trial.engine.write(lambda unit, url=url: intake.add_listing(unit, HERE, url, ME))


def test_names_of_companies_can_be_anything(trial: Trial) -> None:
    for name in ("ﷺ" * 3000, "x" * 100_000, "<script>alert(1)</script>", "\u202eemcA", NUL, HALF):
        trial.engine.write(lambda unit, name=name: intake.add_company(unit, HERE, name, None, ME))
    for name in ("", "\x01"):
        with pytest.raises(InvalidData):
            trial.engine.write(lambda unit, name=name: intake.add_company(unit, HERE, name, None, ME))
    run(trial)
    assert {one.state for one in items(trial, "company")} == {"SKIPPED"}


CONFIGS: list[dict[str, Any]] = [
    {"type_hint": "api", "config": {"endpoints": 7}},
    {"type_hint": "api", "config": {"base_url": "http://169.254.169.254/", "endpoints": {"search": "/"}}},
    {"type_hint": "api", "config": {"base_url": ["x"], "options": "nonsense"}},
    {"type_hint": "feed", "config": {"url": 7}},
    {"type_hint": "feed", "config": {"url": "http://169.254.169.254/", "options": {"url": "http://127.0.0.1:1/"}}},
    {"type_hint": "html", "config": {"selectors": {"job_list": "[[["}}},
    {"type_hint": "html", "config": {"selectors": "x", "options": 7, "board": {"a": 1}}},
    {"type_hint": "html", "config": {"selectors": {"job_list": "li"}, "pagination": {"max_pages": 10**30}}},
]


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("said", CONFIGS, ids=json.dumps)
def test_a_configuration_of_nonsense_is_refused_or_fails_without_a_retry(
    trial: Trial, site: Site, said: dict[str, Any]
) -> None:
    site.routes["/jobs"] = answer("<ul><li>x</li></ul>", content_type="text/html")
    try:
        item = add_source(trial, site.url("/jobs"), **said)
    except InvalidData:
        return
    run(trial)
    found = trial.get(item.id)
    assert found.finished_at is not None, found.data["message"]
    assert found.state == "FAILED"
    assert "explain" in found.data["message"]


def test_a_redirect_to_a_private_host_is_refused(trial: Trial, site: Site, board: Acme) -> None:
    board.show("1")
    source_id = active(trial, board)
    board.broken(answer("", 302, location="http://169.254.169.254/latest"))
    item = crawl(trial, source_id)
    assert item.state == "FAILED"
    assert "169.254.169.254" in crawls(trial)[-1]["reasons"][0] or "302" in crawls(trial)[-1]["reasons"][0]
    assert len(site.asked) < 20


def test_a_page_of_ten_megabytes_is_refused(trial: Trial, site: Site) -> None:
    site.routes["/job"] = answer(b"<p>" + b"x" * 10_000_000, content_type="text/html")
    give_profile(trial)
    item = trial.engine.write(lambda unit: intake.add_listing(unit, HERE, site.url("/job"), ME)).item
    run(trial)
    assert trial.state(item.id) == "FAILED"
    [found] = rows(trial)
    assert found.outcome == "failed"
    assert "5000000" in found.flag.replace(",", "")
