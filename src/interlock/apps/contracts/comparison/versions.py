"""Two versions of a contract: which clauses and fields differ, word for word.

Accepting all changes gives exactly the normal text of the second version; rejecting all gives the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock.apps.contracts.comparison.align import Pair, align
from interlock.apps.contracts.comparison.clauses import Clause, Clauses, clauses_of
from interlock.apps.contracts.comparison.fields import StoredFields, field_changes
from interlock.apps.contracts.comparison.result import (
    ClauseChange,
    ClauseSide,
    DocumentName,
    Evidence,
    Summary,
    VersionsComparison,
    Words,
)
from interlock.apps.contracts.comparison.text import Readable
from interlock.apps.contracts.comparison.words import Piece, accepted, changed_blocks, difference, rejected


@dataclass(frozen=True, slots=True)
class Source:
    """A document to compare: its name, its text, and the fields that were read from it."""

    name: str
    document: Readable
    fields: StoredFields = field(default_factory=dict)


def compare_versions(before: Source, after: Source) -> VersionsComparison:
    """Compare two versions of a contract."""
    first, second = clauses_of(before.document), clauses_of(after.document)
    clauses = [_change(pair) for pair in align(first, second)]
    fields = field_changes(before.fields, after.fields)
    counts = Counter(change.status for change in clauses)
    in_fields = Counter(change.status for change in fields)
    different = sum(change.status in {"changed", "added", "removed"} for change in fields)
    summary = {
        "same": counts["same"],
        "changed": counts["changed"],
        "moved": counts["moved"],
        "added": counts["added"],
        "removed": counts["removed"],
        "renumbered": sum(change.renumbered for change in clauses),
        "changed_blocks": changed_blocks(first.text, second.text),
        "changed_blocks_as_printed": changed_blocks(_as_printed(before), _as_printed(after)),
        "fields_changed": different,
        "fields_same": in_fields["same"],
    }
    return VersionsComparison(
        title=f"{before.name} → {after.name}",
        documents=[document_name("before", before, first), document_name("after", after, second)],
        summary=Summary(verdict=_verdict(summary), counts=summary),
        notes=[*notes(first, second), *_places_note(summary)],
        clauses=clauses,
        fields=fields,
    )


def _as_printed(source: Source) -> str:
    """The pages one after the other, with their headers, footers and page numbers."""
    return " ".join(" ".join(page.text for page in source.document.pages).split())


def _places_note(counts: dict[str, int]) -> list[str]:
    mine, printed = counts["changed_blocks"], counts["changed_blocks_as_printed"]
    if mine == printed:
        return []
    return [f"Sentence by sentence, the texts differ in {mine} places; with what is printed around them, in {printed}."]


def accept_all(comparison: VersionsComparison) -> str:
    """Return the normal text of the second version, from the changes alone."""
    sides = [(change.after.index, change.words) for change in comparison.clauses if change.after]
    return " ".join(accepted(pieces(words)) for _, words in sorted(sides, key=lambda pair: pair[0]))


def reject_all(comparison: VersionsComparison) -> str:
    """Return the normal text of the first version, from the changes alone."""
    sides = [(change.before.index, change.words) for change in comparison.clauses if change.before]
    return " ".join(rejected(pieces(words)) for _, words in sorted(sides, key=lambda pair: pair[0]))


def pieces(words: Iterable[Words]) -> list[Piece]:
    """Return stored words as pieces again."""
    return [Piece(piece.op, piece.text) for piece in words]


def words_of(before: str, after: str) -> list[Words]:
    """Return the difference of two texts as it is stored."""
    return [Words(op=piece.op, text=piece.text) for piece in difference(before, after)]


def places(document: str, clause: Clause) -> list[Evidence]:
    """Return where a clause stands."""
    return [Evidence(document=document, page=span.page, start=span.start, end=span.end) for span in clause.spans]


def document_name(key: str, source: Source, clauses: Clauses) -> DocumentName:
    """Return how the result names a document."""
    return DocumentName(key=key, name=source.name, pages=len(source.document.pages), ignored=list(clauses.ignored))


def notes(*documents: Clauses) -> list[str]:
    """Return what a reader must know about how the texts were compared."""
    said = ["Line breaks, spaces, kinds of quotation marks and dashes, and hyphens at line ends were not compared."]
    if any(document.ignored for document in documents):
        said.append("Headers, footers and page numbers were not compared; they are listed at each document.")
    if not all(document.items for document in documents):
        said.append("A document without any text was compared: a scan needs to be read by OCR first.")
    return said


def _change(pair: Pair) -> ClauseChange:
    before, after = pair.before, pair.after
    some = after or before
    assert some is not None
    renumbered = bool(before and after and pair.changed and before.body == after.body)
    return ClauseChange(
        status=pair.status,
        title=some.title,
        before=_side("before", before),
        after=_side("after", after),
        words=words_of(before.text if before else "", after.text if after else ""),
        renumbered=renumbered,
        verdict=_clause_verdict(pair, some.title, renumbered),
    )


def _side(document: str, clause: Clause | None) -> ClauseSide | None:
    if clause is None:
        return None
    return ClauseSide(index=clause.index, number=clause.number, heading=clause.heading, places=places(document, clause))


def _clause_verdict(pair: Pair, title: str, renumbered: bool) -> str:
    before, after = pair.before, pair.after
    if before is None:
        return f"{title} is new."
    if after is None:
        return f"{title} was removed."
    if renumbered:
        return f"{title} has only another number; it was {before.number or 'without one'}."
    if pair.status == "moved":
        return (
            f"{title} was moved from page {before.page} to page {after.page}{' and changed' if pair.changed else ''}."
        )
    return f"{title} is the same." if pair.status == "same" else f"{title} was changed."


def _verdict(counts: dict[str, int]) -> str:
    parts = [f"{counts[name]} {name}" for name in ("changed", "moved", "added", "removed") if counts[name]]
    if not parts and not counts["fields_changed"]:
        return "The two versions have the same text."
    clauses = f"Clauses: {', '.join(parts)}, {counts['same']} the same." if parts else "The text is the same."
    changed = counts["fields_changed"]
    fields = "One field differs" if changed == 1 else f"{changed} fields differ" if changed else "No field differs"
    return f"{clauses} {fields}."
