"""Names of parties at the head of a phrase, and the brackets that give them a short name."""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.normalise.names import SUFFIXES, tidy_name

ALIAS = re.compile(
    r"\((?P<inside>[^()]{0,160}?\"[^\"()]{1,70}[\"'][^()]{0,160})\)"
    r"|\((?P<plain>(?:the |hereinafter |hereafter )?[A-Z][\w.&' -]{1,40})\)"
    r"|,? ?\b(?P<named>(?:[Hh]ereinafter|[Hh]ereafter|[Hh]erein)(?: (?:be |is |are |collectively |"
    r"sometimes |individually |also |each |together |jointly ){0,3}"
    r"(?:referred to|called|known|designated|described|termed|the|as|defined)){0,3}[ ,]*(?:the )?"
    r"\"[^\"]{1,60}\")",
)
_GROUP = re.compile(
    r"\b(?:collectively|together|individually|each(?: of them)?|"
    r"jointly)\b[^\"]{0,80}\"(?:the )?Part(?:y|ies)\b|\"(?:the )?Part(?:y|ies)\b|"
    r"\bthe Parties\b|^\W*(?:each,? )?(?:a|the|individually,? a)? ?\"?Part(?:y|ies)",
    re.IGNORECASE,
)
_OTHER_THING = re.compile(
    r"\"(?:the |this )?(?:[\w&/-]+ ){0,5}(?:Agreement|Amendment|Effective Date|Contract|Date|"
    r"Addendum|Term|Territory|Product|Products|Services|Act|"
    r"Execution Date|Closing|Lease|Plan|Program|Property|Premises|Site|Software|Technology|"
    r"Business|Code|Commission|SOW|Letter|Facility|Affiliates?|Exchange Act|Commencement Date|"
    r"Signing Date)\"",
    re.IGNORECASE,
)
ROLE = (
    r"Company|Corporation|Licens(?:or|ee)|Seller|Buyer|Purchaser|Supplier|Distributor|Reseller|Customer|Client|Vendor|"
    r"Contractor|Consultant|Agent|Manager|Owner|Sponsor|Provider|Borrower|Lender|Landlord|Tenant|Franchis(?:or|ee)|"
    r"Manufacturer|Developer|Publisher|Employer|Employee|Executive|Shipper|Transporter"
)
_PLAIN = re.compile(rf"{ROLE}|[A-Z]{{3,8}}")
"""What a bracket without quotation marks may have: `(Shanghai)` is a piece of the name."""
_ROLE_OF_PERSON = re.compile(r"^(?:Attention|Attn)", re.IGNORECASE)
_WORDS = (
    "with|having|whose|located|organi[sz]ed|existing|incorporated|duly|acting|residing|"
    "resident|doing business|trading|through|and its|"
    "on (?:its )?behalf|for (?:itself|and on)|for purposes|by and through|its|formerly|"
    "as (?:successor|agent|the|general|trustee|licens|seller|"
    "buyer|supplier|distributor|manager|a)|maintaining|which|who|of the (?:one|first|second|"
    "other)|on the|and/or|at its|under|registered|"
    "furnishing|domiciled|established|operating|represented|hereinafter|hereafter|herein|"
    "together|collectively|including|effective|dated|as of|"
    "pursuant|to|in (?:connection|its|the|order)|principally|both|each|wherein|address|if|"
    "that|is|are|shall|will|has|have|agree|hereby|where|"
    "set forth|identified|listed|named|for the"
)
_PERSON_SUFFIX = r"(?:Jr|JR|Sr|SR|II|III|IV|M\.? ?D|Ph\.? ?D|Esq)\b"
_OFFICE = (
    r"(?:(?:managing |executive |sole )?(?:director|member|manager)|president|chairman|secretary|owner|proprietor)"
)
# In capitals these words may be part of a name (OLIVE TRADING S.A.), except behind a comma.
_WORDS_UPPER = _WORDS.upper()
_DESCRIPTION = re.compile(
    r"(?:(?i:(?:,? (?:a|an|one|being|each a|both)|, the)(?: \w[\w.,'()-]*){0,9}? "
    r"(?:corporation|company|partnership|individual|person|l\.?l\.?c\.?|firm|association|"
    r"entity|trust|bank|subsidiary|division|"
    r"proprietorship|venture|university|institution|organization|organisation|citizen|"
    r"resident|business|unit|affiliate|gmbh|corp\.?|"
    r"limited|inc\.?|society|agency|body|foundation|cooperative|co-operative|member|insurer|charity|s\.a\.|b\.v\.)\b)"
    rf"|,? (?:{_WORDS})\b|, (?:{_WORDS_UPPER})\b|, (?:the |its )?(?i:{_OFFICE}) (?:of|and)\b"
    r"|(?i:,? (?:of|at) \d|,? (?:d/?b/?a|a/?k/?a|f/?k/?a|f/?s/?o|c/o)\b|,? (?:d\.b\.a\.|a\.k\.a\.|f\.k\.a\.))"
    rf"|,? \d| ?\((?![A-Z][\w.& ]{{1,25}}\) ?,? ?(?:{SUFFIXES})\b)| ?[;:\[]|\. [A-Z][a-z]+ [a-z]| - | \")",
)
_SUFFIX_END = re.compile(rf"(?<![\w&])(?:{SUFFIXES})(?![\w&])\.?")
_COMMA_SUFFIX = re.compile(rf",? ?(?:{SUFFIXES})(?![\w&])\.?")
_OF_A_PLACE = re.compile(
    r"corporation|company|bank|trust|university|institute|foundation|association|authority|partnership", re.IGNORECASE
)
"""Legal forms that a place may follow in a name: `Bank of Ireland`."""
_CONNECTOR = re.compile(
    r"^(?:[\s,;:.\-]|and\b|AND\b|And\b|or\b|by\b|BY\b|between\b|BETWEEN\b|among\b|(?:[Tt]he )?undersigned\b|"
    r"WHEREAS\b|Whereas\b|"
    r"\(?(?:[ivx]{1,4}|[a-h]|[A-H]|\d{1,2})[).](?= )|"
    r"on the (?:one|other)(?: hand| part| side)?|of the (?:one|other|first|second) part|"
    r"the following parties|parties|Part(?:y|ies) [AB12]\b|&)+",
)
_ADDRESS = re.compile(
    r"\b(?:Street|Avenue|Road|Suite|Floor|Blvd|Boulevard|Drive|Lane|Parkway|P\.?O\.? Box|Way|"
    r"Plaza|Building|Square)\b|\b\d{5}\b",
)
_NOT_A_NAME = re.compile(
    r"^(?:this .*|(?:the )?(?:part(?:y|ies)|undersigned|following|company|agreement|"
    r"effective date|date|between|and|its|their|this|that|such|any|all|"
    r"certain|other|each|either|both|same|affiliates?|subsidiaries|respective|attention|"
    r"exhibit|section|article|laws?|state|"
    r"first|second|one|you|we|us|them|confidential|source|page|table|contents|principal|by|"
    r"name|title|date|signature|witness\w*|"
    r"recitals?|background|introduction|terms?|conditions?|whereas|therefore|now|general|"
    r"notices?|in|if|is|it|as|for|with|to|on|at|from)"
    r"(?: part(?:y|ies))?)$",
    re.IGNORECASE,
)
_STATE_KIND = re.compile(
    r"^(?:a|an)\b|^AN? (?:[A-Z]+ ){1,4}(?:CORPORATION|COMPANY|PARTNERSHIP)$|"
    r"^(?:[A-Z]\w+ ){0,2}(?:corporation|company|partnership)$"
)


