"""`interlock`, and `python -m interlock`: the command line, if what it needs is installed."""

import sys


def main() -> None:
    try:
        import typer  # noqa: F401 - the first thing that commands need
    except ModuleNotFoundError:
        # Imported only here: it takes a tenth of a second, as long as all the rest of `interlock --help`.
        from interlock.machine.extras import MissingExtra, require

        try:
            require("service", "typer", "rich")
        except MissingExtra as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
    from interlock.cli import main as run

    run()


if __name__ == "__main__":
    main()
