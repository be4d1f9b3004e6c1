"""Files become text by pages, and a quote becomes a place on a page.

`read` takes the bytes of a PDF, a Word file or plain text. A text layer is taken as it is; a page without one that is
covered by an image goes through OCR. The text that is stored is the text that offsets count in, and nothing is
changed in it after that. Boxes of a text layer are not stored: they come from the PDF when a value is shown, exact to
the character, since fetching all of them would make parsing half as fast and the stored document many times larger.
`Reader` does the same in a process of its own, with a bound on memory and time, for files from strangers.
"""

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
