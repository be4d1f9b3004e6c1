"""Where a contract begins: the paragraph that names the parties and the date, and what is printed above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from interlock.apps.contracts.fields.extract.candidate import RuleContext
from interlock.apps.contracts.fields.extract.party_names import ROLE
from interlock.apps.contracts.fields.flat import Flat

KINDS = (
    r"agreement|amendment|contract|addendum|lease|license|licence|letter|memorandum|deed|"
    r"undertaking|supplement|guaranty|"
    r"indenture|statement of work|charter|term sheet|release|assignment|schedule|plan|order form|covenant|exhibit"
)
_BETWEEN = re.compile(
    r"\b(?:by and between|by and among|between|among|amongst|b e t w e e n|parties to this [\w ]{3,40}? are)\b"
    r"|(?-i:\b(?:PARTIES|Parties):?(?= (?:\(?(?:1|i|a|A)\) |[A-Z][\w&.,' -]{2,60}\(\")))",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:made|entered|enter|executed|dated|effective|concluded|signed|date of|as of|is by|agree|constitutes|"
    r"set forth|is between|is among|contains|this day|is being)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:made|entered|executed|dated|effective)\b[^.;]{0,140}?\bby (?=(?:the )?[A-Z\d])", re.IGNORECASE)
_KIND = re.compile(rf"\b(?:{KINDS})\b", re.IGNORECASE)
_SHORT_NAME = re.compile(
    r'\([^()]{0,80}"[^"()]{1,60}"[^()]{0,40}\)|\(the [A-Z][a-z]+\)|'
    rf"(?-i:\((?:{ROLE})\))|"
    r"\bhereinafter\b|\bhereafter\b",
    re.IGNORECASE,
)
_COMPANY = re.compile(r"\b(?:corporation|company|limited|partnership|inc|llc|individual|gmbh|plc)\b", re.IGNORECASE)
_NOT_NAMES = re.compile(
    r" (?:the parties|party|parties|us\b|them\b|you\b|its?\b|Section|any\b|such\b|\d+ and|"
    r"the (?:date|effective|time|hours?|date))",
    re.IGNORECASE,
)
_RECITALS = re.compile(
    r"\b(?:WHEREAS|Whereas|W ?I ?T ?N ?E ?S ?S ?E ?T ?H|Witnesseth|R ?E ?C ?I ?T ?A ?L ?S|"
    r"Recitals|BACKGROUND|Background:|"
    r"PREAMBLE|Preamble|INTRODUCTION|NOW,? THEREFORE|Now,? Therefore|NOW THIS|"
    r"(?:hereby )?agrees? as follows|AGREE AS FOLLOWS|"
    r"hereby agree|HEREBY AGREE|do agree|mutually agree|agree to (?:the following|all|be bound)|agree that|"
    r"(?:ARTICLE|Article|SECTION|Section) (?:1|I|ONE|One)\b|1\.0? ?[A-Z]|I\. [A-Z]|"
    r"A\. [A-Z][a-z]+ (?:is|has|and)|TABLE OF CONTENTS|"
    r"(?:is|are) (?:engaged|in the business)|DEFINITIONS|desires? to|wish(?:es)? to)"
)
_LEADS_ON = re.compile(r"\b(?:and|AND|between|BETWEEN|among)\W{0,4}$")
_LOOK = 40_000
"""A cover page and a table of contents come first; the opening is within this many characters."""
_LONGEST = 3_500
_TRIED = 120
"""Places that are looked at; a real opening is among the first few."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The bounds of the opening paragraph in the flat text; `names` is where the parties begin in it."""

    start: int
    names: int
    end: int
    sure: bool


def opening(context: RuleContext) -> Opening | None:
    """The opening paragraph, or the likeliest place for it."""
    if "opening" not in context.memo:
        context.memo["opening"] = _find(context.flat)
    found: Opening | None = context.memo["opening"]
    return found


def _find(flat: Flat) -> Opening | None:
    text = flat.text
    found: list[tuple[float, Opening]] = []
    places = [
        *islice(_BETWEEN.finditer(text, 0, min(len(text), _LOOK)), _TRIED),
        *islice(_BY.finditer(text, 0, 8_000), 9),
    ]
    for between in places:
        start = _start(text, between.start())
        end = _end(text, between.end())
        if end - between.end() < 8:
            continue
        by = between.group().lower().endswith("by ")
        before, after = text[start : between.end() if by else between.start()], text[between.end() : end]
        if by and _names_score(after) < 1:
            continue
        score = 2.0 if re.search(r"\b(?:THIS|This)\b|\([Tt]his \"", before) else 0.0
        score += 1.5 if _MADE.search(before) else 0.0
        score += 1.0 if _KIND.search(before) else 0.0
        score += 0.5 if "by and" in between.group().lower() else 0.0
        score -= 0.4 if by else 0.0
        score += 1.5 if "arties" in between.group().lower() else 0.0
        score -= 1.0 if between.group().isupper() and "THIS" not in before else 0.0
        score -= 2.0 if _NOT_NAMES.match(after) else 0.0
        score += _names_score(after)
        again = _BETWEEN.search(after, 0, 400)
        if again is not None and _names_score(after[again.end() : again.end() + 300]) >= 1:
            score -= 0.8  # a title above the opening
        score -= between.start() / 6_000
        found.append((score, Opening(start, between.end(), end, score >= 3.0)))
    found.extend(_without_between(flat))
    if not found:
        return None
    return max(found, key=lambda pair: pair[0])[1]


