"""Errors of reading files, by type: each has a code, and says whether a retry can help."""

from __future__ import annotations

from typing import ClassVar

from interlock.apps.contracts.errors import NotRetryable
from interlock.machine import WorkError


class ReadingError(WorkError):
    """A file could not be read; `code` names the reason for a program, the message for a person."""

    code: ClassVar[str] = "READING_FAILED"
    retryable: ClassVar[bool] = True


class NotReadable(ReadingError, NotRetryable):
    """The file itself is the reason; no retry can help."""

    retryable: ClassVar[bool] = False


class CorruptPdf(NotReadable):
    """The file begins like a PDF but cannot be opened."""

    code: ClassVar[str] = "CORRUPT_PDF"


class EncryptedPdf(NotReadable):
    """The PDF asks for a password."""

    code: ClassVar[str] = "ENCRYPTED_PDF"


class CorruptDocument(NotReadable):
    """A Word or text file that cannot be opened."""

    code: ClassVar[str] = "CORRUPT_DOCUMENT"


class EmptyDocument(NotReadable):
    """It contains no text."""

    code: ClassVar[str] = "EMPTY_DOCUMENT"


class TooLarge(NotReadable):
    """It has more bytes, or more characters, than the limits allow."""

    code: ClassVar[str] = "TOO_LARGE"


class TooManyPages(NotReadable):
    """It has more pages, or more scanned pages, than the limits allow."""

    code: ClassVar[str] = "TOO_MANY_PAGES"


class NotADocument(NotReadable):
    """Its content has no known type, whatever its name says."""

    code: ClassVar[str] = "NOT_A_DOCUMENT"


class UnsupportedType(NotReadable):
    """Its type is known but not supported (an image, a spreadsheet, an old Word file)."""

    code: ClassVar[str] = "UNSUPPORTED_TYPE"


class OcrNotInstalled(NotReadable):
    """Its pages are images, and the extra that reads them is not installed."""

    code: ClassVar[str] = "OCR_NOT_INSTALLED"


class ParseTimeout(ReadingError):
    """Reading took longer than the limit; it may succeed on a less busy machine."""

    code: ClassVar[str] = "PARSE_TIMEOUT"


class ReaderDied(ReadingError):
    """The process that read the file ended in the middle, by its memory limit or a fault of a library."""

    code: ClassVar[str] = "READER_DIED"


class ReaderStopped(ReadingError):
    """The caller has disconnected, or its time was over."""

    code: ClassVar[str] = "READER_STOPPED"


class BadDump(NotReadable):
    """Stored bytes are not a document of this version."""

    code: ClassVar[str] = "BAD_DUMP"
