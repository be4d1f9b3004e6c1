"""The date of an agreement.

Rules: `date_opening` (the opening paragraph), `date_cover` (printed above it), `date_witness` ("IN WITNESS WHEREOF …
this 5th day of May"), `date_signature` (the last date among the signatures), `date_repeated` (what schedules call it),
`date_stated` ("this Agreement dated …" elsewhere in the first pages). A date that nothing ties to the agreement (of a
patent, a letter, a delivery) is never taken: better none than another one's.
"""

from __future__ import annotations

import re
from itertools import islice

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.opening import KINDS, opening
from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.fields.normalise.dates import DateFound, find_dates

_LEAD = re.compile(
    r"(?:\b(?:as of|effective|dated|date|made|entered(?: into)?|executed|on|this|signed|the|"
    r"is|of|from|into|by)\b[ ,:()\"]*){1,8}$",
    re.IGNORECASE,
)
_STRONG_LEAD = re.compile(r"\b(?:made|entered|executed|dated|enter)\b[^.;]{0,90}$", re.IGNORECASE)
ANOTHER = re.compile(
    r"\b(?:certain|that|prior|previous(?:ly)?|original(?:ly)?|existing|earlier|amended by|pursuant to|supersed\w+|"
    r"patent|incorporated on|organized on|founded|registered on|expire|expiring|terminat\w+|until|through|ending|"
    r"commenc\w+|first|licen[cs]e dated|lease dated)\b[^.;()]{0,80}$",
    re.IGNORECASE,
)
_AMENDED = re.compile(
    r"\b(?:amendment|addendum|supplement|amends|modif\w+)\b.{0,60}\b(?:to|of|restates) (?:the|that|a|"
    r"certain)\b[^;]{0,200}\b(?:agreement|contract|license|lease)\b"
    r"[^;\d]{0,60}\b(?:dated|entered into|made|effective|executed)\b[^;\d]{0,40}$",
    re.IGNORECASE,
)
_IS_MADE = re.compile(
    r"\b(?:is|are|being|,)(?: \w+){0,3}? (?:made|entered|executed|dated|effective)\b[^.;]{0,40}$", re.IGNORECASE
)
_NAMED_FIRST = re.compile(
    r"\b(?:amendment|addendum|supplement)\b[^.;()]{0,40}\([^)]*\"[^)]*\),? (?:to|of) (?:the|that|a|certain)\b",
    re.IGNORECASE,
)
"""The amendment has its name already: `Amendment No. 1 ("Amendment") to the Lease, dated …` dates the lease."""
_DOES = re.compile(
    r"\b(?:is|are|being)(?: \w+){0,3}? (?:made|entered|executed|dated|effective)\b[^.;]{0,40}$", re.IGNORECASE
)
_REFERRED = re.compile(
    rf"\b(?:{KINDS})\b[^.;\d]{{0,80}}\b(?:dated|as of|made|effective|entered into|"
    rf"executed)\b(?: (?:as of|on|the|this|effective))*",
    re.IGNORECASE,
)
_ITSELF = re.compile(
    rf"\bthis (?:[\w&/-]+ ){{0,5}}?(?:{KINDS})\b(?: ?\([^)]{{0,60}}\))?,?[^.;()\d]{{0,40}}"
    r"\b(?:dated?|made|entered|executed|signed|concluded)\b[^.;()\d]{0,30}$",
    re.IGNORECASE,
)
_OTHER_AGREEMENT = re.compile(
    rf"\b(?:an?|that|certain|said|original|letter|prior|another|"
    rf"such)\b (?:[\w&/-]+ ){{0,5}}?(?:{KINDS})\b(?: ?\([^)]{{0,80}}\))?"
    r"[^.;]{0,60}\b(?:dated|entered into|as of|made)\b[^.;]{0,25}$",
    re.IGNORECASE,
)
_DATED_KIND = re.compile(
    rf"(?<!this )(?<!This )(?<!THIS )\b(?:[A-Z][\w&-]+ )+(?i:{KINDS})\b,? (?:by and )?"
    r"[^.;]{0,60}\b(?:dated|entered into|made)\b[^.;]{0,20}$"
)
_LAST_SIGNATURE = re.compile(
    r"\b(?:date (?:of|that|on which|upon which|when) (?:the )?(?:it is |this agreement is |"
    r"this amendment is )?(?:last|final)\b"
    r"[^.;]{0,30}\b(?:sign|execut)\w*|(?:last|latest|later)[^.;]{0,40}\b(?:signatures?|"
    r"signature dates?|signed|execution|signs)\b|"
    r"dates? (?:set forth|written|indicated|appearing|shown|stated) (?:below|beside|opposite|next to|adjacent)|"
    r"signed by (?:the )?(?:last|both)|date of (?:last|final) (?:signature|signing|execution)|"
    r"date (?:that )?the last party (?:signs|executes))",
    re.IGNORECASE,
)
_EFFECTIVE_NEAR = re.compile(r"\beffective\b", re.IGNORECASE)
_SIGNED = re.compile(
    r"\b(?:IN WITNESS WHEREOF|In Witness Whereof|IN WITNESS HEREOF|IN WITNESS THEREOF|"
    r"WITNESS (?:the|our|my)|AS WITNESS|Executed (?:as of|on|this|and)|EXECUTED (?:as of|on|"
    r"this)|"
    r"[Ss]igned (?:as of|on|and|this|at)|SIGNED (?:as of|on|this|at)|Dated (?:this|as of|"
    r"at|the|on)|DATED (?:this|the|as of|THIS|AS OF|THE)|ACCEPTED AND AGREED|"
    r"have (?:caused|executed|signed|hereunto|duly)|Agreed (?:to )?and accepted|AGREED (?:TO )?AND ACCEPTED)\b"
)
_DATE_LABEL = re.compile(
    r"\b(?:Date(?: ?Signed| ?of ?signature)?|DATE(?: ?SIGNED)?|Dated|DATED|date)\b ?[:.]? ?[_ ]{0,40}$"
)
_SHORTENED = re.compile(r"\b(Nos?|Inc|Corp|Co|Ltd|[A-Z])\.")
_BY_LINE = re.compile(r"(?:\bBy ?:|\bBY ?:|/s/|\bName ?:|\bTitle ?:|\bNAME ?:|\bTITLE ?:|\bIts ?:|Signature)")


