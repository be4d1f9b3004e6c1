"""The stage ANALYZE: technologies, job boards, size, and the tier with its sum. Rules alone, at no cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from interlock.apps.jobs.finder.companies.boards import Board, boards_of
from interlock.apps.jobs.finder.companies.completeness import Completeness, completeness_of, insufficient
from interlock.apps.jobs.finder.companies.extract import read_pages
from interlock.apps.jobs.finder.companies.stack import Technology, stack_of
from interlock.apps.jobs.finder.companies.tier import (
    Points,
    Size,
    Tier,
    points_of,
    priority_of,
    size_category,
    tier_of,
)
from interlock.apps.jobs.finder.companies.values import FIELDS, Extracted
from interlock.apps.jobs.finder.profiles.seeker import Seeker


class Analysis(BaseModel):
    """What follows from the pages of a company."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    completeness: Completeness
    skip_reason: str | None = None
    """Why the company is SKIPPED; None where enough is known of it."""
    tech_stack: tuple[str, ...] = ()
    technologies: tuple[Technology, ...] = ()
    """The same with their evidence."""
    boards: tuple[Board, ...] = ()
    """The surest first."""
    size_category: Size | None = None
    tier: Tier | None = None
    """None without a profile: a sum without its main parts says nothing."""
    priority_score: int = 0
    priority: int = 2
    """The priority of the company's items: 0 for S, 1 for A, 2 for B or unknown, 3 for C and D."""
    points: tuple[Points, ...] = ()
    """The parts of `priority_score`."""
    profile: str | None = None
    """The digest of the profile that the tier is for."""


def record_of(extracted: Extracted, analysis: Analysis) -> dict[str, Any]:
    """The company as the stage SAVE writes it, under the specification's names. What is unknown is None."""
    return {
        "name": extracted.name,
        "website": extracted.website,
        **{field: extracted.said(field) for field in FIELDS},
        "company_size_category": analysis.size_category,
        "techStack": list(analysis.tech_stack),
        "tier": analysis.tier,
        "priorityScore": analysis.priority_score,
        "analysis_status": "insufficient" if analysis.skip_reason else "complete",
    }


def analyze(
    extracted: Extracted,
    pages: Mapping[str, str],
    seeker: Seeker | None = None,
    private_hosts: Collection[str] = (),
) -> Analysis:
    """The analysis of a company from what was extracted and its pages, by their addresses."""
    read = read_pages(pages)
    stack = stack_of(read)
    points = points_of(extracted, read, stack, seeker)
    score = sum(one.points for one in points)
    tier = tier_of(score) if seeker is not None else None
    return Analysis(
        completeness=completeness_of(extracted),
        skip_reason=insufficient(extracted),
        tech_stack=tuple(one.name for one in stack),
        technologies=stack,
        boards=boards_of(read, pages, private_hosts),
        size_category=size_category(extracted.people, extracted.more_people),
        tier=tier,
        priority_score=score,
        priority=priority_of(tier),
        points=points,
    )
