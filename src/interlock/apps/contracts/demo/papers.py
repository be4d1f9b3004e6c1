"""Papers for the demo: PDFs with real text, some of which cannot be opened."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator, Sequence

WIDE, LINES = 92, 46
"""Characters in a line, and lines on a page, that surely fit."""
HEADING = "# "


def pdf(lines: Sequence[str], *, locked: bool = False) -> bytes:
    """A PDF with these lines as real text, broken where they are too long; one that begins with `# ` is bold.

    A locked one asks for a password, which nobody has.
    """
    pages = list(_pages(lines))
    first = 5 + locked
    numbers = [first + 2 * n for n in range(len(pages))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % n for n in numbers), len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    ]
    if locked:
        secret = random.Random(7).randbytes(32).hex().encode()  # noqa: S311 - it fits no password, which is its use
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (secret, secret))
    for number, page in zip(numbers, pages, strict=True):
        content = _content(page)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (number + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _file(objects, b" /Encrypt 5 0 R /ID [<00> <00>]" if locked else b"")


def torn(content: bytes) -> bytes:
    """What is left of a PDF when its transfer broke off: too little to be opened."""
    return content[:9] + content[9:120].replace(b"obj", b"\x00\x00\x00")


def _pages(lines: Sequence[str]) -> Iterator[list[str]]:
    page: list[str] = []
    for line in lines:
        mark = HEADING if line.startswith(HEADING) else ""
        page += [mark + part for part in textwrap.wrap(line.removeprefix(HEADING), WIDE) or [""]]
        if len(page) >= LINES:
            yield page[:LINES]
            page = page[LINES:]
    if page:
        yield page


def _content(lines: Sequence[str]) -> bytes:
    shown = []
    for line in lines:
        font = "F2" if line.startswith(HEADING) else "F1"
        shown.append(f"/{font} 11 Tf ({_escaped(line.removeprefix(HEADING))}) Tj")
    return f"BT 16 TL 60 780 Td {' T* '.join(shown)} ET".encode("cp1252", "replace")


def _file(objects: Sequence[bytes], more: bytes) -> bytes:
    made = bytearray(b"%PDF-1.4\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R%s >>\n" % (len(objects) + 1, more)
    return bytes(made + b"startxref\n%d\n%%%%EOF\n" % table)


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
