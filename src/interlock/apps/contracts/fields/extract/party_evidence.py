"""Decides whether a piece of text names a legal entity or a person, with the evidence for it.

A name is supported by its legal form, by the description behind it ("a Delaware corporation"), by standing among the
signatures, and by being used again. A place, an address, a date, a heading or a role alone ("the Licensee") is none.
"""

from __future__ import annotations

import re

from interlock.apps.contracts.fields.extract.candidate import RuleContext
from interlock.apps.contracts.fields.extract.opening import opening
from interlock.apps.contracts.fields.extract.party_names import good_name
from interlock.apps.contracts.fields.flat import Flat, Line
from interlock.apps.contracts.fields.normalise.law import NAMES, jurisdiction_at
from interlock.apps.contracts.fields.normalise.names import LEGAL_SUFFIX, name_key

FORM = re.compile(
    r"(?<![\w&])(?:(?:Limited|LIMITED) (?:Liability |LIABILITY )?(?:Partnership|PARTNERSHIP|Company|COMPANY)|"
    r"Incorporated|Inc|Corporation|Corp|Company|Co|L\. ?L\. ?[CP]|LL[CP]|L\. ?[CP]|LP|LC|Limited|Ltd|"
    r"P\. ?L\. ?C|PLC|plc|Plc|GmbH|AG|KG|SE|S\. ?A\. ?S|SAS|S\. ?[\u00e0\u00c0aA]\.? ?[rR]\.? ?[lL]|"
    r"SARL|S\. ?A|SA|S\. ?p\. ?A|"
    r"SpA|S\. ?r\. ?l|S\. ?R\. ?L|SRL|B\. ?V|BV|N\. ?V|NV|A/S|ApS|ASA|AB|Oyj?|OYJ?|K\. ?K|KK|Pte|Pty|"
    r"Pvt|Bhd|Sdn|N\. ?A|"
    r"INCORPORATED|INC|CORPORATION|CORP|COMPANY|CO|LIMITED|LTD|PTE|PTY|GMBH|PARTNERSHIP|Partnership)(?![\w&])"
)
"""Legal forms that hardly any other text ends in; `Group`, `Bank` or `Trust` also end headings."""
_ROLE_WORDS = """
agent agents agency content advertiser adviser advisor affiliate affiliates assignee assignor bank bidder borrower
    broker buyer carrier client collaborator company companies concessionaire consultant contractor corporation customer
    customers dealer debtor developer director distributor distributors employee employer endorser executive franchisee
    franchisor fund funds grantee grantor guarantor holder host independent individual insurer investor investors issuer
    joint landlord lender lessee lessor licensee licensees licensor licensors limited llc inc manager managers
    manufacturer member members merchant new operator operators owner owners parent parties partner partners partnership
    party participant participants principal producer professional promoter provider providers publisher publishers
    purchaser purchasers recipient reseller resellers retailer sales seller sellers service services shareholder
    shareholders shipper sponsor sponsors stockholder stockholders subcontractor subscriber subsidiary successor
    supplier suppliers talent tenant the transporter trust trustee trustees undersigned underwriter underwriters user
    users vendor vendors venture venturer venturers and or of each a an its co ltd corp plc gmbh lp llp ag sa"""
_ROLES = frozenset(_ROLE_WORDS.split())
_THING_WORDS = """
agreement agreements amendment annex appendix article articles attachment attachments background board building
    certain charges clause confidential confidentiality conditions contract contracts court covenants date dates deed
    definitions effective except exhibit exhibits exclusive floor general hereinafter hosting introduction january
    february march april may june july august september october november december law laws letter limitation mutual
    net notice notices number obligations offering on page part payment payments preamble premises product products
    program project property provided provision provisions purchase purpose recitals regarding representations
    responsibilities rights room schedule scope section sections share shares site software source statement
    street structured subject such suite summary table term terms territory this title to unless warranties warranty
    website whereas witness work day year years whose with without
    i ii iii iv v vi vii b c d e"""
