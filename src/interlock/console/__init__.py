"""Shared by commands, ours and an application's: options (`options`) and output (`printing`).

An application names a Typer app in `Application.commands`; `interlock NAME …` runs it. Only Typer is imported here:
what a command needs, it imports when it runs.

    from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
    from interlock.console.printing import Json, as_json, table

    app = typer.Typer(help="Shops: list what was sold.", no_args_is_help=True)

    @app.command()
    def sold(in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
        with opened(database, apps) as engine:
            ...
"""

try:
    import typer  # noqa: F401
except ModuleNotFoundError:  # `extras` is imported only then: it would cost `--help` a tenth of a second
    from interlock.machine import extras

    extras.require("service", "typer", "rich")
