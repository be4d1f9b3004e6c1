"""The endpoints of the finder: what each request is answered, to whom, and what it leaves behind."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml  # type: ignore[import-untyped]

from interlock.apps.jobs import registry
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.machine import VALIDATE_SOURCE
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict
from interlock.engine import reviews
from interlock.engine.application import Unit, ask, change, spawn
from interlock.machine import Spawn
from interlock.store import Store, open_store
from interlock.testing import VirtualClock
from tests.apps.jobs.finder.rows import BY, Finder
from tests.apps.jobs.finder.seekers import NOW, PROFILE, ROW
from tests.support.api import Api, open_api

pytestmark = pytest.mark.soak("postgresql")

JOBS = "/api/jobs"
YAML = {"Content-Type": "application/yaml"}


@pytest.fixture
def api(store: Store) -> Iterator[Api]:
    with open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made:
        yield made


@pytest.fixture
def plain(sqlite_url: str) -> Iterator[Api]:
    """For requests that are refused before they reach the database."""
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made,
    ):
        yield made


@pytest.fixture
def finder(api: Api) -> Finder:
    return Finder(api.engine)


def put(api: Api, who: str = "owner", body: Any = PROFILE, **options: Any) -> Any:
    return api.call(who, "PUT", f"{JOBS}/profile", body, **options)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# -- the profile


def test_a_profile_is_set_as_yaml_or_json_and_read_as_either(api: Api) -> None:
    assert api.get(f"{JOBS}/profile").status_code == 404
    assert put(api).json()["identity"]["name"] == "Mika Sand"
    got = api.get(f"{JOBS}/profile")
    assert got.json()["titles"] == ["Backend Engineer"]
    as_yaml = api.get(f"{JOBS}/profile", headers={"Accept": "application/yaml"})
    assert as_yaml.headers["content-type"].startswith("application/yaml")
    assert yaml.safe_load(as_yaml.text) == got.json()
    changed = as_yaml.text.replace("Mika Sand", "Mika Strand")
    assert put(api, body=None, content=changed.encode(), headers=YAML).status_code == 200
    again = api.get(f"{JOBS}/profile")
    assert again.json()["identity"]["name"] == "Mika Strand"
    assert again.headers["etag"] != got.headers["etag"]
    assert put(api, body=again.json()).json() == again.json()


WRONG_PROFILES = [
    (b'{"identity": {"name": "A"}, "titels": []}', "application/json", "titels: no such key; did you mean titles?"),
    (b"titles: [", "application/yaml", "profile is no YAML"),
    (b"{", "application/json", "the profile is not JSON"),
    (b"[]", "application/json", "must have keys and values"),
    (b"- a", "text/plain", "must have keys and values"),
    (b"\xff\xfe", "application/yaml", "is no UTF-8 text"),
    (b'identity: {name: "\\ud800"}', "application/yaml", "identity.name: "),
    (b"a: &a [1]\nb: *a", "application/yaml", "no anchors"),
    (b"x" * 1_000_001, "application/yaml", "1,000,001 bytes"),
]


def test_what_is_wrong_in_a_profile_is_named(plain: Api) -> None:
    for content, kind, said in WRONG_PROFILES:
        answer = put(plain, body=None, content=content, headers={"Content-Type": kind})
        assert answer.status_code in (413, 422)
        assert said in answer.json()["detail"]


def test_a_preview_says_what_a_changed_rule_would_do_and_stores_nothing(api: Api, finder: Finder) -> None:
    finder.profile()
    match = finder.settled()
    changed = {**PROFILE, "stop_list": {"companies": ["Kind Boats"]}}
    found = api.post(f"{JOBS}/profile/preview", changed, "viewer").json()
    assert (found["postings"], found["looked_at"], found["complete"]) == (1, 1, True)
    assert (found["appear"], found["disappear"]) == (0, 1)
    [gone] = found["disappearing"]
    assert (gone["id"], gone["after"]["reason"]) == (str(match), "Excluded company: kind boats")
    assert api.get(f"{JOBS}/profile").json()["stop_list"]["companies"] == ["Grim Corp"]


# -- adding

ADDED = {
    "companies": {"name": "Kind Boats", "website": "https://kind.example"},
    "sources": {"url": "https://boards.greenhouse.io/kind", "company_name": "Kind Boats"},
    "listings": {"url": "https://kind.example/jobs/1"},
}


@pytest.mark.parametrize("kind", sorted(ADDED))
def test_an_item_is_added_once_while_it_is_open(api: Api, kind: str) -> None:
    first = api.post(f"{JOBS}/{kind}", ADDED[kind], "member")
    assert first.status_code == 201
    made = api.engine.get(UUID(first.json()["id"]))
    assert first.json() == {"id": str(made.id), "state": "PENDING", "tracking_id": made.trace_id}
    again = api.post(f"{JOBS}/{kind}", ADDED[kind], "agent")
    assert (again.status_code, again.json()) == (200, first.json())


def test_a_field_that_is_null_is_one_that_was_left_out(api: Api) -> None:
    nothing = {"type_hint": None, "company_name": None, "company_id": None, "auto_enable": None, "config": None}
    assert api.post(f"{JOBS}/sources", {"url": "https://kind.example/jobs", **nothing}).status_code == 201
    assert api.post(f"{JOBS}/companies", {"name": None, "website": "https://kind.example"}).status_code == 201
    assert "Field required" in api.post(f"{JOBS}/listings", {"url": None, "job_data": None}).text


@pytest.mark.parametrize("name", ["job_data", "scraped_data"])
def test_a_listing_with_its_data_is_not_scraped(api: Api, name: str) -> None:
    said = {"title": "Engineer", "company_name": "Kind", "description": "Boats", "found_by": "a crawler"}
    made = api.post(f"{JOBS}/listings", {"url": "https://kind.example/jobs/1", name: said}).json()
    data = api.engine.get(UUID(made["id"])).data
    assert (data["stage"], data["job_data"]["title"], data["job_data"]["company"]) == ("FILTER", "Engineer", "Kind")


WRONG_BODIES: list[tuple[str, dict[str, Any], str]] = [
    ("companies", {}, "give it a name or a website"),
    ("companies", {"website": "ftp://kind.example"}, "'ftp://kind.example' is not a web address"),
    ("companies", {"name": "K", "site": "x"}, "Extra inputs"),
    ("sources", {"url": "https://kind.example", "type_hint": "fax"}, "'fax' is not a kind of source; use auto"),
    ("sources", {"url": "javascript:alert(1)"}, "is not a web address"),
    ("sources", {"url": "kind-jobs"}, "the url 'kind-jobs' is not a web address"),
    ("sources", {"url": "https://kind.example", "config": {"a": 1}}, "type_hint 'auto' takes none"),
    ("sources", {"url": "https://k.example", "type_hint": "html", "config": {"selectors": 1}}, "config: "),
    ("sources", {}, "Field required"),
    ("listings", {"url": ""}, "at least 1 character"),
    ("listings", {"url": "https://k.example", "job_data": {"title": 5}}, "valid string"),
    ("listings", {"url": "https://k.example", "job_data": {}, "scraped_data": {}}, "Extra inputs"),
]


def test_bad_input_is_refused_with_its_value(plain: Api) -> None:
    for kind, body, said in WRONG_BODIES:
        answer = plain.post(f"{JOBS}/{kind}", body)
        assert answer.status_code == 422
        assert said in json.dumps(answer.json(), ensure_ascii=False)


def test_a_repeated_request_gets_the_stored_answer_and_its_status(api: Api) -> None:
    key = {"Idempotency-Key": "once"}
    first = api.post(f"{JOBS}/companies", ADDED["companies"], headers=key)
    again = api.post(f"{JOBS}/companies", ADDED["companies"], headers=key)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert api.post(f"{JOBS}/companies", ADDED["companies"]).status_code == 200


def test_a_source_of_a_company_elsewhere_is_refused(api: Api) -> None:
    body = {"url": "https://boards.greenhouse.io/kind", "company_id": str(uuid4())}
    assert api.post(f"{JOBS}/sources", body).status_code == 404


# -- who may


def test_an_agent_needs_the_scope_for_it(api: Api, finder: Finder) -> None:
    made = finder.posting()
    for scopes, reads, writes in ((["claims"], 403, 403), (["jobs_read"], 200, 403), (["jobs"], 200, 200)):
        name = scopes[0]
        api.tokens[name] = api.people.create_token("default", name, kind="agent", scopes=scopes, by=BY)[1]
        assert api.get(f"{JOBS}/postings/{made}", name).status_code == reads
        assert api.get(f"{JOBS}/postings", name).status_code == reads
        assert api.post(f"{JOBS}/postings/{made}/save", None, name).status_code == writes


def test_what_is_of_another_workspace_does_not_exist(api: Api, finder: Finder) -> None:
    made, board = finder.settled_by_hand("filtered"), finder.source()
    assert api.get(f"{JOBS}/postings", "north-owner").json() == {"postings": [], "next": None}
    assert api.get(f"{JOBS}/postings?workspace=default", "north-owner").status_code == 404
    assert (
        api.post(f"{JOBS}/companies", {**ADDED["companies"], "workspace": "default"}, "north-owner").status_code == 404
    )
    for path in (f"postings/{made}", f"sources/{board.id}"):
        assert api.get(f"{JOBS}/{path}", "north-owner").status_code == 404
    for path in (f"postings/{made}/save", f"postings/{made}/unfilter", f"sources/{board.id}/crawl"):
        assert api.post(f"{JOBS}/{path}", None, "north-owner").status_code == 404
    assert api.get(f"{JOBS}/companies/{uuid4()}").status_code == 404
    assert api.get(f"{JOBS}/why?url={ROW['url']}", "north-owner").json()["answers"] == []


# -- lists


def test_postings_are_listed_by_filters_page_by_page(api: Api, finder: Finder) -> None:
    finder.profile()
    match = finder.settled()
    hidden = finder.settled("https://grim.example/1", company="Grim Corp")
    found = api.get(f"{JOBS}/postings").json()
    assert [one["id"] for one in found["postings"]] == [str(match), str(hidden)]
    first = found["postings"][0]
    assert (first["outcome"], first["workplace"], first["annual_min"]) == ("matched", first["workplace"], None)
    assert first["score"] >= 80
    page = api.get(f"{JOBS}/postings?limit=1").json()
    rest = api.get(f"{JOBS}/postings?limit=1&after={page['next']}").json()
    assert [one["id"] for one in page["postings"] + rest["postings"]] == [str(match), str(hidden)]
    assert rest["next"] is None
    for query, wanted in {
        "state=filtered": [hidden],
        "state=matched&state=filtered&state=open": [match, hidden],
        "min_score=80": [match],
        "q=grim": [hidden],
        "company=Grim": [hidden],
        "workplace=onsite": [],
        "source=greenhouse": [],
    }.items():
        ids = [one["id"] for one in api.get(f"{JOBS}/postings?{query}").json()["postings"]]
        assert ids == [str(one) for one in wanted], query


WRONG_FILTERS = [
    ("state=good", "state 'good' is none of new"),
    ("workplace=moon", "workplace 'moon' is none of remote"),
    ("after=x", "take it from `next`"),
    ("min_score=101", "less than or equal to 100"),
    ("limit=0", "greater than or equal to 1"),
    ("scor=3", "scor"),
]


def test_a_wrong_filter_is_refused(plain: Api) -> None:
    for query, said in WRONG_FILTERS:
        for more in ("", "&format=csv"):
            answer = plain.get(f"{JOBS}/postings?{query}{more}")
            assert answer.status_code == 422
            assert said in json.dumps(answer.json())


def test_companies_and_sources_are_listed(api: Api, finder: Finder) -> None:
    one = finder.company("Kelp", "https://kelp.example", tier="S")
    two = finder.company("Reef", "https://reef.example")
    board = finder.source(company_id=one.id)
    assert [c["name"] for c in api.get(f"{JOBS}/companies").json()["companies"]] == ["Reef", "Kelp"]
    page = api.get(f"{JOBS}/companies?limit=1").json()
    assert [c["id"] for c in api.get(f"{JOBS}/companies?after={page['next']}").json()["companies"]] == [str(one.id)]
    assert [c["id"] for c in api.get(f"{JOBS}/companies?tier=S").json()["companies"]] == [str(one.id)]
    assert [c["id"] for c in api.get(f"{JOBS}/companies?q=REEF").json()["companies"]] == [str(two.id)]
    assert api.get(f"{JOBS}/companies?state=done").status_code == 422
    assert api.get(f"{JOBS}/companies/{one.id}").json()["tier"] == "S"
    [found] = api.get(f"{JOBS}/sources?company={one.id}&state=active&kind=greenhouse").json()["sources"]
    assert (found["id"], found["enabled"], found["discovery_confidence"]) == (str(board.id), True, "high")
    assert api.get(f"{JOBS}/sources?state=done").status_code == 422
    assert api.get(f"{JOBS}/sources?after=x").status_code == 422


def test_companies_and_sources_are_found_by_their_postings_and_by_each_other(api: Api, finder: Finder) -> None:
    one = finder.company("Kelp GmbH", "https://kelp.example")
    finder.company("Reef", "https://reef.example")
    board = finder.source(company_id=one.id)
    finder.source("https://jobs.lever.co/reef", "reef", source_type="lever", company_name="Reef")
    good = finder.posting(source_id=board.id)
    finder.set(good, company_id=one.id, score=90, workplace="remote")

    def found(what: str, query: str) -> list[str]:
        return [each["name"] for each in api.get(f"{JOBS}/{what}?{query}").json()[what]]

    for query in ("min_score=90", "workplace=remote", "company=kelp", f"company={one.id}", "source=greenhouse"):
        assert (found("companies", query), found("sources", query)) == (["Kelp GmbH"], ["kind board"]), query
    assert found("sources", "company=REEF") == ["reef board"]
    assert found("companies", "min_score=91") == found("sources", "min_score=91") == []
    finder.set(good, state="closed")
    assert found("companies", "workplace=remote") == []
    assert api.get(f"{JOBS}/companies?workplace=moon").status_code == 422


def test_a_list_as_csv_has_all_rows_and_no_formulas(api: Api, finder: Finder) -> None:
    for number in range(3):
        finder.posting(f"https://kind.example/{number}", title='=HYPERLINK("http://evil.example")', company="+1,2")
    answer = api.get(f"{JOBS}/postings", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    found = rows_of(answer.text)
    assert len(found) == 3
    assert found[0]["title"] == '\'=HYPERLINK("http://evil.example")'
    assert found[0]["company"] == "'+1,2"
    assert found[0]["outcome"] == "new"
    assert len(rows_of(api.get(f"{JOBS}/postings?format=csv&limit=2").text)) == 2
    assert api.get(f"{JOBS}/postings?format=json", headers={"Accept": "text/csv"}).json()["postings"]


def test_a_long_list_as_csv_goes_on_page_after_page(api: Api, finder: Finder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.apps.jobs.finder.api.reading.BIGGEST_PAGE", 2)
    finder.source()
    wanted = {finder.company(f"Kelp {number}", None).name for number in range(5)}
    found = rows_of(api.get(f"{JOBS}/companies?format=csv").text)
    assert len(found) == 5
    assert {one["name"] for one in found} == wanted
    assert [one["name"] for one in rows_of(api.get(f"{JOBS}/sources?format=csv").text)] == ["kind board"]


# -- one posting


def test_a_posting_shows_its_results_and_its_other_sightings(api: Api, finder: Finder) -> None:
    finder.profile()
    made, other = finder.settled(), finder.posting("https://feed.example/1")
    finder.set(other, opening_id=made)
    found = api.get(f"{JOBS}/postings/{made}").json()
    assert found["match_result"]["resumeIntakeData"]["prioritizedSkills"][0] == "Python"
    assert found["filter_result"]["passed"] is True
    assert found["posting"]["title"] == ROW["title"]
    assert found["sentence"] == "It is a match."
    assert [one["id"] for one in found["sightings"]] == [str(other)]


def test_a_posting_is_saved_dismissed_and_neither(api: Api, finder: Finder) -> None:
    made = finder.settled_by_hand("matched")
    saved = api.post(f"{JOBS}/postings/{made}/save", None, "member").json()
    assert (saved["decision"], saved["decided_by"]) == ("saved", "member/t")
    assert api.get(f"{JOBS}/postings?state=saved").json()["postings"][0]["id"] == str(made)
    assert api.post(f"{JOBS}/postings/{made}/dismiss").json()["decision"] == "dismissed"
    assert api.post(f"{JOBS}/postings/{made}/undo").json()["decision"] is None
    assert api.get(f"{JOBS}/postings?state=saved&state=dismissed").json()["postings"] == []


def test_a_filtered_posting_is_taken_after_all(api: Api, finder: Finder) -> None:
    made = finder.settled_by_hand("filtered")
    taken = api.post(f"{JOBS}/postings/{made}/unfilter", {"reason": "a friend works there"})
    assert taken.status_code == 201
    data = api.engine.get(UUID(taken.json()["id"])).data
    assert data["override"] == "owner/setup: a friend works there"
    again = api.post(f"{JOBS}/postings/{made}/unfilter")
    assert (again.status_code, again.json()["id"]) == (200, taken.json()["id"]), "the open item, not a second one"


def test_a_match_needs_no_taking_after_all(api: Api, finder: Finder) -> None:
    refused = api.post(f"{JOBS}/postings/{finder.settled_by_hand('matched')}/unfilter")
    assert refused.status_code == 409
    assert "only one that was filtered or skipped" in refused.json()["detail"]


# -- sources


def test_a_source_shows_its_crawls_and_is_crawled_once_at_a_time(api: Api, finder: Finder) -> None:
    board = finder.source()
    first = api.post(f"{JOBS}/sources/{board.id}/crawl")
    assert first.status_code == 201
    assert api.post(f"{JOBS}/sources/{board.id}/crawl").status_code == 200
    crawl, parsed = UUID(first.json()["id"]), Parsed(Verdict.PARTIAL, reasons=("page 3 was cut off",))
    finder.write(lambda unit: sources.crawled(unit, board, crawl, unit.now, parsed, {"parsed": 7}, gone=False))
    found = api.get(f"{JOBS}/sources/{board.id}").json()
    [shown] = found["crawls"]
    assert (shown["verdict"], shown["reasons"], shown["counts"]) == ("partial", ["page 3 was cut off"], {"parsed": 7})
    assert found["last_scraped_status"] == "partial"


def test_a_source_is_disabled_and_enabled_with_a_reason(api: Api, finder: Finder) -> None:
    board = finder.source(status=sources.PENDING_VALIDATION)
    assert api.post(f"{JOBS}/sources/{board.id}/crawl").status_code == 409
    off = api.post(f"{JOBS}/sources/{board.id}/disable", {"reason": "too many ads"}).json()
    assert (off["state"], off["state_reason"], off["enabled"]) == ("disabled", "owner/setup: too many ads", False)
    assert api.post(f"{JOBS}/sources/{board.id}/crawl").status_code == 409
    on = api.post(f"{JOBS}/sources/{board.id}/enable").json()
    assert (on["state"], on["consecutive_failures"], on["next_crawl_at"] is not None) == ("active", 0, True)


def test_enabling_a_source_answers_the_review_that_asks_about_it(api: Api, finder: Finder) -> None:
    item = finder.write(lambda unit: intake.add_source(unit, "default", "https://kind.example", BY)).item
    board = finder.source(status=sources.PENDING_VALIDATION, item_id=item.id)

    def open_review(unit: Unit) -> UUID:
        locked = unit.lock(item.id)
        change(unit, locked, {"source_id": str(board.id)}, BY)
        return ask(unit, locked, "validate", VALIDATE_SOURCE)

    finder.write(open_review)
    assert api.post(f"{JOBS}/sources/{board.id}/enable", None, "member").json()["state"] == "active"
    assert finder.read(lambda conn: reviews.waiting(conn)) == []


# -- reasons


def test_why_answers_for_an_address_and_for_words(api: Api, finder: Finder) -> None:
    finder.profile()
    finder.settled(company="Grim Corp")
    for query in (f"url={ROW['url']}", "q=grim"):
        [found] = api.get(f"{JOBS}/why?{query}", "viewer").json()["answers"]
        assert found["posting"]["outcome"] == "filtered"
        [hit] = [one for one in found["checks"] if one["result"] == "hit"]
        assert (hit["check"], hit["quote"]) == ("stop_company", "Grim Corp")
    unknown = api.get(f"{JOBS}/why?url=https://boards.greenhouse.io/reef/jobs/1").json()
    assert unknown["answers"] == []
    assert "There is no source for the greenhouse board 'reef'" in " ".join(unknown["notes"])


def test_why_needs_one_of_the_two(plain: Api) -> None:
    for query, said in (("", "give either"), ("url=a.b&q=c", "give either"), ("url=x", "use q")):
        answer = plain.get(f"{JOBS}/why?{query}")
        assert answer.status_code == 422
        assert said in answer.json()["detail"]


def test_refusals_say_what_was_not_started_and_why(api: Api, finder: Finder) -> None:
    item = finder.write(lambda unit: intake.add_company(unit, "default", "Kelp", "https://kelp.example", BY)).item

    def twice(unit: Unit) -> None:
        parent = unit.lock(item.id)
        for _ in range(2):
            spawn(unit, parent, Spawn("source", {"url": "https://kelp.example/jobs"}, key="kelp"), BY)

    finder.write(twice)
    found = api.get(f"{JOBS}/refusals", "viewer").json()
    [refused] = found["refusals"]
    assert (refused["item_id"], refused["machine"], refused["key"]) == (str(item.id), "source", "kelp")
    assert refused["reason"].startswith("under way: ")
    assert found["next"] is None
    assert api.get(f"{JOBS}/refusals", "north-owner").json()["refusals"] == []