_THINGS = frozenset(_THING_WORDS.split())
_ADDRESS_END = re.compile(
    r"\b(?:Street|St|Avenue|Ave|Road|Rd|Suite|Floor|Blvd|Boulevard|Drive|Lane|Parkway|Highway|Hwy|Box|Strasse|"
    r"Stra\u00dfe|City|County)\b\.?$|\d.{0,100}\b(?:Plaza|Building|Square|Court|House|Center|Centre|Tower)$",
    re.IGNORECASE,
)
_PUBLIC_BODY = re.compile(
    r"\b(?:(?:town|city|county|state|university|college|board|department|ministry|government|district|port|village|"
    r"commonwealth|republic) of|authority|commission|council)\b",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"[\s,)\"]{0,3}(?:\([^()]{0,120}\)[\s,]*)?(?:(?:a|an|the|one|each a|both) (?:[\w.,'()-]+ ){0,9}?(?:corporation|"
    r"company|partnership|individual|person|l\.?l\.?c\.?|firm|association|entity|trust|bank|subsidiary|proprietorship|"
    r"venture|university|institution|organi[sz]ation|citizen|resident|limited|inc\.?|society|agency|body|foundation|"
    r"cooperative|gmbh|s\.a\.|b\.v\.)\b|(?:duly )?(?:organi[sz]ed|incorporated|existing|registered|established|"
    r"formed|residing|domiciled)\b|(?:with|having|whose|located|maintaining)\b[^.;]{0,60}\b(?:office|place of business|"
    r"address|at \d|headquarter|seat)|(?:d/?b/?a|a/?k/?a|f/?k/?a|c/o)\b|(?:hereinafter|hereafter|herein)\b)",
    re.IGNORECASE,
)
_SIGN = re.compile(
    r"\W*(?:By|BY|Per|Name|NAME|Signature|SIGNATURE|Signed|SIGNED|Its|ITS|Title|TITLE)\b ?:|.{0,60}/s/|"
    r"\W*(?:SIGNED|Signed|EXECUTED|Executed)(?: and delivered| as a deed)? (?:by|BY|for|FOR)\b|"
    r"\W*(?:By|BY|Per)\b ?_{3}|_{8,}\W*$",
)
_SHORT_NAME = re.compile(
    r"(?:(?! and | AND |;)[^()\"]){0,180}(?P<bracket>\([^()]{0,60}?\"[^\"()]{1,60}\"|(?:[Hh]erein|"
    r"[Hh]ere)\w{0,30}+[^()\"]{0,60}+\")"
)
_PLACED = re.compile(r"(?:\b(?:between|among|and|by)|[;)]|\b[12]\.)[\s:,]{0,4}(?:the )?$", re.IGNORECASE)
"""Words that come before the name of a party."""
_ABOVE, _BELOW = 5, 1
_NOT_SIGNING = re.compile(
    r"\bwitness|\bagreement\b|\bpart(?:y|ies)\b|\bexhibit\b|\bsource:|^\W*(?:by|its|title|name|attn|attention)\b ?:?|"
    r"\b(?:general|managing) (?:partner|member)\b|\b(?:shall|will|hereby)\b",
    re.IGNORECASE,
)
_MORE_FORM = re.compile(rf",? ?\.?,? ?(?:{FORM.pattern})\.?")
_BEFORE_SIGNING = re.compile(
    r"^.*\b(?:on behalf of|for and on|behalf of|AGREED|Agreed|ACCEPTED|Accepted)\b(?: by| to|"
    r" and accepted)?\W*|^[^:]{0,40}: ?"
)
_LETTER = re.compile(r"[^0-9a-z\u00df-\u00ff]")


def is_name(name: str) -> bool:
    """False for a place, a date, an address, a heading, or a role alone."""
    words = [word for word in re.split(r"[\W_]+", name.lower()) if word]
    if not words or not any(len(word) > 1 for word in words):
        return False
    formed = FORM.search(name) is not None
    if all(word in _ROLES or word.isdigit() or (word in _THINGS and not formed) for word in words):
        return False
    if name in NAMES or (_place(name) and not _PUBLIC_BODY.search(name)):
        return False
    if not formed and _ADDRESS_END.search(name) and not _PUBLIC_BODY.search(name):
        return False
    return (
        formed or words[0] not in _THINGS or words[0] in {"general", "new", "may", "net", "mutual", "b", "c", "d", "e"}
    )