def date_opening(context: RuleContext) -> list[Candidate]:
    """The date in the opening paragraph: "made and entered into as of the 5th day of May, 2003"."""
    flat = context.flat
    at = opening(context)
    if at is None:
        return []
    found = []
    dates = find_dates(flat.text, at.start, at.end)
    for date in dates:
        before = _without_stops(flat.text[max(at.start, date.start - 160) : date.start])
        led = bool(_STRONG_LEAD.search(before))
        effective = re.search(r"\beffective[^.;]{0,40}$", before, re.IGNORECASE)
        score = 1.0 + (1.0 if led else 0.0) + (0.5 if _LEAD.search(before) else 0.0) + (0.2 if at.sure else 0.0)
        if _OTHER_AGREEMENT.search(before):
            continue
        score -= 1.2 if ANOTHER.search(before) else 0.0
        if before.endswith("Page "):
            continue  # the page number runs into a date without a day
        led_up = _without_stops(flat.text[at.start : date.start])
        if _AMENDED.search(led_up) and not (_DOES if _NAMED_FIRST.search(led_up) else _IS_MADE).search(before):
            continue  # the date of what is amended
        if date.start > at.names + 400 and not at.sure and not _ITSELF.search(before):
            continue  # the date of a document that the text speaks of
        if _DATE_LABEL.search(before) and _BY_LINE.search(before):
            continue  # a signature below an opening without an end
        # "dated June 1, 2020, effective as of July 1, 2020": the second is when it takes effect, not its date.
        score -= 0.4 if effective and len(dates) > 1 else 0.0
        score -= 0.5 if date.start > at.names + 900 else 0.0
        blank = re.search(r"[_*\[]", flat.text[date.start : date.end])
        score -= 0.3 if not date.full and not blank else 0.0
        if score < 0.5:
            continue
        usual = date.full and (led or (bool(effective) and len(dates) == 1))
        marks = (
            "led by made or dated" if led else "not led by made or dated",
            *(["only said to be effective"] if effective and not led else []),
            *(["blanks"] if not date.full else []),
            *(["several dates in the opening"] if len({d.value for d in dates}) > 1 else []),
            "in a sure opening" if at.sure else "no sure opening",
        )
        found.append(dated(flat, "date_opening", date, score, strong=score >= 1.4, usual=usual, marks=marks))
    return ranked_candidates(found)


