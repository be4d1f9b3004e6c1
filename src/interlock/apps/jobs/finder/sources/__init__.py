"""Sources of postings: one module for each system, and feeds, schema.org, selectors and custom APIs for the rest.

An adapter recognises its boards (`detect`, `detect_page`), names the requests (`first`, `detail`, and `follow` of what
it parsed) and reads the answers (`parse`, `parse_detail`). It has no network code and no clock of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from interlock.machine import InterlockError
from interlock.machine.extras import require

require("jobs", "selectolax", "defusedxml", "nh3", "feedparser")

from interlock.apps.jobs.finder.sources.adapter import Adapter

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
"""Applicant tracking systems: kind → class, in the module of the kind's name."""
GENERAL = {"feed": "feed:Feed", "jsonld": "jsonld:JsonLd", "html": "selectors:Html", "api": "api:Api"}
"""Other kinds of sources: kind → module and class."""
CONFIGS = {"feed": "feed:FeedConfig", "html": "selectors:HtmlConfig", "api": "api:ApiConfig"}
KINDS = (*SYSTEMS, *GENERAL)
ALIASES = {"rss": "feed", "atom": "feed", "generic": "html"}
"""Other names of kinds of sources."""


def adapter_of(kind: str, config: Mapping[str, Any] | None = None) -> Adapter:
    """The adapter of a kind of source. `config` is for feeds, selectors and custom APIs; selectors need one."""
    if kind not in KINDS:
        raise InterlockError(f"{kind!r} is not a kind of source; there are {', '.join(KINDS)}")
    make = _named(GENERAL.get(kind) or f"{kind}:{SYSTEMS[kind]}")
    made: Adapter
    if kind not in CONFIGS or (config is None and kind != "html"):
        made = make()
        return made
    try:
        made = make(_named(CONFIGS[kind]).model_validate(config or {}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise InterlockError(f"the configuration of a source of kind {kind}: {where}: {first['msg']}") from None
    return made


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"interlock.apps.jobs.finder.sources.{module}"), name)


__all__ = ["ALIASES", "GENERAL", "KINDS", "SYSTEMS", "Adapter", "adapter_of"]
