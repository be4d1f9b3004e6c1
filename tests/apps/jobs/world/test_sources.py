"""Every source of the world is read by its adapter over HTTP, field by field, as `/_world` says."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx2
import pytest

from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources.cleaning import line
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.catalogue import BOARDS
from interlock.apps.jobs.world.exchange import KEY

from .crawling import crawl, source_of, with_detail

DAY_ONLY = {"workday", "jsonld", "workable", "teamtailor", "bamboohr", "jobvite", "html"}
"""Kinds that state the day of a posting."""
MISSING: dict[str, set[str]] = {
    "lever": {"company"},
    "ashby": {"company"},
    "bamboohr": {"company", "salary", "further places"},
    "jobvite": {"company", "salary", "workplace of an office"},
    "personio": {"salary", "workplace"},
    "teamtailor": {"department", "workplace of an office"},
    "workday": {"department", "salary", "contracts"},
    "workable": {"salary", "workplace of an office"},
    "smartrecruiters": {"further places", "workplace of an office"},
    "greenhouse": {"cities of remote work", "workplace of an office"},
    "feed": {"salary", "cities of remote work", "workplace of an office"},
    "jsonld": {"department", "workplace of an office"},
    "html": {"company", "salary", "cities of remote work", "workplace of an office", "text"},
}
"""Kind → what its answers do not say."""
ATOM = {"department", "employment_type", "locations", "workplace", "salary", "cities of remote work"}
SOURCES = [(board.company.name, board.kind, board.name) for board in BOARDS]


@pytest.fixture(scope="module")
def companies(http: httpx2.Client, world: World) -> dict[str, Any]:
    return {one["name"]: one for one in http.get(f"{world.url}/_world").json()["companies"]}


@pytest.mark.parametrize(("company", "kind", "name"), SOURCES, ids=[f"{one[0]} {one[1]}" for one in SOURCES])
def test_a_source_is_read_as_the_world_tells_it(
    http: httpx2.Client, world: World, companies: dict[str, Any], company: str, kind: str, name: str
) -> None:
    (source,) = [one for one in companies[company]["sources"] if one["kind"] == kind]
    key = {"X-Api-Key": KEY} if source.get("config", {}).get("api_key_env") else {}
    adapter, board = source_of(http, world, source)

    found = crawl(http, adapter, board, **key)

    assert (found.verdict, found.reasons) == ("complete", ())
    assert len(found.postings) == source["postings"]
    assert not found.wrong_fields
    expected = {one["url"]: one for one in companies[company]["postings"] if one["source"] == source["url"]}
    assert set(expected) == {one.url for one in found.postings}
    silent = ATOM if source.get("format") == "atom" else MISSING.get(kind, set())
    for posting in found.postings:
        assert posting.url
        whole = with_detail(http, adapter, board, posting, **key)
        assert http.get(posting.url).status_code == 200
        compare(whole, expected[posting.url], kind, silent)


def compare(found: Posting, expected: dict[str, Any], kind: str, silent: set[str]) -> None:
    assert found.title == line(expected["title"])
    if "company" not in silent:
        assert found.company_name_raw == expected["company"]
    if "department" not in silent:
        assert found.department == expected["department"]
    if "employment_type" not in silent and not ("contracts" in silent and expected["employment_type"] != "full_time"):
        assert found.employment_type == expected["employment_type"]
    if "workplace" not in silent and not ("workplace of an office" in silent and expected["workplace"] != "remote"):
        assert found.workplace == expected["workplace"]
    if "locations" not in silent:
        compare_places(found, expected, silent)
    pay = expected["salary"]
    if "salary" not in silent:
        said = found.salary
        assert (said.min, said.max, said.currency, said.period) == (
            (pay["min"], pay["max"], pay["currency"], pay["period"]) if pay else (None, None, None, None)
        )
    posted = datetime.fromisoformat(expected["posted_at"])
    assert found.posted_at
    assert (found.posted_at.date() if kind in DAY_ONLY else found.posted_at) == (
        posted.date() if kind in DAY_ONLY else posted
    )
    if "text" not in silent:
        assert found.description_text
        for wanted in expected["requirements"]:
            assert wanted in found.description_text
        assert "<script" not in (found.description_html or "")
        assert "<img" not in (found.description_html or "")


def compare_places(found: Posting, expected: dict[str, Any], silent: set[str]) -> None:
    wanted = expected["locations"][:1] if "further places" in silent else expected["locations"]
    if "cities of remote work" in silent and expected["workplace"] == "remote":
        assert {one.country for one in found.locations} == set(expected["countries"])
    else:
        assert {one.city for one in found.locations} == {name.partition(",")[0] for name in wanted}