def _without_stops(text: str) -> str:
    """Full stops that end no sentence are blanks: "Amendment No. 1 dated …" is one phrase."""
    return _SHORTENED.sub(r"\1 ", text)


def date_cover(context: RuleContext) -> list[Candidate]:
    """A date that is printed by itself above the opening: "Dated as of May 6, 2003"."""
    flat = context.flat
    at = opening(context)
    limit = min(at.start if at else 2_500, 6_000)
    found = []
    for line in flat.lines():
        start = flat.flat_at(line.start)
        if start >= limit:
            break
        for date in find_dates(line.text):
            before = line.text[: date.start]
            rest = line.text[date.end :].strip(' .,;:()"')
            label = re.fullmatch(
                r"\W*(?:(?:is |made |entered |into |dated?|effective|execution|agreement|contract|as|of|"
                r"on|the|this|date|day)\W*){0,7}",
                before,
                re.IGNORECASE,
            )
            if label is None or len(rest) > 25:
                continue
            text = flat.text.find(line.text[date.start : date.end], max(start - 2, 0))
            if text < 0:
                continue
            moved = DateFound(date.value, text, text + date.end - date.start)
            if re.search(r"filed|filing|8-K|10-K|10-Q|source", line.text, re.IGNORECASE):
                continue
            score = 1.0 + (0.5 if re.search(r"dated|as of", before, re.IGNORECASE) else 0.0)
            score -= 0.3 if _EFFECTIVE_NEAR.search(before) else 0.0
            found.append(dated(flat, "date_cover", moved, score, usual=False))
    return ranked_candidates(found)


