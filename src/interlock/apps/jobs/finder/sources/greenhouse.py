"""Greenhouse: the whole board in one answer, with the text in escaped HTML.

`updated_at` moves at every edit, so the age comes from `first_published`. Pay is in cents. Some boards put a way to
work ("Hybrid") where the place belongs; then the offices are the places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from interlock.apps.jobs.finder.geography.places import is_work_model, place, places
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Precision, Question, Salary
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, language, period, workplace

GLOBAL, EUROPEAN = "https://boards-api.greenhouse.io", "https://boards-api.eu.greenhouse.io"
KIND_NAMES = re.compile(r"(?i)employment|(?:job|time|worker|contract|position|commitment) ?type|\bcommitment\b")
MODEL_NAMES = re.compile(r"(?i)workplace|\bremote\b|work(?:ing)? (?:model|arrangement|type|style|mode)|location type")
PAY_NAMES = re.compile(r"(?i)salary|\bpay\b|compensation|\bwage")
"""Names that employers give to fields of their own, which are in `metadata`."""
QUESTION_TYPES = {
    "input_file": "file",
    "input_text": "text",
    "input_hidden": "text",
    "textarea": "long",
    "multi_value_single_select": "single",
    "multi_value_multi_select": "multi",
}


class Greenhouse(Adapter):
    kind = "greenhouse"

    def first(self, board: Address) -> Request:
        return Request(f"{self._board(board)}/jobs?content=true")

    def instead(self, board: Address, answer: Answer) -> Request | None:
        """The European instance, where the global one does not know the board or the posting."""
        asked = answer.request
        if answer.status not in GONE or asked is None or not asked.url.startswith(f"{GLOBAL}/"):
            return None
        return Request(EUROPEAN + asked.url.removeprefix(GLOBAL))

    def detail(self, board: Address, posting: Posting) -> Request | None:
        if not posting.external_id or not posting.external_id.isdecimal():
            return None
        flags = urlencode({"questions": "true", "pay_transparency": "true"})
        return Request(f"{self._board(board)}/jobs/{posting.external_id}?{flags}")

    def _board(self, board: Address) -> str:
        origin = board.options.get("origin", GLOBAL)
        return f"{origin}/v1/boards/{board.board}"

    def listing(self, document: Any, page: Page) -> Listing | None:
        jobs = document.get("jobs") if isinstance(document, dict) else None
        if not isinstance(jobs, list):
            return None
        names = {Row(one).text("company_name") for one in jobs[:50] if isinstance(one, dict)} - {None}
        return Listing(jobs, Row(document).count("meta.total"), names.pop() if len(names) == 1 else None)

    def read(self, row: Row, page: Page) -> Posting | None:
        url = row.url("absolute_url")
        found = address_of(url) if url else None
        hosted = found.board if found and found.ats == self.kind else None
        posted, precision = row.date("first_published")
        updated, _ = row.date("updated_at")
        dated = "first_published"
        if posted is None and updated is not None:
            posted, precision, dated = updated, Precision.APPROXIMATE, "updated_at"
        where, name = self._locations(row), row.text("location.name")
        model, model_field, model_quote = workplace(name), "location.name", name
        kind_field, kind = self._metadata(row, KIND_NAMES, employment_type)
        if model == "unknown":
            field, said = self._metadata(row, MODEL_NAMES, workplace)
            if said:
                model, model_field, model_quote = workplace(said), field, said
        return self.posting(
            page,
            board=page.board.board if page.board else hosted,
            external_id=row.ident("id"),
            requisition_id=row.ident("requisition_id"),
            url=url,
            apply_url=f"{url}#app" if url and hosted else None,
            company_name_raw=row.text("company_name"),
            title=row.text("title"),
            department=next((one.text("name") for one in row.rows("departments")), None),
            locations=where,
            workplace=model,
            employment_type=employment_type(kind),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            updated_at=updated,
            closes_at=row.date("application_deadline")[0],
            description=row.html("content"),
            language=language(row.text("language")),
            questions=self._questions(row),
            evidence={
                "posted_at": given(dated, row.get(dated)),
                "workplace": given(model_field, model_quote),
                "locations": given("location.name", name),
                "employment_type": given(kind_field, kind),
            },
        )

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        return self.read(Row(document, page.wrong), page) if isinstance(document, dict) else None

    def _locations(self, row: Row) -> tuple[Location, ...]:
        named = row.text("location.name")
        parts = [part.strip() for part in (named or "").split(";") if part.strip()]
        if parts and not all(is_work_model(part) for part in parts):
            return places([named])
        offices = [(one.text("location"), one.text("name")) for one in row.rows("offices")]
        found = [place(where or name) for where, name in offices if not is_work_model(where or name or "")]
        return tuple(dict.fromkeys(one for one in found if one)) or places([named])

    def _metadata(
        self, row: Row, names: re.Pattern[str], meaning: Callable[[str | None], StrEnum]
    ) -> tuple[str, str | None]:
        """The employer's own field of one of these names that means something: its path and its words."""
        for one in row.rows("metadata"):
            name = one.text("name") or ""
            if not names.search(name) or not isinstance(one.get("value"), str | list):
                continue
            words = ", ".join(one.lines("value"))
            if meaning(words) != "unknown":
                return f"metadata.{name}", words
        return "metadata", None

    def _pay(self, row: Row) -> Salary | None:
        """The span over all ranges of one currency. A range names no period, so only its words can."""
        ranges = row.rows("pay_input_ranges")
        currencies = {one.text("currency_type", 10) for one in ranges}
        lows = [low for one in ranges if (low := one.number("min_cents"))]
        highs = [high for one in ranges if (high := one.number("max_cents"))]
        if not ranges:
            return self._own_pay(row)
        if len(currencies) != 1 or not (lows or highs):
            return None
        words = " ".join(filter(None, (one.text(name) for one in ranges for name in ("title", "blurb"))))
        return money(
            min(lows) / 100 if lows else None,
            max(highs) / 100 if highs else None,
            currencies.pop(),
            period(words),
            words,
        )

    def _own_pay(self, row: Row) -> Salary | None:
        """The range in a field of the employer's own, in whole units, if its name says what it is for.

        Without a period it would only keep the text from being asked.
        """
        for one in row.rows("metadata"):
            name = one.text("name") or ""
            per = period(name) if PAY_NAMES.search(name) else None
            if per and isinstance(one.get("value"), dict):
                low, high = one.amount("value.min_value"), one.amount("value.max_value")
                found = money(low, high, one.text("value.unit", 10), per, name)
                if found:
                    return found
        return None

    def _questions(self, row: Row) -> tuple[Question, ...]:
        found = []
        for one in row.rows("questions"):
            for part in one.rows("fields"):
                key = part.ident("name")
                choices = [
                    (text, value.ident("value")) for value in part.rows("values") if (text := value.text("label"))
                ]
                if key:
                    found.append(
                        Question(
                            key=key,
                            label=one.text("label"),
                            type=QUESTION_TYPES.get(str(part.get("type")), "text"),
                            required=one.flag("required"),
                            options=tuple(text for text, _ in choices),
                            option_ids=tuple(ident or "" for _, ident in choices),
                            source="questions",
                        )
                    )
        return tuple(found)
