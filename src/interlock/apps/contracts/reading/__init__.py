"""Reads files into pages of text, and finds the place of a quote on a page.

`read` takes the bytes of a PDF, a Word file or plain text. A text layer is used unchanged; a page without one that is
covered by an image goes through OCR. Offsets refer to the stored text, which never changes. Boxes of a text layer are
not stored: they come from the PDF when a value is shown, exact to the character, because storing all of them would
make parsing half as fast and the document many times larger.
`Reader` does the same in a separate process, with limits on memory and time, for untrusted files.
"""

from interlock.machine.extras import require

require("contracts", "pypdfium2", "docx")

from interlock.apps.contracts.reading.document import Box, Document, Page, Span
from interlock.apps.contracts.reading.errors import NotReadable, ReadingError
from interlock.apps.contracts.reading.file import boxes_of, read, span_at, visible
from interlock.apps.contracts.reading.grounding import Grounding, ground, normalise
from interlock.apps.contracts.reading.images import render
from interlock.apps.contracts.reading.limits import Limits
from interlock.apps.contracts.reading.reader import Reader

__all__ = [
    "Box",
    "Document",
    "Grounding",
    "Limits",
    "NotReadable",
    "Page",
    "Reader",
    "ReadingError",
    "Span",
    "boxes_of",
    "ground",
    "normalise",
    "read",
    "render",
    "span_at",
    "visible",
]
