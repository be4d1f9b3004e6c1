"""Files to read, made on the spot."""

from __future__ import annotations

import io
from collections.abc import Sequence

import docx
import pypdfium2 as pdfium
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

WIDTH, HEIGHT = 612.0, 792.0


def pdf(pages: Sequence[Sequence[str]], password: str | None = None, turn: int = 0) -> bytes:
    """A PDF with these lines on its pages, the first at 92 points from the top."""
    out = io.BytesIO()
    encrypt = StandardEncryption(password, canPrint=1) if password else None
    # For a page that is shown turned, reportlab takes the size as shown; the sheet below stays upright.
    size = (HEIGHT, WIDTH) if turn % 180 else (WIDTH, HEIGHT)
    c = canvas.Canvas(out, pagesize=size, invariant=1, encrypt=encrypt)
    for lines in pages:
        c.setPageRotation(turn)
        for at, line in enumerate(lines):
            c.drawString(72, 700 - 20 * at, line)
        c.showPage()
    c.save()
    return out.getvalue()


def scan(lines: Sequence[str], turn: int = 0, size: float = 14) -> bytes:
    """A PDF of one small page that is only an image of these lines, scanned turned by so many degrees."""
    out = io.BytesIO()
    height = 40 + 30 * len(lines)
    c = canvas.Canvas(out, pagesize=(360, height), invariant=1)
    c.setFont("Helvetica", size)
    for at, line in enumerate(lines):
        c.drawString(40, height - 40 - 30 * at, line)
    c.save()
    image = pdfium.PdfDocument(out.getvalue())[0].render(scale=2).to_pil().convert("RGB").rotate(turn, expand=True)
    return image_pdf([image])


def image_pdf(images: Sequence[object], texts: Sequence[str] = ()) -> bytes:
    """One page for each image that fills it, then one for each text."""
    out = io.BytesIO()
    c = canvas.Canvas(out, invariant=1)
    for image in images:
        width, height = image.width / 2, image.height / 2  # type: ignore[attr-defined]
        c.setPageSize((width, height))
        c.drawImage(ImageReader(image), 0, 0, width, height)
        c.showPage()
    for text in texts:
        c.setPageSize((WIDTH, HEIGHT))
        c.drawString(72, 700, text)
        c.showPage()
    c.save()
    return out.getvalue()


def raw_pdf(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + one + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    return bytes(out) + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table)


def stream(data: bytes) -> bytes:
    return b"<</Length %d>>stream\n" % len(data) + data + b"\nendstream"


def word(*paragraphs: str) -> bytes:
    file = docx.Document()
    for text in paragraphs:
        file.add_paragraph(text)
    return saved(file)


def saved(file: object) -> bytes:
    out = io.BytesIO()
    file.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


def long_pdf(pages: int, lines: Sequence[str]) -> bytes:
    """A PDF with these lines on each of so many pages, each page with a text of its own."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(pages))
    text = b"".join(b"0 -14 Td (" + line.encode() + b") Tj " for line in lines)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[" % pages + kids + b"]>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for at in range(pages):
        resources = b"/Resources<</Font<</F1 3 0 R>>>>/MediaBox[0 0 612 792]"
        objects.append(b"<</Type/Page/Parent 2 0 R/Contents %d 0 R" % (5 + 2 * at) + resources + b">>")
        objects.append(stream(b"BT /F1 9 Tf 72 760 Td (Page %d) Tj " % (at + 1) + text + b"ET"))
    return raw_pdf(objects)
