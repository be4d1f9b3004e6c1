"""What a document calls itself."""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.opening import KINDS, opening

_KIND = re.compile(rf"\b(?:{KINDS}|contract|agreements)\b", re.IGNORECASE)
_SMALL = {"and", "or", "of", "the", "to", "for", "in", "on", "by", "with", "between", "a", "an", "from", "at", "as"}
_NOT_TITLE = re.compile(
    r"^\W*(?:exhibit|schedule|annex|appendix|table of contents|source|confidential|execution|draft|portions|page|dated|"
    r"certain|\*|between|by and|and\b|form 8|this\b|redacted)",
    re.IGNORECASE,
)


def title_line(context: RuleContext) -> list[Candidate]:
    """The first line or lines above the opening that name a kind of document."""
    flat = context.flat
    at = opening(context)
    limit = max(min(at.start if at else 1_500, 4_000), 200)
    lines = [line for line in flat.lines()[:80] if flat.flat_at(line.start) <= limit]
    for index, line in enumerate(lines):
        if (
            not _KIND.search(line.text)
            or _NOT_TITLE.search(line.text)
            or len(line.text) > 110
            or line.text.endswith((",", ";"))
        ):
            continue
        if not _capitals(line.text) or re.search(r"[.,;] \w", line.text):
            continue
        if re.search(r"[a-z]", line.text) and re.search(r"\b(?:is|shall|hereby|has|have|will|are|was)\b", line.text):
            continue
        first = last = index
        # A title over several lines: the lines above end in a word that goes on.
        while first > 0 and last - first < 3 and _goes_on(lines[first - 1].text, line.text.isupper()):
            first -= 1
        while (
            last + 1 < len(lines)
            and last - first < 3
            and re.search(r"\b(?:and|AND|of|OF|to|TO|the|THE|for|FOR|&)$|-$", lines[last].text)
        ):
            last += 1
        start, end = flat.flat_at(lines[first].start), flat.flat_at(lines[last].end)
        text = flat.text[start:end].strip(" -_*")
        text = re.sub(r"^(?:exhibit \S+|\[?execution (?:copy|version)\]?)\s+", "", text, flags=re.IGNORECASE)
        made = candidate(flat, "title_line", text, text.casefold(), (start, end))
        return [made] if made else []
    return []


def title_opening(context: RuleContext) -> list[Candidate]:
    """The words between "This" and the bracket in the opening: "This Reseller Agreement (the "Agreement")"."""
    flat = context.flat
    at = opening(context)
    if at is None:
        return []
    match = re.compile(
        rf"\b(?:THIS|This|this|The|THE) (?P<title>(?:[A-Z\d#&][\w&'/,.#-]*,? |and |AND |of |OF |"
        rf"to |TO |for |the |THE |in |on )"
        rf"{{0,14}}?(?:(?i:{KINDS})))\b(?! (?i:{KINDS})\b)"
    ).search(flat.text, at.start, max(at.names, at.start + 250))
    if match is None or " " not in match["title"]:
        return []
    end = match.end("title")
    made = candidate(
        flat, "title_opening", match["title"], match["title"].casefold(), (match.start("title"), end), score=0.9
    )
    return [made] if made else []


def _capitals(line: str) -> bool:
    """Every word that means something begins with a capital letter."""
    words = [w for w in re.findall(r"[^\W\d_][\w'-]*", line) if w not in _SMALL]
    return bool(words) and sum(w[0].isupper() for w in words) >= len(words) - (1 if words[0].startswith("e") else 0)


def _goes_on(above: str, capitals: bool) -> bool:
    if _NOT_TITLE.search(above) or len(above) > 60:
        return False
    if re.search(r"\b(?:and|AND|of|OF|to|TO|the|THE|for|FOR|&)$|-$", above):
        return True
    return (
        capitals
        and above.isupper()
        and not re.search(r"\d|\.|\b(?:INC|CORP|LLC|LTD|COMPANY|LOGO)\b", above)
        and len(above.split()) <= 6
    )
