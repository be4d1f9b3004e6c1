"""The parties: rules that read the opening, the cover and the signatures.

- `party_alias`: in the opening, the name before each bracket that gives a short name (`("Company")`).
- `party_list`: in the opening, the names between "between" and the recitals, split at "and" and ";".
- `party_cover`: names on lines of their own between the title and the opening.
- `party_signature`: names above the lines for signatures. It only guesses.
"""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import Candidate, Extractor, RuleContext, candidate
from interlock.apps.contracts.fields.extract.opening import opening
from interlock.apps.contracts.fields.extract.party_evidence import FORM, is_name, signed, signing, supported
from interlock.apps.contracts.fields.extract.party_names import (
    ALIAS,
    alias_kind,
    good_name,
    name_head,
    strip_connectors,
)
from interlock.apps.contracts.fields.flat import Flat
from interlock.apps.contracts.fields.normalise.law import jurisdiction_at
from interlock.apps.contracts.fields.normalise.names import LEGAL_SUFFIX, name_key

Named = tuple[str, int, int]
_LABELS_WITHIN = 9_000
_LABEL = re.compile(
    r"(?:\b(?:(?P<lettered>Party [A-D12]|PARTY [A-D12])|(?:(?:Name of|NAME OF) )?(?:the )?(?:Licens(?:or|ee)|"
    r"Owner|OWNER|Client|CLIENT|Vendor|VENDOR|Agent|AGENT|Consultant|CONSULTANT|Publisher|PUBLISHER|"
    r"LICENS(?:OR|EE)|Supplier|SUPPLIER|Buyer|BUYER|"
    r"Seller|SELLER|Customer|CUSTOMER|Distributor|DISTRIBUTOR|Shipper|SHIPPER|Transporter|TRANSPORTER|Provider|PROVIDER|Company|COMPANY|"
    r"Contractor|CONTRACTOR|Reseller|RESELLER|Sponsor|SPONSOR|Manufacturer|MANUFACTURER|Franchis(?:or|ee)|FRANCHIS(?:OR|EE)))"
    r"(?: [Nn]ame| NAME)?(?: ?\([^)]{0,30}\))?\s?[:;]? |\"[A-Z][\w&. ]{1,30}\" (?:means|shall mean|is) )"
    r"(?=[A-Z\d]|[a-z]{1,2}[A-Z\d]|[a-z]+\.com)"
)
_SEPARATES = frozenset({"between", "among", "by", "with", "from", "to", "through"})
_JOINS = frozenset(
    {"of", "for", "the", "y", "e", "do", "de", "la", "du", "von", "van", "in", "&", "AND", "OF", "FOR", "THE"}
)
_NAME_WORD = re.compile(r"[(\"]?[A-Z\d\u00c0-\u00de]|[a-z]{1,2}-?[A-Z]|[a-z]+[A-Z]|[a-z]\d|[a-z][\w-]*\.[a-z]{2,3}\b")
_NO_PARTY_BEFORE = re.compile(
    r"\b(?:subsidiary|subsidiaries|division|affiliate|unit|parent|successor|successors|in interest to|assignee|"
    r"shareholders?|partner|member|manager|"
    r"trustee|agent|owned by|controlled by|managed by|formerly|f/?k/?a|a/?k/?a|d/?b/?a|known as|"
    r"laws of|name of|business as|(?:director|president|officer|chairman|secretary|owner) of|"
    r"part of|series of|sponsored by|office of|care of|c/o|Attention:?|listed on|certificate of|represented by)\b"
    r"[^.;()]{0,14}$",
    re.IGNORECASE,
)
_KIND_OF_COMPANY = re.compile(
    r"\W*(?:corporation|company|(?:general |limited (?:liability )?)?partnership|"
    r"(?:limited )?(?:liability )?company|LLC|L\.L\.C|corp|limited)\.?",
    re.IGNORECASE,
)
_POSTCODE = re.compile(r"\d[A-Z]{2},?")
"""The end of a British one: "Surrey KT10 9PN"."""
_NUMBERED = re.compile(r"\d{5,8} (?:B\. ?C\.|Canada|Ontario|Alberta|Quebec|Manitoba|Nova Scotia) ", re.IGNORECASE)
"""A Canadian company whose name is its number: "123456 Canada Inc."."""
_HEADING_BEFORE = re.compile(r"\b(?:[A-Z]{4,40} ){2,}(?=(?:[A-Z]\w*[a-z]\w* ){2})")
"""Words of a heading in capitals that run into a name that is not: "ADMINISTRATIVE MATTERS Foo Widgets Inc"."""
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
    return _made(context, "party_alias", _supported(context, names), at.start, at.end)


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
        link = _next_name(context, cursor, at.end, at.sure)
        if link is None:
            break
        cursor = link
    return _made(context, "party_list", _supported(context, names), at.start, at.end)


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
    return _made(context, "party_cover", _supported(context, names), names[0][1] if names else 0, limit)