def strip_connectors(text: str) -> tuple[str, int]:
    """The text from the first word that can begin a name, and how much was left out."""
    match = _CONNECTOR.match(text)
    cut = match.end() if match else 0
    rest = text[cut:]
    stripped = re.sub(r"^the (?=[A-Z])", "", rest.lstrip(" ,;:"))
    return stripped, cut + len(rest) - len(stripped)


def name_head(text: str) -> str | None:
    """The name that a phrase begins with: `Foo Widgets, Inc., a Delaware corporation` is `Foo Widgets, Inc.`"""
    text = text[:260]
    description = _DESCRIPTION.search(text, 1)
    head = text[: description.start()] if description else text
    # A comma inside of a name is followed by more of the name, up to the word that says what kind of company it is.
    suffix = _first_suffix(head)
    if suffix is not None:
        head = head[:suffix]
    else:
        # The legal form may stand right behind what looked like the begin of a description.
        rest = _COMMA_SUFFIX.match(text, len(head))
        if rest and description and rest.end() > len(head):
            head = text[: rest.end()]
        else:
            singular = re.match(r",? (?:a|an|the) ", text[len(head) :])
            ands = "" if singular and head.count(" and ") == 1 else r"| and (?=[A-Z\d])| AND (?=[A-Z\d])"
            head = re.split(rf",(?! ?{_PERSON_SUFFIX}){ands}", head, maxsplit=1)[0]
    return good_name(head)


