"""A document as clauses: number, heading, text and where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interlock.apps.contracts.comparison.labels import Label, Numbering
from interlock.apps.contracts.comparison.text import Line, Lines, Readable, TextSpan, join, lines_of

_ENDS = re.compile(r"(?:[.:;!?][\"')\]]*|[\"')\]]|\b(?:and|or|und|oder))\Z", re.IGNORECASE)
_ENDS_SENTENCE = re.compile(r"[.:;!?][\"')\]]*\Z")
_LEADERS = re.compile(r"(?:\. ?){4,}|(?<!_)_{6,}\s*\d+\Z")
_HEADING = re.compile(r"(?P<heading>[A-Z\"'(](?:[^.:;]|\.(?=\d)){1,90}?)(?:[.:](?=\s|\Z)|\Z)")
_SMALL = frozenset(
    {
        "a",
        "an",
        "and",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "or",
        "the",
        "to",
        "upon",
        "with",
        "without",
        "not",
        "no",
        "its",
        "their",
        "der",
        "die",
        "das",
        "und",
        "oder",
        "von",
        "zur",
        "zum",
        "im",
        "mit",
        "ohne",
    }
)
HEADING_WORDS = 12
SHORT = 0.72
"""A line this much shorter than the long ones of the document, with a full stop, ends a paragraph."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One numbered clause, or one paragraph that has no number."""

    index: int
    number: str
    """The way to it in one written form, `2(a)(i)`; empty for a paragraph without a number."""
    path: tuple[str, ...]
    label: str
    """The number as it is printed."""
    heading: str
    text: str
    """Its normal text, with number and heading."""
    spans: tuple[TextSpan, ...]
    """Where it stands, one for each page."""

    @property
    def page(self) -> int:
        return self.spans[0].page

    @property
    def start(self) -> int:
        return self.spans[0].start

    @property
    def end(self) -> int:
        """Where it ends on the page where it starts."""
        return self.spans[0].end

    @property
    def body(self) -> str:
        """Its text without the number."""
        return self.text[len(self.label) :].lstrip() if self.label else self.text

    @property
    def title(self) -> str:
        """What a person calls it."""
        return " ".join(part for part in (self.number, self.heading) if part) or shortened(self.text, 60)

    def holds(self, page: int, start: int) -> bool:
        """Whether that character of that page belongs to it."""
        return any(span.page == page and span.start <= start < max(span.end, span.start + 1) for span in self.spans)


@dataclass(frozen=True, slots=True)
class Clauses:
    """All clauses of a document in order, and the lines that belong to no clause."""

    items: tuple[Clause, ...]
    ignored: tuple[str, ...]

    @property
    def text(self) -> str:
        """The normal text of the whole document."""
        return " ".join(clause.text for clause in self.items)

    def at(self, page: int, start: int) -> Clause | None:
        """Return the clause that holds that character of that page."""
        return next((clause for clause in self.items if clause.holds(page, start)), None)

    def find(self, path: tuple[str, ...]) -> tuple[Clause, ...]:
        """Return the clause with that number and all its parts, outside of exhibits."""
        wanted = tuple(part.lower() for part in path)
        size = len(wanted)
        return tuple(c for c in self.items if tuple(part.lower() for part in c.path[:size]) == wanted)


def clauses_of(document: Readable) -> Clauses:
    """Cut a document into clauses at its numbers, headings and paragraphs."""
    lines = lines_of(document)
    return Clauses(tuple(_cut(lines)), lines.ignored)


def merged(clauses: Sequence[Clause], index: int) -> Clause:
    """Return one clause that has the text of all of these; number and heading are those of the first."""
    first = clauses[0]
    spans: list[TextSpan] = []
    for span in (span for clause in clauses for span in clause.spans):
        if spans and spans[-1].page == span.page:
            spans[-1] = TextSpan(span.page, min(spans[-1].start, span.start), max(spans[-1].end, span.end))
        else:
            spans.append(span)
    text = " ".join(clause.text for clause in clauses)
    return Clause(index, first.number, first.path, first.label, first.heading, text, tuple(spans))


