"""The score: parts, adjustments, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from interlock.apps.jobs.finder.matching import parts as rules
from interlock.apps.jobs.finder.matching.parts import Coverage, Share
from interlock.apps.jobs.finder.matching.result import Adjustment, MatchResult, Priority, ScorePart, WouldBe
from interlock.apps.jobs.finder.matching.resume import resume_intake
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Scoring
from interlock.apps.jobs.finder.profiles.seeker import Seeker

MOST_CONDITIONS = 3


def match_posting(posting: ReadPosting, seeker: Seeker) -> MatchResult:
    """Match one posting. The result depends on the posting and the profile alone."""
    scoring = seeker.scoring
    found = rules.coverage(posting, seeker)
    shares = {
        "skills": rules.skills(posting, seeker, found),
        "title": rules.title(posting, seeker),
        "seniority": rules.seniority(posting, seeker),
        "location": rules.location(posting, seeker),
        "salary": rules.salary(posting, seeker),
    }
    weights = {name: getattr(scoring, name) for name in shares}
    made = _parts(shares, weights, scoring.neutral)
    base = sum(one.points for one in made)
    added = [_time_zone(posting, seeker), _company(posting, seeker)]
    score, adjustments = _limited(base, added)
    office = seeker.near_home(posting)
    whole = sum(weights.values())
    known = sum(weights[one.name] for one in made if one.known)
    return MatchResult(
        match_score=score,
        application_priority=priority_for(score, scoring),
        matched_skills=tuple(dict.fromkeys(name for demand, name, _ in found.matched if demand.level != "mentioned")),
        skill_gaps=tuple(demand.name for demand, _ in found.missing if demand.level != "mentioned"),
        resume=resume_intake(posting, seeker, found),
        confidence=round(known / whole, 2),
        threshold=min(scoring.threshold, scoring.threshold_with_office) if office else scoring.threshold,
        office_bonus=office,
        parts=made,
        adjustments=tuple(adjustments),
        would_be=_would_be(shares, weights, scoring.neutral, found, added, score),
    )


def fresh(score: float, posted_at: datetime | None, now: datetime, scoring: Scoring) -> float:
    """The score by which lists are ordered at a moment; a posting of unknown age gains half."""
    if posted_at is None:
        return score + scoring.freshness / 2
    days = max(0.0, (now - posted_at).total_seconds() / 86400)
    return round(score + scoring.freshness * max(0.0, 1 - days / scoring.fresh_days), 2)


def _exact(shares: Mapping[str, Share], weights: Mapping[str, float], neutral: float) -> dict[str, float]:
    whole = sum(weights.values())
    return {
        name: 100 * weights[name] / whole * (neutral if one.share is None else one.share)
        for name, one in shares.items()
    }


def _parts(shares: Mapping[str, Share], weights: Mapping[str, float], neutral: float) -> tuple[ScorePart, ...]:
    points = whole_points(list(_exact(shares, weights, neutral).values()))
    total = sum(weights.values())
    most = [math.ceil(round(100 * weights[name] / total, 6)) for name in shares]
    return tuple(
        ScorePart(name, got, of, one.share is not None, one.explanation, one.sentences)
        for (name, one), got, of in zip(shares.items(), points, most, strict=True)
    )


def whole_points(exact: Sequence[float]) -> list[int]:
    """Whole numbers that sum up to the rounded sum: each rounded down, the largest remainders up."""
    total = math.floor(round(math.fsum(exact), 6) + 0.5)
    points = [math.floor(round(one, 6)) for one in exact]
    remainders = sorted(range(len(exact)), key=lambda index: (points[index] - exact[index], index))
    for index in remainders[: total - sum(points)]:
        points[index] += 1
    return points


def _time_zone(posting: ReadPosting, seeker: Seeker) -> Adjustment:
    scoring, found = seeker.scoring, posting.time_zone
    if found is None:
        return Adjustment("time_zone", 0, "the posting's time zone is unknown")
    if seeker.offset is None:
        return Adjustment("time_zone", 0, "the profile names no time zone")
    if found.value is None:
        return Adjustment("time_zone", 0, "any time zone will do")
    apart = abs(found.value - seeker.offset) % 24
    apart = min(apart, 24 - apart)
    points = next((points for hours, points in scoring.time_zone if apart <= hours), scoring.time_zone_farther)
    said = (
        f"the team is {apart:g} {'hour' if apart == 1 else 'hours'} away" if apart else "the team works at your hours"
    )
    return Adjustment("time_zone", points, said)


def _company(posting: ReadPosting, seeker: Seeker) -> Adjustment:
    size, wanted = posting.company_size, seeker.profile.company_size
    if size is None:
        return Adjustment("company_size", 0, "the size of the company is unknown")
    if size == "large" and "large" in wanted:
        return Adjustment("company_size", seeker.scoring.large_company, "a large company, as wanted")
    if size == "small" and "small" not in wanted:
        return Adjustment("company_size", seeker.scoring.small_company, "a small company")
    return Adjustment("company_size", 0, f"a {size} company")


def _limited(base: int, adjustments: list[Adjustment]) -> tuple[int, list[Adjustment]]:
    """The sum between 0 and 100. What is cut off is an adjustment too, so that the points still sum up."""
    total = base + sum(one.points for one in adjustments)
    score = max(0, min(100, total))
    if score != total:
        adjustments = [*adjustments, Adjustment("limit", score - total, "a score is between 0 and 100")]
    return score, adjustments


def priority_for(score: int, scoring: Scoring) -> Priority:
    """The priority of an application with this score."""
    if score >= scoring.high_priority:
        return "High"
    return "Medium" if score >= scoring.medium_priority else "Low"


def _would_be(
    shares: Mapping[str, Share],
    weights: Mapping[str, float],
    neutral: float,
    found: Coverage,
    adjustments: list[Adjustment],
    score: int,
) -> tuple[WouldBe, ...]:
    """The score with a missing skill, or with an unknown part known and right; the greatest gains first."""

    def again(name: str, share: float) -> int:
        exact = _exact({**shares, name: Share(share, "")}, weights, neutral)
        return _limited(sum(whole_points(list(exact.values()))), adjustments)[0]

    gains: list[WouldBe] = []
    if found.whole and shares["skills"].share is not None:
        had, whole = found.had, found.whole
        with_skill = {weight: again("skills", (had + weight) / whole) for weight in {one for _, one in found.missing}}
        gains += [
            WouldBe(f"you had {demand.name}", with_skill[weight])
            for demand, weight in found.missing
            if demand.level != "mentioned"
        ]
    gains.extend(
        WouldBe(f"the {name} were known and as wanted", again(name, 1.0))
        for name in ("salary", "location", "seniority")
        if shares[name].share is None and weights[name]
    )
    better = sorted((one for one in gains if one.score > score), key=lambda one: (-one.score, one.condition))
    return tuple(better[:MOST_CONDITIONS])
