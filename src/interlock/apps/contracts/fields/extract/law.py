"""Governing law: four rules that read a contract in different ways.

- `law_clause`: "governed by … the laws of X", "construed under the law of X".
- `law_reverse`: "the laws of X shall govern", "New York law applies", "subject to the laws of X".
- `law_heading`: the first law named under a heading such as "Governing Law".
- `law_mention`: the law that is named most, where nothing says that it governs. It only guesses.

A company "organized under the laws of Delaware" says nothing about the contract; nor do the rules of an arbitration,
or the law of a place that a tax, a licence or a security follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.fields.normalise.law import (
    PROVINCES,
    STATES,
    Named,
    adjective_in,
    jurisdiction_at,
    without_wholes,
)

_VERB = re.compile(
    r"\b(?:g ?overn(?:ed|s|ing)?|construed|constructed|interpreted|construction|interpretation|enforced|"
    r"enforceability|determined|decided|resolved|regulated|controlled|subject to)\b",
    re.IGNORECASE,
)
_LAWS_OF = re.compile(
    r"\bl ?a ?w ?s?(?:,? (?:rules|regulations|statutes|principles|jurisdiction)(?:,? (?:and|or) \w{1,15})?)? ?"
    r"(?:\([^)]{0,90}\) ?)?(?:,? ?(?:and|or) (?:the )?(?:exclusive )?jurisdiction(?: of the courts)? )?"
    r"(?:(?:as (?:applied|enforced|in effect) (?:in|by)|applicable (?:in|"
    r"to contracts made in)|(?:then )?in (?:force|effect) in|"
    r"(?:prevailing|existing|pertaining) in|o ?f|in|for|from) )",
    re.IGNORECASE,
)
_ADJECTIVE_LAW = re.compile(
    r"\b([A-Z][\w.']{1,14}(?: [A-Z][A-Za-z]{2,12}){0,2})(?: (?:State|"
    r"state))?(?:'s?)? (?:substantive |internal |contract |civil )?(?:[Ll]aws?|LAWS?)\b"
)
_COMPANY = re.compile(
    r"(?:organi[sz]ed|existing|incorporated|formed|established|chartered|registered|created|corporation|company|"
    r"partnership|constituted|good standing|domesticated|incorporation|licensed|qualified|admitted)\b"
    r"(?:[^.;]{0,60})$",
    re.IGNORECASE,
)
_OTHER_MATTER = re.compile(
    r"arbitrat|\btax|withholding|securit(?:y|ies) law|export|perfection|secured part|employment law|bankruptcy|"
    r"\bpatent law|copyright law|trademark law|privacy|escheat|insurance law|privilege|wage|labor law",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"\b(?:this|the|said|present) (?:[\w&/-]+ ){0,5}?(?:agreement|amendment|contract|license|"
    r"lease|guaranty|addendum|letter|plan|"
    r"warrant|note|deed|undertaking|instrument|document|terms|order|addenda)|"
    r"\bthe (?:validity|construction|interpretation|rights|parties)|"
    r"\ball (?:questions|matters|disputes|claims)|\bit shall be|\bhereof|\bhereto|\bhereunder",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\b(?:GOVERNING LAWS?|Governing Laws?|Governing law|APPLICABLE LAWS?|Applicable Laws?|"
    r"Applicable law|CHOICE OF LAWS?|Choice of Laws?|Choice of law|"
    r"CONTROLLING LAWS?|Controlling Laws?|LAW GOVERNING|Law Governing|LAWS GOVERNING|"
    r"Law of (?:the )?Contract|LAW AND JURISDICTION|"
    r"Law and Jurisdiction|Law & Jurisdiction|GOVERNED LAW|Law to Govern|Law; |LAW; |"
    r"Proper Law|PROPER LAW|Jurisdiction|JURISDICTION)\b"
)
_APPLIES = re.compile(
    r"^[^.;]{0,140}?\b(?:shall|will|must|is to|are to)?\s?(?:govern|apply|control|"
    r"be (?:applied|applicable|controlling|the governing))s?\b",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:other than|excluding|except|not (?:the|be|including)|without|irrespective of|"
    r"regardless of)\W+(?:\w+\W+){0,4}$",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\b(?:comply|compliance|complies|violat\w+|required (?:by|under)|permitted (?:by|under)|licensed)\b[^.;]{0,90}$",
    re.IGNORECASE,
)
_SAME_STATE = re.compile(
    r"^[ ,]{0,2}(?:and|or|and/or)(?: (?:by |in accordance with |under )?(?:the )?(?:internal |"
    r"substantive )?laws? of)? ",
    re.IGNORECASE,
)


def law_clause(context: RuleContext) -> list[Candidate]:
    """The usual clause: "shall be governed by and construed in accordance with the laws of the State of X"."""
    flat = context.flat
    found = []
    for start, end, named in _mentions(context):
        if _is_company(flat, start):
            continue
        before = flat.text[max(start - 260, 0) : start]
        cut = max((stop.end() for stop in re.finditer(r"(?<![A-Z.]\b\w)[.] (?=[A-Z])", before)), default=0)
        before = before[cut:]
        verbs = list(_VERB.finditer(before))
        if not verbs or _EXCEPT.search(before[-40:]):
            continue
        strongly = re.search(r"\bg ?overn|constru|interpreted", before, re.IGNORECASE)
        score = 2.0 if strongly else 0.6
        if _THIS.search(before):
            score += 1.0
        if _OTHER_MATTER.search(before):
            score -= 1.2
        gap = len(before) - verbs[-1].end()
        score -= gap / 200
        if _near_heading(flat, start):
            score += 0.8
        if not strongly and score < 1.0:
            continue
        found.append(_made(flat, "law_clause", start, end, named, score))
    for start, end, named in _adjectives(context):
        before = flat.text[max(start - 160, 0) : start]
        if re.search(
            r"\b(?:governed|construed|interpreted|decided|resolved|determined)\b[^.;]{0,110}$", before, re.IGNORECASE
        ) and not _EXCEPT.search(before[-40:]):
            found.append(_made(flat, "law_clause", start, end, named, 2.2 if _THIS.search(before) else 1.6))
    return _best(found)


def law_reverse(context: RuleContext) -> list[Candidate]:
    """The clause the other way round: "The laws of the State of X shall govern this Agreement"; "X law shall apply"."""
    flat = context.flat
    found = []
    for start, end, named in [*_mentions(context), *_adjectives(context)]:
        after = flat.text[end : end + 200]
        if _is_company(flat, start) or not _APPLIES.match(after):
            continue
        score = 1.0 + (1.0 if _THIS.search(after) else 0.0) - (1.0 if _OTHER_MATTER.search(after[:120]) else 0.0)
        score += 0.6 if _near_heading(flat, start) else 0.0
        found.append(_made(flat, "law_reverse", start, end, named, score))
    return _best([found_one for found_one in found if found_one and found_one.score >= 1.0])


def law_heading(context: RuleContext) -> list[Candidate]:
    """The first jurisdiction under a heading about the law that governs."""
    flat = context.flat
    found = []
    mentions = sorted([*_mentions(context), *_adjectives(context)], key=lambda mention: mention[0])
    for heading in _HEADING.finditer(flat.text):
        weak = "urisdiction" in heading.group() or heading.group().isupper() is False
        for start, end, named in mentions:
            if heading.end() <= start <= heading.end() + 450:
                if _is_company(flat, start):
                    continue
                between = flat.text[heading.end() : start]
                score = 1.5 - len(between) / 400 - (0.3 if weak else 0.0)
                score += 0.5 if re.search(r"govern|constru", between, re.IGNORECASE) else 0.0
                found.append(_made(flat, "law_heading", start, end, named, score))
                break
    return _best(found)


def law_mention(context: RuleContext) -> list[Candidate]:
    """The jurisdiction whose laws are named most, outside of companies' descriptions."""
    flat = context.flat
    places = [
        m
        for m in _mentions(context)
        if not _is_company(flat, m[0]) and not _DUTY.search(flat.text[max(m[0] - 120, 0) : m[0]])
    ]
    if not places:
        return []
    most, _ = Counter(named.name for _, _, named in places).most_common(1)[0]
    start, end, named = [m for m in places if m[2].name == most][-1]
    made = _made(flat, "law_mention", start, end, named, 0.5, strong=False)
    return [made] if made else []


