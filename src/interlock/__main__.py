"""`interlock`, and `python -m interlock`: the command line, if what it needs is installed."""

import sys

from interlock.machine.extras import MissingExtra, require


def main() -> None:
    try:
        require("service", "typer", "rich")
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    from interlock.cli import main as run

    run()


if __name__ == "__main__":
    main()
