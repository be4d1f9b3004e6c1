"""The fields of the rule editor, and the rule that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.apps.jobs.autoapply.rules import ApplyRule
from interlock.apps.jobs.autoapply.rules.criteria import PER_WEEK, WEEKDAYS
from interlock.dashboard.forms import Form

LISTS = (
    "titles",
    "skills",
    "companies",
    "excluded_companies",
    "keywords",
    "excluded_keywords",
    "locations",
    "sources",
)
"""Criteria with one entry a line."""
NUMBERS = ("min_score", "min_skills", "max_applications_per_week")
SWITCHES = ("take_unknown", "require_user_approval", "paused")
PERIODS = ("year", "month", "week", "day", "hour")


def fields_of(rule: ApplyRule | None) -> dict[str, Any]:
    """The form of a stored rule; of None, that of an empty one."""
    shown = rule if rule is not None else ApplyRule(name="new")
    pay = shown.salary
    return {
        "name": rule.name if rule is not None else "",
        **{name: "\n".join(getattr(shown, name)) for name in LISTS},
        "min_score": "" if shown.min_score is None else str(shown.min_score),
        "min_skills": str(shown.min_skills),
        "max_applications_per_week": str(shown.max_applications_per_week),
        "salary_min": f"{pay.min:.0f}" if pay is not None else "",
        "salary_currency": pay.currency if pay is not None else "",
        "salary_period": pay.period if pay is not None else PERIODS[0],
        "active_days": list(shown.active_days),
        **{name: getattr(shown, name) for name in SWITCHES},
    }


def given(form: Form) -> dict[str, Any]:
    """The fields as somebody filled them in."""
    texts = ("name", *LISTS, *NUMBERS, "salary_min", "salary_currency", "salary_period")
    return {
        **{name: form.get(name).replace("\r\n", "\n") for name in texts},
        "active_days": [one for one in form.many.get("active_days", ()) if one in WEEKDAYS],
        **{name: form.get(name) == "yes" for name in SWITCHES},
    }


def values_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The rule as plain values. An empty field is left out, so that it excludes nothing."""
    made: dict[str, Any] = {"name": fields["name"].strip(), **{name: fields[name] for name in SWITCHES}}
    for name in LISTS:
        if lines := [one.strip() for one in fields[name].split("\n") if one.strip()]:
            made[name] = lines
    for name in NUMBERS:
        if text := fields[name].strip():
            made[name] = _number(text)
    made.setdefault("max_applications_per_week", PER_WEEK)
    if text := fields["salary_min"].strip():
        made["salary"] = {
            "min": _number(text.replace(",", "").replace(" ", "")),
            "currency": fields["salary_currency"].strip() or "?",
            "period": fields["salary_period"],
        }
    if fields["active_days"]:
        made["active_days"] = fields["active_days"]
    return made


def _number(text: str) -> int | str:
    """A number if it is one; other texts are refused where the rule is checked."""
    return int(text) if text.isdecimal() and len(text) < 10 else text
