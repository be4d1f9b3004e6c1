"""Degrees in their order, from school to doctorate."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.answers.labels import label_words
from interlock.apps.jobs.finder.identity.keys import word_list

_LEVELS: tuple[tuple[int, frozenset[str]], ...] = (
    (5, word_list("phd doctorate doctoral dphil promotion doktor doktorat dr")),
    (4, word_list("master masters msc ma mba meng mphil llm diplom magister")),
    (3, word_list("bachelor bachelors bsc ba beng bs bba llb undergraduate")),
    (2, word_list("associate associates")),
    (1, word_list("highschool ged abitur matura diploma")),
)
_SPELLED = (
    ("ph d", "phd"),
    ("m sc", "msc"),
    ("b sc", "bsc"),
    ("m a", "ma"),
    ("b a", "ba"),
    ("high school", "highschool"),
)
NAMES = {5: "doctorate", 4: "master's degree", 3: "bachelor's degree", 2: "associate degree", 1: "high school"}


def degree_levels(text: str | None) -> frozenset[int]:
    """The levels that a text names; empty where it names none."""
    padded = f" {' '.join(label_words(text))} "
    for spelled, short in _SPELLED:
        padded = padded.replace(f" {spelled} ", f" {short} ")
    found = set(padded.split())
    return frozenset(level for level, names in _LEVELS if found & names)


def degree_level(text: str | None) -> int | None:
    """The one level that a text names."""
    levels = degree_levels(text)
    return next(iter(levels)) if len(levels) == 1 else None
