"""The date from which an agreement applies.

Rules: `effective_definition` ("Effective Date" beside a date), `effective_opening` ("effective as of …" near the
begin), `effective_term` (the begin of the term), and `effective_same`, which takes the agreement's date where the text
says so.
"""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.dates import ANOTHER, dated, ranked_candidates, signatures_begin
from interlock.apps.contracts.fields.extract.opening import KINDS, opening
from interlock.apps.contracts.fields.normalise.dates import as_date, find_dates

_LATEST_BEGIN = 3 * 365
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
_OF_ANOTHER = re.compile(
    rf"\b(?:the|that|certain|an?|its|said|original)\b (?:[\w&/-]+ ){{0,5}}?(?:{KINDS})\b(?! (?:is|shall|will)\b)"
    r"[^.;]{0,70}"
    r"\b(?:with|having|bearing|dated|entered into|of|and)\b[^.;]{0,25}$",
    re.IGNORECASE,
)
_PART = re.compile(
    r" ?,? ?\((?:the |such )?[^()\"]{0,20}\"(?!initial|term|contract|licen[cs]e|original|agreement|effective)"
    r"[\w ]{2,30}"
    r"(?:period|phase|term)\"",
    re.IGNORECASE,
)


def effective_definition(context: RuleContext) -> list[Candidate]:
    """The date beside the words Effective Date: "Effective Date: May 6, 2003", "May 6, 2003 (the "Effective Date")"."""
    flat = context.flat
    found = []
    signed = signatures_begin(flat)
    for match in re.finditer(
        r"\b(?:Effective|EFFECTIVE|Commencement|COMMENCEMENT) ?(?:Date|DATE)\b|\bcommencement date\b", flat.text
    ):
        commencing = match.group()[0] in "Cc"
        ahead = flat.text[match.end() : match.end() + 160]
        means = re.match(
            r"[\"')]{0,3} ?(?:(?:of|for) (?:this|the) \w+ ?)?(?:\([^)]{0,60}\) ?)?(?::|-|shall (?:be|mean)|"
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
                found.append(dated(flat, "effective_definition", dates[0], score, begin=match.start(), strong=not late))
        behind = flat.text[max(match.start() - 140, 0) : match.start()]
        if re.search(r"[(\"][^()]{0,40}$", behind[-45:]):
            dates = find_dates(flat.text, max(match.start() - 140, 0), match.start())
            if (
                dates
                and not re.search(r"[.;]", flat.text[dates[-1].end + 1 : match.start()])
                and match.start() - dates[-1].end < 60
            ):
                score = 2.0 - (0.5 if commencing else 0.0) - late
                found.append(dated(flat, "effective_definition", dates[-1], score, end=match.end(), strong=not late))
    return ranked_candidates(found)


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
        score -= 0.8 if ANOTHER.search(before) else 0.0
        if score >= 1.0:
            found.append(dated(flat, "effective_opening", dates[0], score, begin=match.start()))
    return ranked_candidates(found)


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
        score -= 0.8 if _far(context.known.get("agreement_date"), dates[0].value) else 0.0
        found.append(dated(flat, "effective_term", dates[0], score, begin=match.start()))
    return ranked_candidates([c for c in found if c and c.score >= 1.0])


def _far(agreed: object, value: str) -> bool:
    """Years after the agreement: the begin of something else, as of a rate or an option."""
    day, begin = as_date(str(agreed or "")), as_date(value)
    return day is not None and begin is not None and (begin - day).days > _LATEST_BEGIN


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
        flat,
        "effective_same",
        known,
        known,
        (says.start(), says.end()),
        score=0.9,
        strong=plainly,
        usual=plainly,
        marks=("by reference to the agreement date",),
        basis=f"the agreement date {known}",
    )
    return [made] if made else []
