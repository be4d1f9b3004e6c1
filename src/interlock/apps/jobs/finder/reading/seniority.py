"""Seniority, and whether somebody leads or manages: by the title, then by the years that are asked for."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Value

_TITLES = (
    (
        "intern",
        r"intern(?:ship)?|trainee|working student|werkstudent(?:in)?|praktik\w*|co-op"
        r"|apprentice(?:ship)?|stagiaire|becari[oa]|stage",
    ),
    ("director", r"director|vp|vice president|head of|chief|cto|cio|ciso|avp|directeur|leiter(?:in)?"),
    ("principal", r"principal|distinguished|fellow"),
    ("staff", r"(?<!technical )(?<!of )staff(?! augmentation| accountant| nurse)"),
    ("lead", r"lead(?! gen| time| scoring| management| qualif)|team lead|tech lead|teamlead|leader|l\u00edder"),
    (
        "senior",
        r"senior|sr|snr|s\u00eanior|s\u00e9nior|senioren|ssr?|expert|architect|iii|iv"
        r"|(?<=engineer )[345v]|(?<=developer )[345v]|(?<=analyst )[345v]|(?<=sde[ -])[345]|(?<=swe[ -])[345]"
        r"|l[56]|level [456]",
    ),
    (
        "mid",
        r"mid|mid-level|mid level|midlevel|intermediate|medior|pleno|semi[- ]senior|ii"
        r"|(?<=engineer )2|(?<=developer )2|(?<=analyst )2|(?<=sde[ -])2|(?<=swe[ -])2",
    ),
    (
        "junior",
        r"early[- ]career|junior|jr|entry[- ]level|entry|graduate|new grad|j\u00fanior|berufseinsteiger"
        r"|d\u00e9butant|associate|i|(?<=engineer )1|(?<=developer )1|(?<=analyst )1",
    ),
)
_TITLE = re.compile("|".join(rf"(?P<{name}>(?<![\w&])(?:{words})(?![\w&]))" for name, words in _TITLES))
_ORDER = ("intern", "principal", "director", "staff", "lead", "semi", "senior", "mid", "junior")
_SEMI = re.compile(r"\bsemi[- ]senior\b|\bssr\b")
_MANAGER = re.compile(
    r"(?<!product )(?<!project )(?<!program )(?<!account )(?<!community )(?<!marketing )(?<!success )(?<!office )"
    r"(?<!case )(?<!content )(?<!release )(?<!partner )(?<!sales )(?<!brand )(?<!portfolio )(?<!growth )(?<!category )"
    r"(?<!product marketing )\bmanager\b|teamleiter|\bvp\b|vice president|head of|\bdirector\b|\bcto\b"
    r"|\bchief \w+ officer\b"
)
"""Titles of people who have people; a product manager has a product."""
_MANAGES_ENGINEERS = re.compile(
    r"\b(?:engineering|development|software|data|qa|devops|platform|security|technical) manager\b|\bmanager,? (?:of )?"
    r"(?:software |data |platform |product )?engineering\b"
)
_BODY = re.compile(
    r"\b(?P<senior>senior|sr\.)|\b(?P<junior>junior|jr\.|entry[- ]level)|\b(?P<mid>mid[- ]level)"
    r"|\b(?P<staff>staff)|\b(?P<principal>principal)|\b(?P<lead>lead)\b"
)
_ROLE = re.compile(
    r"(?:looking for|seeking|hiring|searching for|need|join us as|as|recherchons|suchen"
    r"|buscamos) (?:an?|our|eine?n?|une?|the)? ?(?:[\w-]+ ){0,3}$"
)


def seniority_of(document: Document, years: int | None, *, guess: bool) -> Value:
    low = folded(document.title)
    found = {one.lastgroup: one.group() for one in _TITLE.finditer(low)}
    if _SEMI.search(low):
        return Value("mid", "title", document.title)
    if not found and _MANAGES_ENGINEERS.search(low):
        return Value("lead", "title", document.title)
    for name in _ORDER:
        if name in found:
            return Value(name, "title", document.title)
    stated = _stated(document)
    if stated is not None:
        return stated
    if years is not None:
        name = "junior" if years < 2 else "mid" if years < 5 else "senior"
        return Value(name, "years of experience", f"{years} years")
    if guess and len(document.text) > 700:
        return Value("mid", "guess: the title names none")
    return Value("unknown", "not stated")


def _stated(document: Document) -> Value | None:
    """ "We are looking for a senior engineer" in the first part of the text."""
    low = document.low
    for one in _BODY.finditer(low, document.begin, min(len(low), document.begin + 3000)):
        if _ROLE.search(low, max(0, one.start() - 60), one.start()):
            return Value(one.lastgroup, "text says so", document.quote(one.start(), one.end()))
    return None


def leads(document: Document, seniority: str) -> Value:
    """Staff, principal and lead titles lead; otherwise the text must say so."""
    if seniority in {"lead", "staff", "principal"}:
        return Value(True, "seniority", document.title)
    hit = document.first("leads", without=frozenset({"benefits", "legal", "company"}))
    if hit is not None:
        return Value(True, "text says so", document.quote(hit.start, hit.end))
    return Value(False, "not stated")


def manages(document: Document) -> Value:
    if _MANAGER.search(folded(document.title)):
        return Value(True, "title", document.title)
    hit = document.first("manages", without=frozenset({"benefits", "legal", "company", "preferred"}))
    if hit is not None:
        return Value(True, "text says so", document.quote(hit.start, hit.end))
    return Value(False, "not stated")
