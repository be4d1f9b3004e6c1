"""Why a file could not be read, as types: each has a code, and says whether another try can help."""

from __future__ import annotations

from typing import ClassVar

from interlock.apps.contracts.errors import NotRetryable
from interlock.machine import WorkError


class ReadingError(WorkError):
    """A file could not be read; `code` names the reason for a program, the message for a person."""

    code: ClassVar[str] = "READING_FAILED"
    retryable: ClassVar[bool] = True


class NotReadable(ReadingError, NotRetryable):
    """The file itself is the reason, so that no further try can help."""

    retryable: ClassVar[bool] = False


class CorruptPdf(NotReadable):
    """The file begins like a PDF and is not one that can be opened."""

    code: ClassVar[str] = "CORRUPT_PDF"


class EncryptedPdf(NotReadable):
    """The PDF asks for a password."""

    code: ClassVar[str] = "ENCRYPTED_PDF"


class CorruptDocument(NotReadable):
    """A Word or text file that cannot be opened."""

    code: ClassVar[str] = "CORRUPT_DOCUMENT"


class EmptyDocument(NotReadable):
    """There is no text in it at all."""

    code: ClassVar[str] = "EMPTY_DOCUMENT"


class TooLarge(NotReadable):
    """It has more bytes, or more characters, than the limits allow."""

    code: ClassVar[str] = "TOO_LARGE"


class TooManyPages(NotReadable):
    """It has more pages, or more scanned pages, than the limits allow."""

    code: ClassVar[str] = "TOO_MANY_PAGES"


class NotADocument(NotReadable):
    """Its bytes are of no kind that is known here, whatever its name says."""

    code: ClassVar[str] = "NOT_A_DOCUMENT"


class UnsupportedType(NotReadable):
    """Its kind is known and not read here (an image, a spreadsheet, an old Word file)."""

    code: ClassVar[str] = "UNSUPPORTED_TYPE"


class OcrNotInstalled(NotReadable):
    """Its pages are images, and the extra that reads them is not installed."""

    code: ClassVar[str] = "OCR_NOT_INSTALLED"


class ParseTimeout(ReadingError):
    """Reading took longer than the limit; on a quieter machine it may pass."""

    code: ClassVar[str] = "PARSE_TIMEOUT"


class ReaderDied(ReadingError):
    """The process that read the file ended in the middle, by its memory limit or a fault of a library."""

    code: ClassVar[str] = "READER_DIED"


class ReaderStopped(ReadingError):
    """Whoever wanted it read has gone, or gave it no more time."""

    code: ClassVar[str] = "READER_STOPPED"


class BadDump(NotReadable):
    """Stored bytes are not a document of this version."""

    code: ClassVar[str] = "BAD_DUMP"
