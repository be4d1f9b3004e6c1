"""How long a contract lasts: its end.

- `end_date`: a day is written: "shall expire on December 31, 2005".
- `end_after`: a duration is written and the start is known: "continue for five (5) years".
- `end_never`: it goes on until somebody ends it.
"""

from __future__ import annotations

import re
from datetime import timedelta

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.normalise.dates import PERPETUAL, add_months, as_date, find_dates
from interlock.apps.contracts.fields.normalise.numbers import days_of, find_durations, months_of

_KIND = (
    r"(?:agreement|contract|license|licence|amendment|addendum|lease|letter|deed|arrangement|engagement|appointment)"
)
_OWN_TERM = re.compile(
    rf"\b(?:term|duration|period) of (?:this|the|such|your) (?:[\w-]+ ){{0,3}}{_KIND}\b(?![^.;]{{0,40}}\bfollowing)"
    rf"|\bthis (?:[\w-]+ ){{0,3}}{_KIND}(?: \([^)]{{0,60}}\))?,?(?: [^.;]{{0,90}}?,)? (?:shall|"
    rf"will|is|becomes?|commences?|begins?|has|and shall|may)\b[^.;]{{0,60}}?"
    r"\b(?:effective|effect|force|commence|begin|start|continue|remain|have|expire|terminate|run|last|extend|for)"
    r"|\b(?:arrangement|engagement) (?:starts|begins|commences|runs)\b"
    rf"|\b(?:this|under this) (?:[\w-]+ ){{0,3}}{_KIND},? "
    r"(?:remains|continues|ends|expires|runs|lasts|terminates|stays)\b"
    r"|\b(?:the|initial|original) term (?:shall|will|is|of)\b|\bterm: |\bterm shall mean|"
    r"\bterm means|\bcontract period\W+(?:shall|means|is)",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\(?[^()]{0,30}\"(?:the )?(?:initial |original |primary |contract |license |agreement )?(?:term|period)\"",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:^|[.\d] )(?:TERM|Term|DURATION|Duration|TERM OF AGREEMENT|Term of Agreement|"
    r"TERM AND TERMINATION|Term and Termination|INITIAL TERM|Initial Term)\b[ .:;-]"
)
_OTHER_PERIOD = re.compile(
    r"\bduring the (?:\w+ )?(?:term|period)|\bterm of (?:this|the) \w+ and (?:for|the)|"
    r"(?:after|following|upon) (?:the |any |such )?(?:\w+ ){0,2}(?:terminat|expir)|"
    r"\bfor each\b|\bwithin\b|\bevent this|\bif this|\bin the event\b|\bhaving a term|"
    r"\bwarrant|\bconfidential|\bexisting\b|\brecords\b|\baudit|\binsurance\b|\bpolicy\b|\bcoverage",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:until|through|thru|expir\w{0,4}(?: on| at| as of)?|terminat\w{0,5}(?: on| at|"
    r" as of)?|end(?:s|ing)?(?: on| at| as of)?|conclud\w{0,4}(?: on)?|to and including|up to|"
    r""
    r"expiration date|termination date|(?:no|not|event) later than|midnight(?: on)?|"
    r"close of business(?: on)?)\b[^.;]{0,45}?$"
    r"|\b(?:19|20)\d\d,? (?:to|-) $",
    re.IGNORECASE,
)
_YEAR_ENDING = re.compile(
    r"\b(?:year|quarter|month|season)s? (?:ends?|ending|ended|through)\b[^.;]{0,15}$", re.IGNORECASE
)
_OF_SIGNING = re.compile(
    r"(?: of| from| after| following)? (?:the )?(?:date|execution|signing) (?:of (?:this|the) \w+|hereof|first)",
    re.IGNORECASE,
)
_EXTENDED = re.compile(
    r"\bhereby (?:extended|amended|changed|renewed)\b[^.;]{0,80}\b(?:to|until|through)\b[^.;]{0,20}$", re.IGNORECASE
)
_YEAR_DEFINED = re.compile(r"\"[^\"]{0,30}(?:year|quarter|month)\" (?:means|shall mean)", re.IGNORECASE)
_NO_LENGTH = re.compile(r"\b(?:period|term) of (?:\[|_{2}|\*{2})")
_AGAIN = re.compile(
    r"\bautomatic(?:ally)? (?:be )?(?:renew|extend)|\b(?:renew|extend)(?:s|ed)? automatic", re.IGNORECASE
)
_FROM_ELSE = re.compile(
    r" ?(?:period|term)?,? ?(?:from|after|following|as from|measured from|of)(?: and after)?(?: the)? "
    r"(?!(?i:the|date|effective|commencement|"
    r"execution|signing|day|anniversary|first|last|first day|initial|such|this|agreement|contract)\b)"
    r"(?:[A-Za-z]+ ){0,3}?(?:launch|opening|closing|deliver\w+|completion|acceptance|installation|"
    r"distribution|approval|publication|availability|"
    r"start|first sale|[A-Z][a-z]+ Date)\b"
)
_LONGER = re.compile(r"\b(?:longer|later|latest|longest|greater) of\b[^.;]{0,120}$", re.IGNORECASE)
_EVENT_DATE = re.compile(
    r"\b(?:effective|commence|begin)\w*\b[^.;]{0,40}\b(?:date|day|"
    r"time)\b(?: \([^)]{0,40}\))? (?:that |on which |upon which |when )?the (?!part|last|agreement|contract)"
    r"[^.;]{0,160}$",
    re.IGNORECASE,
)
"""The term begins with an event whose day the contract does not have."""
_FROM_THEN = re.compile(
    r"(?: period)?,? ?(?:to (?:commence|begin)|commencing|beginning|starting)\b[^.;\d]{0,40}?"
    r"(?=(?:\d|January|February|March|"
    r"April|May|June|July|August|September|October|November|December))"
)
_ANOTHER_PERIOD = re.compile(
    r"[^.;]{0,80}\(?(?:the |such )?\"(?!initial|term|contract|licen[cs]e|original|agreement)[\w ]{2,30}"
    r"(?:period|phase)\"",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"\b(?:continue|remain|be|is|are|shall continue|effect|"
    r"force)\b[^.;]{0,70}\b(?:until (?:such time as )?(?:it is |they are |this agreement is |"
    r"either party |the agreement is )?"
    r"(?:terminat|cancel|ended|(?:either|one|any) party (?:gives|delivers|provides))|indefinite|"
    r"in perpetuity|perpetual|as long as|unless (?:and until )?(?:sooner |"
    r"earlier |otherwise )?terminat)"
    r"|\bperpetual (?:term|and|until)|\bterm of this agreement (?:is|shall be) (?:perpetual|"
    r"indefinite)|\b(?:has|have|having) no (?:fixed|definite|specified) (?:term|duration|end)"
    r"|\bof indefinite duration|\bfor an (?:indefinite|unlimited) (?:term|period)",
    re.IGNORECASE,
)
RENEW = re.compile(
    r"\b(?:renew\w{0,4}|extend(?:ed|s)?|extension|successive|additional (?:term|period)s?)\b", re.IGNORECASE
)


def end_date(context: RuleContext) -> list[Candidate]:
    """A day on which the contract ends, as it is written."""
    flat = context.flat
    found = []
    for start, end, weight in _term_sentences(context):
        for date in find_dates(flat.text, start, end):
            before = flat.text[start : date.start]
            if not (_END.search(before[-70:]) or _EXTENDED.search(before)) or _YEAR_ENDING.search(before[-40:]):
                continue
            if _YEAR_DEFINED.search(before):
                continue
            extended = _EXTENDED.search(before)
            again = RENEW.search(before[-120:]) and not extended
            score = (
                weight + 0.5 + (0.5 if extended else 0.0) - (1.0 if again else 0.0) - (0.5 if not date.full else 0.0)
            )
            made = candidate(
                flat,
                "end_date",
                flat.text[date.start : date.end],
                date.value,
                (_last_date_before(flat.text, max(start, date.start - 250), date.start), date.end),
                (date.start, date.end),
                score=score,
                marks=_term_marks(weight, flat.text[start:end]),
            )
            if made and score >= 1.0:
                found.append(made)
    return _sorted(found)


def end_after(context: RuleContext) -> list[Candidate]:
    """The start plus the duration that is written."""
    flat = context.flat
    start_value = context.known.get("effective_date") or context.known.get("agreement_date")
    if not isinstance(start_value, str):
        return []
    found = []
    for start, end, weight in _term_sentences(context):
        text = flat.text[start:end]
        for duration, first, last in sorted([*find_durations(text), *_anniversaries(text)], key=lambda d: d[1]):
            before, after = text[:first], text[last:]
            if duration.endswith("D") or re.search(
                r"\b(?:notice|prior|within|every|each)\b[^.;]{0,25}$|\b(?:first|last) $", before[-50:], re.IGNORECASE
            ):
                continue
            if (
                RENEW.search(before[-150:])
                or _AGAIN.search(before)
                or _LONGER.search(before[-160:])
                or _EVENT_DATE.search(before[-220:])
                or re.match(
                    r"[^.;]{0,25}\b(?:notice|prior|before|(?:after|following) (?:the |any )?(?:terminat|expir))",
                    after,
                    re.IGNORECASE,
                )
            ):
                continue
            own_term = re.search(r"\bterm of (?:this|the) \w+ (?:shall|will|is)\b", after, re.IGNORECASE)
            if own_term and _ANOTHER_PERIOD.match(after):
                continue  # the first of two periods; the term comes after it
            begins = re.search(r"\b(?:begin|commenc|start|effective)\w*[^.;]{0,40}$", before[:200], re.IGNORECASE)
            own = find_dates(before[-120:]) if begins else []
            begin = own[-1].value if own and own[-1].full else start_value
            if _FROM_ELSE.match(after):
                continue  # "eighteen months following the launch": nobody knows here when that is
            behind = _FROM_THEN.match(after)
            if behind and (then := find_dates(after, behind.end(), behind.end() + 40)) and then[0].full:
                begin = then[0].value
            source = "effective date" if context.known.get("effective_date") else "agreement date"
            if begin != start_value:
                source = "date in the sentence"
            counted = "anniversary" in text[first:last].lower() or bool(
                re.search(r"\b(?:date|day) (?:that|which) is $", before[-20:], re.IGNORECASE)
            )
            signing = context.known.get("agreement_date")
            if counted and _OF_SIGNING.match(after) and isinstance(signing, str):
                begin, source = signing, "agreement date"
            value = _after(begin, duration, whole_years=not counted)
            if value is None:
                continue
            score = weight + (
                0.6
                if re.search(
                    r"\b(?:for|period of|term of|term:|of|is|be|until the|on the|date that is)\b[^.;]{0,30}$",
                    before,
                    re.IGNORECASE,
                )
                else 0.0
            )
            made = candidate(
                flat,
                "end_after",
                value,
                value,
                (start, end),
                (start + first, start + last),
                score=score,
                marks=(f"counted from the {source}", *_doubtful(context, source), *_term_marks(weight, text)),
                basis=f"{text[first:last]} from {begin} ({source})",
            )
            if made and score >= 1.2:
                found.append(made)
            break
    return _sorted(found)


def end_never(context: RuleContext) -> list[Candidate]:
    """No end: it goes on until somebody terminates it."""
    flat = context.flat
    found = []
    for start, end, weight in _term_sentences(context):
        text = flat.text[start:end]
        match = _NEVER.search(text)
        if (
            match is None
            or weight < 0.8
            or _NO_LENGTH.search(text)
            or any(not duration.endswith("D") for duration, _, _ in find_durations(text))
            or re.search(r"\buntil the (?:\w+ )?date\b", text, re.IGNORECASE)
            or any(_END.search(text[: d.start][-70:]) for d in find_dates(text))
        ):
            continue
        surely = re.search(r"indefinit|perpetu", match.group(), re.IGNORECASE)
        made = candidate(
            flat,
            "end_never",
            PERPETUAL,
            PERPETUAL,
            (start, end),
            score=weight + (0.5 if surely else 0.0),
            strong=bool(surely) or weight >= 1.4,
            marks=("says indefinite" if surely else "until it is terminated", *_term_marks(weight, text)),
        )
        if made:
            found.append(made)
    return _sorted(found)


def _anniversaries(text: str) -> list[tuple[str, int, int]]:
    words = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    found = []
    for match in re.finditer(
        rf"\b({'|'.join(words)}|\d{{1,2}}(?:st|nd|rd|th))(?: \(\w{{1,5}}\))? (?:year )?anniversary\b",
        text,
        re.IGNORECASE,
    ):
        word = match[1].lower()
        count = words.index(word) + 1 if word in words else int(re.sub(r"\D", "", word))
        found.append((f"P{count}Y", match.start(), match.end()))
    return found


def _after(start: str, duration: str, *, whole_years: bool = True) -> str | None:
    months = months_of(duration)
    day = as_date(start)
    if day is None:
        match = re.fullmatch(r"(\d{4})-(\d\d|XX)-XX", start)
        if match is None or months is None or months % 12:
            return None
        return f"{int(match[1]) + months // 12:04d}-{match[2]}-XX"
    if months is not None:
        try:
            end = add_months(day, months)
        except ValueError:
            return None
        # Whole years from New Year's Day are calendar years.
        if whole_years and months % 12 == 0 and (day.month, day.day) == (1, 1):
            end -= timedelta(days=1)
        return end.isoformat()
    days = days_of(duration)
    return (day + timedelta(days=int(days))).isoformat() if days is not None and days < 40_000 else None


def _last_date_before(text: str, start: int, end: int) -> int:
    """From behind the last date before `end`, so that a quote has the one date that it is about."""
    others = find_dates(text, start, end)
    return others[-1].end if others else start


def sentences_with(context: RuleContext, *words: str) -> list[tuple[int, int]]:
    flat = context.flat
    return [
        (start, min(end, start + 1_500))
        for start, end in flat.sentences()
        if any(flat.lower.find(word, start, end) >= 0 for word in words)
    ]


def _term_sentences(context: RuleContext) -> list[tuple[int, int, float]]:
    """Sentences about how long the contract lasts, each with how surely it is about that."""
    if "term_sentences" not in context.memo:
        flat = context.flat
        found = []
        for start, end in sentences_with(context, "term", "effect", "expire", "period", "continue", "duration"):
            text = flat.text[start:end]
            own = _OWN_TERM.search(text)
            defines = _DEFINES.search(text)
            heading = _HEADING.search(flat.text, max(start - 40, 0), min(start + 60, len(flat.text)))
            weight = (0.8 if own else 0.0) + (0.7 if defines else 0.0) + (0.5 if heading else 0.0)
            weight -= 0.6 if _OTHER_PERIOD.search(text[: own.start() + 40 if own else 200]) else 0.0
            if weight >= 0.5:
                found.append((start, end, weight))
        context.memo["term_sentences"] = found
    cached: list[tuple[int, int, float]] = context.memo["term_sentences"]
    return cached


def _doubtful(context: RuleContext, source: str) -> list[str]:
    doubtful = source.replace(" ", "_") in context.memo.get("doubtful", ())
    return ["counted from a doubtful date"] if doubtful else []


def _term_marks(weight: float, sentence: str) -> tuple[str, ...]:
    """What tells whether a sentence is the one about the term of the contract."""
    return (
        "surely the term" if weight >= 1.2 else ("likely the term" if weight >= 0.8 else "hardly the term"),
        *(
            ["earlier or later of two"]
            if re.search(r"\b(?:earlier|later|longer|shorter) of\b", sentence, re.IGNORECASE)
            else []
        ),
        *(["in a long sentence"] if len(sentence) > 600 else []),
    )


def _sorted(found: list[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda c: (-c.score, c.at))
