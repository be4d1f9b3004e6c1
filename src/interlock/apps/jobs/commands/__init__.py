"""`interlock jobs`: the profile, the finder, reading postings, tools for agents. A module has a command or two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlock.apps.jobs.commands.add import add
from interlock.apps.jobs.commands.crawl import crawl
from interlock.apps.jobs.commands.init import init
from interlock.apps.jobs.commands.listing import list_, sources, why
from interlock.apps.jobs.commands.parse import parse
from interlock.apps.jobs.commands.parse_again import parse_again
from interlock.apps.jobs.commands.score import score
from interlock.console.printing import Json, as_json, bars, table

app = typer.Typer(
    rich_markup_mode=None,
    help="Jobs: the profile, finding, reading and scoring postings, tools for agents.",
    no_args_is_help=True,
)
app.command()(init)
app.command()(add)
app.command()(crawl)
app.command("list")(list_)
app.command()(sources)
app.command()(why)
app.command()(parse)
app.command("parse-again")(parse_again)
app.command()(score)
Url = Annotated[
    str,
    typer.Option(
        "--url", envvar="INTERLOCK_URL", help="The address of the service.", show_default="http://127.0.0.1:8420"
    ),
]
Token = Annotated[
    str,
    typer.Option(
        "--token",
        envvar="INTERLOCK_TOKEN",
        help="An agent's token with the scope claims. Prefer the variable: others can see a command line.",
        show_default=False,
    ),
]


@app.command()
def mcp(
    url: Url = "http://127.0.0.1:8420",
    token: Token = "",
    workspace: Annotated[str | None, typer.Option("--workspace", help="The workspace of the jobs.")] = None,
    by_http: Annotated[
        bool,
        typer.Option("--http", help="Serve on http://127.0.0.1:PORT/mcp instead of the standard input and output."),
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port for --http; 0 takes a free one.")
    ] = 8421,
) -> None:
    """Serve the tools find, claim, patch and finish to a model over the Model Context Protocol."""
    from interlock.machine import InterlockError

    if not token:
        raise InterlockError(
            "no token; create one with: interlock token create NAME --scope claims, and set INTERLOCK_TOKEN"
        )
    try:
        from interlock.apps.jobs.agents.serving import over_http, over_stdio
    except ImportError as error:
        raise InterlockError(f"this needs the extra mcp: pip install 'interlock[mcp]' ({error})") from error
    if by_http:
        over_http(url, token, workspace, port, ready=lambda where: typer.echo(f"tools on {where}", err=True))
    else:
        over_stdio(url, token, workspace)


@app.command()
def evaluate(
    postings: Annotated[
        Path, typer.Option("--postings", help="The postings, a JSON object a line.", show_default=False)
    ],
    answers: Annotated[
        Path, typer.Option("--answers", help="The known answers, by the postings' ids.", show_default=False)
    ],
    in_json: Json = False,
) -> None:
    """Measure how well rules read postings where the answers are known, value by value."""
    from interlock.apps.jobs.finder.reading.evaluate import evaluate as measure

    with bars(in_json) as progress:
        bar = progress.add_task("reading", total=None)
        report = measure(postings, answers, lambda done, of: progress.update(bar, completed=done, total=of))
    if in_json:
        as_json(report.json())
        return
    table(("value", "score"), [(name, f"{value:.3f}") for name, value in report.fields.items()])
    typer.echo(
        f"overall {report.overall:.3f} over {report.postings} postings, {report.ms_per_posting:.2f} ms a posting; "
        "where a text is silent, the likeliest value was taken"
    )