def _place(name: str) -> bool:
    named = jurisdiction_at(name, 0)
    return named is not None and not re.search(r"\w", name[named.end :])


def described(text: str, end: int) -> bool:
    """Whether the text after a name says what kind of entity it is, or where it is registered."""
    return _DESCRIBED.match(text, end, min(end + 260, len(text))) is not None


def signature_lines(context: RuleContext) -> list[Line]:
    """The lines around the places for signatures: names of those who sign stand there."""
    if "signature_lines" not in context.memo:
        at = opening(context)
        context.memo["signature_lines"] = _signature_lines(context.flat, at.end if at is not None else 0)
    found: list[Line] = context.memo["signature_lines"]
    return found


def _signature_lines(flat: Flat, begin: int) -> list[Line]:
    lines = flat.lines()
    kept: set[int] = set()
    for index, line in enumerate(lines):
        if len(line.text) < 300 and _SIGN.match(line.text) and flat.flat_at(line.start) >= begin:
            kept.update(range(max(index - _ABOVE, 0), min(index + _BELOW + 1, len(lines))))
    return [lines[index] for index in sorted(kept)]


def signing(context: RuleContext) -> list[tuple[str, Line]]:
    """The names with a legal form among the signatures, without a company that only signs for another one."""
    if "signing" not in context.memo:
        found: list[tuple[str, Line]] = []
        for line in signature_lines(context):
            if len(line.text) > 160 or _NOT_SIGNING.search(line.text):
                continue
            rest = line.text
            while rest and (form := FORM.search(rest)) is not None:
                end = form.end()
                while (more := _MORE_FORM.match(rest, end)) is not None:
                    end = more.end()
                name = good_name(_BEFORE_SIGNING.sub("", rest[:end]))
                rest = rest[end:].lstrip(" .,)")
                if name is not None and is_name(name) and len(name.split()) > 1 and name[0].isupper():
                    found.append((name, line))
        context.memo["signing"] = found
    cached: list[tuple[str, Line]] = context.memo["signing"]
    return cached


def signed(context: RuleContext, name: str) -> bool | None:
    """Whether the name is among the signatures; None if no signatures were found."""
    if "signature_letters" not in context.memo:
        context.memo["signature_letters"] = [
            _key_letters(" ".join(line.text for line in signature_lines(context))),
        ]
    letters: str = context.memo["signature_letters"][0]
    if len(letters) < 20:
        return None
    return name_key(name) in letters


def _key_letters(text: str) -> str:
    return name_key(re.sub(r"[()]", " ", text))


def used(context: RuleContext, name: str, end: int) -> int:
    """How often the name's first words occur in the rest of the document, in any case; at most nine."""
    words = re.findall(r"[\w&'.-]+", name.lower())[:3]
    pattern = r"\W+".join(map(re.escape, words))
    count = 0
    for _ in re.finditer(pattern, context.flat.lower[end:]):
        count += 1
        if count == 9:
            break
    return count


def supported(context: RuleContext, name: str, start: int, end: int) -> bool:
    """Whether there is enough for a party: a legal form, or two of description, short name, signature and use."""
    if not is_name(name):
        return False
    if FORM.search(name):
        return True
    text = context.flat.text
    short = _SHORT_NAME.match(text, end, min(end + 260, len(text)))
    points = (2 if short and short.start("bracket") - end < 4 else 1) if short else 0
    points += int(described(text, end)) + int(LEGAL_SUFFIX.search(name) is not None)
    points += int(bool(signed(context, name)))
    if not points:
        return False  # "between the Company and Changes": any word may follow, and any word is used again
    points += int(_PLACED.search(text, max(start - 24, 0), start) is not None) + int(used(context, name, end) >= 2)
    return points >= 2
