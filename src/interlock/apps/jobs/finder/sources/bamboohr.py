"""BambooHR: the whole list in one answer, and a detail for text and date."""

from __future__ import annotations

import re
from typing import Any

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Workplace
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, seniority

SHARED = re.compile(r"/careers/(\d+)")
WORKPLACES = {"0": Workplace.ONSITE, "1": Workplace.REMOTE, "2": Workplace.HYBRID}


class BambooHR(Adapter):
    kind = "bamboohr"

    def first(self, board: Address) -> Request:
        return Request(f"{self._origin(board)}/careers/list")

    def detail(self, board: Address, posting: Posting) -> Request | None:
        if not posting.external_id or not posting.external_id.isdecimal():
            return None
        return Request(f"{self._origin(board)}/careers/{posting.external_id}/detail")

    def _origin(self, board: Address) -> str:
        return board.options.get("origin", f"https://{board.board}.bamboohr.com")

    def listing(self, document: Any, page: Page) -> Listing | None:
        rows = document.get("result") if isinstance(document, dict) else None
        return Listing(rows, Row(document).count("meta.totalCount")) if isinstance(rows, list) else None

    def read(self, row: Row, page: Page) -> Posting | None:
        return self._read(row, page, row.ident("id"))

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        whole = Row(document if isinstance(document, dict) else {}, page.wrong)
        opening = whole.get("result.jobOpening")
        if not isinstance(opening, dict):
            return None
        row = Row(opening, page.wrong)
        shared = SHARED.search(row.url("jobOpeningShareUrl") or "")
        return self._read(row, page, posting.external_id or (shared[1] if shared else None))

    def _read(self, row: Row, page: Page, key: str | None) -> Posting | None:
        place_code = row.ident("locationType")
        model, field = WORKPLACES.get(place_code or ""), "locationType"
        if model is None and row.flag("isRemote"):
            model, field, place_code = Workplace.REMOTE, "isRemote", "true"
        kind = row.text("employmentStatusLabel") or row.text("employmentType")
        level = row.text("minimumExperience")
        posted, precision = row.date("datePosted")
        where = self._location(row)
        url = f"{self._origin(page.board)}/careers/{key}" if key and key.isdecimal() and page.board else None
        return self.posting(
            page,
            external_id=key,
            url=url or row.url("jobOpeningShareUrl"),
            title=row.text("jobOpeningName"),
            department=row.text("departmentLabel"),
            locations=(where,) if where else (),
            workplace=model,
            employment_type=employment_type(kind),
            seniority=seniority(level),
            posted_at=posted,
            posted_precision=precision,
            description=row.html("description"),
            evidence={
                "workplace": given(field, place_code),
                "employment_type": given("employmentStatusLabel", kind),
                "seniority": given("minimumExperience", level),
                "locations": given("location", where.raw if where else None),
            },
        )

    def _location(self, row: Row) -> Location | None:
        city, region = row.text("location.city"), row.text("location.state")
        country = row.text("location.addressCountry") or row.text("atsLocation.country")
        other = row.text("atsLocation.city")
        if not region and (not city or not other or city == other):
            region = row.text("atsLocation.state") or row.text("atsLocation.province")
            city = city or other
        return place(None, city, region, country)
