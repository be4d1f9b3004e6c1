"""A board of Greenhouse whose postings are as long as real ones: about 5,000 characters, in escaped HTML."""

from __future__ import annotations

import random
from html import escape
from typing import Any

import orjson

from interlock.apps.jobs.finder.reading.vocabulary import terms

PLACES = ("Remote - United States", "Portland, OR", "Berlin, Germany", "New York, NY (Hybrid)", "London, UK")
TITLES = ("Backend Engineer", "Data Engineer", "Platform Engineer", "Full Stack Developer", "Security Engineer")
LEVELS = ("Junior ", "", "Senior ", "Staff ", "Lead ")
SUBJECTS = ("harbour", "warehouse", "clinic", "library", "observatory", "bakery", "railway", "orchard")
ABOUT = (
    "{company} builds the software with which every {a} plans its day, from the first delivery in the morning to the "
    "report that somebody reads at night.",
    "We were founded in {year}, have {people} people in {towns} towns, and serve {customers} customers who rely on us "
    "whenever a {b} has to work together with a {a}.",
    "Our teams are small and own what they build. A change reaches production within an hour, and whoever wrote it "
    "watches how it behaves there.",
)
DUTIES = (
    "Design and build services in {x} that answer every {a} within two hundred milliseconds",
    "Own the data in {y} on which the {b} team relies, from its schema to its restore",
    "Find out why a number of the {a} report is wrong, and make sure that it stays right",
    "Review the changes of four colleagues, and ask for their reviews early",
    "Share the on-call rota with eight people, about one week in two months",
    "Explain a trade-off between {x} and {y} in a page of plain English",
    "Plan the next quarter together with product managers and designers of the {b} team",
)
WANTS = (
    "{years}+ years of professional experience with {x} in production",
    "Solid knowledge of {y}, or of another system of its kind",
    "Experience with {x} and {y} in a team that ships every week",
    "You have operated {x} under load, and know what fails first",
    "Bachelor's degree in computer science, or equivalent practical experience",
    "Clear written English; a second language such as German is a plus",
)
LIKES = ("Experience with {x}", "You have used {y} for more than a weekend", "An interest in how a {a} works")
OFFERS = (
    "Medical, dental and vision insurance from the first day, and a 401(k) with a match of 4 %",
    "Twenty-five days of paid leave, and sixteen weeks of parental leave",
    "A budget of $2,000 a year for courses and books, and $500 for your desk at home",
    "Equity in the company, with four years of vesting",
)
LEGAL = (
    "{company} is an equal opportunity employer. We consider all applicants without regard to race, color, religion, "
    "sex, sexual orientation, gender identity, national origin, age, disability or veteran status, and make "
    "accommodations for applicants who need them."
)


def board(many: int, seed: int = 16) -> bytes:
    """The answer of the list call."""
    rng = random.Random(seed)
    names = [one.name for one in terms().values() if one.weight >= 0.75]
    rows = [_row(rng, number, names) for number in range(many)]
    return orjson.dumps({"jobs": rows, "meta": {"total": many}})


def _row(rng: random.Random, number: int, names: list[str]) -> dict[str, Any]:
    company = "Long Harbour Systems"
    stack = rng.sample(names, 14)

    def said(text: str) -> str:
        a, b = rng.sample(SUBJECTS, 2)
        x, y = rng.sample(stack, 2)
        numbers = {"year": rng.randint(1990, 2020), "people": rng.randint(40, 4000), "towns": rng.randint(2, 9)}
        customers, years = rng.randint(100, 9000), rng.randint(2, 9)
        return escape(text.format(company=company, a=a, b=b, x=x, y=y, customers=customers, years=years, **numbers))

    def listed(heading: str, texts: tuple[str, ...], count: int) -> str:
        items = "".join(f"<li><p>{said(rng.choice(texts))}</p></li>" for _ in range(count))
        return f"<h3><strong>{heading}</strong></h3><ul>{items}</ul>"

    least = rng.randint(80, 180) * 1000
    content = (
        f'<div class="content-intro">{"".join(f"<p>{said(one)}</p>" for one in (*ABOUT, *ABOUT, *ABOUT))}</div>'
        + listed("What you will do", DUTIES, 13)
        + listed("What you bring", WANTS, 14)
        + listed("Nice to have", LIKES, 8)
        + listed("What we offer", OFFERS, 9)
        + f"<p>The base salary range is ${least:,} - ${least + 40000:,} per year.</p>"
        + f"<p>{said(LEGAL)}</p><p>{said(LEGAL)}</p>"
    )
    return {
        "id": 4_000_000 + number,
        "title": f"{rng.choice(LEVELS)}{rng.choice(TITLES)}, {rng.choice(SUBJECTS).title()}",
        "absolute_url": f"https://boards.greenhouse.io/thousand/jobs/{4_000_000 + number}",
        "company_name": company,
        "location": {"name": rng.choice(PLACES)},
        "first_published": "2026-10-01T08:00:00Z",
        "updated_at": "2026-10-20T08:00:00Z",
        "content": escape(content),
    }
