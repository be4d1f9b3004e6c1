"""Ouroboros Labs: made to loop. Its board, its postings and its pages lead to one another under ever new addresses."""

from interlock.apps.jobs.world.data.places import SEATTLE
from interlock.apps.jobs.world.opening import Board, Company, Opening

COMPANY = Company(
    name="Ouroboros Labs",
    slug="ouroboros",
    tagline="Where you were is where you will be.",
    about=(
        "Ouroboros Labs studies things that lead to themselves. Whoever follows its links comes back to this page, "
        "each time by another address.",
    ),
    mission="Our mission is to find out why we have a mission.",
    culture=("We meet to plan the next meeting, and we call it research.",),
    size=12,
    headquarters=SEATTLE,
    industry="Research",
    founded=2020,
    technologies=("Python",),
)


def _opening(key: str, title: str) -> Opening:
    return Opening(
        key,
        title,
        "Research",
        (SEATTLE,),
        "remote",
        "You will look for the beginning of something that has none. The role is remote in the United States.",
        ("Follow every link", "Write down where you have been"),
        ("3 years of Python", "Patience"),
        age=2,
    )


BOARDS = (
    Board(
        "greenhouse",
        "ouroboros",
        COMPANY,
        (_opening("circle-engineer", "Senior Circle Engineer"), _opening("spiral-engineer", "Senior Spiral Engineer")),
        {"loops": True},
    ),
    Board("feed", "feed.rss", COMPANY, (_opening("knot-engineer", "Senior Knot Engineer"),), {"format": "rss"}),
)
