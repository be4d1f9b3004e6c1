"""The stage EXTRACT by rules: what the pages of a company say of it."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.apps.jobs.finder.companies.facts import founded_of, headquarters_of, industry_of, size_of
from interlock.apps.jobs.finder.companies.markup import CompanyPage, read_page
from interlock.apps.jobs.finder.companies.sections import about_of, section_of
from interlock.apps.jobs.finder.companies.values import Extracted
from interlock.apps.jobs.finder.sources.cleaning import line

MOST_PAGES = 12


def extract(pages: Mapping[str, str], name: str, website: str) -> Extracted:
    """What the pages, by their addresses, say of the company. What none says is None."""
    return extract_from(read_pages(pages), name, website)


def read_pages(pages: Mapping[str, str]) -> list[CompanyPage]:
    """The pages, read; the same page under a second address counts once."""
    different: dict[str, str] = {}
    for url, html in pages.items():
        different.setdefault(html, url)
    return [read_page(url, html) for html, url in list(different.items())[:MOST_PAGES]]


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
