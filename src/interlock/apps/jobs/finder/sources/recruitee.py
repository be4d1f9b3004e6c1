"""Recruitee: the whole board in one answer, with the application form. Pay is written as text."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Precision, Question, Salary, Sections
from interlock.apps.jobs.finder.sources.adapter import Adapter, Hidden, Listing, Page, given, union
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, period, seniority, workplace

QUESTION_TYPES = {
    "string": "text",
    "text": "long",
    "single_choice": "single",
    "multi_choice": "multi",
    "date": "date",
    "salary": "number",
    "number": "number",
    "file": "file",
    "boolean": "bool",
    "legal": "consent",
}
OPTIONS = {"cv": "file", "cover_letter": "file", "phone": "text", "photo": "file"}


class Recruitee(Adapter):
    kind = "recruitee"

    def first(self, board: Address) -> Request:
        # The same answer is under the employer's own careers domain.
        host = board.options.get("host", f"{board.board}.recruitee.com")
        return Request(f"{board.options.get('origin', f'https://{host}')}/api/offers/")

    def listing(self, document: Any, page: Page) -> Listing | None:
        offers = document.get("offers") if isinstance(document, dict) else None
        if not isinstance(offers, list):
            return None
        names = {Row(one).text("company_name") for one in offers[:50] if isinstance(one, dict)} - {None}
        return Listing(offers, company=names.pop() if len(names) == 1 else None)

    def read(self, row: Row, page: Page) -> Posting | None:
        if row.text("status") not in (None, "published"):
            raise Hidden
        posted, precision = row.date("published_at")
        if posted is None and (created := row.date("created_at")[0]):
            posted, precision = created, Precision.APPROXIMATE
        kind, level = row.text("employment_type_code"), row.text("experience_code")
        # A field that is true is the only proof; all three may be false.
        flags = [name for name in ("hybrid", "remote", "on_site") if row.flag(name)]
        model = flags[0] if flags else None
        inner = self._translation(row)
        duties = row.html("description") or inner.html("description")
        wanted = row.html("requirements") or inner.html("requirements")
        where = self._locations(row)
        return self.posting(
            page,
            board=page.board.board if page.board else self._board(row),
            external_id=row.ident("id"),
            url=row.url("careers_url"),
            apply_url=row.url("careers_apply_url"),
            company_name_raw=row.text("company_name"),
            title=row.text("title") or inner.text("title"),
            department=row.text("department"),
            locations=where,
            workplace=workplace(model),
            employment_type=employment_type(kind),
            seniority=seniority(level),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            updated_at=row.date("updated_at")[0],
            closes_at=row.date("close_at")[0],
            description=joined([duties, wanted]),
            sections=Sections(duties=text_of(duties), requirements=text_of(wanted)),
            language=self._language(row),
            questions=self._questions(row),
            evidence={
                "workplace": given(model or "", "true" if model else None),
                "employment_type": given("employment_type_code", kind),
                "seniority": given("experience_code", level),
                "locations": given("locations", "; ".join(one.raw for one in where)),
            },
        )

    def _board(self, row: Row) -> str | None:
        """The slug, from the address that takes applications by mail."""
        mailbox = row.text("mailbox_email") or ""
        host = mailbox.rpartition("@")[2]
        return host.removesuffix(".recruitee.com") if host.endswith(".recruitee.com") else None

    def _translation(self, row: Row) -> Row:
        """The texts in English, else in the first language, for an offer that has them only there."""
        known = row.get("translations")
        named = known if isinstance(known, dict) else {}
        found = next((one for name in ("en", *named) if isinstance(one := named.get(name), dict)), {})
        return Row(found, row.wrong)

    def _language(self, row: Row) -> str | None:
        known = row.get("translations")
        names = [name for name in known if isinstance(name, str)] if isinstance(known, dict) else []
        return names[0][:2].lower() if len(names) == 1 else None

    def _locations(self, row: Row) -> tuple[Location, ...]:
        found = []
        for one in row.rows("locations"):
            country = one.text("country_code") or one.text("country")
            city, region = one.text("city"), one.text("state")
            raw = ", ".join(dict.fromkeys(part for part in (city, region, one.text("country")) if part))
            spot = place(raw or one.text("name"), city, region, country)
            if spot:
                found.append(spot)
        if found:
            return union(found, ())
        country = row.text("country_code") or row.text("country")
        alone = place(row.text("location"), row.text("city"), row.text("state_name"), country)
        return (alone,) if alone else ()

    def _pay(self, row: Row) -> Salary | None:
        low, high, currency, per = (row.get(f"salary.{name}") for name in ("min", "max", "currency", "period"))
        words = " ".join(str(part) for part in (low, "-", high, currency, "a", per) if part is not None)
        found = money(
            row.amount("salary.min"),
            row.amount("salary.max"),
            row.text("salary.currency"),
            period(row.text("salary.period")),
            None,
        )
        return found.model_copy(update={"quote": words[:200]}) if found else None

    def _questions(self, row: Row) -> tuple[Question, ...]:
        found = [
            Question(key=name, type=kind, required=state == "required", source=f"options_{name}")
            for name, kind in OPTIONS.items()
            if (state := row.get(f"options_{name}")) in ("required", "optional")
        ]
        for one in row.rows("open_questions"):
            key = one.ident("id")
            if key is None:
                continue
            found.append(
                Question(
                    key=key,
                    label=one.text("body", 1000),
                    type=QUESTION_TYPES.get(str(one.get("kind")), "text"),
                    required=one.flag("required"),
                    options=tuple(filter(None, (choice.text("body") for choice in one.rows("open_question_options")))),
                    max_len=one.count("options.length"),
                    source="open_questions",
                )
            )
        return tuple(found)
