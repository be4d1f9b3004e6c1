"""The parties: rules that read the opening, the cover and the signatures.

- `party_alias`: in the opening, the name before each bracket that gives a short name (`("Company")`).
- `party_list`: in the opening, the names between "between" and the recitals, split at "and" and ";".
- `party_cover`: names on lines of their own between the title and the opening.
- `party_signature`: names above the lines for signatures. It only guesses.
"""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.opening import opening
from interlock.apps.contracts.fields.extract.party_names import (
    ALIAS,
    alias_kind,
    good_name,
    name_head,
    strip_connectors,
)
from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.fields.normalise.names import LEGAL_SUFFIX, name_key

Named = tuple[str, int, int]
_FULL_STOP = re.compile(r"(?:\)|\"|\b[a-z]{3,}|\d{5})\. (?=[A-Z])")


def party_alias(context: RuleContext) -> list[Candidate]:
    """The names that brackets in the opening give a short name to."""
    flat = context.flat
    at = opening(context)
    if at is None:
        return []
    names: list[Named] = []
    short: set[str] = set()
    begin = at.names
    for alias in ALIAS.finditer(flat.text, at.names, at.end):
        kind = alias_kind(alias)
        if kind == "group":
            if names:
                begin = alias.end()
            continue
        if kind == "other" or (kind == "plain" and len(names) > 5):
            if not names and kind == "other":
                begin = max(begin, alias.end()) if alias.start() - begin < 60 else begin
            continue
        if len(names) > 1 and _FULL_STOP.search(flat.text, begin - 1, alias.start()):
            break
        named = _name_in(flat.text, begin, alias.start(), first=not names)
        if named is not None and not _repeats(named, names) and name_key(named[0]) not in short:
            names.append(named)
            short.update(name_key(word) for word in re.findall(r'"([^"]+)"', alias.group()))
        elif kind == "plain" and named is None:
            continue
        begin = alias.end()
    return _made(flat, "party_alias", names, at.start, at.end)


def party_list(context: RuleContext) -> list[Candidate]:
    """The names that follow "between", split where one description ends and the next name begins."""
    flat = context.flat
    at = opening(context)
    if at is None:
        return []
    text = flat.text
    names: list[Named] = []
    cursor = at.names
    while cursor < at.end and len(names) < 12:
        rest, cut = strip_connectors(text[cursor : at.end])
        head = name_head(rest) if rest else None
        if head is not None:
            found = _place(text, head, cursor + cut, at.end)
            if found and not _repeats(found, names):
                names.append(found)
                cursor = found[2]
        link = _next_name(text, cursor + 1, at.end)
        if link is None:
            break
        cursor = link
    return _made(flat, "party_list", names, at.start, at.end)


def party_cover(context: RuleContext) -> list[Candidate]:
    """Names on lines of their own: "by and between / FOO, INC. / and / BAR LLC"."""
    flat = context.flat
    at = opening(context)
    limit = min(at.start if at else 3_000, 5_000)
    lines = [line for line in flat.lines() if flat.flat_at(line.start) < limit]
    names: list[Named] = []
    started = False
    for index, line in enumerate(lines):
        word = line.text.strip(" -_.:*").lower()
        if not started:
            if re.search(r"(?:\b(?:by and )?(?:between|among))\s*:?$", word):
                started = True
            continue
        if re.fullmatch(r"and|&|\W*", word):
            continue
        if re.search(r"\b(?:dated?|effective|agreement|table of contents|confidential|exhibit|execution)\b|^\d", word):
            break
        name = name_head(strip_connectors(line.text)[0])
        if name is None:
            if names:
                break
            continue
        start = flat.flat_at(line.start)
        found = _place(flat.text, name, max(start - 1, 0), start + 400)
        if found and not _repeats(found, names):
            names.append(found)
        elif index > 60:
            break
        if len(names) > 6:
            break
    return _made(flat, "party_cover", names, names[0][1] if names else 0, limit)


def party_signature(context: RuleContext) -> list[Candidate]:
    """Names of companies above "By:" lines near the end."""
    flat = context.flat
    lines = flat.lines()
    names: list[Named] = []
    for index, line in enumerate(lines):
        if not re.match(r"\W*(?:By|BY)\s?:", line.text):
            continue
        for above in range(index - 1, max(index - 5, -1), -1):
            for piece in re.split(r"\s{3,}|\t", lines[above].text):
                match = LEGAL_SUFFIX.search(piece)
                name = good_name(piece[: match.end()]) if match else None
                if name is None or re.search(r"witness|agreement|parties|:", name, re.IGNORECASE):
                    continue
                start = flat.flat_at(lines[above].start)
                found = _place(flat.text, name, max(start - 1, 0), start + 400)
                if found and not _repeats(found, names):
                    names.append(found)
    return _made(flat, "party_signature", names[:6], names[0][1] if names else 0, len(flat.text), strong=False)


