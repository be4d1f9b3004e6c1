"""Keys by which companies, titles and contents are compared.

They under-strip: two keys for one thing show it twice, one key for two things loses one of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

WORD = re.compile(r"[^\W_][\w+#]*", re.UNICODE)
TOO_LONG = 500
"""Characters of a name or title that count. What is longer is no name."""


LONGEST_KEY = 1000
"""Bytes of a key. A longer one is stored by its beginning and its hash: indexes of a database have limits."""


def bounded(key: str) -> str:
    """The key, or what stands for it where it is too long for an index."""
    size = len(key) if key.isascii() else len(key.encode("utf-8", "replace"))
    if size <= LONGEST_KEY:
        return key
    digest = sha256(key.encode("utf-8", "replace")).hexdigest()
    return f"{key.encode('utf-8', 'replace')[:200].decode('utf-8', 'ignore')}…{digest}"


def word_list(text: str) -> frozenset[str]:
    """The words of a text; a table of words that reads as one."""
    return frozenset(text.split())


LEGAL_FORMS = word_list("""
    ab ag as asa bhd bv co corp corporation doo eg ek ev gmbh inc incorporated kft kg kgaa kk
    limited llc llp lp ltd ltda mbh nv ohg ou oy oyj pbc plc pte pty pvt sa sarl sas sasu scs se sl
    slu spa srl sro ug
""")
"""The last words of a name that say only what kind of company it is."""
SPELLED_OUT = re.compile(
    r"\b(?:s\. ?p\. ?a|s\. ?a\. ?r\. ?l|s\. ?r\. ?l|s\. ?r\. ?o|b\. ?v|n\. ?v|l\. ?l\. ?c|sp\. ?z ?o\. ?o|"
    r"d\. ?o\. ?o)\b\.?"
)
"""Legal forms that are written with full stops."""
BOARD_WORDS = word_list("""
    careers career jobs job hiring vacancies stellenangebote karriere
""")
"""The last words of a board's own name, as in "Acme Careers"."""
DOMAIN_ENDING = re.compile(r"(?<=\w)\.(?:com|io|co|ai|org|net|dev|app|de|eu|fr|nl|ch|at|uk|us|ca|se|tech)$")
AGGREGATORS = word_list("""
    glassdoor indeed jobicy linkedin monster remoteok remotive stepstone weworkremotely xing
""")
"""Names of collections of postings. One of them alone is the feed's own name and no company."""


def fold(text: str | None, most: int = TOO_LONG) -> str:
    """Lower case, without accents, in compatible characters and single spaces."""
    if not text:
        return ""
    if text.isascii():
        return " ".join(text[:most].lower().split())
    # Compatible characters first: some of them are capitals, and some casefold to letters with marks.
    plain = unicodedata.normalize("NFKC", text[:most]).casefold()
    bare = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    return " ".join(bare.split())


def words(text: str | None, most: int = TOO_LONG) -> list[str]:
    """The words of a title in their order; `c++`, `c#` and words in brackets are kept."""
    return WORD.findall(fold(text, most))


def title_key(title: str | None) -> str:
    """The title without case, accents and punctuation; empty when it has no words."""
    return " ".join(words(title))


def company_key(name: str | None) -> str | None:
    """The name without case, legal form, domain ending and words such as "Careers"; None when nothing is left."""
    folded = DOMAIN_ENDING.sub("", SPELLED_OUT.sub(" ", fold(name)).strip(" .,"))
    found = WORD.findall(folded.replace("&", " and "))
    for endings in (BOARD_WORDS, LEGAL_FORMS):
        # A name that is nothing but such words ("SE", "Jobs AG") keeps its first one.
        while len(found) > 1 and (found[-1] in endings or found[-1] == "and"):
            found.pop()
    if not found or (len(found) == 1 and found[0] in AGGREGATORS):
        return None
    return bounded(" ".join(found))


def word_set(title: str | None) -> str:
    """The words of a title, each once and sorted."""
    return " ".join(sorted(set(words(title))))


def group_key(company: str | None, title: str | None) -> str | None:
    """The same role at the same company, whatever the order of the words; None when one of them is unknown."""
    who, what = company_key(company), word_set(title)
    return bounded(f"{who}|{what}") if who and what else None


def content_hash(title: str | None, locations: Iterable[str], text: str | None) -> str:
    """SHA-256 over what a reader sees: title, locations in any order, and text."""
    parts = (title_key(title), ";".join(sorted(set(locations))), " ".join((text or "").split()))
    # A lone surrogate, which JSON may carry, has no UTF-8.
    return sha256("|".join(parts).encode("utf-8", "replace")).hexdigest()