def _first_suffix(head: str) -> int | None:
    """Where the first legal form that closes a name ends; `Bank of America Corporation` is closed by the last."""
    end = None
    for match in _SUFFIX_END.finditer(head):
        before = head[: match.start()]
        if not before.strip(" ,"):
            continue
        if end is not None:
            between = head[end : match.start()]
            # `Holdings, Inc.`, `Co., Ltd.` and `Group plc` go on; `Foo Inc. and Bar Inc.` are two names.
            joined = re.fullmatch(r" (?:and|AND|&) ", between)  # `Bank and Trust Company`
            if (
                (not joined and re.search(r"\band\b|\bAND\b|;", between))
                or len(between) > 40
                or _ADDRESS.search(between)
            ):
                break
            closes = joined or re.fullmatch(r"[\s,.&)]*", between)  # `Foo (Holdings) Limited`
            named = re.fullmatch(r"(?: (?:of|for|[A-Z][\w.&'-]*|&|the)){1,6} ?,? ?", between)
            if not closes and not named:
                break
        elif "," in before and (re.search(r"\d{3}", before.split(",", 1)[1]) or _ADDRESS.search(before)):
            break
        end = match.end()
        # `Mutual Insurance Corporation of America`, `University of Texas`, `Foundation for Education and Research`.
        place = re.match(
            r" (?:of|OF) (?:the |THE )?[A-Z][\w.]+(?: [A-Z][\w.]+){0,3}(?!\W{0,2}\d)|"
            r" for (?:the )?[A-Z]\w+(?: [A-Z]\w+){0,3}(?: and (?:the )?[A-Z]\w+(?=\W*$| ?[,(]))?",
            head[end:],
        )
        if place and _OF_A_PLACE.fullmatch(match.group()):
            end += place.end()
    return end


def good_name(name: str) -> str | None:
    """A tidy name, or nothing where the text cannot be one."""
    name = tidy_name(name)
    name = re.sub(r"^(?:the\s+)?(?:parties|party)\s*:?\s+", "", name, flags=re.IGNORECASE)
    if not 2 <= len(name) <= 110 or _NOT_A_NAME.match(name) or _ROLE_OF_PERSON.match(name):
        return None
    if not re.search(r"[A-Za-z]", name) or not re.match(
        r"[A-Z\d\u00c0-\u00de]|[a-z]{1,2}-?[A-Z]|[a-z]+\.|[a-z]\w*[A-Z]|[a-z]\d", name
    ):
        return None
    if _SUFFIX_END.fullmatch(name):
        return None
    if name[0].isdigit() and _ADDRESS.search(name):
        return None
    words = name.split()
    small = [
        w
        for w in words
        if w.islower()
        and w
        not in (
            "of",
            "and",
            "the",
            "for",
            "de",
            "du",
            "von",
            "van",
            "in",
            "la",
            "der",
            "di",
            "y",
            "e",
            "plc",
            "at",
            "to",
            "on",
        )
    ]
    if len(words) > 14 or len(small) > max(1, len(words) // 3) or _STATE_KIND.match(name):
        return None
    return name


def alias_kind(match: re.Match[str]) -> str:
    """`party` for a bracket that names a party, `group` for "the Parties", `other` for anything else."""
    inside = match["inside"] or match["plain"] or match["named"] or ""
    if _GROUP.search(inside) and not re.search(
        r"\"(?!the )?[^\"]*\"[^\"]*\"", inside.replace("Parties", "").replace("Party", "")
    ):
        return "group"
    if match["plain"]:
        short = match["plain"]
        if not re.match(r"the |here", short) and not _PLAIN.fullmatch(short):
            return "other"
        return (
            "plain"
            if re.fullmatch(r"(?:the |hereinafter |hereafter )?[A-Z][\w.&'-]{1,20}(?: [A-Z][\w.&'-]*){0,3}", short)
            and not re.match(
                r"(?:the )?(?:Section|Article|Exhibit|Schedule|Agreement|State|NASDAQ|NYSE|Page|Contract)\b", short
            )
            else "other"
        )
    if _OTHER_THING.search(inside):
        return "other"
    return "party"