def party_forms(context: RuleContext) -> list[Candidate]:
    """The names in the opening that end in a legal form, each where a list of parties can have one."""
    at = opening(context)
    if at is None:
        return []
    text = context.flat.text
    names: list[Named] = []
    for form in FORM.finditer(text, at.names, at.end):
        if names and form.end() <= names[-1][2] + 12 and not re.search(r";|\band\b", text[names[-1][2] : form.end()]):
            continue  # "Co., Ltd."
        found = _name_before(text, at.names, form)
        if found is not None and not _repeats(found, names):
            names.append(found)
    return _made(context, "party_forms", _supported(context, names), at.start, at.end)


def party_signature(context: RuleContext) -> list[Candidate]:
    """Names of companies among the signatures."""
    names: list[Named] = []
    for name, line in signing(context):
        start = context.flat.flat_at(line.start)
        found = _place(context.flat.text, name, max(start - 1, 0), start + 400)
        if found and not _repeats(found, names):
            names = [one for one in names if not name_key(one[0]).endswith(name_key(name))]
            names.append(found)
    return _made(
        context, "party_signature", names[:20], names[0][1] if names else 0, len(context.flat.text), strong=False
    )


def party_label(context: RuleContext) -> list[Candidate]:
    """Names behind a role: `Licensor: Foo Inc.`, `Party A: Foo Ltd.`, `"Foo" means Foo Limited`."""
    text = context.flat.text[:_LABELS_WITHIN]
    names: list[Named] = []
    for label in _LABEL.finditer(text):
        rest, cut = strip_connectors(text[label.end() : label.end() + 200])
        name = name_head(rest) if rest else None
        at = context.flat.raw_at(label.start())
        heads_line = label.group().rstrip()[-1] in ":;" and context.flat.raw[max(at - 1, 0) : at] in ("", "\n")
        if (name is None or not FORM.search(name)) and (label["lettered"] is not None or heads_line):
            name = _alone_in_line(context.flat, label.end() + cut)
        elif name is None or not FORM.search(name) or not is_name(name):
            continue
        if name is None:
            continue
        found = _place(text, name, label.end() + cut, label.end() + cut + len(name) + 10)
        if found and not _repeats(found, names):
            names.append(found)
    if not 2 <= len(names) <= 4:
        return []
    return _made(context, "party_label", names, 0, len(text), strong=False)


def _alone_in_line(flat: Flat, start: int) -> str | None:
    """A name without a legal form that is all of the rest of a line: "Party B: Foo Administrative Committee"."""
    raw = flat.raw_at(start)
    name = good_name(flat.raw[raw : raw + 120].split("\n", 1)[0])
    return name if name is not None and is_name(name) and 1 < len(name.split()) < 9 else None


def _name_before(text: str, begin: int, form: re.Match[str]) -> Named | None:
    """The name that a legal form closes: the capitalised words before it."""
    first = form.start()
    low = max(begin, first - 140)
    for word in reversed(list(re.finditer(r"\S+", text[low:first]))):
        written = word.group()
        last = first == form.start()
        inner = re.fullmatch(r"\([A-Z][\w.-]+\)", written)  # "Foo (Holdings) Limited"
        if (
            (written[-1] in ';:)"' and not inner)
            or (written[-1] == "," and not last)
            or written.strip('("').lower() in _SEPARATES
        ):
            break
        if not last and FORM.fullmatch(written.strip(",.")):
            break
        if (
            written == "and"
            or (re.match(r"\D*+\d.*\d\d", written) and not _NUMBERED.match(text, low + word.start()))
            or _POSTCODE.fullmatch(written)
            or (not _NAME_WORD.match(written) and written not in _JOINS)
        ):
            break
        first = low + word.start()
        if written[0] in '("' and not inner:
            break
    rest, _ = strip_connectors(text[first : form.end()])
    rest = _HEADING_BEFORE.sub("", re.sub(r"^(?:of|for|the|de|in|AND|OF|THE|FOR|&) ", "", rest), count=1)
    if form.group() == "Co" and re.match(r" [A-Z]", text[form.end() :]) and not FORM.match(text, form.end() + 1):
        return None  # "Stanley, Co Durham" is a county
    name = good_name(rest)
    if name is None or len(name.split()) < 2:
        return None
    first = form.end() - len(rest)
    if re.match(r"An? ", name) and text[:first].endswith(", "):
        return None  # "Foo Holdings, A Mutual Company"
    what = re.sub(r"^(?:A|AN) ", "", name)
    place = jurisdiction_at(what, 0)
    kind = place is not None and _KIND_OF_COMPANY.fullmatch(what, place.end)  # "Delaware Corporation"
    if kind or _NO_PARTY_BEFORE.search(text[max(begin, first - 70) : first]):
        return None
    return _place(text, name, first, form.end() + 2)


