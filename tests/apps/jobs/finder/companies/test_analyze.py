"""Technologies, boards with their confidence, and the tier, whose every point is explained."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from interlock.apps.jobs.finder.companies import (
    Analysis,
    Completeness,
    Extracted,
    Fact,
    analyze,
    completeness,
    extract,
    insufficient,
    priority_of,
    record_of,
    size_category,
    skip_analysis,
    tier_of,
)
from interlock.apps.jobs.finder.companies.boards import board_url
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.sources.detection import detect

from .websites import BRAMBLE, LIGHTHOUSE, PAGES

SEEKER = Seeker(
    check_profile(
        {
            "home": "Portland, OR, US",
            "skills": [{"name": "Python", "rank": 60}, {"name": "postgres", "rank": 30}, {"name": "k8s", "rank": 40}],
        }
    )
)


def of(
    text: str, seeker: Seeker | None = None, private: tuple[str, ...] = (), at: str = "https://acme.example/careers"
) -> Analysis:
    pages = {at: text}
    return analyze(extract(pages, "Acme", "https://acme.example"), pages, seeker, private)


def points(found: Analysis) -> dict[str, int]:
    return {one.name: one.points for one in found.points}


def test_a_company_near_home_with_the_seekers_technologies() -> None:
    extracted = extract(PAGES, "Lighthouse Freight", LIGHTHOUSE)
    found = analyze(extracted, PAGES, SEEKER)
    assert found.tech_stack == ("Python", "PostgreSQL", "Kubernetes", "AWS"), "the footer's PHP is not theirs"
    assert points(found) == {"office": 50, "tech_stack": 100, "remote_first": 15, "ai_focus": 0}
    assert (found.priority_score, found.tier, found.priority) == (165, "S", 0)
    assert found.points[1].why == "Python 60 + PostgreSQL 30 + Kubernetes 40 = 130, at most 100"
    assert found.points[0].quote
    assert found.points[0].place.startswith("Portland")
    assert found.points[2].quote == "We are remote-first, with an office in Portland, Oregon."
    assert [(one.kind, one.url, one.confidence) for one in found.boards] == [
        ("greenhouse", "https://boards.greenhouse.io/lighthousefreight", "high")
    ]
    assert Analysis.model_validate(json.loads(found.model_dump_json())) == found
    record = record_of(extracted, found)
    assert (record["tier"], record["priorityScore"], record["analysis_status"]) == ("S", 165, "complete")
    assert (record["company_size_category"], record["techStack"][:1]) == ("medium", ["Python"])


def test_without_a_profile_its_parts_are_skipped_and_the_tier_is_unknown() -> None:
    found = analyze(extract(PAGES, "Lighthouse Freight", LIGHTHOUSE), PAGES)
    assert [(one.name, one.skipped) for one in found.points][:2] == [("office", True), ("tech_stack", True)]
    assert (found.tier, found.priority, found.priority_score) == (None, 2, 15)
    empty = of("<p>Tea.</p>", Seeker(check_profile({})))
    assert [one.why for one in empty.points if one.skipped] == [
        "skipped: the profile names no home city",
        "skipped: the profile names no skills",
    ]
    assert empty.tier == "D"


OFFICES = {
    "We have offices in Berlin and Portland.": 50,
    "Headquartered in Boulder, with hubs in Austin and Portland, Oregon.": 50,
    "<h2>Our offices</h2><ul><li>Rome</li><li>Portland</li></ul>": 50,
    "Our studio is in Portland, Maine.": 0,
    "We love Portland cement.": 0,
    "We have no office in Portland.": 0,
}


@pytest.mark.parametrize("text", OFFICES)
def test_an_office_is_one_in_the_seekers_own_city(text: str) -> None:
    assert points(of(f"<p>{text}</p>", SEEKER))["office"] == OFFICES[text]


FOCUS = {
    "We build machine learning tools for farmers.": 10,
    "Our models are trained with PyTorch.": 10,
    "Wir bauen Künstliche Intelligenz für Bäckereien.": 10,
    "We bake bread and have no time for mail.": 0,
}


@pytest.mark.parametrize("text", FOCUS)
def test_a_focus_on_machine_learning(text: str) -> None:
    assert points(of(f"<h1>About us</h1><p>{text}</p>"))["ai_focus"] == FOCUS[text]


def test_a_pages_description_is_in_its_own_words() -> None:
    assert points(of('<meta name=description content="Maps by machine learning."><p>Tea.</p>'))["ai_focus"] == 10


def test_remote_first_is_not_what_is_denied() -> None:
    assert points(of(BRAMBLE))["remote_first"] == 0
    assert points(of("<p>Everyone works from anywhere.</p>"))["remote_first"] == 15


BOARDS = {
    '<a href="https://boards.greenhouse.io/acme/jobs/1">': ("greenhouse", "https://boards.greenhouse.io/acme", "high"),
    '<a href="https://acme.wd5.myworkdayjobs.com/en-US/Acme_Careers/job/x/Cook_R1">': (
        "workday",
        "https://acme.wd5.myworkdayjobs.com/Acme_Careers",
        "medium",
    ),
    '<a href="https://jobs.lever.co/acme">': ("lever", "https://jobs.lever.co/acme", "medium"),
    '<a href="https://jobs.jobvite.com/acme/jobs">': ("jobvite", "https://jobs.jobvite.com/acme", "medium"),
    '<a href="https://careers.smartrecruiters.com/Acme">': (
        "smartrecruiters",
        "https://jobs.smartrecruiters.com/Acme",
        "medium",
    ),
    '<link rel=alternate type="application/rss+xml" href="/jobs.rss">': (
        "feed",
        "https://acme.example/jobs.rss",
        "high",
    ),
    '<a href="/careers/feed">openings</a>': ("feed", "https://acme.example/careers/feed", "high"),
    '<script type="application/ld+json">{"@type": "JobPosting", "title": "Cook"}</script>': (
        "jsonld",
        "https://acme.example/careers",
        "medium",
    ),
    '<a href="/blog/feed">Blog</a><a href="/sitemap.xml">jobs</a>': ("html", "https://acme.example/careers", "low"),
}


@pytest.mark.parametrize("page", BOARDS)
def test_boards_and_how_sure_they_are(page: str) -> None:
    (board,) = of(page).boards
    assert (board.kind, board.url, board.confidence) == BOARDS[page]
    assert board.page == "https://acme.example/careers"
    assert board.quote


def test_a_private_host_plays_a_system() -> None:
    host, at = "127.0.0.1:8431", "http://127.0.0.1:8431/acme/careers"
    for link, board in {
        "/greenhouse-host/acme/jobs/7": "greenhouse-host/acme",
        "/recruitee-host/acme/o/cook": "recruitee-host/acme/",
        "/workday-host/acme/Careers/job/x/Cook_R1": "workday-host/acme/Careers",
        "/bamboohr-host/acme/careers": "bamboohr-host/acme/careers",
        "/teamtailor-host/acme/jobs": "teamtailor-host/acme/jobs",
    }.items():
        page = f'<a href="{link}">Jobs</a>'
        (found,) = of(page, private=(host,), at=at).boards
        assert found.url == f"http://{host}/{board}"
        again = detect(found.url, (host,))
        assert again
        assert (again.ats, again.board) == (found.kind, found.board)
        assert {one.kind for one in of(page, at=at).boards} == {"html"}, "nobody names the host"


def test_a_list_of_its_own_beside_a_board_waits_for_a_person() -> None:
    boards = of(
        '<a href="https://jobs.lever.co/acme">Jobs</a><a href="/de/openings">More</a><a href="/careers">Top</a>'
    ).boards
    assert [(one.kind, one.url, one.confidence) for one in boards] == [
        ("lever", "https://jobs.lever.co/acme", "medium"),
        ("html", "https://acme.example/de/openings", "low"),
    ]


def test_without_a_careers_page_its_link_is_the_board() -> None:
    (board,) = of(BRAMBLE, at="https://bramble.example/").boards
    assert (board.url, board.confidence, board.quote) == ("https://bramble.example/en/jobs", "low", "link: Jobs")
    assert of("<p>Tea.</p>", at="https://acme.example/").boards == ()


@pytest.mark.parametrize(
    "address",
    [
        Address("greenhouse", "acme", None, {"region": "eu"}),
        Address("lever", "acme", None, {"region": "eu"}),
        Address("ashby", "Acme Tea"),
        Address("recruitee", "acme"),
        Address("personio", "acme", None, {"host": "acme.jobs.personio.com"}),
        Address("teamtailor", "acme"),
        Address("bamboohr", "acme"),
        Address("workable", "acme"),
    ],
)
def test_a_boards_page_is_detected_as_that_board(address: Address) -> None:
    found = detect(board_url(address))
    assert found
    assert (found.ats, found.board) == (address.ats, address.board)
    assert found.options.get("region") == address.options.get("region")


def test_tiers_priorities_and_sizes_at_their_edges() -> None:
    assert [tier_of(score) for score in (150, 149, 100, 99, 70, 69, 50, 49, 0)] == list("SAABBCCDD")
    assert [priority_of(tier) for tier in ("S", "A", "B", None, "C", "D")] == [0, 1, 2, 2, 3, 3]
    assert [size_category(count) for count in (1, 100, 101, 1000, 1001, None)] == [
        "small",
        "small",
        "medium",
        "medium",
        "large",
        None,
    ]
    assert (size_category(100, more=True), size_category(1000, more=True)) == ("medium", "large")


def test_completeness_at_its_edges() -> None:
    def level(about: int, culture: int, name: str = "Acme") -> str:
        return completeness(name, "https://acme.example", "a" * about, "c" * culture).value

    assert [level(50, 25), level(51, 0), level(0, 26)] == ["insufficient", "minimal", "minimal"]
    assert [level(100, 51), level(101, 50), level(101, 51)] == ["minimal", "minimal", "good"]
    assert level(500, 500, name=" ") == "insufficient"


def test_too_little_is_skipped_with_its_reason() -> None:
    thin = Extracted(name="Acme", website="https://acme.example", about=Fact(value="Tea.", page="", quote="", rule=""))
    assert insufficient(thin) == (
        "insufficient data: 4 characters about the company and 0 about its culture; more than 50 or 25 are needed"
    )
    found = analyze(thin, {})
    assert (found.completeness, found.skip_reason) == (Completeness.INSUFFICIENT, insufficient(thin))
    assert insufficient(extract(PAGES, "Lighthouse Freight", LIGHTHOUSE)) is None


def test_a_good_record_is_not_analysed_again_for_30_days() -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)

    def skip(age: timedelta | None, culture: int = 51) -> str | None:
        at = now - age if age is not None else None
        return skip_analysis("Acme", "https://acme.example", "a" * 101, "c" * culture, at, now)

    assert skip(timedelta(days=29)) == "analysed on 2026-10-18; a complete record is kept for 30 days"
    assert (skip(timedelta(days=30)), skip(timedelta(days=1), culture=50), skip(None)) == (None, None, None)
