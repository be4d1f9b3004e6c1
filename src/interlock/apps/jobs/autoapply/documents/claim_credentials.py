"""Degrees, certificates, awards and permissions that a text says somebody has.

`asked` are the places where the posting's title or company is applied for, and not claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from interlock.apps.jobs.autoapply.documents import claim_patterns as p
from interlock.apps.jobs.autoapply.documents.amounts import stems
from interlock.apps.jobs.autoapply.documents.claim_finding import ClaimFinding, Kind, finding
from interlock.apps.jobs.autoapply.documents.known_facts import KnownFacts
from interlock.apps.jobs.autoapply.documents.text_view import TextView, phrase


def degrees(view: TextView, known: KnownFacts, asked: set[int]) -> Iterator[ClaimFinding]:
    """Degrees, and the fields that they are said to be in. Others than one's own may be named as the profile does."""
    for family, pattern in p.DEGREES.items():
        if any(pattern.search(one) for one in known.degrees) or (family == "study" and known.schooling):
            continue
        for one in pattern.finditer(view.low):
            if one.start() not in asked and not _near(view, known, one.span()):
                yield finding(view, "degree", *one.span(), "the profile has no such degree")
    schooling = known.schooling.split()
    written = " ".join(one.degree or "" for one in known.seeker.profile.education)
    for one in p.WRITTEN_DEGREE.finditer(view.text):
        if one[0].strip() not in written and one.start() not in asked:
            yield finding(view, "degree", *one.span(), "the profile has no such degree")
    for one in (*p.FIELD.finditer(view.low), *p.FIELD_BEFORE.finditer(view.low)):
        if phrase(one[1]) not in schooling and one.start(1) not in asked and one[1] not in p.NO_FIELD:
            yield finding(view, "degree", *one.span(1), "the profile has no degree in it")


def certificates(view: TextView, known: KnownFacts, asked: set[int]) -> Iterator[ClaimFinding]:
    """Certificates, awards, and permissions to stay or to work."""
    kinds: tuple[tuple[Kind, re.Pattern[str], str], ...] = (
        ("certificate", p.CERTIFICATE, "the profile has no such certificate or award"),
        ("permission", p.PERMISSION, "the profile's words do not say it"),
    )
    for kind, pattern, why in kinds:
        for one in pattern.finditer(view.low):
            if one.start() not in asked and not _near(view, known, one.span()):
                yield finding(view, kind, *one.span(), why)


def _near(view: TextView, known: KnownFacts, span: tuple[int, int]) -> bool:
    """Whether the profile has these words beside one of the others of the sentence."""
    said = phrase(view.text[slice(*span)]).split()
    around = stems([token for token in view.sentence_at(span[0]) if token.start not in range(*span)])
    return bool(said) and known.has_near(max(said, key=len)[:7], around)
