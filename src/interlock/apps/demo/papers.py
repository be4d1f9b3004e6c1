"""Papers for the demo: small documents of each kind that a page can show."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(lines: Sequence[str]) -> bytes:
    """A PDF of one page with these lines."""
    shown = " T* ".join(f"({_escaped(line)}) Tj" for line in lines)
    content = f"BT /F1 11 Tf 16 TL 60 780 Td {shown} ET".encode("latin-1", "replace")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R"
        b" /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    )
    made = bytearray(b"%PDF-1.4\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(made)


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def careers_page(company: str, titles: Sequence[str]) -> bytes:
    """A page as it may come from outside: with scripts and links that must not survive being shown."""
    jobs = "".join(f"<li><a href='/jobs/{n}'>{title}</a></li>" for n, title in enumerate(titles, 1))
    return (
        f"<!doctype html><html><head><title>Careers at {company}</title>"
        "<script>document.title = 'a script has run'</script></head>"
        f"<body onload=\"document.body.innerHTML = ''\"><h1>Work at {company}</h1>"
        f"<p>We are hiring.</p><ul>{jobs}</ul>"
        "<p><a href=\"javascript:alert('clicked')\">Apply now</a></p>"
        "<img src='x' onerror=\"alert('an image has run')\">"
        "<form action='/steal'><input name='password'></form></body></html>"
    ).encode()