def _mentions(context: RuleContext) -> list[tuple[int, int, Named]]:
    """Every "laws of X", with the bounds of the words and X."""
    if "law_mentions" not in context.memo:
        context.memo["law_mentions"] = list(_find_mentions(context.flat.text))
    found: list[tuple[int, int, Named]] = context.memo["law_mentions"]
    return found


def _find_mentions(text: str) -> Iterator[tuple[int, int, Named]]:
    for match in _LAWS_OF.finditer(text):
        named = jurisdiction_at(text, match.end())
        if named is not None:
            yield match.start(), named.end, _joined(text, named)


def _joined(text: str, named: Named) -> Named:
    """Two states that one clause names together: "the laws of Delaware and New York"."""
    link = _SAME_STATE.match(text[named.end : named.end + 80])
    if link is None:
        return named
    second = jurisdiction_at(text, named.end + link.end())
    if second is None or second.name == named.name:
        return named
    if (named.name, second.name in STATES) == ("United States", True) or (named.name, second.name in PROVINCES) == (
        "Canada",
        True,
    ):
        return second
    same_level = any(named.name in level and second.name in level for level in (STATES, PROVINCES))
    if not same_level:
        return named
    return Named("; ".join(sorted([named.name, second.name])), second.end)


def _adjectives(context: RuleContext) -> list[tuple[int, int, Named]]:
    """Every "New York law" and "English law"."""
    if "law_adjectives" not in context.memo:
        found = []
        text = context.flat.text
        for match in _ADJECTIVE_LAW.finditer(text):
            for word in re.finditer(r"\S+", match[1]):
                start = match.start(1) + word.start()
                named = jurisdiction_at(text, start)
                if named is None or named.end > match.end(1) + 8:
                    named = adjective_in(text[start : match.end(1)])
                    named = Named(named.name, start + named.end) if named else None
                if named is not None and text[named.end : match.end()].lower().split()[-1:] in (["law"], ["laws"]):
                    found.append((start, match.end(), named))
                    break
        context.memo["law_adjectives"] = found
    cached: list[tuple[int, int, Named]] = context.memo["law_adjectives"]
    return cached


def _is_company(flat: Flat, start: int) -> bool:
    before = flat.text[max(start - 90, 0) : start]
    company = _COMPANY.search(before)
    if company is None:
        return False
    return not re.search(r"\bgovern|constru|interpret", before[company.start() :], re.IGNORECASE)


def _near_heading(flat: Flat, start: int) -> bool:
    return bool(_HEADING.search(flat.text, max(start - 350, 0), start))


def _made(
    flat: Flat, extractor: str, start: int, end: int, named: Named, score: float, strong: bool = True
) -> Candidate | None:
    sentence = flat.sentence(start, 700)
    first = max(sentence[0], start - 400)
    last = min(max(sentence[1], end), end + 250)
    while first > sentence[0] and flat.text[first - 1] != " ":
        first -= 1
    while last < sentence[1] and flat.text[last] != " ":
        last += 1
    names = "; ".join(without_wholes(named.name.split("; ")))
    return candidate(
        flat, extractor, names, names, (first, last), (start, end), score=score, strong=strong, usual=score >= 1.5
    )


def _best(found: list[Candidate | None]) -> list[Candidate]:
    return sorted((c for c in found if c is not None), key=lambda c: (-c.score, c.at))