def _name_in(text: str, begin: int, end: int, first: bool) -> Named | None:
    """The name that the bracket at `end` belongs to, in the text since the bracket before."""
    segment = text[begin:end]
    starts = [0]
    if not first or len(segment) > 30:
        starts += [
            m.end()
            for m in re.finditer(
                r"[,;)]? (?:and|AND|&) (?:between |(?:\(?[ivx\d]{1,4}\) ?)?)(?=[A-Z\d\"a-z])|; |"
                r"\. (?=[A-Z])|: (?=[A-Z])|\b(?:between|among|by) (?=[A-Z])",
                segment,
            )
        ]
    best: tuple[float, Named] | None = None
    for order, start in enumerate(starts):
        rest, cut = strip_connectors(segment[start:])
        offset = begin + start + cut
        if not rest:
            continue
        name = name_head(rest)
        if name is None:
            continue
        found = _place(text, name, offset, end)
        if found is None or found[1] - offset > 4:
            continue
        tail = text[found[2] : end]
        score = 1.0 if LEGAL_SUFFIX.search(name) else 0.0
        connected = start > 0 or re.match(
            r"[\s,;.]*(?:and|AND|&|;|\(?[a-hivx\d]{1,3}\)|between|by)\b|[\s,;]*$",
            segment[:start] + segment[start : start + cut],
        )
        score += (
            0.8 if order == 0 and (first or re.match(r"^[\s,;.)\"]*(?:and\b|AND\b|&|;|\(?\w{1,2}\))", segment)) else 0.0
        )
        score += 0.6 if not tail.strip(' ,"') else 0.0
        score += (
            0.6 if re.match(r",? (?:a|an|with|having|whose|located|organi|existing|incorporated|the)\b", tail) else 0.0
        )
        score += 0.2 if connected else 0.0
        before = segment[max(start - 6, 0) : start]
        score += 0.3 if re.search(r"[,;)] and |; |, AND ", before) else 0.0
        score -= (
            0.8
            if re.search(
                r"\b(?:subsidiary|division|affiliate|laws|state|city|county|unit|member|successor|parent|"
                r"courts?|province|republic) of(?: the)?\W*$",
                segment[:start][-30:],
                re.IGNORECASE,
            )
            else 0.0
        )
        score -= 0.5 if re.search(r"\d{5}|^(?:Suite|Floor)", name) else 0.0
        # Of two similar ones, the one nearer to its bracket.
        score += order * 0.01
        if best is None or score > best[0]:
            best = (score, found)
    return best[1] if best else None


def _next_name(text: str, start: int, end: int) -> int | None:
    """Where the next name begins: behind "and", ";" or a bracket with its short name, before a capital letter."""
    pattern = re.compile(
        r"(?:\)[,;]?|[,;])? (?:and|AND|&) (?=(?:\(?(?:[ivx]{1,4}|[a-h]|\d)\) )?[\"(]?[A-Z\d]|"
        r"[a-z]{1,2}-?[A-Z])|; (?=[A-Z(])|\)[,;] (?=[A-Z])|[;:,] \(?(?:[ivx]{1,4}|[a-h]|"
        r"\d)\) (?=[A-Z])"
    )
    for match in pattern.finditer(text, start, end):
        rest, cut = strip_connectors(text[match.end() : end])
        name = name_head(rest)
        if name is None:
            continue
        tail = text[match.end() + cut + len(name) :][:60]
        described = re.match(
            r"[.,]?,? ?(?:\(|(?:a|an|with|having|whose|located|organi|existing|incorporated|"
            r"hereinafter|residing|of \d|d/b/a|doing)\b)",
            tail,
        )
        behind = text[max(match.start() - 30, 0) : match.start()]
        if re.search(r"\b(?:laws|subsidiary|division|affiliate|unit|State|Commonwealth) of", behind):
            continue
        if LEGAL_SUFFIX.search(name) or described:
            return match.end()
    return None


def _place(text: str, name: str, start: int, end: int) -> Named | None:
    at = text.find(name, start, end)
    if at < 0:
        pattern = r"[\s,]*".join(map(re.escape, name.replace(",", " ").split()))
        match = re.compile(pattern).search(text, start, min(end, start + 300))
        return (name, match.start(), match.end()) if match else None
    return name, at, at + len(name)


def _repeats(named: Named, names: list[Named]) -> bool:
    return any(name_key(named[0]) == name_key(other[0]) for other in names)


def _made(flat: Flat, extractor: str, names: list[Named], low: int, high: int, strong: bool = True) -> list[Candidate]:
    if len(names) < 2 and not (names and extractor in ("party_alias",)):
        return []
    keys = sorted({name_key(name) for name, _, _ in names})
    value = "; ".join(name for name, _, _ in names)
    bounds = (min(s for _, s, _ in names), max(e for _, _, e in names))
    score = 1.0 if len(names) >= 2 else 0.3
    usual = len(names) == 2 and all(LEGAL_SUFFIX.search(name) for name, _, _ in names)
    made = candidate(flat, extractor, value, keys, bounds, score=score, strong=strong and len(names) >= 2, usual=usual)
    return [made] if made else []