def _names_score(names: str) -> float:
    """How much a text looks like a list of parties: short names in brackets, and words for companies."""
    score = 1.0 * min(len(_SHORT_NAME.findall(names)), 2)
    return score + (0.7 if _COMPANY.search(names) else 0.0)


def _without_between(flat: Flat) -> Iterator[tuple[float, Opening]]:
    """Openings without "between": `X, a Delaware corporation ("X") and Y ("Y") agree as follows`."""
    lines = [line for line in flat.lines()[:400] if line.start < 12_000]
    for paren in list(_SHORT_NAME.finditer(flat.text, 0, 8_000))[:12]:
        raw = flat.raw_at(paren.start())
        index = next((i for i, line in enumerate(lines) if line.start <= raw < line.end), None)
        if index is None:
            continue
        first = index
        while first > 0 and index - first < 8 and not _ends_block(lines[first - 1].text):
            first -= 1
        start = flat.flat_at(lines[first].start)
        while start < len(flat.text) and flat.text[start] == " ":
            start += 1
        end = _end(flat.text, paren.end())
        score = _names_score(flat.text[start:end]) + 0.8 - paren.start() / 6_000
        score += 1.2 if re.match(r"(?:hereby |mutually )?agree", flat.text[end : end + 20], re.IGNORECASE) else 0.0
        score += 0.5 if _MADE.search(flat.text[start:end]) else 0.0
        above = list(_BETWEEN.finditer(flat.text, max(start - 240, 0), start))
        if above and not re.search(r"[a-z]\. |;|\band\b", flat.text[above[-1].end() : start], re.IGNORECASE):
            start = above[-1].start()  # a cover whose names stand on lines of their own
        between = _BETWEEN.search(flat.text, start, paren.start()) or _BY.search(flat.text, start, end)
        yield score, Opening(start, between.end() if between else start, end, False)


def _ends_block(line: str) -> bool:
    """A title, a heading or the end of a paragraph: what follows is a new part."""
    words = line.split()
    if re.match(r"[A-Z][\w ]{2,30}:(?: |$)", line) and not line.endswith((",", "and", "between")):
        return True
    if re.search(r"[.:;]$", line) and not re.search(
        r"\b(?:Inc|Corp|Co|Ltd|No|St|Ave|N\.V|B\.V|S\.A|L\.P|L\.L\.C)\.$", line
    ):
        return True
    if line.isupper() and len(words) <= 10 and not re.search(r",$|\b(?:AND|BETWEEN|OF|BY|INC\.?|CORPORATION)$", line):
        return True
    return len(words) <= 8 and bool(_KIND.search(line)) and not line.endswith(",")


def _start(text: str, before: int) -> int:
    """The beginning of the sentence that leads to this place: the last "This … Agreement" before it."""
    floor = max(before - 900, 0)
    starts = [
        m.start()
        for m in re.finditer(
            r"\b(?:THIS|This|T HIS|T his) (?=[^.;]{0,220}?\b(?i:" + KINDS + r")\b)", text[floor:before]
        )
    ]
    if starts:
        near = [s for s in starts if before - (floor + s) <= 700]
        return floor + (near[0] if near else starts[-1])
    stops = [
        m.end() for m in re.finditer(r"(?<!\b[A-Z])(?<!Inc)(?<!Corp)(?<!Co)(?<!Ltd)[.:] (?=[A-Z])", text[floor:before])
    ]
    return floor + stops[-1] if stops else max(before - 300, 0)


def _end(text: str, after: int) -> int:
    for recitals in _RECITALS.finditer(text, after, min(after + _LONGEST, len(text))):
        numbered = recitals.group()[0] in "1IA"
        if numbered and (recitals.start() - after < 4 or _LEADS_ON.search(text, after, recitals.start())):
            continue  # "BETWEEN 1. Foo Inc. AND 2. Bar Ltd": the parties are numbered
        return recitals.start()
    return min(after + 1_800, len(text))
