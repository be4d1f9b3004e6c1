"""Each applicant tracking system: its boards, its requests, and every field of its postings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import SYSTEMS, adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request, Verdict
from interlock.apps.jobs.finder.sources.detection import detect, sources_in
from interlock.machine import InterlockError
from tests.apps.jobs.finder import answers
from tests.apps.jobs.finder.answers import BOARDS, DETAILS, LISTS, NOW, board, body


def parse(kind: str, value: Any = None, at_board: bool = True, **answer: Any) -> Parsed:
    value = LISTS[kind] if value is None else value
    return adapter_of(kind).parse(Answer(body(value), **answer), board(kind) if at_board else None, NOW)


def first(kind: str, value: Any = None) -> Posting:
    return parse(kind, value).postings[0]


def detail(kind: str) -> Posting:
    found = adapter_of(kind).parse_detail(Answer(body(DETAILS[kind])), board(kind), first(kind), NOW)
    assert found.verdict is Verdict.COMPLETE
    return found.postings[0]


def seen(posting: Posting, *names: str) -> dict[str, Any]:
    whole = posting.model_dump(mode="json")
    return {name: whole[name] for name in names}


def spots(posting: Posting) -> list[tuple[str | None, str | None, str | None]]:
    return [(one.city, one.region, one.country) for one in posting.locations]


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_list_is_complete_and_every_field_of_it_has_the_right_kind(kind: str) -> None:
    found = parse(kind)
    assert (found.verdict, found.reasons, dict(found.wrong_fields)) == (Verdict.COMPLETE, (), {})
    assert found.counts.unreadable == 0
    for one in found.postings:
        assert one.ats == kind
        assert one.board == board(kind).board
        assert one.external_id
        assert one.title
        assert one.url_key
        assert set(one.extraction.fields_missing).isdisjoint({"external_id", "url", "title"})
        assert Posting.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_board_is_known_by_its_address_and_by_a_page_that_links_to_it(kind: str) -> None:
    adapter = adapter_of(kind)
    found = adapter.detect(BOARDS[kind])
    assert found is not None
    page = f'<html><script src="https://cdn.example/x.js"></script><a href="{BOARDS[kind]}">Jobs</a></html>'
    assert adapter.detect_page(page) == found
    assert adapter.detect("https://example.com/careers") is None
    assert adapter.detect_page("<p>We are hiring</p>", "https://example.com/careers") is None


@pytest.mark.parametrize(
    ("kind", "html", "name"),
    [
        (
            "greenhouse",
            '<script src="https://boards.greenhouse.io/embed/job_board/js?b=1&amp;for=nordlicht"></script>',
            "nordlicht",
        ),
        ("greenhouse", 'window.x = {"urlToken":"nordlicht"}', "nordlicht"),
        ("lever", "window.leverJobsOptions = {accountName: 'nordlicht', includeCss: true}", "nordlicht"),
        ("ashby", '{"organizationHostedJobsPageName":"NordLicht"}', "NordLicht"),
        ("workday", r'"url":"https:\/\/nordlicht.wd3.myworkdayjobs.com\/en-US\/Karriere"', "nordlicht.Karriere"),
        ("smartrecruiters", 'widget({"company_code":"Nordlicht"})', "Nordlicht"),
        ("bamboohr", '<div id="BambooHR" data-domain="nordlicht.bamboohr.com">', "nordlicht"),
        ("jobvite", "careersiteName: 'nordlicht', companyEId: 'qAbC9dEf'", "nordlicht"),
        (
            "teamtailor",
            '<script src="https://scripts.teamtailor-cdn.com/widgets/production/jobs.js">',
            "jobs.nordlicht.example",
        ),
        ("recruitee", '<link href="https://d.recruiteecdn.com/a.css">', "jobs.nordlicht.example"),
    ],
)
def test_a_board_that_a_page_embeds_is_found(kind: str, html: str, name: str) -> None:
    found = adapter_of(kind).detect_page(html, "https://jobs.nordlicht.example/")
    assert found is not None
    assert found.board == name


def test_a_name_in_a_script_is_checked_as_well() -> None:
    for html in ('{"urlToken":"embed"}', '{"urlToken":"v1"}', 'widget({"company_code":"..x"})', "dcr_ci=oneclick-ui"):
        assert sources_in(html, "https://example.com/") == []


@pytest.mark.parametrize(
    "url",
    [
        "https://boards.greenhouse.io/..%2f..%2fadmin",
        "https://boards.greenhouse.io/v1",
        "https://www.recruitee.com/",
        "https://jobs.lever.co/a%2Fb",
        "https://x@y.wd1.myworkdayjobs.com:x/",
        "https://help.bamboohr.com/careers",
    ],
)
def test_a_crafted_name_is_no_board(url: str) -> None:
    assert [kind for kind in SYSTEMS if adapter_of(kind).detect(url)] == []


@pytest.mark.parametrize("kind", SYSTEMS)
def test_requests_go_to_the_systems_own_host(kind: str) -> None:
    request = adapter_of(kind).first(board(kind))
    assert request.url.startswith("https://")
    assert adapter_of(kind).detect(request.url) is not None or kind == "jobvite"
    local = Address(kind, board(kind).board, None, {**board(kind).options, "origin": "http://127.0.0.1:9/x"})
    assert adapter_of(kind).first(local).url.startswith("http://127.0.0.1:9/x/")


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_private_host_plays_a_system_under_a_path(kind: str) -> None:
    path = BOARDS[kind].partition("//")[2].partition("/")[2]
    named = "/nordlicht" if kind in ("workday", "recruitee", "personio", "teamtailor", "bamboohr") else ""
    url = f"http://127.0.0.1:8421/{kind}-host{named}/{path}"
    found = detect(url, {"127.0.0.1:8421"})
    assert found is not None
    assert (found.ats, found.board) == (kind, board(kind).board)
    adapter = adapter_of(kind)
    assert adapter.first(found).url.startswith(f"http://127.0.0.1:8421/{kind}-host{named}/")
    assert detect(url) is detect(url.replace("8421", "8422"), {"127.0.0.1:8421"}) is None
    if kind in ("smartrecruiters", "workday", "personio", "bamboohr"):
        answer = Answer(body(LISTS[kind]), request=adapter.first(found))
        assert all(
            (one.url or "").startswith("http://127.0.0.1:8421/") for one in adapter.parse(answer, found, NOW).postings
        )


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_page_links_to_a_system_that_a_private_host_plays(kind: str) -> None:
    path = BOARDS[kind].partition("//")[2].partition("/")[2]
    named = "/nordlicht" if kind in ("workday", "recruitee", "personio", "teamtailor", "bamboohr") else ""
    url, hosts = f"/{kind}-host{named}/{path}", {"127.0.0.1:8421"}
    for link in (url, f"http://127.0.0.1:8421{url}"):
        (found,) = sources_in(f'<a href="{link}">Jobs</a>', "http://127.0.0.1:8421/nordlicht/careers", hosts)
        assert (found.ats, found.board) == (kind, board(kind).board)
        assert found.options["origin"] == f"http://127.0.0.1:8421/{kind}-host{named}"
        assert sources_in(f'<a href="{link}">Jobs</a>', "http://127.0.0.1:8421/nordlicht/careers") == []


def test_the_page_of_a_played_board_is_that_boards_own() -> None:
    page = "<script>x = {companyEId: 'q1234', careersiteName: 'nordlicht'}</script>"
    (found,) = sources_in(page, "http://127.0.0.1:8421/jobvite-host/nordlicht", {"127.0.0.1:8421"})
    assert found.board == "nordlicht"
    assert found.options == {"origin": "http://127.0.0.1:8421/jobvite-host", "company": "q1234"}


def test_an_unknown_kind_names_those_that_there_are() -> None:
    with pytest.raises(InterlockError, match="greenhouse, lever"):
        adapter_of("carrier-pigeon")


def test_greenhouse() -> None:
    cook, stoker = parse("greenhouse").postings
    assert seen(
        cook, "title", "company_name_raw", "requisition_id", "department", "employment_type", "language", "workplace"
    ) == {
        "title": "Ship's Cook",
        "company_name_raw": "Nordlicht AG",
        "requisition_id": "R-17",
        "department": "Galley",
        "employment_type": "full_time",
        "language": "en",
        "workplace": "hybrid",
    }
    assert cook.url_key == "greenhouse:nordlicht:4007001"
    assert spots(cook) == [("Kiel", None, "DE")]  # Its location names only ways to work.
    assert cook.description_text == "Cook & serve.\n\n- Soup"
    assert cook.posted_at == datetime(2026, 7, 20, 12, 30, tzinfo=UTC)
    assert cook.closes_at == datetime(2026, 9, 30, tzinfo=UTC)
    assert (stoker.posted_at, stoker.posted_precision) == (stoker.updated_at, "approximate")
    assert stoker.apply_url == "https://boards.greenhouse.io/nordlicht/jobs/4007002#app"
    assert parse("greenhouse").company == stoker.company_name_raw == "Nordlicht AG"


def test_greenhouse_pays_in_cents_and_its_detail_has_the_form() -> None:
    cook = detail("greenhouse")
    assert (cook.salary.min, cook.salary.max, cook.salary.currency, cook.salary.period) == (
        40000,
        52000.5,
        "EUR",
        "year",
    )
    assert [(one.key, one.type, one.required, one.options) for one in cook.questions] == [
        ("resume", "file", True, ()),
        ("resume_text", "long", True, ()),
        ("question_9", "single", False, ("Yes",)),
    ]


def test_lever() -> None:
    stoker = first("lever")
    assert seen(
        stoker, "title", "team", "department", "workplace", "employment_type", "posted_at", "posted_precision"
    ) == {
        "title": "Stoker",
        "team": "Engine",
        "department": "Ship",
        "workplace": "hybrid",
        "employment_type": "full_time",
        "posted_at": "2026-07-25T17:20:00Z",
        "posted_precision": "exact",
    }
    assert spots(stoker) == [("Peoria", "IL", None), ("Kiel", None, "DE")]
    assert (stoker.salary.min, stoker.salary.max, stoker.salary.period) == (21.5, 30, "hour")
    assert stoker.annual_max == 62400
    assert stoker.sections.requirements == "Requirements\n- Coal\n- Steam"
    assert stoker.sections.duties == "What you'll do\n- Stoke"
    assert "Keep it hot.\n\nRequirements\n\n- Coal\n- Steam" in (stoker.description_text or "")
    assert (stoker.description_text or "").endswith("Free soup.")
    alone = {**answers.LEVER[0], "categories": {"location": "Peoria, IL"}}
    assert spots(first("lever", [alone])) == [("Peoria", "IL", "US")]


def test_lever_goes_on_while_pages_are_full() -> None:
    adapter, at = adapter_of("lever"), board("lever")
    rows = [{**answers.LEVER[0], "id": f"{n}"} for n in range(100)]
    found = adapter.parse(Answer(body(rows), request=adapter.first(at)), at, NOW)
    assert found.verdict is Verdict.PARTIAL
    assert found.follow[0].url == "https://api.lever.co/v0/postings/nordlicht?mode=json&skip=100&limit=100"
    assert adapter.parse(Answer(body(rows[:9]), request=found.follow[0]), at, NOW).verdict is Verdict.COMPLETE


def test_ashby() -> None:
    found = parse("ashby")
    assert (found.counts.listed, found.counts.hidden, len(found.postings)) == (2, 1, 1)
    navigator = found.postings[0]
    assert navigator.workplace == "hybrid"  # It also says isRemote.
    assert navigator.employment_type == "part_time"
    assert spots(navigator) == [("Kiel", None, "DE"), ("Oslo", None, "NO")]
    assert seen(navigator, "salary")["salary"] == {
        "min": 50000,
        "max": 60000,
        "currency": "EUR",
        "period": "year",
        "source": "board",
        "quote": "€50K - €60K",
    }
    assert parse("ashby", {"jobs": []}).verdict is Verdict.PARTIAL


def test_workday() -> None:
    hand, pilot = parse("workday").postings
    assert (hand.external_id, hand.requisition_id) == ("R-1001", "R-1001")
    assert hand.url == "https://nordlicht.wd3.myworkdayjobs.com/Karriere/job/Illinois---Peoria/Deck-Hand_R-1001-2"
    assert spots(hand) == [("Peoria", "Illinois", "US")]
    assert (hand.posted_at, hand.posted_precision) == (datetime(2026, 8, 5, tzinfo=UTC), "day")
    assert (pilot.posted_at, pilot.posted_precision) == (None, "unknown")  # "30+ days ago" is no day.
    assert seen(pilot, "workplace", "employment_type") == {"workplace": "onsite", "employment_type": "full_time"}
    request = adapter_of("workday").detail(board("workday"), hand)
    where = (
        "https://nordlicht.wd3.myworkdayjobs.com/wday/cxs/nordlicht/Karriere/job/Illinois---Peoria/Deck-Hand_R-1001-2"
    )
    assert request is not None
    assert request.url == where


def test_workdays_detail_has_the_places_the_date_and_the_text() -> None:
    hand = detail("workday")
    assert spots(hand) == [("Peoria", "IL", "US"), ("Kiel", None, "DE")]
    assert hand.posted_at == datetime(2026, 8, 5, tzinfo=UTC)
    assert hand.closes_at == datetime(2026, 10, 1, tzinfo=UTC)
    assert seen(hand, "workplace", "company_name_raw", "description_text") == {
        "workplace": "hybrid",
        "company_name_raw": "Nordlicht AG",
        "description_text": "Scrub.",
    }


def test_recruitee() -> None:
    found = parse("recruitee")
    assert (found.counts.hidden, found.company) == (1, "Nordlicht")
    pilot = found.postings[0]
    assert seen(pilot, "workplace", "employment_type", "seniority", "language", "department", "apply_url") == {
        "workplace": "onsite",
        "employment_type": "part_time",
        "seniority": "entry",
        "language": "de",
        "department": "Brücke",
        "apply_url": "https://jobs.nordlicht.example/o/lotse/c/new",
    }
    assert (pilot.salary.min, pilot.salary.max, pilot.salary.period, pilot.annual_min) == (3100, 3900.5, "month", 37200)
    assert spots(pilot) == [("Kiel", "Schleswig-Holstein", "DE")]
    assert pilot.sections.requirements == "Patent"
    assert [(one.key, one.type, one.required, one.options, one.max_len) for one in pilot.questions] == [
        ("cv", "file", True, (), None),
        ("cover_letter", "file", False, (), None),
        ("5", "multi", True, ("North", "Baltic"), None),
        ("6", "text", False, (), 120),
    ]
    assert parse("recruitee", at_board=False).postings[0].board == "nordlicht"


def test_smartrecruiters() -> None:
    purser = first("smartrecruiters")
    assert seen(
        purser, "title", "requisition_id", "company_name_raw", "workplace", "employment_type", "seniority", "department"
    ) == {
        "title": "Purser",
        "requisition_id": "REF30D",
        "company_name_raw": "Nordlicht AG",
        "workplace": "hybrid",
        "employment_type": "full_time",
        "seniority": "entry",
        "department": None,
    }
    assert purser.url == "https://jobs.smartrecruiters.com/Nordlicht/743999671674844"
    assert (purser.locations[0].lat, purser.locations[0].country) == (54.32, "DE")
    whole = detail("smartrecruiters")
    assert (whole.sections.duties, whole.sections.requirements) == ("Count coins.", "Numbers.")
    assert (whole.annual_min, whole.salary.currency) == (40000, "EUR")


def test_smartrecruiters_an_empty_list_may_be_an_unknown_company() -> None:
    assert parse("smartrecruiters", {"totalFound": 0, "content": []}).verdict is Verdict.PARTIAL


def test_workable_has_a_row_for_each_place() -> None:
    found = parse("workable")
    assert (found.counts.listed, found.counts.duplicates, len(found.postings)) == (2, 1, 1)
    doctor = found.postings[0]
    assert spots(doctor) == [(None, None, "ES"), (None, None, "PT")]
    assert seen(doctor, "workplace", "employment_type", "seniority", "company_name_raw", "posted_precision") == {
        "workplace": "remote",
        "employment_type": "contract",
        "seniority": "director",
        "company_name_raw": "Nordlicht",
        "posted_precision": "day",
    }
    assert doctor.url_key == "workable:j:AB12CD34EF"


def test_workables_other_list_has_pages_and_leaves_the_text_to_the_detail() -> None:
    adapter, at = adapter_of("workable"), board("workable")
    rows = [
        {"shortcode": "AB12CD34EF", "title": "Doctor", "remote": True, "location": {"country": "Spain", "city": "Vigo"}}
    ]
    page = {"total": 2, "results": rows, "nextPage": "t1"}
    refused = Answer(b"", status=403, request=adapter.first(at))
    first_page = adapter.parse(Answer(body(page), request=adapter.instead(at, refused)), at, NOW)
    assert [one.body["token"] for one in first_page.follow if one.body] == ["t1"]
    last = {"total": 2, "results": [{**rows[0], "shortcode": "AB12CD34EG"}]}
    assert adapter.parse(Answer(body(last), request=first_page.follow[0]), at, NOW).verdict is Verdict.COMPLETE
    doctor = first_page.postings[0]
    assert (doctor.workplace, spots(doctor)) == ("remote", [("Vigo", None, "ES")])
    request = adapter.detail(at, doctor)
    assert request is not None
    assert request.url == "https://apply.workable.com/api/v2/accounts/nordlicht/jobs/AB12CD34EF"
    more = {**rows[0], "description": "<p>Heal.</p>", "requirements": "<p>Knife</p>", "type": "full"}
    whole = adapter.parse_detail(Answer(body(more)), at, doctor, NOW).postings[0]
    assert (whole.description_text, whole.sections.requirements) == ("Heal.\n\nKnife", "Knife")
    assert adapter.detail(at, whole) is None


def test_personio() -> None:
    boatswain, boy = parse("personio").postings
    assert boatswain.title == "Boatswain"  # Headings inside it are called name as well.
    assert boatswain.url == "https://nordlicht.jobs.personio.de/job/18341"
    assert [one.city for one in boatswain.locations] == ["Kiel", "Rostock"]
    assert seen(boatswain, "company_name_raw", "company_key", "employment_type", "seniority", "team") == {
        "company_name_raw": "Nordlicht SE & Co. KG",
        "company_key": "nordlicht",
        "employment_type": "part_time",
        "seniority": "entry",
        "team": "Crew",
    }
    assert boatswain.sections.duties == "Your tasks\nRopes"
    assert boatswain.sections.requirements == "Your profile\n- Knots"
    assert boy.employment_type == "internship"  # At full time.
    english = Request("https://nordlicht.jobs.personio.de/xml?language=en")
    asked = adapter_of("personio").parse(Answer(body(answers.PERSONIO), request=english), board("personio"), NOW)
    assert asked.postings[0].language is None, "the employer may have it in German only"


def test_personios_careers_page_stands_in_for_a_feed_that_is_off() -> None:
    page = '<!doctype html><a class="x job-box y" href="/job/18341?language=en"><h3> Boatswain </h3></a>'
    found = first("personio", page)
    assert (found.external_id, found.title) == ("18341", "Boatswain")


def test_teamtailor_as_json_and_as_rss() -> None:
    gunner = first("teamtailor")
    assert seen(
        gunner, "external_id", "title", "company_name_raw", "employment_type", "description_text", "requisition_id"
    ) == {
        "external_id": "7167985",
        "title": "Gunner",
        "company_name_raw": "Nordlicht",
        "employment_type": "full_time",
        "description_text": "Boom.",
        "requisition_id": None,
    }
    assert spots(gunner) == [("Oslo", None, "NO")]
    by_rss = first("teamtailor", answers.TEAMTAILOR_RSS)
    assert spots(by_rss) == [("Oslo", None, "NO"), ("Kiel", None, "DE")]
    assert seen(by_rss, "external_id", "workplace", "department", "team", "description_text", "posted_at") == {
        "external_id": "7167985",
        "workplace": "remote",
        "department": "Guns",
        "team": "Crew",
        "description_text": "Boom.",
        "posted_at": "2026-02-04T08:26:20Z",
    }


def test_teamtailors_next_page_is_on_the_same_host() -> None:
    adapter, at = adapter_of("teamtailor"), board("teamtailor")
    for target, pages in (("https://nordlicht.teamtailor.com/jobs.json?page=2", 1), ("http://127.0.0.1/x", 0)):
        answer = Answer(body({**answers.TEAMTAILOR, "next_url": target}), request=adapter.first(at))
        found = adapter.parse(answer, at, NOW)
        assert (len(found.follow), found.verdict) == (pages, Verdict.PARTIAL)


def test_bamboohr() -> None:
    carpenter = detail("bamboohr")
    assert seen(carpenter, "workplace", "employment_type", "seniority", "department", "posted_precision", "url") == {
        "workplace": "hybrid",
        "employment_type": "full_time",
        "seniority": "mid",
        "department": "Wood",
        "posted_precision": "day",
        "url": "https://nordlicht.bamboohr.com/careers/86",
    }
    assert spots(carpenter) == [("Tampa", "Florida", "US")]
    assert parse("bamboohr", {**answers.BAMBOOHR, "meta": {"totalCount": 9}}).reasons == ("1 rows of 9",)


def test_jobvite_as_xml_and_as_a_page() -> None:
    sailmaker = first("jobvite")
    assert seen(
        sailmaker, "external_id", "title", "department", "posted_at", "posted_precision", "description_text"
    ) == {
        "external_id": "oAbCdEfg",
        "title": "Sailmaker",
        "department": "Sails",
        "posted_at": "2026-07-04T00:00:00Z",
        "posted_precision": "day",
        "description_text": "Sew.",
    }
    page = parse("jobvite", answers.JOBVITE_PAGE, at_board=False)
    assert [(one.external_id, one.board, spots(one)) for one in page.postings] == [
        ("oAbCdEfg", "nordlicht", [("Tampa", "Florida", "US")]),
        ("oAbCdEfh", "nordlicht", []),
    ]


def test_jobvite_tells_an_empty_board_from_a_dead_one_by_the_redirect() -> None:
    for target, verdict in (("/CompanyJobs/NoJobs.htm", Verdict.COMPLETE), ("https://x/?invalid=1", Verdict.FAILED)):
        assert parse("jobvite", "x", status=302, headers={"location": target}).verdict is verdict


def test_evidence_names_the_field_that_a_value_came_from() -> None:
    navigator = first("ashby")
    evidence = navigator.workplace_evidence
    assert evidence is not None
    assert (evidence.source, evidence.field, evidence.quote) == ("board", "workplaceType", "Hybrid")
    for kind in SYSTEMS:
        for one in parse(kind).postings:
            for name in ("workplace", "employment_type", "seniority", "locations"):
                known = getattr(one, name) not in ("unknown", ())
                assert (name in one.evidence) == known, (kind, name)


def test_a_kept_posting_keeps_what_is_ours_when_its_detail_comes() -> None:
    mine = first("workday").model_copy(
        update={"source_id": "s1", "seen_count": 4, "first_seen": datetime(2026, 1, 1, tzinfo=UTC)}
    )
    found = (
        adapter_of("workday").parse_detail(Answer(body(DETAILS["workday"])), board("workday"), mine, NOW).postings[0]
    )
    assert (found.source_id, found.seen_count, found.first_seen) == ("s1", 4, mine.first_seen)
    assert found.external_id == mine.external_id
