"""Commands: `interlock expenses submit` and `interlock expenses report`."""

from __future__ import annotations

from typing import Annotated

import typer
from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
from interlock.console.printing import As, Json, as_json, login, table

app = typer.Typer(rich_markup_mode=None, help="Expenses: submit receipts, see what was paid.", no_args_is_help=True)


@app.command()
def submit(
    employee: Annotated[str, typer.Argument(help="Who spent the money.")],
    account: Annotated[str, typer.Argument(help="The employee's IBAN.")],
    shop: Annotated[str, typer.Argument(help="Where it was spent.")],
    cents: Annotated[int, typer.Argument(min=1, help="The amount in cents.")],
    category: Annotated[str | None, typer.Option(help="travel, meals, equipment or other.")] = None,
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Submit a receipt and print its id."""
    from interlock import USER, Actor

    data = {"employee": employee, "account": account, "shop": shop, "cents": cents, "category": category}
    with opened(database, apps) as engine:
        typer.echo(engine.create("receipt", data, actor=Actor(USER, user or login())).id)


@app.command()
def report(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """Print what was paid to each employee."""
    from expenses import ledger
    from expenses.models import money

    with opened(database, apps) as engine:
        found = engine.read(ledger.totals)
    if in_json:
        as_json([{"employee": one.employee, "payments": one.payments, "cents": one.cents} for one in found])
    else:
        table(
            ("employee", "payments", "paid"),
            [(one.employee or "erased", str(one.payments), money(one.cents)) for one in found],
        )
