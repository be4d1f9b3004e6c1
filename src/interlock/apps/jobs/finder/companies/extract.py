"""The stage EXTRACT by rules: what the pages of a company say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from interlock.apps.jobs.finder.companies.facts import founded_of, headquarters_of, industry_of, size_of
from interlock.apps.jobs.finder.companies.markup import CompanyPage, read_page
from interlock.apps.jobs.finder.companies.sections import about_of, section_of
from interlock.apps.jobs.finder.companies.values import Extracted
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.identity.urls import registered_domain
from interlock.apps.jobs.finder.sources.cleaning import line

MOST_PAGES = 12
LONGEST_NAME = 100
_TITLE_PARTS = re.compile(r" [|\u00b7\u2013\u2014:-]+ |: ")


def extract(pages: Mapping[str, str], name: str, website: str) -> Extracted:
    """What the pages, by their addresses, say of the company. What none says is None."""
    return extract_from(read_pages(pages), name, website)


def read_pages(pages: Mapping[str, str]) -> list[CompanyPage]:
    """The pages, read; the same page under a second address counts once."""
    different: dict[str, str] = {}
    for url, html in pages.items():
        different.setdefault(html, url)
    return [read_page(url, html) for html, url in list(different.items())[:MOST_PAGES]]


def own_name(pages: Mapping[str, str], website: str) -> str | None:
    """What a company calls itself on its pages, for one of which only the address is known; None if that is not clear.

    The name of its organisation or website, else the part of a title that the domain repeats.
    """
    read = read_pages(pages)
    said = [line(one.get("name"), LONGEST_NAME) for page in read for one in page.organisations]
    for names in (said, [page.site_name for page in read]):
        named = {company_key(one): one for one in reversed(names) if one and company_key(one)}
        if len(named) == 1:
            return named.popitem()[1]
    label = (registered_domain(website) or "").partition(".")[0].replace("-", "")
    parts = (part.strip() for page in read for part in _TITLE_PARTS.split(page.title or ""))
    return next((one for one in parts if label and (company_key(one) or "").replace(" ", "") == label), None)


def extract_from(read: list[CompanyPage], name: str, website: str) -> Extracted:
    """What pages that are read already say of the company."""
    name = line(name) or ""
    about = about_of(read, name)
    size = size_of(read, name)
    return Extracted(
        name=name,
        website=website,
        about=about,
        culture=section_of(read, name, "culture"),
        mission=section_of(read, name, "mission"),
        size=size[0] if size else None,
        people=size[1].number if size else None,
        more_people=size[1].more if size else False,
        headquarters_location=headquarters_of(read, name),
        industry=industry_of(read, name, about.value if about else None),
        founded=founded_of(read, name),
    )
