"""Openings in any number, made from a seed: jobs in the field, and boards that are large."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from interlock.apps.jobs.world.data.places import AMERICAN, AUSTIN
from interlock.apps.jobs.world.opening import Board, Company, Opening, Pay

ROLES = (
    ("Warehouse Associate", "Operations", "Sort what arrives and load what leaves", "You can lift 25 kilograms"),
    ("Service Technician", "Field Service", "Inspect, measure and repair on the site", "A technical apprenticeship"),
    ("Electrician", "Field Service", "Install cabinets and cables by the plan", "A licence as an electrician"),
    ("Delivery Driver", "Operations", "Drive your tour and bring the van back clean", "A driving licence"),
    ("Site Accountant", "Finance", "Close the books of a site every month", "A degree in accounting"),
    ("Customer Advisor", "Customer Care", "Answer calls, and call back", "A friendly voice and a clear head"),
    ("Safety Officer", "Operations", "Walk the site and stop what is dangerous", "A certificate in work safety"),
    ("Recruiter", "People", "Find the people we need, and tell the others kindly", "2 years of recruiting"),
)
CREWS = ("Day Crew", "Night Crew", "Early Shift", "Late Shift", "Weekend Crew")
LARGE = {"dozens": 130, "thousand": 1000, "clamped": 2600}
"""Boards that every system has on demand, and how many openings are on them."""


def field_jobs(seed: str, many: int) -> tuple[Opening, ...]:
    """Jobs on site in American cities; the same for the same seed."""
    return tuple(_field_job(seed, at) for at in range(many))


def _field_job(seed: str, at: int) -> Opening:
    digest = sha256(f"{seed} {at}".encode()).digest()
    role, department, duty, wanted = ROLES[digest[0] % len(ROLES)]
    spot, crew = AMERICAN[digest[1] % len(AMERICAN)], CREWS[digest[2] % len(CREWS)]
    low = 20 + digest[3] % 15
    return Opening(
        f"{seed}-{at:04}",
        f"{role}, {crew} {at + 1}",
        department,
        (spot,),
        "onsite",
        f"You work in {spot.city} with a {crew.lower()} of {4 + digest[4] % 12} people.",
        (duty, "Leave your place better than you found it"),
        (wanted, "You are on time"),
        closing="Working clothes are on us.",
        pay=Pay(low, low + 6, per="hour") if digest[5] % 3 else None,
        age=digest[6] % 28,
    )


def large_board(kind: str, name: str) -> Board | None:
    """A large board of that name; None where the name is not one of `LARGE`."""
    return Board(kind, name, CROWD, _crowd(name)) if name in LARGE else None


@lru_cache(maxsize=len(LARGE))
def _crowd(name: str) -> tuple[Opening, ...]:
    return field_jobs(name, LARGE[name])


CROWD = Company(
    name="Thousandfold Staffing",
    slug="thousandfold",
    tagline="A job for everybody, twice.",
    about=("Thousandfold Staffing hires for others, in any number. It is here to show what a large board does.",),
    mission="Our mission is to fill a thousand places a week.",
    culture=("Everybody is welcome, in shifts.",),
    size=90_000,
    headquarters=AUSTIN,
    industry="Staffing",
    founded=1961,
    technologies=("Excel",),
)
