"""Years of experience that a posting asks for."""

from __future__ import annotations

import re
from typing import NamedTuple

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.values import Value

NUMBER_WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "eighteen": 18,
    "twenty": 20,
    "ein": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "f\u00fcnf": 5,
    "deux": 2,
    "trois": 3,
    "quatre": 4,
    "cinq": 5,
    "dos": 2,
    "tres": 3,
    "cuatro": 4,
    "cinco": 5,
    "twee": 2,
    "drie": 3,
    "vijf": 5,
}
_NUMBER = r"(?:\d{1,2}|" + "|".join(NUMBER_WORDS) + r")"
_YEARS = re.compile(
    rf"(?<![\w.,$-])(?P<low>{_NUMBER})(?: ?\({_NUMBER}\))? ?\+?"
    rf"(?: ?(?:-|to|bis|\u00e0|a|or|tot|y|und|et) ?(?P<high>{_NUMBER})(?: ?\({_NUMBER}\))? ?\+?)?"
    r"(?: or more|[ -]plus| full| solid| mehr)? ?$"
)
_BETWEEN = re.compile(rf"\bbetween (?P<low>{_NUMBER}) and (?P<high>{_NUMBER}) ?\+? ?$")
_LISTED = re.compile(
    rf"(?: of)? (?:\w+ ){{0,2}}experience ?(?:required|needed)? ?: ?(?P<low>{_NUMBER})(?: ?- ?(?P<high>{_NUMBER}))?"
)
"""A form's line: "Years of experience: 5+"."""
_OWN = re.compile(r"\b(?:we|our(?: \w+){1,3}|the company) (?:already )?(?:have|has|bring|brings|share)\b")
"""What the employer has is nothing that it asks for."""
_ASKED = re.compile(
    r"(?: or more| plus| minimum)?(?:[,.;:)]|\n|$| (?:of|in|as|with|building|working|doing|developing|designing|writing"
    r"|shipping|running|managing|leading|operating|administering|supporting|engineering|on)\b)"
)
"""What follows years that are asked for, such as "4+ years in product design"."""
_OR_MORE = re.compile(r" (?:or more|plus|minimum)\b")
_AT_LEAST = re.compile(r"(?:\bat least|\bminimum(?: of)?|\bmin\.?|\bmore than|\bmindestens) [\w() ]{1,14}$")
_UP_TO = re.compile(r"\b(?:up to|maximum(?: of)?|max\.?|no more than|less than|under|bis zu|jusqu'\u00e0|hasta) ?$")
_MOST = 30


class RequiredYears(NamedTuple):
    low: int
    high: int | None
    at: int


def experience_of(document: Document) -> tuple[Value, Value]:
    """Least and most years: the highest demand of all sentences; in a sentence the first number counts."""
    asked: list[RequiredYears] = []
    preferred: list[RequiredYears] = []
    sentences: set[int] = set()
    for hit in document.cues.get("years", ()):
        stretch = (document.low, max(0, hit.start - 40), hit.start)
        found = _BETWEEN.search(*stretch) or _YEARS.search(*stretch) or _LISTED.match(document.low, hit.end)
        if found is None:
            continue
        section = document.section(hit.start)
        if section in {"benefits", "legal", "pay"}:
            continue
        begin, end = document.sentence(hit.start)
        if begin in sentences:
            continue
        low = _value(found["low"])
        high = _value(found["high"]) if found["high"] else None
        if high is None and _UP_TO.search(document.low, max(0, found.start() - 20), found.start()):
            low, high = 0, low
        if not (low or high) or not 0 <= low <= _MOST or (high is not None and not low < high <= _MOST):
            continue
        near = min(end, hit.end + 160)
        if document.has("age", max(begin, found.start() - 25), near) and not document.has(
            "experience", hit.start, near
        ):
            continue
        about_work = document.has("experience", begin, end) or section in {"requirements", "preferred"}
        open_ended = "+" in found.group() or _OR_MORE.match(document.low, hit.end) or _AT_LEAST.search(*stretch)
        if not about_work and not (open_ended and section != "company" and _ASKED.match(document.low, hit.end)):
            continue
        if section == "company" and not document.has("experience", hit.start, hit.end + 40):
            continue
        if section not in {"requirements", "preferred"} and _OWN.search(document.low, begin, hit.start):
            continue
        sentences.add(begin)
        one = RequiredYears(low, high, hit.start)
        comma = document.low.find(",", hit.end, end)
        likes = section == "preferred" or document.has("prefers", hit.start, end if comma < 0 else comma)
        (preferred if likes else asked).append(one)
    if not asked and not preferred:
        return Value(None, "not stated"), Value(None, "not stated")
    best = max(asked or preferred, key=lambda one: (one.low, one.high or 0))
    quote = document.quote(best.at, best.at)
    least = Value(best.low, "years in the text" if asked else "years that are preferred", quote)
    return least, Value(best.high, "range in the text", quote) if best.high is not None else Value(None, "not stated")


def _value(text: str) -> int:
    return int(text) if text.isdigit() else NUMBER_WORDS[text]
