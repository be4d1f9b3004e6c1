"""Custom JSON APIs: where the rows are (`response_path`), and which dotted path has which field.

Keys are named, never written here: the client adds the key that the configuration binds to the API's host. An API that
wants OAuth is flagged, as it needs an integration of its own.
"""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote, urljoin

from pydantic import BaseModel, ConfigDict, Field

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.postings.posting import Posting, Salary
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import JSON_HEADERS, Request
from interlock.apps.jobs.finder.sources.paging import Pagination, same_site, with_params
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, language, period, workplace

USUAL: dict[str, tuple[str, ...]] = {
    "id": ("id", "uuid", "job_id", "jobId", "slug"),
    "title": ("title", "position", "jobTitle", "job_title", "name", "text"),
    "url": ("url", "link", "absolute_url", "jobUrl", "job_url", "apply_url", "href"),
    "apply_url": ("apply_url", "applyUrl", "application_url"),
    "company": ("company.name", "company", "company_name", "companyName", "employer", "organization.name"),
    "location": ("location.name", "location", "candidate_required_location", "jobGeo", "city", "locations"),
    "description": ("description", "jobDescription", "content", "body", "descriptionHtml", "summary"),
    "posted": ("published_at", "publication_date", "pubDate", "posted_at", "datePosted", "created_at", "date", "epoch"),
    "updated": ("updated_at", "modified_at", "dateModified"),
    "department": ("department.name", "department", "category", "team"),
    "employment_type": ("employment_type", "employmentType", "job_type", "jobType", "type"),
    "workplace": ("workplace_type", "workplaceType", "remote_type", "workplace"),
    "remote": ("remote", "is_remote", "isRemote"),
    "salary_min": ("salary_min", "salaryMin", "salary.min", "compensation.min"),
    "salary_max": ("salary_max", "salaryMax", "salary.max", "compensation.max"),
    "salary_currency": ("salary_currency", "salaryCurrency", "salary.currency", "currency"),
    "salary_period": ("salary_period", "salaryPeriod", "salary.period", "salary.interval"),
    "salary": ("salary", "salary_text"),
    "requisition": ("requisition_id", "reference", "ref"),
    "language": ("language", "lang"),
}
"""Names that APIs use, tried in order for a field that is not configured."""


class ApiConfig(BaseModel):
    """How to ask an API and where its answer has what."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    base_url: str = ""
    auth_type: Literal["none", "api_key", "oauth"] = "none"
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
    """The name of a key, as in `[jobs] api_keys`."""
    endpoints: dict[str, str] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict, max_length=20)
    params: dict[str, str | int | float | bool] = Field(default_factory=dict, max_length=50)
    method: Literal["GET", "POST"] = "GET"
    response_path: str = ""
    """The dotted path of the rows; the whole answer when it is empty."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Field → dotted path, in place of the usual names."""
    pagination: Pagination = Pagination()
    company_name: str | None = None

    @property
    def needs_integration(self) -> bool:
        """Whether somebody must write an integration: no key alone opens it."""
        return self.auth_type == "oauth"


