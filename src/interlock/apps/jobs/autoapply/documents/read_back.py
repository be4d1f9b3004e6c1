"""Reading a made document back, to prove that a machine finds its facts: an empty or garbled resume is never sent."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable

from interlock.apps.jobs.finder.resume.pdf import PDFIUM
from interlock.machine import InterlockError

MOST_NAMED = 5
_SPACE = re.compile(r"\s+")


class FactLost(InterlockError):
    """A made document lacks a fact that was put into it."""


def pdf_text(data: bytes) -> tuple[str, int]:
    """The text of a PDF, and its number of pages."""
    import pypdfium2 as pdfium  # type: ignore[import-untyped]

    with PDFIUM:
        file = pdfium.PdfDocument(data)
        try:
            texts = []
            for number in range(len(file)):
                page = file[number]
                text = page.get_textpage()
                texts.append(text.get_text_range())
                text.close()
                page.close()
            return "\n".join(texts), len(texts)
        finally:
            file.close()


def docx_text(data: bytes) -> str:
    """The text of a DOCX file that was made here."""
    from docx.oxml import parse_xml

    # Only the text is parsed: the other parts of the archive are those of the template.
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "\n".join(one.text for one in parse_xml(archive.read("word/document.xml")).body.p_lst)


def require_facts(text: str, facts: Iterable[str], what: str) -> None:
    """Raise FactLost unless the text has every fact, whatever its spaces, dashes and forms of characters."""
    found = _bare(text)
    lost = [one for one in dict.fromkeys(facts) if _bare(one) not in found and not _is_there_in_parts(one, found)]
    if lost:
        named = ", ".join(repr(one[:80]) for one in lost[:MOST_NAMED])
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        raise FactLost(f"{what} lacks {named}{more} when it is read back; write it in plainer characters")


def _is_there_in_parts(fact: str, found: str) -> bool:
    """Whether a fact with words from right to left is there word by word.

    A page shows such words in the order of the eye, and what reads it may give them, and the figures between them, in
    either order.
    """
    if not any(unicodedata.bidirectional(one) in ("R", "AL") for one in fact):
        return False
    parts = [_bare(one) for one in re.findall(r"\w+", fact)]
    return all(one in found or one[::-1] in found for one in parts)


def _bare(text: str) -> str:
    # PDFium gives U+FFFE, which is no character, for a hyphen at the end of a line; so no dash counts.
    plain = unicodedata.normalize("NFKC", text)
    kept = (one for one in plain if unicodedata.category(one) not in ("Cf", "Cc", "Co", "Cn", "Pd"))
    return _SPACE.sub("", "".join(kept))
