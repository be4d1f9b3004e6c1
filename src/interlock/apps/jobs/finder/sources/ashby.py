"""Ashby: the whole board in one answer. Pay is inside each job, and names of boards are case-sensitive."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Salary
from interlock.apps.jobs.finder.sources.adapter import Adapter, Hidden, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import Period, employment_type, period, workplace


class Ashby(Adapter):
    kind = "ashby"

    def first(self, board: Address) -> Request:
        origin = board.options.get("origin", "https://api.ashbyhq.com")
        return Request(f"{origin}/posting-api/job-board/{quote(board.board)}?includeCompensation=true")

    def listing(self, document: Any, page: Page) -> Listing | None:
        jobs = document.get("jobs") if isinstance(document, dict) else None
        if not isinstance(jobs, list):
            return None
        return Listing(jobs, doubt=None if jobs else "an empty answer is also what an unknown board gives")

    def read(self, row: Row, page: Page) -> Posting | None:
        if row.flag("isListed") is False:
            raise Hidden
        url = row.url("jobUrl")
        found = address_of(url) if url else None
        model, field = row.text("workplaceType"), "workplaceType"
        where = workplace(model)
        if where == "unknown" and row.flag("isRemote"):
            # It is also true of hybrid jobs, so it counts only when nothing else is said.
            model, field, where = "true", "isRemote", workplace("remote")
        kind, team = row.text("employmentType"), row.text("team")
        posted, precision = row.date("publishedAt")
        locations = self._locations(row)
        return self.posting(
            page,
            board=page.board.board if page.board else (found.board if found else None),
            external_id=row.ident("id") or (found.external_id if found else None),
            url=url,
            apply_url=row.url("applyUrl"),
            title=row.text("title"),
            department=row.text("department"),
            team=team,
            locations=locations,
            workplace=where,
            employment_type=employment_type(kind),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            description=row.html("descriptionHtml") or row.html("descriptionPlain"),
            evidence={
                "workplace": given(field, model),
                "employment_type": given("employmentType", kind),
                "locations": given("location", "; ".join(one.raw for one in locations)),
            },
        )

    def _locations(self, row: Row) -> tuple[Location, ...]:
        found = [self._one(row, "address.postalAddress")]
        for one in row.rows("secondaryLocations"):
            nested = isinstance(one.get("address.postalAddress"), dict)
            found.append(self._one(one, "address.postalAddress" if nested else "address"))
        return tuple(dict.fromkeys(one for one in found if one))

    def _one(self, row: Row, address: str) -> Location | None:
        raw = row.text("location")
        city, region, country = (
            row.text(f"{address}.{name}") for name in ("addressLocality", "addressRegion", "addressCountry")
        )
        return place(raw, city, region, country)

    def _pay(self, row: Row) -> Salary | None:
        """The summary's salary, else the span over the tiers, of the first currency and interval."""
        tiers = [part for tier in row.rows("compensation.compensationTiers") for part in tier.rows("components")]
        words = row.text("compensation.compensationTierSummary")
        for components in (row.rows("compensation.summaryComponents"), tiers):
            pays = [one for one in components if (one.text("compensationType") or "").lower() == "salary"]
            units = [(one.text("currencyCode"), one.text("interval")) for one in pays]
            if not units:
                continue
            pays = [one for one, unit in zip(pays, units, strict=True) if unit == units[0]]
            currency, interval = units[0]
            lows = [low for one in pays if (low := one.amount("minValue"))]
            highs = [high for one in pays if (high := one.amount("maxValue"))]
            found = money(
                min(lows, default=None),
                max(highs, default=None),
                currency,
                _period(interval),
                words or pays[0].text("summary"),
            )
            if found:
                return found
        return None


def _period(interval: str | None) -> Period | None:
    """`1 YEAR` is a year; `2 WEEK` is no period that pay is compared by."""
    number = re.match(r"\d+", interval or "")
    return None if number and number[0] != "1" else period(interval)
