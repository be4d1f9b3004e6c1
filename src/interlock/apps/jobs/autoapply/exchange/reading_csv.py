"""Past applications out of a CSV file, as spreadsheets and trackers write it, and which rows are bad.

Nothing is guessed. A row without a company or a date that can be read is named with its line and the reason.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Literal

from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.documents.values import clean
from interlock.apps.jobs.finder.identity.keys import company_key, fold, title_key
from interlock.apps.jobs.finder.identity.urls import canonical_url
from interlock.machine import InterlockError

MOST_BYTES = 5_000_000
MOST_ROWS = 10_000
LONGEST_CELL = 20_000
Column = Literal["company", "title", "url", "date", "status", "source", "notes"]
HEADERS: Mapping[Column, tuple[str, ...]] = {
    "company": ("company", "company name", "employer", "organisation", "organization", "firma", "unternehmen"),
    "title": ("title", "job title", "position", "role", "job", "stelle", "titel", "jobtitel"),
    "url": ("url", "link", "job url", "job link", "posting", "posting url", "address", "job posting"),
    "date": (
        *("date", "applied", "applied on", "applied at", "date applied", "application date", "submitted"),
        *("submitted at", "sent", "datum", "beworben am", "bewerbungsdatum", "applied date"),
    ),
    "status": ("status", "stage", "state", "result", "outcome", "stand", "ergebnis"),
    "source": ("source", "platform", "board", "found on", "quelle", "via", "site"),
    "notes": ("notes", "note", "comment", "comments", "notizen", "bemerkung", "kommentar"),
}
_WORDS: tuple[tuple[str, Stage, Ending | None], ...] = (
    (r"not applied|wish ?list|saved|bookmark|draft|to ?do|to apply|interested|geplant|entwurf", Stage.CLOSED, None),
    (r"accept|hired|signed|angenommen|zusage", Stage.CLOSED, Ending.ACCEPTED),
    (r"withdr[ae]w|cancel|zuruckgezogen", Stage.CLOSED, Ending.WITHDRAWN),
    (r"declined(?: by me| offer)", Stage.CLOSED, Ending.DECLINED),
    (r"reject|declin|refus|absage|abgelehnt|turned down|unsuccessful|not selected", Stage.CLOSED, Ending.REJECTED),
    (r"ghost|no (?:answer|reply|response)|keine (?:antwort|ruckmeldung)", Stage.CLOSED, Ending.NO_ANSWER),
    (r"expired|position closed|job closed|filled", Stage.CLOSED, Ending.JOB_CLOSED),
    (r"offer|angebot", Stage.OFFER, None),
    (r"interview|gesprach|on ?site|final round|assessment", Stage.INTERVIEW, None),
    (r"screen|phone|telefon|recruiter call|in contact|replied", Stage.SCREENING, None),
    (
        r"appl(?:ied|ication)|submitted|sent|pending|waiting|open|beworben|gesendet|offen|in progress",
        Stage.SUBMITTED,
        None,
    ),
)
STATUSES = tuple((re.compile(words), stage, ending) for words, stage, ending in _WORDS)
"""Words of a status → stage and ending; the first that is found counts. The first row names no application."""
_NUMERIC = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})")


class Unreadable(InterlockError):
    """The file is no CSV with past applications."""


@dataclass(frozen=True, slots=True)
class PastApplication:
    """An application that was made elsewhere."""

    line: int
    company: str
    title: str
    url: str | None
    applied_at: datetime
    stage: Stage
    ending: Ending | None
    source: str | None
    notes: str
    remarks: tuple[str, ...] = ()
    """What was not understood, but does not matter."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not imported, and why."""

    line: int
    reason: str
    text: str
    """The beginning of the row."""


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a file says."""

    columns: Mapping[str, Column]
    """Header → what it is taken for."""
    ignored: tuple[str, ...]
    rows: tuple[PastApplication, ...]
    bad: tuple[BadRow, ...]


def read_past(content: bytes, now: datetime, *, day_first: bool | None = None) -> ParsedFile:
    """The past applications of a file. `day_first` says how 03/04/2026 is meant; without it such a row is bad."""
    if len(content) > MOST_BYTES:
        raise Unreadable(f"the file has {len(content):,} bytes; at most {MOST_BYTES:,} are read")
    text = _text(content)
    lines = csv.reader(io.StringIO(text, newline=""), _dialect(text), strict=False)
    try:
        header = next(lines, [])
        columns, ignored = _columns(header)
        return _understood(header, columns, ignored, lines, now, day_first)
    except csv.Error as error:
        raise Unreadable(f"line {lines.line_num} is no CSV: {error}") from None


def _text(content: bytes) -> str:
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding).replace("\0", "")
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1").replace("\0", "")


class _Plain(csv.Dialect):
    quotechar, doublequote, skipinitialspace = '"', True, True
    lineterminator, quoting = "\r\n", csv.QUOTE_MINIMAL
    delimiter = ","


def _dialect(text: str) -> type[csv.Dialect]:
    first = text.partition("\n")[0][:LONGEST_CELL]
    best = max(",;\t|", key=first.count)

    class Found(_Plain):
        delimiter = best

    return Found


def _columns(header: list[str]) -> tuple[dict[int, Column], tuple[str, ...]]:
    found: dict[int, Column] = {}
    ignored = []
    for index, name in enumerate(header[:200]):
        said = " ".join(re.findall(r"\w+", fold(name).replace("_", " ")))
        column = next((one for one, names in HEADERS.items() if said in names and one not in found.values()), None)
        if column is None:
            ignored.append(clean(name, 60))
        else:
            found[index] = column
    missing = {"company", "date"} - set(found.values())
    if missing:
        lacking = ", ".join(sorted(missing))
        names = ", ".join(HEADERS)
        raise Unreadable(f"the first line has no column for {lacking}; name the columns {names}")
    return found, tuple(ignored)


def _understood(
    header: list[str],
    columns: dict[int, Column],
    ignored: tuple[str, ...],
    lines: Iterator[list[str]],
    now: datetime,
    day_first: bool | None,
) -> ParsedFile:
    rows: list[PastApplication] = []
    bad: list[BadRow] = []
    line = 1
    for cells in lines:
        line += 1
        if not any(cell.strip() for cell in cells):
            continue
        if len(rows) + len(bad) >= MOST_ROWS:
            bad.append(BadRow(line, f"only {MOST_ROWS:,} rows are read; import the rest as another file", ""))
            break
        said = {column: cells[index][:LONGEST_CELL] if index < len(cells) else "" for index, column in columns.items()}
        try:
            rows.append(_row(line, said, now, day_first))
        except ValueError as error:
            bad.append(BadRow(line, str(error), clean(" | ".join(cells), 120)))
    named = {clean(header[index], 60): column for index, column in columns.items()}
    return ParsedFile(named, ignored, tuple(rows), tuple(bad))


def _row(line: int, said: Mapping[Column, str], now: datetime, day_first: bool | None) -> PastApplication:
    remarks = []
    company, title = clean(said["company"], 200), clean(said.get("title", ""), 300)
    if company_key(company) is None:
        raise ValueError(f"{company!r} is not a company" if company else "the company is missing")
    given = said.get("url", "").strip()
    url = canonical_url(given) if given else None
    if given and url is None:
        remarks.append(f"{clean(given, 60)!r} is not an address")
    if url is None and not title_key(title):
        raise ValueError("neither an address nor a title; one of them must say which job it was")
    applied = _date(said["date"], day_first)
    if applied > now.date():
        raise ValueError(f"{applied.isoformat()} has not come yet")
    stage, ending = Stage.SUBMITTED, None
    status = fold(said.get("status", ""))[:200]
    if status:
        index, found = next(((at, one) for at, one in enumerate(STATUSES) if one[0].search(status)), (-1, STATUSES[-1]))
        if index == 0:
            raise ValueError(f"{clean(said['status'], 60)!r} says that nothing was sent")
        if index < 0:
            remarks.append(f"the status {clean(said['status'], 60)!r} is not known; taken as submitted")
        stage, ending = found[1], found[2]
    at = min(datetime.combine(applied, time(12), UTC), now)
    source = clean(said.get("source", ""), 100) or None
    notes = said.get("notes", "").strip()[:LONGEST_CELL]
    return PastApplication(line, company, title, url, at, stage, ending, source, notes, tuple(remarks))


def _date(text: str, day_first: bool | None) -> date:
    said = text.strip()[:40]
    if not said:
        raise ValueError("the date is missing")
    try:
        return datetime.fromisoformat(said.replace("Z", "+00:00")).date()
    except ValueError:
        pass
    found = _NUMERIC.match(said)
    if found is None:
        return _worded(said)
    first, second, third = int(found[1]), int(found[3]), int(found[4])
    if first > 31:
        return _made(said, first, second, third)
    year = third if third > 99 else 2000 + third
    if found[2] == "." or first > 12 or day_first is True:
        return _made(said, year, second, first)
    if second > 12 or day_first is False:
        return _made(said, year, first, second)
    if first == second:
        return _made(said, year, first, second)
    raise ValueError(f"{said!r} may be two days; say whether the day comes first")


def _worded(said: str) -> date:
    for form in ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%Y", "%Y%m%d"):
        try:
            return datetime.strptime(said.replace(".", ""), form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{clean(said, 40)!r} is not a date")


def _made(said: str, year: int, month: int, day: int) -> date:
    try:
        made = date(year, month, day)
    except ValueError:
        raise ValueError(f"{said!r} is not a date") from None
    if made.year < 1990:
        raise ValueError(f"{said!r} is too long ago")
    return made
