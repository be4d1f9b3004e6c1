"""The companies' pages say what `/_world` says, in words that rules can read, and lead to every board."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from interlock.apps.jobs.finder.companies.boards import boards_of
from interlock.apps.jobs.finder.companies.completeness import completeness_of
from interlock.apps.jobs.finder.companies.extract import extract_from, read_pages
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.catalogue import COMPANIES

PATHS = ("/about", "/about-us", "/company", "/careers", "")


@pytest.mark.parametrize("slug", COMPANIES)
def test_the_pages_of_a_company_are_read(http: httpx2.Client, world: World, slug: str) -> None:
    (company,) = [one for one in world.described()["companies"] if one["website"].endswith(f"/{slug}")]
    answers = {company["website"] + path: http.get(company["website"] + path) for path in PATHS}
    pages = {url: got.text for url, got in answers.items() if got.status_code == 200}
    assert len(pages) == 3
    read = read_pages(pages)
    found = extract_from(read, company["name"], company["website"])
    assert completeness_of(found) == "good"
    facts: dict[str, Any] = found.model_dump()
    assert facts["people"] == company["size"]
    assert (facts["founded"]["value"], facts["industry"]["value"]) == (str(company["founded"]), company["industry"])
    assert facts["headquarters_location"]["value"].partition(",")[0] == company["headquarters"].partition(",")[0]
    assert COMPANIES[slug].mission in facts["mission"]["value"]
    assert COMPANIES[slug].culture[0] in facts["culture"]["value"]
    assert COMPANIES[slug].about[0] in facts["about"]["value"]
    boards = {(one.kind, one.url.rstrip("/")) for one in boards_of(read, pages, [world.host])}
    # A page with JSON-LD is a careers page until it is read.
    kinds = {"jsonld": "html"}
    assert {
        (kinds.get(one["kind"], one["kind"]), one["url"].rstrip("/"))
        for one in company["sources"]
        if one["kind"] != "api"
    } <= boards
