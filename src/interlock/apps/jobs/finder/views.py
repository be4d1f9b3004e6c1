"""How the dashboard shows companies, sources and listings: their titles, and the evidence for a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.apps.jobs.finder.machine import company, listing, source
from interlock.dashboard.views import Block, View, ViewContext, facts
from interlock.engine import Instance, OpenReview

PREVIEW = ("title", "company", "location", "posted")
LONGEST = 200


@dataclass(frozen=True, slots=True)
class CompanyView(View):
    """A company, and the board that a person is asked about."""

    hidden: frozenset[str] = frozenset({"pages", "extracted", "analysis"})

    def title(self, instance: Instance) -> str:
        data = instance.data
        return str(data["company_name"] or data["website"] or View.title(self, instance))

    def summary(self, review: OpenReview, instance: Instance) -> str:
        board = review.evidence.get("job_board_url")
        return f"Is {board} the job board of {self.title(instance)}?" if board else review.title

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        made = instance.data.get("company_id")
        return [("Company", f"/ui/jobs/companies/{made}")] if made else []

    def evidence(self, context: ViewContext) -> list[Block]:
        data, found = context.instance.data, []
        if context.review is not None and context.review.evidence:
            found.append(Block("The board that was found", rows=_facts(context.review.evidence, {"rows", "preview"})))
            found += _preview(context.review.evidence)
        named = {name: data[name] for name in ("company_name", "website", "stage", "message") if data.get(name)}
        return [*found, Block("Company", rows=facts(named))]


@dataclass(frozen=True, slots=True)
class SourceView(View):
    """A source, and the first rows that were read."""

    hidden: frozenset[str] = frozenset({"preview"})

    def title(self, instance: Instance) -> str:
        data = instance.data
        who = data["company_name"] or data["url"] or View.title(self, instance)
        return f"Crawl of {who}" if data["stage"] == "CRAWL" else str(who)

    def summary(self, review: OpenReview, instance: Instance) -> str:
        known = {**instance.data, **{name: one for name, one in review.evidence.items() if one is not None}}
        kind, sure, found = known.get("source_type"), known.get("confidence"), known.get("found")
        named = [one for one in (kind, f"{sure} confidence" if sure else None) if one]
        said = f"{', '.join(named)}: " if named else ""
        return f"{said}{found} postings found. Crawl it?" if found else f"{said}crawl it?"

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        made = instance.data.get("source_id")
        return [("Source", f"/ui/jobs/sources/{made}")] if made else []

    def evidence(self, context: ViewContext) -> list[Block]:
        data = context.instance.data
        asked = context.review.evidence if context.review is not None else {}
        found = _preview(asked) or _preview(data)
        named = {
            "address": data["url"],
            "kind": data.get("source_type"),
            "confidence": data.get("confidence"),
            "company": data["company_name"],
            "postings found": data.get("found"),
            "found by": data.get("via"),
            "message": data.get("message"),
        }
        found.append(Block("Source", rows=facts(named)))
        config = {name: value for name, value in (data.get("config") or {}).items() if name != "options"}
        if rows := facts(config):
            found.append(Block("How it is read", rows=rows))
        return found


@dataclass(frozen=True, slots=True)
class ListingView(View):
    """A posting on its way to a match."""

    hidden: frozenset[str] = frozenset({"filter_result", "match_result"})

    def title(self, instance: Instance) -> str:
        data = instance.data
        named = [one for one in (data["job_data"].get("title"), data["company_name"]) if one]
        return " · ".join(named) or data["url"] or View.title(self, instance)

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        made = instance.data.get("posting_id")
        return [("Posting", f"/ui/jobs/postings/{made}")] if made else []


def _facts(values: Mapping[str, Any], without: set[str]) -> list[tuple[str, str, float | None]]:
    return facts({name: value for name, value in values.items() if name not in without})


def _preview(values: Mapping[str, Any]) -> list[Block]:
    """The first rows as a table, and what they lack."""
    rows = [one for one in values.get("rows") or values.get("preview") or () if isinstance(one, Mapping)]
    if not rows:
        return []
    cells = [[str(row.get(name) or "—")[:LONGEST] for name in PREVIEW] for row in rows]
    lacks = sorted({str(name) for row in rows for name in row.get("missing") or ()})
    found = [Block("First rows", kind="table", head=["Title", "Company", "Location", "Posted"], cells=cells)]
    if lacks:
        found.append(Block("What the rows lack", rows=[("fields", ", ".join(lacks).replace("_", " "), None)]))
    return found


views = {company.name: CompanyView(), source.name: SourceView(), listing.name: ListingView()}
