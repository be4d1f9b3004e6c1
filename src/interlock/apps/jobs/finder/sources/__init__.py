"""Sources of postings: one module for each system, and feeds, schema.org, selectors and custom APIs for the rest.

An adapter recognises its boards (`detect`, `detect_page`), names the requests (`first`, `detail`, and `follow` of what
it parsed) and reads the answers (`parse`, `parse_detail`). It has no network code and no clock of its own.
"""

from __future__ import annotations

from importlib import import_module

from interlock.apps.jobs.finder.sources.adapter import Adapter
from interlock.machine import InterlockError
from interlock.machine.extras import require

require("jobs", "selectolax", "defusedxml", "nh3")

SYSTEMS = {
    "greenhouse": "Greenhouse",
    "lever": "Lever",
    "ashby": "Ashby",
    "workday": "Workday",
    "recruitee": "Recruitee",
    "smartrecruiters": "SmartRecruiters",
    "workable": "Workable",
    "personio": "Personio",
    "teamtailor": "Teamtailor",
    "bamboohr": "BambooHR",
    "jobvite": "Jobvite",
}
"""Kind → class, in the module of the kind's name."""


def adapter_of(kind: str) -> Adapter:
    """The adapter of a kind of source."""
    name = SYSTEMS.get(kind)
    if name is None:
        raise InterlockError(f"{kind!r} is no kind of source; there are {', '.join(SYSTEMS)}")
    made: Adapter = getattr(import_module(f"interlock.apps.jobs.finder.sources.{kind}"), name)()
    return made


__all__ = ["SYSTEMS", "Adapter", "adapter_of"]
