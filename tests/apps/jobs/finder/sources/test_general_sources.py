"""Sources that are no known system: JSON-LD, feeds, selectors, custom APIs."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import GENERAL, adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request, Verdict
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.sources.detection import detect, sources_in
from interlock.apps.jobs.finder.sources.discovery import discover, looks_like_posting
from interlock.apps.jobs.finder.sources.feed import split_title
from interlock.apps.jobs.finder.sources.jsonld import parsed_block
from interlock.machine import InterlockError
from tests.apps.jobs.finder.answers import NOW, body
from tests.apps.jobs.finder.general_answers import (
    API,
    API_CONFIG,
    ATOM,
    CONFIGURED,
    JOB,
    JSON_FEED,
    LIST,
    PAGE,
    RSS,
    SELECTORS,
)
from tests.apps.jobs.finder.mutation import check, damaged, mutated


def parse(kind: str, value: Any = None, config: Any = None, url: str = LIST, **answer: Any) -> Parsed:
    usual, settings = CONFIGURED[kind]
    found = adapter_of(kind, config or settings)
    return found.parse(Answer(body(usual if value is None else value), url=url, **answer), None, NOW)


def page_with(*blocks: str) -> str:
    return "".join(f'<script data-x="1" type="application/ld+json">{block}</script>' for block in blocks)


@pytest.mark.parametrize("kind", GENERAL)
def test_postings_have_an_address_a_title_and_their_method(kind: str) -> None:
    found = parse(kind)
    assert found.postings
    for one in found.postings:
        assert (one.ats, one.extraction.method) == (kind, {"html": "selectors"}.get(kind, kind))
        assert one.title
        assert one.url_key
        assert Posting.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize("kind", GENERAL)
def test_no_mutation_is_an_error(kind: str) -> None:
    dice = random.Random(kind)
    value, _ = CONFIGURED[kind]
    for _ in range(40):
        changed = (
            damaged(value.encode(), dice).decode("utf-8", "replace") if isinstance(value, str) else mutated(value, dice)
        )
        raw = changed.encode() if isinstance(changed, str) else json.dumps(changed).encode()
        for one in adapter_of(kind, CONFIGURED[kind][1]).parse(Answer(raw, url=LIST), None, NOW).postings:
            check(one)


def test_no_mutation_of_a_job_posting_is_an_error() -> None:
    dice = random.Random("JobPosting")
    for _ in range(40):
        raw = page_with(json.dumps(mutated(JOB, dice, 0.2))).encode()
        for one in adapter_of("jsonld").parse(Answer(raw, url=LIST), None, NOW).postings:
            check(one)


def test_json_ld() -> None:
    cook = parse("jsonld").postings[0]
    shown = cook.model_dump(mode="json")
    assert {
        name: shown[name]
        for name in ("title", "company_name_raw", "requisition_id", "workplace", "employment_type", "url")
    } == {
        "title": "Cook",
        "company_name_raw": "Nordlicht AG",
        "requisition_id": "N-1",
        "workplace": "remote",
        "employment_type": "contract",
        "url": "https://nordlicht.example/jobs/1?utm_source=x",
    }
    assert cook.remote_scope == ("DE", "FR")
    assert (cook.salary.min, cook.salary.max, cook.salary.period, cook.salary.source) == (30.5, 40, "hour", "jsonld")
    assert (cook.posted_precision, cook.closes_at) == ("day", datetime(2026, 9, 1, tzinfo=UTC))
    assert [(one.city, one.country) for one in cook.locations] == [("Kiel", "DE")]
    assert cook.sections.requirements == "Spoon"
    assert cook.evidence["workplace"].source == "jsonld"


@pytest.mark.parametrize(
    "block",
    [
        json.dumps([JOB]),
        json.dumps({"@graph": [{"@type": "WebPage"}, {**JOB, "@type": ["JobPosting", "Thing"]}]}),
        json.dumps({"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": JOB}]}),
        "//<![CDATA[\n" + json.dumps(JOB) + "\n//]]>",
        "<!-- " + json.dumps(JOB) + " -->",
        json.dumps(JOB).replace("<p>Soup</p>", "raw\ttab and\nnew line"),
        json.dumps(JOB).replace('"', "&quot;"),
        json.dumps(JOB).replace("Soup", r"\$5 soup"),
        json.dumps(JOB, indent=1).replace(',\n "description"', '\n "description"'),
        json.dumps(JOB).replace('"FULL_TIME", "CONTRACTOR"]', '"FULL_TIME", "CONTRACTOR",]'),
        json.dumps({key[:1].upper() + key[1:]: value for key, value in JOB.items()}),
    ],
)
def test_a_block_is_read_as_pages_really_write_it(block: str) -> None:
    found = parse("jsonld", page_with("{broken", block, '{"@type": "Organization"}'))
    assert [one.title for one in found.postings] == ["Cook"]


def test_many_postings_on_a_page_need_addresses_of_their_own() -> None:
    bare = {key: value for key, value in JOB.items() if key != "url"}
    assert parse("jsonld", page_with(json.dumps(bare))).postings[0].url == LIST
    found = parse("jsonld", page_with(json.dumps([bare, {**bare, "identifier": "N-2"}])))
    assert [(one.url, one.external_id) for one in found.postings] == [(None, "N-1"), (None, "N-2")]


def test_a_page_without_postings_is_failed_and_hopeless_json_is_none() -> None:
    assert parse("jsonld", "<p>none</p>").verdict is Verdict.FAILED
    assert parsed_block("{" * 100_000) is None
    assert parsed_block('{"a":' * 100_000) is None


def test_rss_with_configured_fields() -> None:
    cook, stoker = parse("feed").postings
    assert (cook.title, cook.company_name_raw, cook.url) == ("Cook", "Nordlicht", "https://nordlicht.example/jobs/1")
    assert (cook.employment_type, cook.language, cook.description_text) == ("full_time", "en", "Soup")
    assert cook.posted_at == datetime(2026, 2, 4, 8, 26, 20, tzinfo=UTC)
    assert [(one.city, one.country) for one in cook.locations] == [("Kiel", "DE")]
    assert (stoker.title, stoker.company_name_raw) == ("Stoker", "Südlicht")
    assert (cook.department, stoker.department) == ("Galley", None)
    assert adapter_of("feed").whole is False


def test_atom_and_json_feed() -> None:
    atom = parse("feed", ATOM).postings[0]
    feed = parse("feed", JSON_FEED)
    for one in (atom, feed.postings[0]):
        assert (one.title, one.url, one.description_text) == ("Cook", "https://nordlicht.example/jobs/1", "Soup")
        assert one.posted_at == datetime(2026, 2, 4, 8, tzinfo=UTC)
    assert [one.url for one in feed.follow] == ["https://nordlicht.example/feed.json?p=2"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("<!doctype html><p>gone", "HTML instead of a feed"),
        ('<?xml version="1.0"?><!DOCTYPE html><html/>', "HTML instead of a feed"),
        ('<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "b">]><rss>&a;</rss>', "XML with entities"),
        ("hello", "no feed"),
        ("{", "no JSON"),
    ],
)
def test_what_is_no_feed_is_failed(raw: str, reason: str) -> None:
    found = parse("feed", raw)
    assert found.verdict is Verdict.FAILED
    assert reason in found.reasons[0]


def test_a_feed_that_is_cut_off_is_partial() -> None:
    assert parse("feed", RSS[: RSS.index("<item><title>Stoker")]).verdict is Verdict.PARTIAL


def test_a_feed_is_found_by_its_address_and_by_a_link() -> None:
    feed = adapter_of("feed")
    assert feed.detect("https://nordlicht.example/jobs.rss") is not None
    assert feed.detect("https://nordlicht.example/careers") is None
    found = feed.detect_page('<link rel="alternate" href="/jobs.xml" type="application/rss+xml">', LIST)
    assert found is not None
    assert found.options["url"] == "https://nordlicht.example/jobs.xml"


def test_the_sources_of_a_page_come_in_the_order_of_their_worth() -> None:
    page = (
        '<link rel="alternate" type="application/atom+xml" href="/feed"><a href="https://jobs.lever.co/nordlicht">Jobs</a>'
        + page_with(json.dumps(JOB))
    )
    assert [one.ats for one in sources_in(page, LIST)] == ["lever", "jsonld", "feed"]
    assert sources_in("<p>soup</p>", LIST) == sources_in("<b>" * 9000, LIST) == []


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://jobs.lever.co/nordlicht", "lever"),
        ("https://x.example/jobs.rss", "feed"),
        ("https://x.example/", None),
    ],
)
def test_an_address_alone_names_a_board_or_a_feed(url: str, kind: str | None) -> None:
    found = detect(url)
    assert (found.ats if found else None) == kind


@pytest.mark.parametrize(
    ("employer", "title", "role"),
    [
        ("Nordlicht AG", "Cook at Nordlicht", "Cook"),
        ("Nordlicht", "Nordlicht GmbH: Cook", "Cook"),
        ("Nordlicht", "Cook at Sea", "Cook at Sea"),
        ("Nordlicht", "Cook", "Cook"),
        (None, "Cook at Nordlicht", "Cook at Nordlicht"),
    ],
)
def test_a_title_of_an_employers_own_feed_is_the_role(employer: str | None, title: str, role: str) -> None:
    item = {"id": "1", "url": "https://nordlicht.example/1", "title": title}
    feed = adapter_of("feed", {"company_name": employer})
    found = feed.parse(Answer(body({"version": "1", "items": [item]})), None, NOW).postings[0]
    assert (found.title, found.company_name_raw) == (role, None)


def test_titles_of_feeds() -> None:
    assert split_title("Nordlicht: Cook") == ("Cook", "Nordlicht")
    assert split_title("Cook at Nordlicht") == ("Cook", "Nordlicht")
    assert split_title("Cook") == ("Cook", None)
    assert split_title(None) == (None, None)


def test_selectors_with_alternatives_and_attributes() -> None:
    found = parse("html")
    assert (found.counts.parsed, found.verdict) == (7, Verdict.PARTIAL)
    cook = found.postings[0]
    assert (cook.title, cook.company_name_raw, cook.url) == (
        "Cook 1",
        "Nordlicht",
        "https://nordlicht.example/careers/jobs/1-cook",
    )
    assert cook.posted_at == datetime(2026, 8, 1, tzinfo=UTC)
    assert cook.evidence["locations"].field == ".job-location"
    assert adapter_of("html", SELECTORS).config.method == "browser"  # type: ignore[attr-defined]


def test_another_layout_has_another_list() -> None:
    config = {
        "selectors": {"job_list": ".new-card", "title": "h3", "link": "a"},
        "alternative_selectors": [{"job_list": ".job-card"}],
    }
    assert parse("html", config=config).counts.parsed == 7


def test_a_list_of_bare_links_is_read_by_the_card_itself() -> None:
    config = {"selectors": {"job_list": "a.job", "link": "@href", "title": "a.job"}}
    found = parse("html", '<a class="job" href="/jobs/1">Cook</a><a class="job" href="/jobs/2"> Stoker </a>', config)
    assert [one.title for one in found.postings] == ["Cook", "Stoker"]


def test_pages_follow_a_button_up_to_a_limit_and_never_to_another_host() -> None:
    run = Crawl(adapter_of("html", SELECTORS), Address("html", "", None, {"url": LIST}))
    asked = []
    while (request := run.next()) is not None:
        asked.append(request.url)
        number = len(asked)
        page = PAGE.replace("-cook", f"-cook-{number}").replace("page=2", f"page={number + 1}")
        run.take(request, Answer(page.encode()), NOW)
    assert asked == [LIST, LIST + "?page=2", LIST + "?page=3"]
    assert (run.result().verdict, len(run.result().postings)) == (Verdict.CAPPED, 21)
    assert parse("html", PAGE.replace('href="?page=2"', 'href="http://169.254.169.254/"')).follow == ()


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("html", None, "selectors"),
        ("html", {"selectors": {"job_list": "p:::"}}, "no CSS selector"),
        ("html", {"selectors": {}, "pagination": {"kind": "next_button"}}, "wants `next_button`"),
        ("api", {"api_key_env": "a b"}, "api_key_env"),
        ("api", {"auth_type": "magic"}, "auth_type"),
    ],
)
def test_a_wrong_configuration_is_said_before_anything_is_asked(kind: str, config: Any, message: str) -> None:
    with pytest.raises(InterlockError, match=message):
        adapter_of(kind, config)


def test_selectors_are_discovered_with_the_first_rows_as_a_preview() -> None:
    found = discover(PAGE, LIST, NOW)
    assert found is not None
    assert (found.rows, len(found.preview)) == (7, 5)
    assert found.config.selectors.job_list == "li.job-card"
    assert [(one.title, one.locations[0].city) for one in found.preview[:2]] == [("Cook 1", "Kiel"), ("Cook 2", "Kiel")]
    assert found.preview[0].posted_at == datetime(2026, 8, 1, tzinfo=UTC)
    assert found.config.pagination.next_button == 'a[rel="next"]'


@pytest.mark.parametrize(
    "html",
    [
        "<table>"
        + "".join(f'<tr class="row"><td><a href="/jobs/{n}">Cook {n}</a></td><td>Kiel</td></tr>' for n in range(4))
        + "</table>",
        '<div class="openings">'
        + "".join(f'<a href="/careers/x?gh_jid={n}"><div>Cook {n}</div></a>' for n in range(4))
        + "</div>",
        "".join(f'<article class="post"><h2>Cook {n}</h2><a href="/job/{n}00">Apply</a></article>' for n in range(4)),
    ],
)
def test_different_layouts_are_discovered(html: str) -> None:
    found = discover(html, LIST, NOW)
    assert found is not None
    assert [one.title for one in found.preview] == [f"Cook {n}" for n in range(4)]


@pytest.mark.parametrize(
    "html",
    ["", "<p>x</p>", '<a href="/jobs/1">Cook</a>', '<a href="/about/x">A</a><a href="/about/y">B</a>', "<div>" * 9000],
)
def test_a_page_without_a_list_gives_no_proposal(html: str) -> None:
    assert discover(html, LIST, NOW) is None


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        ("https://nordlicht.example/jobs/cook-kiel", True),
        ("https://nordlicht.example/careers?gh_jid=1", True),
        ("https://nordlicht.example/o/lotse", True),
        ("https://nordlicht.example/careers", False),
        ("https://nordlicht.example/careers/jobs", False),
        ("https://nordlicht.example/blog/x", False),
    ],
)
def test_addresses_of_postings(target: str, is_one: bool) -> None:
    assert looks_like_posting(target, LIST) is is_one


def test_a_custom_api() -> None:
    api = adapter_of("api", API_CONFIG)
    request = api.first(Address("api", ""))
    assert request.url == "https://api.nordlicht.example/jobs/search?remote=true&limit=1&offset=0"
    assert request.note["api_key"] == "NORDLICHT_KEY"
    assert "NORDLICHT_KEY" not in str(request.headers)
    found = api.parse(Answer(body(API), request=request), None, NOW)
    assert [one.url for one in found.follow] == [
        "https://api.nordlicht.example/jobs/search?remote=true&limit=1&offset=1"
    ]
    cook = found.postings[0]
    assert (cook.title, cook.company_name_raw, cook.department, cook.workplace) == (
        "Cook",
        "Nordlicht",
        "Night",
        "remote",
    )
    assert (cook.external_id, cook.salary.min, cook.salary.period, cook.annual_min) == ("7", 40000, None, None)
    assert cook.posted_at == datetime(2026, 7, 25, 17, 20, tzinfo=UTC)
    detail = api.detail(Address("api", ""), cook.model_copy(update={"external_id": "../7"}))
    assert detail is not None
    assert detail.url == "https://api.nordlicht.example/jobs/..%2F7"


def test_an_api_without_paths_is_read_by_the_usual_names() -> None:
    rows = [
        {"legal": "notice"},
        {"position": "Cook", "company": "Nordlicht", "url": "https://x.example/1", "location": "Kiel"},
    ]
    found = adapter_of("api").parse(Answer(body(rows)), None, NOW)
    assert (found.counts.unreadable, [one.title for one in found.postings]) == (1, ["Cook"])
    assert adapter_of("api").parse(Answer(b'{"a": [], "b": []}'), None, NOW).verdict is Verdict.FAILED
    assert adapter_of("api", {"auth_type": "oauth"}).config.needs_integration  # type: ignore[attr-defined]


def test_an_apis_next_address_stays_on_its_host() -> None:
    config = {"pagination": {"next_path": "next"}, "response_path": "jobs"}
    for target, pages in (("/jobs?c=2", 1), ("http://127.0.0.1/", 0)):
        value = {"jobs": API["data"]["jobs"], "next": target}
        request = Request("https://api.nordlicht.example/jobs")
        assert len(adapter_of("api", config).parse(Answer(body(value), request=request), None, NOW).follow) == pages


@pytest.mark.parametrize(("method", "rendered"), [("requests", False), ("browser", True), ("selenium", True)])
def test_a_page_that_scripts_write_is_rendered(method: str, rendered: bool) -> None:
    config = {"url": "https://acme.example/jobs", "method": method, "selectors": {"job_list": "li", "title": "a"}}
    assert adapter_of("html", config).rendered is rendered
    assert not adapter_of("greenhouse").rendered


def test_scripts_and_styles_in_a_card_are_no_words_of_it() -> None:
    title = "Cook<script>alert(1)</script><style>h3{color:red}</style>"
    page = f'<div class="job-card"><h3 class="job-title">{title}</h3><a href="/jobs/1">Apply</a></div>'
    config = {"url": "https://x.example/", "selectors": {"job_list": ".job-card", "title": ".job-title", "link": "a"}}
    [found] = adapter_of("html", config).parse(Answer(page.encode(), url="https://x.example/"), None, NOW).postings
    assert found.title == "Cook"
