"""Companies and sources: what their pages show and start; the page of the day; the review inbox."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from uuid import uuid4

from interlock.apps.jobs.finder.intake import add_source
from interlock.apps.jobs.finder.machine import VALIDATE_SOURCE
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict, failed
from interlock.engine.application import Unit, ask, change
from tests.apps.jobs.finder.pages.conftest import Finder
from tests.support.api import BY
from tests.support.site import EVIL

POINTS = [
    {"name": "office", "points": 50, "why": "an office in Portland", "quote": "Our home is Portland."},
    {"name": "tech_stack", "points": 30, "why": "Python 30"},
]


def test_an_empty_finder_says_what_to_do_next_with_the_forms_right_there(finder: Finder) -> None:
    text = finder.site.get("/ui/jobs").text
    assert "Add your profile" in text
    assert 'action="/ui/jobs/companies"' in text
    assert 'href="/ui/jobs"' in finder.site.get("/ui").text
    after = finder.site.send("/ui/jobs", "/ui/jobs/companies", {"name": "Kelp Works", "website": "kelp.example"})
    assert "Added Kelp Works" in after.text
    found = finder.engine.page(limit=10).instances
    assert [(one.machine, one.data["website"]) for one in found] == [("company", "https://kelp.example")]


def test_the_day_shows_matches_trouble_and_what_was_settled_without_a_paid_call(finder: Finder) -> None:
    finder.profile()
    finder.match()
    finder.match(title="Unpaid Engineer")
    finder.source(status="disabled", status_reason="5 crawls in a row failed: 503")
    text = unescape(finder.site.get("/ui/jobs").text)
    assert "2 of 2 postings were decided without a paid model call" in text
    assert "5 crawls in a row failed: 503" in text
    assert "Senior Backend Engineer" in text
    assert "Start here" not in text


def test_a_company_shows_its_tier_with_the_sum(finder: Finder) -> None:
    made = finder.company(
        "Kind Boats", None, tier="S", priority_score=80, facts={"points": POINTS, "about": "Boats for all."}
    ).id
    listed = unescape(finder.site.get("/ui/jobs/companies").text)
    assert "Office in your city +50" in listed
    assert "= 80" in listed
    text = unescape(finder.site.get(f"/ui/jobs/companies/{made}").text)
    assert "an office in Portland" in text
    assert "“Our home is Portland.”" in text
    assert '<b class="num">80</b>' in text


def test_a_company_without_facts_has_a_page_too(finder: Finder) -> None:
    made = finder.company(EVIL, None, facts={}).id
    for page in ("/ui/jobs/companies", f"/ui/jobs/companies/{made}"):
        reply = finder.site.get(page)
        assert reply.status_code == 200
        assert "<script>alert" not in reply.text


def test_a_source_shows_its_health_its_crawls_and_its_first_rows(finder: Finder) -> None:
    rows = [{"title": EVIL, "location": "Oslo", "missing": ["salary"], "url": "javascript:alert(1)"}]
    made = finder.source(preview=rows).id

    def crawl(unit: Unit, result: Parsed, parsed: int) -> None:
        row = sources.find(unit.conn, "default", made)
        assert row is not None
        sources.crawled(unit, row, uuid4(), unit.now, result, {"parsed": parsed, "new": 3}, gone=False)

    finder.write(lambda unit: crawl(unit, Parsed(Verdict.COMPLETE), 12))
    finder.site.api.clock.advance(timedelta(hours=6))
    finder.write(lambda unit: crawl(unit, failed("503 Service Unavailable"), 0))
    listed = finder.site.get("/ui/jobs/sources").text
    assert 'aria-label="2 crawls, 1 failed; the last one was failed with 0 postings"' in listed
    assert "1 of 5 failures in a row" in listed
    text = unescape(finder.site.get(f"/ui/jobs/sources/{made}").text)
    assert "503 Service Unavailable" in text
    assert "Missing: salary (1 of 1)" in text
    assert 'href="javascript' not in text


def test_a_source_is_crawled_disabled_and_enabled_again(finder: Finder) -> None:
    made = finder.source().id
    page = action = f"/ui/jobs/sources/{made}"
    assert "a crawl starts now" in finder.site.send(page, action, {"action": "crawl"}).text
    assert "a crawl is already under way" in finder.site.send(page, action, {"action": "crawl"}).text
    finder.site.send(page, action, {"action": "disable"})
    stored = finder.read(lambda conn: sources.find(conn, "default", made))
    assert stored is not None
    assert stored.status == "disabled"
    assert "owner" in stored.status_reason
    finder.site.send(page, action, {"action": "enable"})
    assert "Crawl now" in finder.site.get(page).text


def test_enabling_a_source_answers_the_review_that_asks_about_it(finder: Finder) -> None:
    made = finder.source(status="pending_validation").id

    def asked(unit: Unit) -> None:
        item = add_source(unit, "default", "https://boards.greenhouse.io/kind", BY).item
        change(unit, item, {"source_id": str(made)}, BY)
        ask(unit, item, "validate", VALIDATE_SOURCE, evidence={})
        sources.update(unit, made, item_id=item.id)

    finder.write(asked)
    assert "Check the first rows below" in finder.site.get(f"/ui/jobs/sources/{made}").text
    finder.site.send(f"/ui/jobs/sources/{made}", f"/ui/jobs/sources/{made}", {"action": "enable"})
    assert finder.engine.reviews.waiting() == []


def test_a_source_is_added_by_its_address_and_a_wrong_address_is_refused(finder: Finder) -> None:
    after = finder.site.send("/ui/jobs/sources", "/ui/jobs/sources", {"url": "https://boards.greenhouse.io/kind"})
    assert "Added: the address is looked at now" in after.text
    refused = finder.site.send("/ui/jobs/sources", "/ui/jobs/sources", {"url": "ftp://boards.example"})
    assert refused.status_code == 422
    assert "is not a web address" in unescape(refused.text)


def test_an_address_that_no_source_shows_can_be_added_from_why_not(finder: Finder) -> None:
    finder.profile()
    page = "/ui/jobs/why-not?q=https://jobs.lever.co/kelp/42"
    assert "No stored posting has this address" in finder.site.get(page).text
    after = finder.site.send(page, "/ui/jobs/listings")
    assert "Added: it is fetched, filtered and matched now" in after.text


def test_the_inbox_shows_the_first_rows_of_a_source(finder: Finder) -> None:
    rows = [{"title": "Cook", "company": "Kelp", "location": "Oslo", "posted": None, "missing": ["salary"]}]

    def job(unit: Unit) -> None:
        item = add_source(unit, "default", "https://kelp.example/jobs", BY, company_name="Kelp Works").item
        evidence = {"rows": rows, "confidence": "low", "source_type": "html"}
        ask(unit, item, "validate", VALIDATE_SOURCE, evidence=evidence)

    finder.write(job)
    text = unescape(finder.site.get("/ui/reviews").text)
    assert "html, low confidence: crawl it?" in text
    assert "<td>Cook</td><td>Kelp</td><td>Oslo</td><td>—</td>" in text
    assert "boards and sources to decide" in finder.site.get("/ui/jobs").text
    assert finder.site.get("/ui/jobs/refused").status_code == 200
