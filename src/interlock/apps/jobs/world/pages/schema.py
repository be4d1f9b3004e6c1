"""Openings and companies as schema.org has them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from interlock.apps.jobs.world.identity import number
from interlock.apps.jobs.world.opening import Board, Company, Opening, Place

EMPLOYMENT = {"full_time": "FULL_TIME", "part_time": "PART_TIME", "contract": "CONTRACTOR", "internship": "INTERN"}
UNIT = {"year": "YEAR", "hour": "HOUR", "month": "MONTH"}


def job_posting(board: Board, one: Opening, url: str, began: datetime, website: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "JobPosting",
        "title": one.title,
        "description": one.html(),
        "datePosted": one.posted(began).date().isoformat(),
        "employmentType": EMPLOYMENT[one.employment],
        "hiringOrganization": {
            "@type": "Organization",
            "name": one.employer or board.company.name,
            **({"sameAs": website} if one.employer is None else {}),
        },
        "identifier": {"@type": "PropertyValue", "name": board.company.name, "value": str(number(one.key))},
        "jobLocation": [{"@type": "Place", "address": _address(spot)} for spot in one.places],
        "inLanguage": one.language,
        "directApply": True,
        "url": url,
    }
    if one.workplace == "remote":
        made["jobLocationType"] = "TELECOMMUTE"
        names = dict.fromkeys(spot.country_name for spot in one.places)
        made["applicantLocationRequirements"] = [{"@type": "Country", "name": name} for name in names]
    closes = one.closes(began)
    if closes:
        made["validThrough"] = closes.isoformat()
    if one.pay:
        value = {"@type": "QuantitativeValue", "minValue": one.pay.low, "maxValue": one.pay.high}
        made["baseSalary"] = {
            "@type": "MonetaryAmount",
            "currency": one.pay.currency,
            "value": {**value, "unitText": UNIT[one.pay.per]},
        }
    return made


def organization(company: Company, website: str) -> dict[str, Any]:
    return {
        "@context": "https://schema.org/",
        "@type": "Organization",
        "name": company.name,
        "url": website,
        "description": company.about[0],
        "foundingDate": str(company.founded),
        "numberOfEmployees": {"@type": "QuantitativeValue", "value": company.size},
        "address": _address(company.headquarters),
    }


def _address(spot: Place) -> dict[str, str]:
    return {
        "@type": "PostalAddress",
        "addressLocality": spot.city,
        "addressRegion": spot.region,
        "addressCountry": spot.country,
    }
