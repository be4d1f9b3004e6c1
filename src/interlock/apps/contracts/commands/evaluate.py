"""`interlock contracts evaluate`: measure the extraction on contracts with known answers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.apps.contracts.commands.settings import contract_settings
from interlock.console.options import Config
from interlock.console.printing import Json, as_json, bars, clean, short, table

if TYPE_CHECKING:
    from interlock.apps.contracts.fields.measures import Report
    from interlock.apps.contracts.fields.vertical import Vertical


def evaluate(
    pdfs: Annotated[Path, typer.Option("--pdfs", help="The folder with the PDFs.", show_default=False)],
    labels: Annotated[Path, typer.Option("--labels", help="The known answers, a CSV like CUAD's.", show_default=False)],
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            max=50,
            help="Cross-validate: judge each part of the files by a calibration made from the other parts.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many files.", show_default=False)
    ] = None,
    vertical: Annotated[str, typer.Option("--vertical", help="The kind of contract.")] = "commercial",
    answers: Annotated[
        Path | None,
        typer.Option(
            "--model-answers",
            help="What a model answered: JSON, file name → its answers, each with field, value, quote and page.",
            show_default=False,
        ),
    ] = None,
    readers: Annotated[bool, typer.Option("--readers", help="Show what each rule brings to each field.")] = False,
    in_json: Json = False,
    config: Config = None,
) -> None:
    """Measure the extraction on contracts with known answers: fields, calibration, what would be approved."""
    settings = contract_settings(config)
    from interlock.apps.contracts.fields.evaluate import evaluate as measure
    from interlock.apps.contracts.fields.recorded import recorded
    from interlock.apps.contracts.steps import vertical_of
    from interlock.machine import InterlockError

    if not pdfs.is_dir():
        raise InterlockError(f"there is no folder {pdfs}; --pdfs names the one with the PDFs")
    with ExitStack() as stack:
        progress = stack.enter_context(bars(in_json))
        bar = progress.add_task("reading", total=None)

        def said(number: int, of: int, name: str) -> None:
            progress.update(bar, completed=number, total=of, description=short(name or "judging"))

        kind = vertical_of(vertical, settings.section("contracts"))
        report = measure(
            pdfs,
            _limited(labels, limit, pdfs, stack, kind),
            said,
            vertical=kind,
            folds=folds,
            second=recorded(answers) if answers is not None else None,
        )
    if not report.documents:
        raise InterlockError(f"none of the files that {labels} names is in {pdfs}")
    if in_json:
        as_json(report.json())
    else:
        _print_report(report, readers)


def _limited(labels: Path, limit: int | None, pdfs: Path, stack: ExitStack, kind: Vertical) -> Path:
    """The labels, or a copy with the first rows whose files are there."""
    if limit is None:
        return labels
    import csv
    import tempfile

    from interlock.apps.contracts.fields.evaluate import by_name, name_letters, read_labels
    from interlock.store import private

    there = by_name(pdfs)
    rows = [row for row in read_labels(labels, kind) if name_letters(row["Filename"]) in there]
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    path = Path(folder) / labels.name
    with private.write_text(path, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["Filename"])
        writer.writeheader()
        writer.writerows(rows[:limit])
    return path


def _print_report(report: Report, readers: bool) -> None:
    typer.echo(f"{report.vertical}, calibration {report.calibration_version}: {report.note}")
    typer.echo(f"answers that stand in the text where they are said to: {100 * report.grounded:.1f} %\n")
    table(
        ("field", "known", "answered", "right", "held back", "coverage", "accuracy", "stated", "error", "by chance"),
        [
            (
                f"{row.field}{' *' if row.required else ''}",
                str(row.known),
                str(row.answered),
                str(row.right),
                str(row.withheld),
                f"{row.coverage:.3f}",
                f"{row.accuracy:.3f} ({row.accuracy_low:.2f} to {row.accuracy_high:.2f})" if row.answered else "",
                f"{row.stated:.3f}" if row.answered else "",
                f"{row.calibration_error:.3f}" if row.answered else "",
                f"{row.chance:.3f}" if row.answered else "",
            )
            for row in report.fields
        ],
    )
    typer.echo("* required: a document is right when all of these are")
    both = report.together
    typer.echo(
        f"error: of the calibration, in bins of at least twenty answers; over all fields {both['all']:.3f} (by chance "
        f"{both['all_chance']:.3f}), over the required ones {both['required']:.3f} ({both['required_chance']:.3f})\n"
    )
    if readers:
        table(
            ("field", "reader", "said", "right", "alone right"),
            [(row.field, row.reader, str(row.said), str(row.right), str(row.alone)) for row in report.readers],
        )
        typer.echo("alone right: no other reader of the field had it\n")
    table(
        ("threshold", "approved", "right", "precision", "coverage", "stated"),
        [
            (
                f"{row.threshold} %",
                str(row.approved),
                str(row.right),
                f"{row.precision:.3f} ({row.precision_low:.2f} to {row.precision_high:.2f})" if row.approved else "",
                f"{row.coverage:.3f}",
                f"{row.stated:.3f}" if row.approved else "",
            )
            for row in report.thresholds
        ],
    )
    typer.echo("approved: documents without a review; stated: the confidence that the score gives them; brackets: 90 %")
    for line in report.skipped[:10]:
        typer.echo(f"left out: {clean(line)}", err=True)
    if len(report.skipped) > 10:
        typer.echo(f"left out: {len(report.skipped) - 10} more", err=True)
