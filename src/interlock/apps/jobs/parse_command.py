"""`interlock jobs parse`: the canonical postings of a recorded answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.printing import Json, as_json, clean, short, table

if TYPE_CHECKING:
    from interlock.apps.jobs.finder.sources.answer import Parsed, Request


def parse(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind of source: greenhouse, lever, …")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recorded answer: the body as it came.")],
    url: Annotated[
        str | None,
        typer.Option("--url", help="The board's address, for systems whose answers have none.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", help="When it was recorded, in ISO 8601; relative dates count from it.", show_default="file's"
        ),
    ] = None,
    in_json: Json = False,
) -> None:
    """Print the postings of one recorded answer, in the canonical form. It needs neither a database nor the network."""
    from interlock.apps.jobs.finder.sources import adapter_of
    from interlock.apps.jobs.finder.sources.answer import Answer
    from interlock.machine import InterlockError

    adapter = adapter_of(kind)
    board = adapter.detect(url) if url else None
    if url and board is None:
        raise InterlockError(f"{url} is no address of {kind}")
    try:
        body = file.read_bytes()
        recorded = _moment(at) if at else datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError as error:
        raise InterlockError(f"{file} cannot be read: {error.strerror}") from None
    found = adapter.parse(Answer(body, url=url), board, recorded)
    if in_json:
        as_json(_parsed(kind, found))
        return
    _print_parsed(found)


def _moment(text: str) -> datetime:
    from interlock.machine import InterlockError

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InterlockError(f"{text!r} is no moment in ISO 8601, such as 2026-08-10T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parsed(kind: str, found: Parsed) -> dict[str, Any]:
    from dataclasses import asdict

    def sent(request: Request) -> dict[str, Any]:
        return {"method": request.method, "url": request.url, "body": request.body}

    return {
        "kind": kind,
        "verdict": found.verdict.value,
        "reasons": list(found.reasons),
        "counts": asdict(found.counts),
        "company": found.company,
        "wrong_fields": dict(found.wrong_fields),
        "follow": [sent(request) for request in found.follow],
        "postings": [posting.model_dump(mode="json") for posting in found.postings],
    }


def _print_parsed(found: Parsed) -> None:
    counts = found.counts
    more = "".join(
        f", {many} {word}"
        for word, many in (
            ("repeated", counts.duplicates),
            ("hidden", counts.hidden),
            ("unreadable", counts.unreadable),
        )
        if many
    )
    typer.echo(f"{found.verdict.value}: {counts.parsed} postings from {counts.listed} rows{more}")
    for reason in found.reasons:
        typer.echo(f"  {clean(reason)}")
    rows = [
        (
            one.external_id or "",
            short(one.title or "unknown"),
            short("; ".join(place.raw for place in one.locations) or "unknown", 40),
            one.workplace.value,
            one.employment_type.value,
            one.posted_at.date().isoformat() if one.posted_at else "unknown",
        )
        for one in found.postings
    ]
    if rows:
        typer.echo()
        table(("id", "title", "places", "workplace", "employment", "posted"), rows)
