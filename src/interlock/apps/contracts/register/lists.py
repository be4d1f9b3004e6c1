"""Lists of contracts: filters, search in the text, pages, and what a row shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import (
    COMPARING,
    COMPLETED,
    EXTRACTING,
    FAILED,
    PARSING_PDF,
    PENDING,
    REJECTED,
    REVIEW_REQUIRED,
    TIMED_OUT,
    VALIDATED,
    VALIDATING,
    contract,
)
from interlock.apps.contracts.models import RejectReason
from interlock.apps.contracts.register import records
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.store import moment

PAGE = 50
MOST_WORDS = 10
AROUND = 70
SHOWS: Mapping[str, tuple[str, tuple[str, ...] | None]] = {
    "": ("All", None),
    "review": ("To review", (REVIEW_REQUIRED,)),
    "done": ("Approved", (VALIDATED, COMPARING, COMPLETED)),
    "working": ("Being read", (PENDING, PARSING_PDF, EXTRACTING, VALIDATING, FAILED)),
    "closed": ("Rejected or timed out", (REJECTED, TIMED_OUT)),
}
WHY_REJECTED = {
    RejectReason.REJECTED_IN_REVIEW: "rejected by a reviewer",
    RejectReason.RETRIES_EXHAUSTED: "could not be processed",
    RejectReason.NOT_RETRYABLE: "could not be read",
    RejectReason.GIVEN_UP: "given up",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which contracts are wanted; what is empty does not count."""

    words: str = ""
    """Words that all occur in the text, the file name or the parties."""
    show: str = ""
    vertical: str = ""

    @property
    def each(self) -> list[str]:
        return self.words.split()[:MOST_WORDS]


@dataclass(frozen=True, slots=True)
class Row:
    """A contract as lists show it."""

    instance: Instance
    file: str
    parties: str = ""
    law: str = ""
    term: str = ""
    value: str = ""
    ends: str = ""
    why: str = ""
    """Why it was rejected or failed."""
    found: tuple[str, str, str] | None = None
    """Where the words of the search stand: the text before, the words, the text after."""

    @property
    def id(self) -> UUID:
        return self.instance.id

    @property
    def called(self) -> str:
        return self.file if self.instance.erased else naming.called(self.instance.data)

    @property
    def confidence(self) -> int | None:
        sure: int | None = None if self.instance.erased else self.instance.data.get("final_confidence")
        return sure

    @property
    def again(self) -> bool:
        """Whether it can be processed again."""
        return self.instance.state in {REJECTED, TIMED_OUT} and not self.instance.erased

    def plain(self) -> dict[str, Any]:
        """The row for the API and for exports."""
        data = {} if self.instance.erased else self.instance.data
        return {
            "workflowId": str(self.id),
            "filename": self.file,
            "parties": self.parties,
            "law": self.law,
            "term": self.term,
            "value": self.value,
            "ends": self.ends,
            "state": self.instance.state,
            "confidence": self.confidence,
            "vertical": data.get("vertical", ""),
            "createdAt": moment(self.instance.created_at).isoformat(),
        }


COLUMNS = (
    "filename",
    "parties",
    "law",
    "term",
    "value",
    "ends",
    "state",
    "confidence",
    "vertical",
    "createdAt",
    "workflowId",
)


def page(
    conn: sa.Connection, workspace: str, wanted: Filter, *, after: UUID | None = None, limit: int = PAGE
) -> tuple[list[Row], UUID | None]:
    """A page of contracts, the newest first, and the cursor of the next one."""
    states = SHOWS[wanted.show][1]
    found: list[Instance] = []
    more = True
    while more and len(found) <= limit:  # the vertical is in the data, so pages are filtered here
        some = instances(
            conn,
            contract.name,
            workspace=workspace,
            states=states,
            among=records.containing(workspace, wanted.each) if wanted.each else None,
            after=found[-1].id if found and not wanted.vertical else after,
            newest_first=True,
            limit=limit + 1,
        )
        more = len(some) > limit and bool(wanted.vertical)
        after = some[-1].id if some else after
        found += [one for one in some if not wanted.vertical or one.shown_data.get("vertical") == wanted.vertical]
        if not wanted.vertical:
            break
    shown = found[:limit]
    return rows(conn, shown, wanted.each), shown[-1].id if len(found) > limit else None


def rows(conn: sa.Connection, found: Sequence[Instance], words: Sequence[str] = ()) -> list[Row]:
    """The rows of these contracts."""
    kept = records.of(conn, [one.id for one in found])
    texts = records.texts_of(conn, [one.id for one in found]) if words else {}
    return [_row(one, kept.get(one.id), texts.get(one.id), words) for one in found]


def _row(one: Instance, kept: sa.Row[Any] | None, text: tuple[str, str] | None, words: Sequence[str]) -> Row:
    if one.erased:
        return Row(one, f"{naming.NAMELESS}, erased")
    file, why = naming.file_of(one.data), ""
    if one.state == REJECTED and one.data.get("reject_reason"):
        why = WHY_REJECTED[RejectReason(one.data["reject_reason"])]
    if one.error and one.state in {REJECTED, FAILED}:
        why = ": ".join(part for part in (why, str(one.error.get("message", ""))[:200]) if part)
    if kept is None:
        return Row(one, file, why=why)
    place = _place(text, words) if text is not None else None
    return Row(one, file, kept.parties, kept.law, kept.term, kept.value, kept.ends or "", why, place)


def _place(text: tuple[str, str], words: Sequence[str]) -> tuple[str, str, str] | None:
    whole, small = text
    for word in words:
        at = small.find(records.folded(word))
        if at >= 0:
            end = at + len(word)
            return whole[max(at - AROUND, 0) : at], whole[at:end], whole[end : end + AROUND]
    return None
