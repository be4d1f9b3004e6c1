"""`interlock contracts`: ingest files, compare two, measure the extraction, list the kinds of contract."""

import typer

from interlock.apps.contracts.commands import compare, evaluate, process, verticals

app = typer.Typer(
    rich_markup_mode=None, help="Contracts: process, compare, evaluate, list verticals.", no_args_is_help=True
)
app.command("process")(process.process)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("verticals")(verticals.verticals)