def shortened(text: str, length: int) -> str:
    """Return the text, cut at a word with an ellipsis if it is longer than that."""
    if len(text) <= length:
        return text
    cut = text[:length].rsplit(" ", 1)[0]
    return f"{cut or text[:length]}…"


def is_heading(text: str) -> bool:
    """Whether a line reads like a heading: few words, each with a capital letter, and no sentence."""
    words = re.findall(r"[^\W\d_]+", text)
    if not words or len(words) > HEADING_WORDS or len(text) > 90:
        return False
    return all(word[0].isupper() or word.lower() in _SMALL for word in words) and words[0][0].isupper()


def _cut(lines: Lines) -> Iterable[Clause]:
    numbering = Numbering()
    long = _long_line(lines.kept)
    pending: list[Line] = []
    label: Label | None = None
    index = 0
    before: Line | None = None
    for line in lines.kept:
        fresh = before is None or line.after_gap or _ended(before, line, long)
        found = None if _LEADERS.search(line.text) else numbering.read(line.text, fresh)
        if pending and (found or _new_paragraph(pending, line, label, long)):
            yield _clause(index, label, pending, lines.vocabulary)
            index += 1
            pending, label = [], None
        if found:
            label = found
        pending.append(line)
        before = line
    if pending:
        yield _clause(index, label, pending, lines.vocabulary)


def _ended(before: Line, line: Line, long: int) -> bool:
    """Whether the line before can be the end of something."""
    if _ENDS.search(before.text) or _LEADERS.search(before.text):
        return True
    if before.text.isupper() and is_heading(before.text) and len(before.text.split()) <= HEADING_WORDS // 2:
        return True
    if before.width < SHORT * long and not before.text.endswith((",", "-")):
        return is_heading(before.text) or line.span.page != before.span.page or before.width < long // 2
    return False


def _new_paragraph(pending: list[Line], line: Line, label: Label | None, long: int) -> bool:
    """Whether a line without a number starts a paragraph of its own."""
    before = pending[-1]
    if _LEADERS.search(line.text) or _LEADERS.search(before.text):
        return True
    starts = line.text[0].isupper() or line.text[0] in "\"'([*" or line.text[0].isdigit()
    if line.after_gap:
        return starts or bool(_ENDS_SENTENCE.search(before.text))
    if label and len(pending) == 1:
        # "ARTICLE 1", then "DEFINITIONS", then the text: one clause with its heading.
        own = _after(label, before.text)
        if is_heading(own) or (not own and is_heading(line.text)):
            return False
    if not starts:
        return False
    capitals = line.text.isupper() and is_heading(line.text)
    if capitals and before.text.isupper():
        return False
    if capitals or (before.text.isupper() and is_heading(before.text) and not label):
        return not before.text.endswith(",")
    return bool(_ENDS_SENTENCE.search(before.text)) and before.width < SHORT * long


def _long_line(lines: Sequence[Line]) -> int:
    widths = sorted(line.width for line in lines)
    return widths[len(widths) * 3 // 4] if widths else 0


def _after(label: Label, text: str) -> str:
    return text[len(label.printed) :].strip(" .:-")


def _clause(index: int, label: Label | None, lines: list[Line], vocabulary: frozenset[str]) -> Clause:
    text = join((line.text for line in lines), vocabulary)
    spans: list[TextSpan] = []
    for line in lines:
        if spans and spans[-1].page == line.span.page:
            spans[-1] = TextSpan(line.span.page, spans[-1].start, line.span.end)
        else:
            spans.append(line.span)
    heading = _heading(label, lines, text)
    if label is None:
        return Clause(index, "", (), "", heading, text, tuple(spans))
    return Clause(index, label.number, label.path, label.printed, heading, text, tuple(spans))


def _heading(label: Label | None, lines: list[Line], text: str) -> str:
    if label is None:
        first = lines[0].text
        return first.strip(" .:") if is_heading(first) and first.isupper() else ""
    own = _after(label, lines[0].text)
    if not own and len(lines) > 1 and is_heading(lines[1].text):
        return lines[1].text.strip(" .:")
    match = _HEADING.match(text[len(label.printed) :].lstrip(" .:-"))
    if match and match.end() < len(own) and is_heading(match["heading"]):
        return match["heading"].strip()
    return own.strip(" .:") if is_heading(own) else ""
