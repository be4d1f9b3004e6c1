"""A JobPosting of schema.org, read field by field. Each property may be a value, an object or a list of either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.apps.jobs.finder.geography.places import country_code, place
from interlock.apps.jobs.finder.postings.posting import EmploymentType, Location, Salary, Workplace
from interlock.apps.jobs.finder.sources.adapter import given, union
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import MOST_ITEMS, Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, language, period


def posting_fields(row: Row) -> dict[str, Any]:
    """The canonical fields of a JobPosting, and `description` as HTML. The address is not among them."""
    posted, precision = row.date("datePosted")
    kinds = row.lines("employmentType")
    where, model = locations(row), row.lines("jobLocationType")
    remote = any(one.upper() == "TELECOMMUTE" for one in model)
    scope = remote_scope(row)
    evidence = {
        "employment_type": given("employmentType", ", ".join(kinds), "jsonld"),
        "workplace": given("jobLocationType", ", ".join(model), "jsonld"),
        "locations": given("jobLocation", "; ".join(one.raw for one in where), "jsonld"),
        "remote_scope": given("applicantLocationRequirements", ", ".join(scope), "jsonld"),
        "posted_at": given("datePosted", row.get("datePosted"), "jsonld"),
    }
    wanted = [row.html(name) for name in ("qualifications", "experienceRequirements", "skills")]
    duties = row.html("responsibilities")
    return {
        "title": row.text("title") or row.text("name"),
        "company_name_raw": _name(row, "hiringOrganization"),
        "company_website": row.url("hiringOrganization.sameAs") or row.url("hiringOrganization.url"),
        "requisition_id": row.ident("identifier.value") or row.ident("identifier"),
        "locations": where,
        "workplace": Workplace.REMOTE if remote else None,
        "remote_scope": scope,
        "employment_type": employment(kinds),
        "salary": salary(row),
        "posted_at": posted,
        "posted_precision": precision,
        "closes_at": row.date("validThrough")[0],
        "updated_at": row.date("dateModified")[0],
        "description": joined([row.html("description"), duties, *wanted]),
        "sections": {"requirements": text_of(joined(wanted)), "duties": text_of(duties)},
        "language": language(row.text("inLanguage")),
        "evidence": evidence,
    }


def employment(kinds: list[str]) -> EmploymentType:
    """The kind that a list comes to: `["FULL_TIME", "CONTRACTOR"]` is a contract."""
    found = [employment_type(kind) for kind in kinds]
    known = [kind for kind in found if kind not in (EmploymentType.UNKNOWN, EmploymentType.OTHER)]
    special = [kind for kind in known if kind not in (EmploymentType.FULL_TIME, EmploymentType.PART_TIME)]
    if len(set(special)) == 1:
        return special[0]
    if len(set(known)) > 1:
        # Full time or part time, as agreed.
        return EmploymentType.UNKNOWN
    return known[0] if known else found[0] if found else EmploymentType.UNKNOWN


def several(row: Row, path: str) -> list[Any]:
    """The values of a property that may be one or a list."""
    value = row.get(path)
    if value is None:
        return []
    return value[:MOST_ITEMS] if isinstance(value, list) else [value]


def locations(row: Row) -> tuple[Location, ...]:
    found = []
    for one in several(row, "jobLocation"):
        if isinstance(one, str):
            spot = Row({"raw": one}).text("raw")
            found.append(place(spot))
            continue
        if not isinstance(one, Mapping):
            row.wrong["jobLocation"] += 1
            continue
        spot_row = Row(one, row.wrong)
        found += [_address(address, spot_row) for address in several(spot_row, "address") or [one.get("name")]]
    return union([one for one in found if one], ())


def _address(address: Any, spot: Row) -> Location | None:
    lat, lon = spot.number("geo.latitude"), spot.number("geo.longitude")
    if isinstance(address, str):
        return place(Row({"raw": address}).text("raw"), lat=lat, lon=lon)
    if not isinstance(address, Mapping):
        return None
    row = Row(address, spot.wrong)
    city, region = row.text("addressLocality"), row.text("addressRegion")
    return place(None, city, region, _name(row, "addressCountry"), lat, lon)


def _name(row: Row, path: str) -> str | None:
    """A property that is a name or an object with one."""
    value = row.get(path)
    if isinstance(value, list) and value:
        value = value[0]
        path += ".0"
    return row.text(f"{path}.name") if isinstance(value, Mapping) else row.text(path)


def remote_scope(row: Row) -> tuple[str, ...]:
    """Where applicants must be, as codes of countries where they are known."""
    found = []
    for one in several(row, "applicantLocationRequirements"):
        inner = Row(one, row.wrong) if isinstance(one, Mapping) else Row({"name": one}, row.wrong)
        name = inner.text("name") or inner.text("address.addressCountry")
        if name:
            found.append(country_code(name) or name)
    return tuple(dict.fromkeys(found))


def salary(row: Row) -> Salary | None:
    """`baseSalary`, whose currency and unit may be at either level."""
    values = several(row, "baseSalary")
    if not values or not isinstance(values[0], Mapping):
        return None
    base = Row(values[0], row.wrong)
    inner = base.get("value")
    amounts = Row(inner, row.wrong) if isinstance(inner, Mapping) else base
    low, high = amounts.amount("minValue"), amounts.amount("maxValue")
    if low is None and high is None:
        low = high = amounts.amount("value")
    unit = amounts.text("unitText") or base.text("unitText")
    currency = base.text("currency") or amounts.text("currency") or row.text("salaryCurrency")
    words = " ".join(str(part) for part in (low, "-", high, currency, unit) if part is not None)
    return money(low, high, currency, period(unit), words, "jsonld")