class Api(Adapter):
    kind = "api"

    def __init__(self, config: ApiConfig | None = None) -> None:
        self.config = config or ApiConfig()

    def detect(self, url: str) -> Address | None:
        """None: a custom API is configured and never guessed."""
        return None

    def detect_page(self, html: str, url: str | None = None) -> Address | None:
        return None

    def first(self, board: Address) -> Request:
        config = self.config
        where = urljoin(config.base_url.rstrip("/") + "/", config.endpoints.get("search", "").lstrip("/"))
        params = {name: _written(value) for name, value in config.params.items()} | config.pagination.first_params()
        return self._request(with_params(where, params) if params else where, {"page": 0})

    def detail(self, board: Address, posting: Posting) -> Request | None:
        pattern = self.config.endpoints.get("details")
        if not pattern or not posting.external_id:
            return None
        path = pattern.replace("{id}", quote(posting.external_id, safe=""))
        return self._request(urljoin(self.config.base_url.rstrip("/") + "/", path.lstrip("/")), {})

    def _request(self, url: str, note: dict[str, Any]) -> Request:
        named = {"api_key": self.config.api_key_env} if self.config.auth_type == "api_key" else {}
        return Request(url, self.config.method, {**JSON_HEADERS, **self.config.headers}, None, {**note, **named})

    def listing(self, document: Any, page: Page) -> Listing | None:
        top = Row({"rows": document})
        rows = top.get(f"rows.{self.config.response_path}" if self.config.response_path else "rows")
        if not self.config.response_path and isinstance(rows, dict):
            rows = _only_list(rows)
        if not isinstance(rows, list):
            return None
        paging, before = self.config.pagination, page.note.get("before", 0)
        whole = Row(document if isinstance(document, dict) else {})
        total = page.note.get("total") or (whole.count(paging.total_path) if paging.total_path else None)
        request = self._next(whole, page, len(rows), before, total)
        number, capped = page.note.get("page", 0) + 1, None
        if request and number >= paging.max_pages:
            request, capped = None, f"{number} pages were read, and there are more"
        return Listing(rows, total, follow=(request,) if request else (), capped=capped)

    def _next(self, whole: Row, page: Page, rows: int, before: int, total: int | None) -> Request | None:
        paging, number = self.config.pagination, page.note.get("page", 0) + 1
        note = {"page": number, "before": before + rows, "total": total}
        if page.base is None:
            return None
        token = whole.ident(paging.next_path) if paging.next_path else None
        if paging.kind == "next_url":
            url = web_url(whole.get(paging.next_path or ""), page.base)
            return self._request(url, note) if url and rows and same_site(url, page.base) else None
        changed = paging.next_params(number, rows, before, token, total)
        return self._request(with_params(page.base, changed), note) if changed else None

    def read(self, row: Row, page: Page) -> Posting | None:
        where = _places(row, self._path(row, "location"))
        model, remote = self._text(row, "workplace"), row.flag(self._path(row, "remote"))
        found = workplace(model) if model else workplace("remote" if remote else where)
        kind = self._text(row, "employment_type")
        posted, precision = row.date(self._path(row, "posted"))
        key, url = (
            row.ident(self._path(row, "id")),
            row.url(self._path(row, "url"), page.base or self.config.base_url or None),
        )
        if key is None and url is None:
            return None
        return self.posting(
            page,
            external_id=key,
            requisition_id=row.ident(self._path(row, "requisition")),
            url=url,
            apply_url=row.url(self._path(row, "apply_url"), page.base),
            company_name_raw=self._text(row, "company") or self.config.company_name,
            title=self._text(row, "title"),
            department=self._text(row, "department"),
            locations=places([where]),
            workplace=found,
            employment_type=employment_type(kind),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            updated_at=row.date(self._path(row, "updated"))[0],
            description=row.html(self._path(row, "description")),
            language=language(self._text(row, "language")),
            evidence={
                "workplace": given(self._path(row, "workplace"), model)
                or (given(self._path(row, "remote"), "true") if remote else given(self._path(row, "location"), where)),
                "employment_type": given(self._path(row, "employment_type"), kind),
                "locations": given(self._path(row, "location"), where),
                "posted_at": given(self._path(row, "posted"), row.get(self._path(row, "posted"))),
            },
        )

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        found = _only_dict(document)
        return self.read(Row(found, page.wrong), page) if found is not None else None

    def _path(self, row: Row, name: str) -> str:
        """The configured path, else the first usual one that the row has."""
        set_ = self.config.fields.get(name)
        if set_:
            return set_
        return next((path for path in USUAL[name] if row.get(path) not in (None, "", [], {})), USUAL[name][0])

    def _text(self, row: Row, name: str) -> str | None:
        path = self._path(row, name)
        value = row.get(path)
        return next(iter(row.lines(path)), None) if isinstance(value, list) else row.text(path)

    def _pay(self, row: Row) -> Salary | None:
        low, high = row.amount(self._path(row, "salary_min")), row.amount(self._path(row, "salary_max"))
        per = period(self._text(row, "salary_period"))
        found = money(low, high, self._text(row, "salary_currency"), per, None)
        if found:
            return found.model_copy(update={"quote": f"{low} - {high}"})
        words = row.get(self._path(row, "salary"))
        said = row.text(self._path(row, "salary")) if isinstance(words, str) else None
        return Salary(source="text", quote=said) if said else None


def _places(row: Row, path: str) -> str | None:
    value = row.get(path)
    if isinstance(value, list):
        named = (
            [one.text("name") or one.text("city") for one in row.rows(path)]
            if value and isinstance(value[0], dict)
            else row.lines(path)
        )
        return "; ".join(one for one in named if one) or None
    return row.text(path)


def _written(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _only_list(document: dict[str, Any]) -> Any:
    """The one list of objects that an answer has, when no path is configured."""
    lists = [
        value for value in document.values() if isinstance(value, list) and (not value or isinstance(value[0], dict))
    ]
    return lists[0] if len(lists) == 1 else None


def _only_dict(document: Any) -> dict[str, Any] | None:
    if not isinstance(document, dict):
        return None
    inner = [value for value in document.values() if isinstance(value, dict)]
    return inner[0] if len(document) == 1 and len(inner) == 1 else document
