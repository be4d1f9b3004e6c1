"""Workday: pages of twenty by POST, and a detail for each posting.

The total is reliable on the first page only. Some tenants say exactly 2,000 and repeat the first page beyond it; then
the list is split by the values of one facet, whose counts tell the true total. Dates in the list are labels such as
"Posted 5 Days Ago", and places may be "3 Locations"; the detail has both.
"""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.geography.places import SEVERAL, place, places
from interlock.apps.jobs.finder.identity.addresses import Address, address_of, workday_id
from interlock.apps.jobs.finder.postings.posting import Location, Posting
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given, union
from interlock.apps.jobs.finder.sources.answer import JSON_HEADERS, Request
from interlock.apps.jobs.finder.sources.dates import read_label
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, workplace

PAGE = 20
"""A larger page is refused with 400."""
CLAMP = 2000
MOST_PARTS = 400


class Workday(Adapter):
    kind = "workday"

    def first(self, board: Address) -> Request:
        return self._page(board, 0, {}, None)

    def _page(self, board: Address, offset: int, facets: dict[str, list[str]], total: int | None) -> Request:
        # All four keys, or the answer is 422.
        body = {"appliedFacets": facets, "limit": PAGE, "offset": offset, "searchText": ""}
        note = {"before": offset, "facets": facets, "total": total, "part": str(facets)}
        headers = {**JSON_HEADERS, "Content-Type": "application/json"}
        return Request(f"{self._site(board)}/jobs", "POST", headers, body, note)

    def _site(self, board: Address) -> str:
        origin = board.options.get("origin", f"https://{board.options['host']}")
        return f"{origin}/wday/cxs/{board.options['tenant']}/{board.options['site']}"

    def detail(self, board: Address, posting: Posting) -> Request | None:
        path = (posting.url or "").partition(f"/{board.options['site']}/")[2]
        return Request(f"{self._site(board)}/{path}") if path.startswith("job/") else None

    def listing(self, document: Any, page: Page) -> Listing | None:
        rows = document.get("jobPostings") if isinstance(document, dict) else None
        if not isinstance(rows, list):
            return None
        before, facets = page.note.get("before", 0), page.note.get("facets", {})
        total = page.note.get("total") if before else Row(document).count("total")
        if page.board is None or total is None:
            return Listing(rows, total)
        if before == 0 and total >= CLAMP:
            split = self._split(Row(document), page.board, facets, total)
            if split is not None:
                return split
        after = before + len(rows)
        more = bool(rows) and after < total
        return Listing(rows, total, follow=(self._page(page.board, after, facets, total),) if more else ())

    def _split(self, document: Row, board: Address, facets: dict[str, list[str]], total: int) -> Listing | None:
        """Requests for the parts of a clamped list; None when the total is true."""
        best: list[tuple[str, str, int]] = []
        for name, values in _facets(document):
            if name in facets:
                continue
            if sum(count for _, count in values) > sum(count for _, _, count in best):
                best = [(name, value, count) for value, count in values]
        there = sum(count for _, _, count in best)
        if total != CLAMP or there <= total:
            # Places count a posting several times, so a sum above a total that is not the clamp proves nothing.
            return None
        rows = document.get("jobPostings")
        if len(best) > MOST_PARTS or facets:
            return Listing(rows, there, capped=f"the source gives {CLAMP} of about {there} postings")
        follow = tuple(self._page(board, 0, {name: [value]}, None) for name, value, _ in best)
        return Listing(rows, there, follow=follow)

    def read(self, row: Row, page: Page) -> Posting | None:
        path = row.text("externalPath", 1000)
        if path is None or not path.startswith("/") or ".." in path:
            return None
        url = self._url(page.board, path)
        label = row.text("postedOn")
        posted, precision = read_label(label, page.at)
        model, kind, where = row.text("remoteType"), row.text("timeType"), row.text("locationsText")
        locations, field = self._locations(where, path)
        numbered = [one for one in row.lines("bulletFields") if any(c.isdecimal() for c in one)]
        reference = next((one for one in numbered if one in path), next(iter(numbered), None))
        return self.posting(
            page,
            external_id=workday_id(path),
            requisition_id=reference,
            url=url,
            title=row.text("title"),
            locations=locations,
            workplace=workplace(model),
            employment_type=employment_type(kind),
            posted_at=posted,
            posted_precision=precision,
            evidence={
                "workplace": given("remoteType", model),
                "employment_type": given("timeType", kind),
                "posted_at": given("postedOn", label),
                "locations": given(field, "; ".join(one.raw for one in locations)),
            },
        )

    def _url(self, board: Address | None, path: str) -> str | None:
        """The public page. Without the site's name in it, the address is a 404."""
        if board is None:
            return None
        origin = board.options.get("origin", f"https://{board.options['host']}")
        return f"{origin}/{board.options['site']}{path}"

    def _locations(self, text: str | None, path: str) -> tuple[tuple[Location, ...], str]:
        if text and not SEVERAL.fullmatch(text):
            # A building's address follows a code: "US-AR-SPRINGDALE-BLDG 1 ~ 123 Main St".
            return places([text.partition("~")[0]]), "locationsText"
        pieces = [piece for piece in path.split("/") if piece]
        if pieces[:1] == ["job"] and len(pieces) > 2:
            slug = pieces[1].replace("---", ", ").replace("-", " ")
            return places([slug]), "externalPath"
        return (), "externalPath"

    def _id_of(self, info: Row) -> str | None:
        """The id that the list would give, from the public address."""
        found = address_of(info.url("externalUrl") or "")
        return found.external_id if found else None

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        row = Row(document if isinstance(document, dict) else {}, page.wrong)
        if not isinstance(row.get("jobPostingInfo"), dict):
            return None
        info = Row(row.get("jobPostingInfo"), page.wrong)
        posted, precision = info.date("startDate")
        if posted is None:
            posted, precision = read_label(info.text("postedOn"), page.at)
        model, kind, main = info.text("remoteType"), info.text("timeType"), info.text("location")
        country = info.text("jobRequisitionLocation.country.alpha2Code") or info.text("country.descriptor")
        first = place(main, country=country)
        return self.posting(
            page,
            external_id=posting.external_id or self._id_of(info) or info.ident("jobReqId"),
            requisition_id=info.ident("jobReqId"),
            url=posting.url or info.url("externalUrl"),
            company_name_raw=row.text("hiringOrganization.name"),
            title=info.text("title"),
            locations=union((first,) if first else (), places(info.lines("additionalLocations"))),
            workplace=workplace(model),
            employment_type=employment_type(kind),
            posted_at=posted,
            posted_precision=precision,
            closes_at=info.date("endDate")[0],
            description=info.html("jobDescription"),
            evidence={
                "workplace": given("jobPostingInfo.remoteType", model),
                "employment_type": given("jobPostingInfo.timeType", kind),
                "posted_at": given("jobPostingInfo.startDate", info.get("startDate")),
                "locations": given("jobPostingInfo.location", main),
            },
        )


def _facets(document: Row) -> list[tuple[str, list[tuple[str, int]]]]:
    """Every facet with the ids and counts of its values. A group has further facets as its values."""
    found: list[tuple[str, list[tuple[str, int]]]] = []
    waiting = document.rows("facets")
    while waiting and len(found) < 50:
        one = waiting.pop()
        name, values = one.ident("facetParameter"), one.rows("values")
        inner = [value for value in values if value.get("facetParameter") is not None]
        waiting += inner
        counted = [(key, many) for value in values if (key := value.ident("id")) and (many := value.count("count"))]
        if name and counted and not inner:
            found.append((name, counted))
    return found
