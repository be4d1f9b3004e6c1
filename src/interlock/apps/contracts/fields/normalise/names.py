"""Names of parties: what counts as the same name, and the words that end the name of a company."""

from __future__ import annotations

import re

SUFFIXES = (
    r"National Association|NATIONAL ASSOCIATION|"
    r"Incorporated|Inc|Corporation|Corp|Company|Co|L\. ?L\. ?C|LLC|L\. ?C|LC|L\. ?L\. ?P|LLP|L\. ?P|LP|Limited|Ltd|"
    r"P\. ?L\. ?C|PLC|plc|Plc|GmbH(?: ?& ?Co\.? ?KG)?|AG|KG|SE|S\. ?A\. ?S|SAS|"
    r"S\. ?A\. ?R\. ?L|SARL|S\.? ?a\.? ?r\.? ?l|S\. ?A\. ?[BU]|S\. ?A|SA|S\. ?p\. ?A|SpA|"
    r"S\. ?r\. ?l|S\. ?R\. ?L|SRL|B\. ?V|BV|N\. ?V|NV|A/S|ApS|AS|ASA|AB|Oy|OY|Oyj|K\. ?K|KK|"
    r"Pte|Pty|Pvt|Private Limited|S\. ?de R\. ?L|S\. ?L|"
    r"Ltda|LTDA|Lda|KGaA|LLLP|PLLC|FSB|F\. ?S\. ?B|JSC|"
    r"Bhd|Sdn|N\. ?A|P\. ?C|PC|P\. ?A|S\. ?A\. ?de C\. ?V|Trust|Partnership|Partners|Associates|Foundation|Institute|"
    r"University|Bank|Holdings|Group|Aktiengesellschaft|Co-operative|Cooperative|Association|Authority|"
    r"INCORPORATED|INC|CORPORATION|CORP|COMPANY|CO|LIMITED|LTD|PTE|PTY|GMBH|TRUST|PARTNERSHIP|PARTNERS|ASSOCIATES|"
    r"FOUNDATION|INSTITUTE|UNIVERSITY|BANK|HOLDINGS|GROUP|ASSOCIATION|AUTHORITY|PRIVATE LIMITED|BHD|SDN|ASSOCIATION"
)
LEGAL_SUFFIX = re.compile(rf"(?<![\w&])(?:{SUFFIXES})(?![\w&])\.?")
_DROP = {
    "inc",
    "incorporated",
    "corp",
    "corporation",
    "co",
    "company",
    "llc",
    "lc",
    "llp",
    "lp",
    "ltd",
    "limited",
    "plc",
    "gmbh",
    "ag",
    "kg",
    "sas",
    "sarl",
    "sa",
    "spa",
    "srl",
    "bv",
    "nv",
    "as",
    "aps",
    "asa",
    "ab",
    "oy",
    "oyj",
    "kk",
    "pte",
    "pty",
    "pvt",
    "private",
    "bhd",
    "sdn",
    "na",
    "pc",
    "pa",
    "the",
    "and",
    "cv",
    "de",
    "sab",
    "sau",
    "sl",
    "ltda",
    "lda",
    "kgaa",
    "lllp",
    "pllc",
    "fsb",
    "jsc",
}


def name_key(name: str) -> str:
    """What two spellings of one name have in common: letters and digits, without the legal form and articles."""
    text = name.lower().replace("&", " and ")
    text = re.sub(r"\(.{0,300}?\)|[\"']", " ", text)
    text = re.sub(r"(?<=\b\w)\. ?(?=\w\b)", "", text)  # L.L.C. and S. A. S. become one word
    words = re.findall(r"[^\W_]+", text)
    kept = [word for word in words if word not in _DROP]
    return "".join(kept or words)


def tidy_name(name: str) -> str:
    """A name as it is shown: one line, no comma or bracket left at its ends."""
    name = " ".join(name.split()).strip(" ,;:\"'-")
    return re.sub(r"(?<!\s)\s+([,.])", r"\1", name)


def parse_parties(text: str) -> list[str]:
    """The keys of names that are separated by `;`."""
    return sorted({key for part in text.split(";") if (key := name_key(part))})
