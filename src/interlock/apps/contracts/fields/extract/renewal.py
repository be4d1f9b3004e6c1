"""The renewal of a contract, and the notice that stops it."""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.term import RENEW, sentences_with
from interlock.apps.contracts.fields.normalise.numbers import days_of, find_durations

_NOTICE_END = re.compile(
    r"\b(?:not (?:to )?(?:renew|extend)|non-?renew\w*|terminat\w+|cancel\w*|notif\w+|notice|intention|elect\w*)\b",
    re.IGNORECASE,
)


def renewal(context: RuleContext) -> list[Candidate]:
    """How long a renewal lasts: "shall automatically renew for successive one (1) year terms"."""
    flat = context.flat
    found = []
    for start, end in sentences_with(context, "renew", "extend", "extension", "successive"):
        text = flat.text[start:end]
        word = RENEW.search(text)
        if word is None or not re.search(r"\b(?:term|agreement|contract|license)\b|automatic", text, re.IGNORECASE):
            continue
        for duration, first, last in find_durations(text, word.start()):
            after = text[last : last + 50]
            if re.match(
                r"[^.;]{0,25}\b(?:notice|prior|before|in advance|written)", after, re.IGNORECASE
            ) or duration.endswith("D"):
                continue
            score = 1.0 + (
                0.8 if re.search(r"automatic|successive|renew", text[word.start() : first], re.IGNORECASE) else 0.0
            )
            score += 0.4 if re.search(r"\bthis agreement|the term", text, re.IGNORECASE) else 0.0
            score -= (first - word.start()) / 300
            made = candidate(
                flat, "renewal", text[first:last], duration, (start, end), (start + first, start + last), score=score
            )
            if made and score >= 1.3:
                found.append(made)
            break
    return sorted(found, key=lambda c: (-c.score, c.at))


def renewal_notice(context: RuleContext) -> list[Candidate]:
    """How long before the end a party must say that it does not renew."""
    flat = context.flat
    found = []
    for start, end in sentences_with(context, "renew", "extend", "then-current", "then current", "expiration"):
        text = flat.text[start:end]
        if not _NOTICE_END.search(text) or not re.search(r"renew|extend|successive", text, re.IGNORECASE):
            continue
        for duration, first, last in find_durations(text):
            around = text[max(first - 90, 0) : last + 90]
            if not re.search(r"\b(?:prior|before|advance|preceding|notice)\b", around, re.IGNORECASE):
                continue
            if not re.search(
                r"\b(?:end|expir|terminat|renew|anniversary|term|conclusion)\w*", text[last : last + 120], re.IGNORECASE
            ):
                continue
            days = days_of(duration)
            if days is None or days > 740:
                continue
            score = 1.0 + (0.6 if re.search(r"unless|not (?:to )?renew|non-?renew", text, re.IGNORECASE) else 0.0)
            score += (
                0.4
                if re.search(r"at least|less than|fewer than", text[max(first - 30, 0) : first], re.IGNORECASE)
                else 0.0
            )
            score += 0.2 if duration.endswith("D") else 0.0
            made = candidate(
                flat,
                "renewal_notice",
                text[first:last],
                duration,
                (start, end),
                (start + first, start + last),
                score=score,
            )
            if made and score >= 1.5:
                found.append(made)
    return sorted(found, key=lambda c: (-c.score, c.at))