def date_witness(context: RuleContext) -> list[Candidate]:
    """The date in the words above the signatures."""
    flat = context.flat
    found = []
    at = opening(context)
    for match in _SIGNED.finditer(flat.text, max(len(flat.text) // 8, at.names if at else 0)):
        for date in find_dates(flat.text, match.end(), match.end() + 330)[:1]:
            between = flat.text[match.end() : date.start]
            other = ANOTHER.search(between[-60:]) or _DATED_KIND.search(between)
            if _BY_LINE.search(between) or other or re.search(r"\. [A-Z]", between):
                continue
            score = 1.0 + (0.6 if "itness" in match.group().lower() else 0.0) - len(between) / 500
            found.append(dated(flat, "date_witness", date, score))
    return ranked_candidates(found)


def date_signature(context: RuleContext) -> list[Candidate]:
    """The last date beside the signatures: an agreement is made when the last party signs."""
    flat = context.flat
    found: list[tuple[str, Candidate]] = []
    begin = signatures_begin(flat)
    if begin is None:
        return []
    # "as of the date of the last signature": then the signatures are what is meant, not a guess.
    referred = _LAST_SIGNATURE.search(flat.text, 0, 12_000) or _LAST_SIGNATURE.search(
        flat.text, max(begin - 600, 0), begin + 400
    )
    for date in find_dates(flat.text, begin, begin + 3_000):
        before = flat.text[max(date.start - 60, 0) : date.start]
        near = flat.text[max(date.start - 260, 0) : date.start + 120]
        if not date.full or not (_DATE_LABEL.search(before) or _BY_LINE.search(near)):
            continue
        if re.search(rf"\b(?:{KINDS})\b[^.;]{{0,60}}$|\bsupersedes\b", before, re.IGNORECASE):
            continue
        score = 1.0 + (0.5 if _DATE_LABEL.search(before) else 0.0)
        made = dated(
            flat,
            "date_signature",
            date,
            score,
            strong=bool(referred),
            usual=False,
            marks=("by reference to the signatures",) if referred else (),
        )
        if made is not None:
            found.append((date.value, made))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return [made for _, made in found]


def date_repeated(context: RuleContext) -> list[Candidate]:
    """The date that schedules and exhibits give the agreement: "Exhibit A to the Agreement dated May 6, 2003"."""
    flat = context.flat
    at = opening(context)
    begin = (at.end if at else 2_000) + 200
    found: dict[str, list[DateFound]] = {}
    for match in islice(_REFERRED.finditer(flat.text, begin), 200):
        if re.search(
            r"\b(?:certain|that|an?|another|letter|other|prior)\b[^.;]{0,40}$",
            flat.text[max(match.start() - 50, 0) : match.start()],
        ):
            continue
        for date in find_dates(flat.text, match.end(), match.end() + 40)[:1]:
            if date.full and date.start <= match.end() + 14:
                found.setdefault(date.value, []).append(date)
    ranked = sorted(found.values(), key=lambda dates: -len(dates))
    return ranked_candidates(
        [dated(flat, "date_repeated", dates[0], 0.5, strong=False, usual=False) for dates in ranked[:3]]
    )


def date_stated(context: RuleContext) -> list[Candidate]:
    """The first date that the text gives to itself: "the terms of this Agreement dated June 1, 2020"."""
    flat = context.flat
    for date in find_dates(flat.text, 0, 12_000):
        before = flat.text[max(date.start - 200, 0) : date.start]
        if date.full and _ITSELF.search(before) and not ANOTHER.search(before[-60:]):
            made = dated(flat, "date_stated", date, 0.3, strong=False, usual=False)
            return [made] if made else []
    return []


def signatures_begin(flat: Flat) -> int | None:
    """Where the signatures of the agreement begin; what follows them is schedules."""
    places = [
        m.start() for m in re.finditer(r"\bIN WITNESS (?:WHEREOF|HEREOF|THEREOF)\b|\bIn Witness Whereof\b", flat.text)
    ]
    if places:
        return places[0]
    signed = re.search(r"/s/|\bBy ?: ?[_/]|\bBY ?: ?[_/]", flat.text[len(flat.text) // 10 :])
    return max(len(flat.text) // 10 + signed.start() - 500, 0) if signed else None


def dated(
    flat: Flat,
    extractor: str,
    date: DateFound,
    score: float,
    *,
    strong: bool = True,
    usual: bool = True,
    begin: int | None = None,
    end: int | None = None,
    marks: tuple[str, ...] = (),
) -> Candidate | None:
    """A candidate whose quote begins a few words before the date, so that a reader sees what date it is."""
    first = begin if begin is not None else date.start
    last = max(end or date.end, date.end)
    if begin is None and end is None:
        first = max(date.start - 90, 0)
        stops = [m.end() for m in re.finditer(r"[.;] ", flat.text[first : date.start])]
        if stops:
            first += stops[-1]
        elif first:
            first = flat.text.find(" ", first, date.start) + 1 or date.start
        # Another date before this one would be read first from the quote.
        others = find_dates(flat.text, first, date.start)
        if others:
            first = others[-1].end
            while first < date.start and not flat.text[first].isalnum():
                first += 1
    return candidate(
        flat,
        extractor,
        flat.text[date.start : date.end],
        date.value,
        (first, last),
        (date.start, date.end),
        score=score,
        strong=strong,
        usual=usual,
        marks=marks,
    )


def ranked_candidates(found: list[Candidate | None]) -> list[Candidate]:
    return sorted((c for c in found if c is not None), key=lambda c: (-c.score, c.at))
