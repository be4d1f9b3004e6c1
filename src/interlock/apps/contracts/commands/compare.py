"""`interlock contracts compare`: the differences between two contracts, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.apps.contracts.commands.settings import contract_settings
from interlock.console.options import DEFAULT_DATABASE, Config, Database, store_of
from interlock.console.printing import Json, as_json, clean, short, table

if TYPE_CHECKING:
    from interlock.apps.contracts.comparison import Source
    from interlock.apps.contracts.comparison.result import AnyComparison
    from interlock.config import Settings


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="The earlier version: a file or a workflow's id.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The later version: a file or a workflow's id.")],
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write the comparison as an HTML page to this file.", show_default=False),
    ] = None,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    config: Config = None,
) -> None:
    """Compare two versions of a contract, or an amendment with its base. Files need no database."""
    settings = contract_settings(config)
    from interlock.apps.contracts.comparison import compare_pair, page
    from interlock.machine import InterlockError
    from interlock.store import private

    comparison = compare_pair(*_sources([before, after], database, settings))
    if html is not None:
        try:
            with private.write_text(html) as out:
                out.write(page(comparison))
        except OSError as error:
            raise InterlockError(f"{html} cannot be written: {error.strerror}") from None
    if in_json:
        as_json(comparison.model_dump(mode="json"))
        return
    _print_comparison(comparison)
    if html is not None:
        typer.echo(f"\nthe whole comparison is in {html}")


def _sources(wanted: Sequence[str], database: str, settings: Settings) -> list[Source]:
    """Both sides; the database is opened only when one of them is a workflow."""
    from interlock.apps.contracts.fields.vertical import load_verticals
    from interlock.machine import InterlockError

    verticals = load_verticals(settings.section("contracts").verticals)
    found = []
    for one in wanted:
        path = Path(one)
        if path.is_file():
            found.append(_read(path, list(verticals.values())))
            continue
        try:
            workflow = UUID(one)
        except ValueError:
            raise InterlockError(f"{one} is neither an existing file nor a workflow's id") from None
        from interlock.apps.contracts.steps import source_of

        with store_of(database or settings.database_url) as store:
            found.append(store.read(lambda conn, id=workflow: source_of(conn, id, "default")))  # type: ignore[misc]
    return found


def _read(path: Path, verticals: Sequence[Any]) -> Source:
    """A file with the fields of the kind of contract that it looks most like."""
    from interlock.apps.contracts.comparison import Source
    from interlock.apps.contracts.fields.extraction import extract
    from interlock.apps.contracts.fields.providers import shipped_providers
    from interlock.apps.contracts.reading import read
    from interlock.machine import InterlockError

    try:
        document = read(path.read_bytes(), path.name)
    except OSError as error:
        raise InterlockError(f"{path} cannot be read: {error.strerror}") from None
    tried = [
        (extract(document, one, providers=shipped_providers(one.providers) if one.providers else None), one)
        for one in verticals
    ]
    best, _ = max(tried, key=lambda t: (t[0].fits, sum(f.name in t[0].fields for f in t[1].required), t[0].signs))
    return Source(path.name, document, best.json()["fields"])


def _print_comparison(comparison: AnyComparison) -> None:
    typer.echo(clean(comparison.title))
    for document in comparison.documents:
        typer.echo(
            f"  {document.key:<12} {clean(document.name)}, {document.pages} page{'' if document.pages == 1 else 's'}"
        )
    typer.echo(f"\n{clean(comparison.summary.verdict)}")
    if comparison.kind == "versions":
        _print_versions(comparison)
    elif comparison.kind == "amendment":
        sections = [(one.section, one.action, short(one.new_text or one.instruction)) for one in comparison.sections]
        if sections:
            typer.echo("\nsections")
            table(("section", "is", "text"), sections)
        fields = [
            (one.name, one.controlling, one.verdict)
            for one in comparison.fields
            if one.controlling != "base" or one.check
        ]
        if fields:
            typer.echo("\nfields that an amendment sets")
            table(("field", "by", "what holds"), fields)
    for note in comparison.notes:
        typer.echo(f"\nnote: {clean(note)}")


def _print_versions(comparison: Any) -> None:
    changed = [one for one in comparison.fields if one.status not in {"same", "absent"}]
    if changed:
        typer.echo("\nfields that differ")
        table(("field", "before", "", "after"), [(f.name, _side(f.before), "→", _side(f.after)) for f in changed])
    clauses = [one for one in comparison.clauses if one.status != "same"]
    if clauses:
        typer.echo("\nclauses that differ")
        rows = []
        for one in clauses:
            gone = " … ".join(w.text.strip() for w in one.words if w.op == "deleted")
            new = " … ".join(w.text.strip() for w in one.words if w.op == "inserted")
            rows.append((one.status, short(one.title, 40), short(gone), "→", short(new)))
        table(("status", "clause", "before", "", "after"), rows)


def _side(side: Any) -> str:
    return "none" if side is None or side.value is None else short(str(side.value))
