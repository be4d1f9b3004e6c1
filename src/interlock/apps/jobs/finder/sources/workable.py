"""Workable: the whole account in one answer, with one row for each place of a posting."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Precision
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given, union
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, seniority, workplace


class Workable(Adapter):
    kind = "workable"

    def first(self, board: Address) -> Request:
        origin = board.options.get("origin", "https://apply.workable.com")
        return Request(f"{origin}/api/v1/widget/accounts/{board.board}?details=true")

    def detect(self, url: str) -> Address | None:
        found = super().detect(url)
        # The short address of a posting names no account.
        return found if found and found.board else None

    def listing(self, document: Any, page: Page) -> Listing | None:
        if not isinstance(document, dict):
            return None
        top = Row(document)
        if isinstance(document.get("results"), list):
            # The other list of Workable, in pages by a token.
            token, before = top.text("nextPage", 1000), page.note.get("before", 0)
            total = page.note.get("total") or top.count("total")
            after = before + len(document["results"])
            follow = (self._page(page.board, token, after, total),) if token and page.board else ()
            return Listing(document["results"], total, follow=follow)
        jobs = document.get("jobs")
        return Listing(jobs, company=top.text("name")) if isinstance(jobs, list) else None

    def instead(self, board: Address, answer: Answer) -> Request | None:
        """The other list, in pages and without texts, where the first is refused."""
        asked = answer.request
        if answer.status not in (*GONE, 400, 403) or asked is None or "/widget/accounts/" not in asked.url:
            return None
        return self._page(board, None, 0, None)

    def _page(self, board: Address, token: str | None, before: int, total: int | None) -> Request:
        origin = board.options.get("origin", "https://apply.workable.com")
        body: dict[str, Any] = {"query": "", "location": [], "department": [], "worktype": []}
        if token:
            body["token"] = token
        note = {"before": before, "total": total}
        return Request(f"{origin}/api/v3/accounts/{board.board}/jobs", "POST", body=body, note=note)

    def detail(self, board: Address, posting: Posting) -> Request | None:
        code = posting.external_id
        if posting.description_text or not code or not code.isalnum():
            return None
        origin = board.options.get("origin", "https://apply.workable.com")
        return Request(f"{origin}/api/v2/accounts/{board.board}/jobs/{code}")

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        return self.read(Row(document, page.wrong), page) if isinstance(document, dict) else None

    def read(self, row: Row, page: Page) -> Posting | None:
        code = row.ident("shortcode")
        url = row.url("url") or row.url("shortlink")
        found = address_of(url) if url else None
        board = page.board.board if page.board else (found.board or None if found else None)
        if url is None and code and code.isalnum():
            origin = page.board.options.get("origin") if page.board else None
            url = f"{origin or 'https://apply.workable.com'}/j/{code}"
        model, field = row.text("workplace"), "workplace"
        if model is None:
            field = next((name for name in ("telecommuting", "remote") if row.flag(name)), "workplace")
            model = field if field != "workplace" else None
        kind, level = row.text("employment_type") or row.text("type"), row.text("experience")
        posted, precision = row.date("published_on")
        if posted is None:
            posted, precision = row.date("published")
        if posted is None and (created := row.date("created_at")[0]):
            posted, precision = created, Precision.APPROXIMATE
        duties, wanted, benefits = row.html("description"), row.html("requirements"), row.html("benefits")
        where = self._locations(row)
        return self.posting(
            page,
            board=board,
            external_id=code,
            requisition_id=row.ident("code"),
            url=url,
            apply_url=row.url("application_url"),
            company_name_raw=row.text("company"),
            title=row.text("title"),
            department=next(iter(row.lines("department")), None),
            locations=where,
            workplace=workplace(model),
            employment_type=employment_type(kind),
            seniority=seniority(level),
            posted_at=posted,
            posted_precision=precision,
            description=joined([duties, wanted, benefits]),
            evidence={
                "workplace": given(field, model),
                "employment_type": given("employment_type", kind),
                "seniority": given("experience", level),
                "locations": given("locations", "; ".join(one.raw for one in where)),
            },
            **({"sections": {"requirements": text_of(wanted), "duties": text_of(duties)}} if wanted else {}),
        )

    def _locations(self, row: Row) -> tuple[Location, ...]:
        found = []
        for one in row.rows("locations"):
            if one.flag("hidden"):
                continue
            spot = place(None, one.text("city"), one.text("region"), one.text("countryCode") or one.text("country"))
            named = ", ".join(part for part in (one.text("city"), one.text("region"), one.text("country")) if part)
            if spot:
                found.append(spot.model_copy(update={"raw": named or spot.raw}))
        if not found:
            # `state` is a region here and not a status.
            inner = Row(row.get("location"), row.wrong) if isinstance(row.get("location"), dict) else row
            region = inner.text("state") or inner.text("region")
            alone = place(None, inner.text("city"), region, inner.text("country"))
            found = [alone] if alone else []
        return union(found, ())
