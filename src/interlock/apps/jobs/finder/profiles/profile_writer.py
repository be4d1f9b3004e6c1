"""Writes a profile as YAML with comments: what each key is for, and an example where it is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from interlock.apps.jobs.finder.sources.cleaning import visible

_HEAD = """\
# The profile of the job finder. Everything may be left out; a preference that is left out is not checked.
# `interlock jobs score --profile FILE --postings FILE` shows its effect.
"""
_KEYS: tuple[tuple[str, str, str], ...] = (
    ("identity", "Who you are.", "{name: Robin Vale, email: robin@example.org}"),
    ("time_zone", "", "America/Los_Angeles"),
    ("home", "Where you live.", "{city: Portland, region: OR, country: US}"),
    ("office_cities", "Other cities where you would go to an office.", "[Seattle]"),
    ("workplace", "remote, hybrid, onsite", "[remote, hybrid]"),
    ("titles", "Titles you look for.", "[Backend Engineer]"),
    (
        "role_types",
        "backend, frontend, fullstack, ml-ai, data, devops, security, qa, mobile, embedded, consulting",
        "[backend]",
    ),
    ("seniority", "intern, entry, mid, senior, lead, staff, principal, director, executive", "[senior]"),
    ("management", "false: no roles that manage people. Left out: either will do.", "false"),
    ("employment_types", "full_time, part_time, contract, temporary, internship, other", "[full_time]"),
    ("years", "Years of experience.", "8"),
    (
        "skills",
        "rank, 0 to 100: what a technology is worth to you, 10 unless set. The ranks of a company's add up.",
        "[{name: Python, years: 8, last_used: 2026-10, rank: 30}]",
    ),
    ("unwanted_skills", "Technologies you do not want to work with; strikes from 1 to 3.", "[{name: PHP, strikes: 2}]"),
    ("salary", "The least pay, before taxes.", "{min: 140000, currency: USD, period: year}"),
    ("company_size", "small, medium, large", "[large]"),
    ("work_authorisation", "Where you may work.", "[{country: US, authorised: true, sponsorship: false}]"),
    ("stop_list", "Never show these.", "{companies: [], domains: [], keywords: []}"),
    ("employment", "The latest first. No `end`: you still work there.", "[]"),
    ("education", "", "[]"),
    ("projects", "", "[]"),
    ("answers", "Answers to questions of application forms, by the question.", "{Notice period: four weeks}"),
    ("never_say", "No text for an application may have these words.", "[rockstar]"),
    ("filter", "Numbers of the filter.", "{threshold: 5}"),
    ("match", "Numbers of the score.", "{threshold: 80}"),
)


def written(profile: Mapping[str, Any], origins: Mapping[str, str] | None = None) -> str:
    """The profile as a YAML text. `origins` says of a key where its value was read."""
    parts = [_HEAD]
    for key, purpose, example in _KEYS:
        value = profile.get(key)
        origin = (origins or {}).get(key)
        notes = [one for one in (purpose, f"read from {origin}" if origin else "") if one]
        lines = [f"# {_one_line(note)}" for note in notes]
        if value in (None, [], (), {}, ""):
            lines.append(f"# {key}: {example}")
        else:
            dumped: str = yaml.safe_dump(
                {key: value},
                sort_keys=False,
                allow_unicode=True,
                width=110,
                default_flow_style=None if isinstance(value, dict | list | tuple) else False,
            )
            lines.append(dumped.rstrip("\n"))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _one_line(text: str) -> str:
    """A comment ends with its line, whatever a file is called."""
    return " ".join(visible(text).split())[:300]
