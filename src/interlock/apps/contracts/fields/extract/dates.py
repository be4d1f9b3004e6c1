"""The date of an agreement and the date it takes effect.

Rules for the agreement's date: `date_opening` (the opening paragraph), `date_cover` (printed above it), `date_witness`
("IN WITNESS WHEREOF … this 5th day of May"), `date_signature` (the last date among the signatures), `date_repeated`
(what schedules call it), `date_stated` ("this Agreement dated …" elsewhere in the first pages). A date that nothing
ties to the agreement (of a patent, a letter, a delivery) is never taken: better none than another one's.

For the effective date: `effective_definition`, `effective_opening`, `effective_term` and `effective_same`, which takes
the agreement's date where the text says so.
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
_ANOTHER = re.compile(
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
_REFERRED = re.compile(
    rf"\b(?:{KINDS})\b[^.;\d]{{0,80}}\b(?:dated|as of|made|effective|entered into|"
    rf"executed)\b(?: (?:as of|on|the|this|effective))*",
    re.IGNORECASE,
)
_IN_EFFECT = re.compile(
    r"\b(?:effective|(?:enters?|come|comes|go|goes) into (?:force|effect)|takes? effect|in effect)\b"
    r"[^.;\"]{0,60}?\b(?:on|as of|of|from|at|date|day|beginning|this|the)?\b ?",
    re.IGNORECASE,
)
_OWN_BEGIN = re.compile(
    rf"\b(?:this|the) (?:[\w&/-]+ ){{0,5}}?(?:{KINDS}|term)\b[^.;]{{0,30}}\b(?:is|be|become|becomes|shall|will|are|"
    r"and)\b[^.;]{0,20}$",
    re.IGNORECASE,
)
_ITSELF = re.compile(
    rf"\bthis (?:[\w&/-]+ ){{0,5}}?(?:{KINDS})\b(?: ?\([^)]{{0,60}}\))?,?[^.;()\d]{{0,40}}"
    r"\b(?:dated?|made|entered|executed|signed|concluded)\b[^.;()\d]{0,30}$",
    re.IGNORECASE,
)
_OF_ANOTHER = re.compile(
    rf"\b(?:the|that|certain|an?|its|said|original)\b (?:[\w&/-]+ ){{0,5}}?(?:{KINDS})\b(?! (?:is|shall|will)\b)"
    r"[^.;]{0,70}"
    r"\b(?:with|having|bearing|dated|entered into|of|and)\b[^.;]{0,25}$",
    re.IGNORECASE,
)
_EFFECTIVE_NEAR = re.compile(r"\beffective\b", re.IGNORECASE)
_PART = re.compile(
    r" ?,? ?\((?:the |such )?[^()\"]{0,20}\"(?!initial|term|contract|licen[cs]e|original|agreement|effective)"
    r"[\w ]{2,30}"
    r"(?:period|phase|term)\"",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"\b(?:IN WITNESS WHEREOF|In Witness Whereof|IN WITNESS HEREOF|IN WITNESS THEREOF|"
    r"WITNESS (?:the|our|my)|AS WITNESS|Executed (?:as of|on|this|and)|EXECUTED (?:as of|on|"
    r"this)|"
    r"[Ss]igned (?:as of|on|and|this|at)|SIGNED (?:as of|on|this|at)|[Dd]ated (?:this|as of|"
    r"at|the|on)|DATED (?:this|the|as of|THIS|AS OF|THE)|ACCEPTED AND AGREED|"
    r"have (?:caused|executed|signed|hereunto|duly)|Agreed (?:to )?and accepted|AGREED (?:TO )?AND ACCEPTED)\b"
)
_DATE_LABEL = re.compile(
    r"\b(?:Date(?: ?Signed| ?of ?signature)?|DATE(?: ?SIGNED)?|Dated|DATED|date)\b ?[:.]? ?[_ ]{0,40}$"
)
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
        before = flat.text[max(at.start, date.start - 160) : date.start]
        led = bool(_STRONG_LEAD.search(before))
        effective = re.search(r"\beffective[^.;]{0,40}$", before, re.IGNORECASE)
        score = 1.0 + (1.0 if led else 0.0) + (0.5 if _LEAD.search(before) else 0.0) + (0.2 if at.sure else 0.0)
        score -= 1.2 if _ANOTHER.search(before) else 0.0
        if _AMENDED.search(flat.text[at.start : date.start]) and not _IS_MADE.search(before):
            continue  # the date of what is amended
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
        found.append(_made(flat, "date_opening", date, score, strong=score >= 1.4, usual=usual))
    return _sorted(found)


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
            found.append(_made(flat, "date_cover", moved, score, usual=False))
    return _sorted(found)


def date_witness(context: RuleContext) -> list[Candidate]:
    """The date in the words above the signatures."""
    flat = context.flat
    found = []
    at = opening(context)
    for match in _SIGNED.finditer(flat.text, max(len(flat.text) // 8, at.names if at else 0)):
        for date in find_dates(flat.text, match.end(), match.end() + 330)[:1]:
            between = flat.text[match.end() : date.start]
            if _BY_LINE.search(between) or _ANOTHER.search(between[-60:]) or re.search(r"\. [A-Z]", between):
                continue
            score = 1.0 + (0.6 if "itness" in match.group().lower() else 0.0) - len(between) / 500
            found.append(_made(flat, "date_witness", date, score))
    return _sorted(found)


def date_signature(context: RuleContext) -> list[Candidate]:
    """The last date beside the signatures: an agreement is made when the last party signs."""
    flat = context.flat
    found: list[tuple[str, Candidate]] = []
    begin = _signatures(flat)
    if begin is None:
        return []
    for date in find_dates(flat.text, begin, begin + 3_000):
        before = flat.text[max(date.start - 60, 0) : date.start]
        near = flat.text[max(date.start - 260, 0) : date.start + 120]
        if not date.full or not (_DATE_LABEL.search(before) or _BY_LINE.search(near)):
            continue
        made = _made(
            flat, "date_signature", date, 1.0 + (0.5 if _DATE_LABEL.search(before) else 0.0), strong=False, usual=False
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
        for date in find_dates(flat.text, match.end(), match.end() + 40)[:1]:
            if date.full and date.start <= match.end() + 14:
                found.setdefault(date.value, []).append(date)
    ranked = sorted(found.values(), key=lambda dates: -len(dates))
    return _sorted([_made(flat, "date_repeated", dates[0], 0.5, strong=False, usual=False) for dates in ranked[:3]])


def date_stated(context: RuleContext) -> list[Candidate]:
    """The first date that the text gives to itself: "the terms of this Agreement dated June 1, 2020"."""
    flat = context.flat
    for date in find_dates(flat.text, 0, 12_000):
        before = flat.text[max(date.start - 200, 0) : date.start]
        if date.full and _ITSELF.search(before) and not _ANOTHER.search(before[-60:]):
            made = _made(flat, "date_stated", date, 0.3, strong=False, usual=False)
            return [made] if made else []
    return []


def effective_definition(context: RuleContext) -> list[Candidate]:
    """The date beside the words Effective Date: "Effective Date: May 6, 2003", "May 6, 2003 (the "Effective Date")"."""
    flat = context.flat
    found = []
    signed = _signatures(flat)
    for match in re.finditer(r"\b(?:Effective|EFFECTIVE|Commencement|COMMENCEMENT) ?(?:Date|DATE)\b", flat.text):
        commencing = match.group()[0] in "Cc"
        ahead = flat.text[match.end() : match.end() + 160]
        means = re.match(
            r"[\"')]{0,3} ?(?:of (?:this|the) \w+ ?)?(?:\([^)]{0,60}\) ?)?(?::|-|shall (?:be|mean)|"
            r"means|is|will be|of|\(|,)?"
            r" ?(?:deemed to be )?(?:the date of )?(?:the )?(?:as of )?(?:this )?[\"'_]{0,2} ?(?=[\dA-Za-z_\[])",
            ahead,
        )
        amended = re.match(r" of\b(?! (?:this|the)\b)", ahead) and _OF_ANOTHER.search(
            flat.text[max(match.start() - 160, 0) : match.start()]
        )
        # What is written below the signatures belongs to a schedule more often than to the agreement.
        late = 1.0 if signed is not None and match.start() > signed else 0.0
        if means and not amended:
            dates = find_dates(flat.text, match.end(), match.end() + 160)
            if dates and dates[0].start <= match.end() + means.end() + 4:
                score = 1.6 - (0.5 if commencing else 0.0) - late
                found.append(_made(flat, "effective_definition", dates[0], score, begin=match.start(), strong=not late))
        behind = flat.text[max(match.start() - 140, 0) : match.start()]
        if re.search(r"[(\"][^()]{0,40}$", behind[-45:]):
            dates = find_dates(flat.text, max(match.start() - 140, 0), match.start())
            if (
                dates
                and not re.search(r"[.;]", flat.text[dates[-1].end + 1 : match.start()])
                and match.start() - dates[-1].end < 60
            ):
                score = 2.0 - (0.5 if commencing else 0.0) - late
                found.append(_made(flat, "effective_definition", dates[-1], score, end=match.end(), strong=not late))
    return _sorted(found)


def effective_opening(context: RuleContext) -> list[Candidate]:
    """The words "effective as of May 6, 2003" in the first part of the contract or beside the words about the term."""
    flat = context.flat
    found = []
    at = opening(context)
    limit = (at.end if at else 0) + 2_000
    for match in _IN_EFFECT.finditer(flat.text):
        dates = find_dates(flat.text, match.end() - 1, match.end() + 70)
        if not dates or dates[0].start > match.end() + 25:
            continue
        between = flat.text[match.start() : dates[0].start]
        if re.search(r"through|until|terminat|expir", between, re.IGNORECASE):
            continue
        before = flat.text[max(match.start() - 120, 0) : match.start()]
        own = re.search(rf"\b(?:this|the)\b[^.;]{{0,60}}\b(?:{KINDS})\b|\bsigned and $", before, re.IGNORECASE)
        if match.start() > limit and not own:
            continue
        if _OF_ANOTHER.search(before + between):
            continue
        score = 1.0 + (0.4 if match.start() <= limit else 0.0) + (0.3 if own else 0.0)
        score -= 0.8 if _ANOTHER.search(before) else 0.0
        if score >= 1.0:
            found.append(_made(flat, "effective_opening", dates[0], score, begin=match.start()))
    return _sorted(found)


def effective_term(context: RuleContext) -> list[Candidate]:
    """The begin of the term: "The term of this Agreement shall commence on January 1, 2000"."""
    flat = context.flat
    found = []
    for match in re.finditer(
        r"\b(?:commenc\w{0,4}|begin(?:s|ning)?|starts?(?:ing)?)\b (?:on|as of|from|with|at|upon|"
        r"effective|the|date|this|of| ){0,5}",
        flat.text,
        re.IGNORECASE,
    ):
        dates = find_dates(flat.text, match.end() - 1, match.end() + 45)
        if not dates or dates[0].start > match.end() + 10:
            continue
        before = flat.text[max(match.start() - 140, 0) : match.start()]
        if not re.search(r"\b(?:term|period|agreement)\b[^.;]{0,110}$", before, re.IGNORECASE):
            continue
        score = 1.0 + (
            0.5
            if re.search(
                r"\bterm of (?:this|the) (?:\w+ )?(?:agreement|contract|license)|this agreement", before, re.IGNORECASE
            )
            else 0.0
        )
        score -= (
            0.6 if re.search(r"\b(?:renew|additional|extension|fiscal|calendar)", before[-80:], re.IGNORECASE) else 0.0
        )
        # "to commence on November 4, 1998 (the "Production Period")" is not the agreement's own begin.
        score -= 0.8 if _PART.match(flat.text[dates[0].end : dates[0].end + 60]) else 0.0
        found.append(_made(flat, "effective_term", dates[0], score, begin=match.start()))
    return _sorted([c for c in found if c and c.score >= 1.0])


def effective_same(context: RuleContext) -> list[Candidate]:
    """The agreement's own date, where the text lets it begin then."""
    flat = context.flat
    known = context.known.get("agreement_date")
    if not known:
        return []
    says = re.search(
        r"\b(?:effective|commenc\w{0,4}|begin\w{0,4}|in (?:full )?(?:force and )?effect|term|continue)\b[^.;]{0,90}?"
        r"\b(?:date (?:hereof|first (?:above )?(?:written|set forth|mentioned|stated)|"
        r"of this agreement|of execution|of signing|set forth above|"
        r"of the agreement|above|on which it is signed)|day and year first|execution (?:hereof|"
        r"of this)|upon (?:its )?(?:execution|signature|signing))",
        flat.text,
        re.IGNORECASE,
    )
    if says is None:
        return []
    before = flat.text[max(says.start() - 100, 0) : says.start()]
    plainly = bool(_OWN_BEGIN.search(before)) and says.group()[:4].lower() in {"effe", "comm", "begi", "in f", "in e"}
    made = candidate(
        flat, "effective_same", known, known, (says.start(), says.end()), score=0.9, strong=plainly, usual=plainly
    )
    return [made] if made else []


def _signatures(flat: Flat) -> int | None:
    """Where the signatures of the agreement begin; what follows them is schedules."""
    places = [
        m.start() for m in re.finditer(r"\bIN WITNESS (?:WHEREOF|HEREOF|THEREOF)\b|\bIn Witness Whereof\b", flat.text)
    ]
    if places:
        return places[0]
    signed = re.search(r"/s/|\bBy ?: ?[_/]|\bBY ?: ?[_/]", flat.text[len(flat.text) // 10 :])
    return max(len(flat.text) // 10 + signed.start() - 500, 0) if signed else None


def _made(
    flat: Flat,
    extractor: str,
    date: DateFound,
    score: float,
    *,
    strong: bool = True,
    usual: bool = True,
    begin: int | None = None,
    end: int | None = None,
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
    )


def _sorted(found: list[Candidate | None]) -> list[Candidate]:
    return sorted((c for c in found if c is not None), key=lambda c: (-c.score, c.at))