def _name_in(text: str, begin: int, end: int, first: bool) -> Named | None:
    """The name that the bracket at `end` belongs to, in the text since the bracket before."""
    segment = text[begin:end]
    starts = [0]
    if not first or len(segment) > 30:
        starts += [
            m.end()
            for m in re.finditer(
                r"[,;)]? (?:and|AND|And|(?<=[.,)] )&) (?:between |(?:\(?[ivx\d]{1,4}\) ?)?)(?=[A-Z\d\"a-z])|; |"
                r"\b(?:together with|and its \w+,|sell through|agreements? with|engages|retains|appoints) (?=[A-Z])|"
                r"\bin fav(?:o|ou)r of(?: and for the benefit of)? (?=[A-Z])|"
                r"(?<!\b[A-Z])(?<!\b[DMS][rst])(?<!\bMrs)\. (?=[A-Z])|: (?=[A-Z])|\b(?:between|among|by) (?=[A-Z])",
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
        score -= 1.2 if re.search(r"\brepresented (?:\w+ )?by(?: M[rs]s?\.?)?\W*$", text[offset - 30 : offset]) else 0.0
        score -= 0.5 if re.search(r"\d{5}|^(?:Suite|Floor)", name) else 0.0
        # Of two similar ones, the one nearer to its bracket.
        score += order * 0.01
        if best is None or score > best[0]:
            best = (score, found)
    return best[1] if best else None


def _next_name(context: RuleContext, start: int, end: int, sure: bool) -> int | None:
    """Where the next name begins: behind "and", ";" or a bracket with its short name, before a capital letter."""
    text = context.flat.text
    pattern = re.compile(
        r"(?:\)[,;]?|[,;])? (?:and|AND|And|and its \w+,|(?<=[.,)] )&) (?=(?:\(?(?:[ivx]{1,4}|[a-h]|"
        r"\d)\) )?[\"(]?[A-Z\d]|"
        r"[a-z]{1,2}-?[A-Z])|; (?=[A-Z(])|\)[,;] (?=[A-Z])|[;:,] \(?(?:[ivx]{1,4}|[a-h]|"
        r"\d)\) (?=[A-Z])|,? in fav(?:o|ou)r of(?: and for the benefit of)? (?=[A-Z])"
    )
    for match in pattern.finditer(text, start, end):
        rest, cut = strip_connectors(text[match.end() : end])
        name = name_head(rest)
        if name is None:
            continue
        tail = text[match.end() + cut + len(name) :][:60]
        described = re.match(
            r"[.,]?,? ?(?:\(|(?:a|an|with|having|whose|located|organi|existing|incorporated|"
            r"hereinafter|residing|of \d|d/b/a|doing)\b)|"
            r",? and (?:[A-Z][\w.'&-]*,? ){1,6}\((?:the |collectively|each)?[^()]{0,40}\"",
            tail,
        )
        behind = text[max(match.start() - 30, 0) : match.start()]
        if re.search(r"\b(?:laws|subsidiary|division|affiliate|unit|State|Commonwealth) of", behind):
            continue
        signs = sure and name.count(" ") and is_name(name) and signed(context, name)
        if LEGAL_SUFFIX.search(name) or described or signs:
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
    """A name again, or the last words of one."""
    key = name_key(named[0])
    return any(name_key(other[0]).endswith(key) for other in names)


def names_of(context: RuleContext, reader: str) -> list[Named]:
    """The names that a reader of this module found, each with its place."""
    if reader not in context.memo:
        READERS[reader](context)
    found: list[Named] = context.memo.get(reader, [])
    return found


def _supported(context: RuleContext, names: list[Named]) -> list[Named]:
    return [named for named in names if supported(context, *named)]


def _made(
    context: RuleContext, extractor: str, names: list[Named], low: int, high: int, strong: bool = True
) -> list[Candidate]:
    flat = context.flat
    context.memo[extractor] = names
    if len(names) < 2:
        return []
    keys = sorted({name_key(name) for name, _, _ in names})
    value = "; ".join(name for name, _, _ in names)
    bounds = (min(s for _, s, _ in names), max(e for _, _, e in names))
    usual = len(names) == 2 and all(LEGAL_SUFFIX.search(name) for name, _, _ in names)
    made = candidate(flat, extractor, value, keys, bounds, strong=strong, usual=usual)
    return [made] if made else []


READERS: dict[str, Extractor] = {
    reader.__name__: reader
    for reader in (party_alias, party_list, party_forms, party_cover, party_signature, party_label)
}
