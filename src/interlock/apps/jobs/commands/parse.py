"""`interlock jobs parse`: the canonical postings of a recorded answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.printing import Json, as_json, clean, short, table

if TYPE_CHECKING:
    from interlock.apps.jobs.finder.identity.addresses import Address
    from interlock.apps.jobs.finder.sources.adapter import Adapter
    from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request


def parse(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="greenhouse, lever, …, feed, jsonld, html or api.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recorded answer: the body as it came.")],
    url: Annotated[
        str | None,
        typer.Option("--url", help="The address of the board or page that it came from.", show_default=False),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--source", help="A JSON file with the configuration of a feed, selectors or an API.", show_default=False
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", help="When it was recorded, in ISO 8601; relative dates count from it.", show_default="file's"
        ),
    ] = None,
    in_json: Json = False,
) -> None:
    """Print the postings of one recorded answer, a list or one posting's detail, in the canonical form.

    It needs neither a database nor the network.
    """
    from interlock.apps.jobs.finder.sources import ALIASES, SYSTEMS, adapter_of
    from interlock.apps.jobs.finder.sources.answer import Answer
    from interlock.machine import InterlockError

    kind = ALIASES.get(kind.lower(), kind.lower())
    body, changed = _recorded(file)
    recorded = moment(at) if at else changed
    answer = Answer(body, url=url)
    if kind == "html" and settings is None:
        found = _discovered(answer, recorded)
    else:
        adapter = adapter_of(kind, _configuration(settings) if settings else None)
        board = adapter.detect(url) if url and kind in SYSTEMS else None
        if url and board is None and kind in SYSTEMS:
            raise InterlockError(f"{url} is not an address of {kind}")
        found = adapter.parse(answer, board, recorded)
        if found.verdict == "failed":
            found = _alone(adapter, answer, board, recorded) or found
    if in_json:
        as_json(_parsed(kind, found))
    else:
        _print_parsed(found)
    if found.verdict == "failed":
        raise typer.Exit(1)


def _recorded(file: Path) -> tuple[bytes, datetime]:
    from interlock.machine import InterlockError

    try:
        return file.read_bytes(), datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError as error:
        raise InterlockError(f"{file} cannot be read: {error.strerror}") from None


def _configuration(file: Path) -> dict[str, Any]:
    import json

    from interlock.machine import InterlockError

    try:
        found = json.loads(_recorded(file)[0])
    except ValueError as error:
        raise InterlockError(f"{file} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InterlockError(f"{file} must have an object with the configuration of the source")
    return found


def _alone(adapter: Adapter, answer: Answer, board: Address | None, at: datetime) -> Parsed | None:
    """The posting of an answer that is no list but the detail of one posting; None when it is neither."""
    from interlock.apps.jobs.finder.postings.posting import Extraction, Posting

    nothing = Extraction(method=adapter.method, adapter_version=adapter.version)
    empty = Posting(ats=adapter.kind, extraction=nothing, first_seen=at, last_seen=at)
    found = adapter.parse_detail(answer, board, empty, at)
    return found if any(one.title for one in found.postings) else None


def _discovered(answer: Answer, at: datetime) -> Parsed:
    """What the selectors that rules propose for a page give; `failed` when they propose none."""
    from interlock.apps.jobs.finder.sources.answer import failed
    from interlock.apps.jobs.finder.sources.discovery import discover
    from interlock.apps.jobs.finder.sources.documents import decoded
    from interlock.apps.jobs.finder.sources.selectors import Html
    from interlock.machine import InterlockError

    if answer.url is None:
        raise InterlockError("selectors are found with the page's address: give it as --url, or selectors as --source")
    found = discover(decoded(answer), answer.url, at)
    if found is None:
        return failed("no repeated element of the page has links that look like postings")
    typer.echo(f"selectors: {found.config.selectors.model_dump_json(exclude_none=True)}", err=True)
    return Html(found.config).parse(answer, None, at)


def moment(text: str) -> datetime:
    """The moment that an option names; without an offset it is UTC."""
    from interlock.machine import InterlockError

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InterlockError(f"{text!r} is not a moment in ISO 8601, such as 2026-08-10T12:00:00Z") from None
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
    postings = "1 posting" if counts.parsed == 1 else f"{counts.parsed} postings"
    typer.echo(f"{found.verdict.value}: {postings}, {counts.listed} listed{more}")
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
