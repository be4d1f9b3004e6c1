"""SmartRecruiters: pages of a hundred, and a detail for the text. An unknown company is an empty list, not a 404."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlencode

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting, Salary, Sections
from interlock.apps.jobs.finder.sources.adapter import Adapter, Hidden, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, language, period, seniority, workplace

PAGE = 100
PAGES = "https://jobs.smartrecruiters.com"
SECTIONS = ("companyDescription", "jobDescription", "qualifications", "additionalInformation")


class SmartRecruiters(Adapter):
    kind = "smartrecruiters"

    def first(self, board: Address) -> Request:
        return self._page(board, 0, None)

    def _page(self, board: Address, offset: int, total: int | None) -> Request:
        query = urlencode({"limit": PAGE, "offset": offset})
        return Request(f"{self._company(board)}/postings?{query}", note={"before": offset, "total": total})

    def _company(self, board: Address) -> str:
        return f"{board.options.get('origin', 'https://api.smartrecruiters.com')}/v1/companies/{board.board}"

    def _site(self, board: Address | None) -> str:
        """Where the public pages are; an answer has only addresses of the API."""
        return board.options.get("origin", PAGES) if board else PAGES

    def detail(self, board: Address, posting: Posting) -> Request | None:
        if not posting.external_id or not posting.external_id.isalnum():
            return None
        return Request(f"{self._company(board)}/postings/{posting.external_id}")

    def listing(self, document: Any, page: Page) -> Listing | None:
        rows = document.get("content") if isinstance(document, dict) else None
        if not isinstance(rows, list):
            return None
        top = Row(document)
        before = page.note.get("before", top.count("offset") or 0)
        total = page.note.get("total") or top.count("totalFound")
        names = {Row(one).text("company.name") for one in rows[:50] if isinstance(one, dict)} - {None}
        after = before + len(rows)
        more = page.board is not None and bool(rows) and total is not None and after < total
        return Listing(
            rows,
            total,
            names.pop() if len(names) == 1 else None,
            (self._page(page.board, after, total),) if more and page.board else (),
            doubt=None if rows or before else "an empty answer is also what an unknown company gives",
        )

    def read(self, row: Row, page: Page) -> Posting | None:
        if (row.text("visibility") or "PUBLIC").upper() != "PUBLIC":
            raise Hidden
        key, company = row.ident("id"), row.text("company.identifier")
        board = page.board.board if page.board else company
        remote, hybrid = row.flag("location.remote"), row.flag("location.hybrid")
        model = "hybrid" if hybrid else "remote" if remote else None
        kind, level = _label(row, "typeOfEmployment"), _label(row, "experienceLevel")
        posted, precision = row.date("releasedDate")
        where = place(
            row.text("location.fullLocation"),
            row.text("location.city"),
            row.text("location.region"),
            row.text("location.country"),
            row.number("location.latitude"),
            row.number("location.longitude"),
        )
        parts = self._parts(row)
        return self.posting(
            page,
            board=board,
            external_id=key,
            requisition_id=row.ident("refNumber"),
            url=f"{self._site(page.board)}/{company or board}/{key}" if key and (company or board) else None,
            apply_url=row.url("applyUrl"),
            company_name_raw=row.text("company.name"),
            title=row.text("name"),
            department=row.text("department.label"),
            locations=(where,) if where else (),
            workplace=workplace(model),
            employment_type=employment_type(kind),
            seniority=seniority(level),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            description=joined(f"<h3>{escape(title)}</h3>{text}" for _, title, text in parts),
            sections=Sections(**{name: text_of(text) for name, _, text in parts if name != "other"}),
            language=language(row.text("language.code")),
            evidence={
                "workplace": given(f"location.{model}", "true"),
                "employment_type": given("typeOfEmployment.label", kind),
                "seniority": given("experienceLevel.label", level),
                "locations": given("location", where.raw if where else None),
            },
        )

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        return self.read(Row(document, page.wrong), page) if isinstance(document, dict) else None

    def _parts(self, row: Row) -> list[tuple[str, str, str]]:
        """Section, heading and HTML of each part of the text."""
        found = []
        for name in SECTIONS:
            text = row.html(f"jobAd.sections.{name}.text")
            if text:
                section = {"jobDescription": "duties", "qualifications": "requirements"}.get(name, "other")
                found.append((section, row.text(f"jobAd.sections.{name}.title") or "", text))
        return found

    def _pay(self, row: Row) -> Salary | None:
        at = "compensation.salary"
        low, high, per = row.amount(f"{at}.min"), row.amount(f"{at}.max"), row.text(f"{at}.period")
        return money(low, high, row.text(f"{at}.currency"), period(per), per)


def _label(row: Row, name: str) -> str | None:
    """The words of a choice. Its id is words as well, except where it is a number or a UUID."""
    ident = row.ident(f"{name}.id") if row.get(f"{name}.id") is not None else None
    words = ident.replace("_", " ") if ident and not any(c.isdecimal() for c in ident) else None
    return row.text(f"{name}.label") or words
