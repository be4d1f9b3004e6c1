"""`interlock contracts verticals`: list the kinds of contract, or check a file that describes one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interlock.apps.contracts.commands.settings import contract_settings
from interlock.console.options import Config
from interlock.console.printing import Json, as_json, table


def verticals(
    check: Annotated[
        Path | None, typer.Option("--check", help="Only check this YAML file.", show_default=False)
    ] = None,
    in_json: Json = False,
    config: Config = None,
) -> None:
    """List the kinds of contract with their fields, or check a file that describes one."""
    settings = contract_settings(config)
    from interlock.apps.contracts.fields.calibration import shipped_table
    from interlock.apps.contracts.fields.vertical import load_verticals, parse_vertical
    from interlock.machine import InterlockError

    if check is not None:
        try:
            found = [parse_vertical(check.read_text("utf-8"), str(check))]
        except (OSError, UnicodeDecodeError) as error:
            raise InterlockError(f"{check} cannot be read: {error}") from None
    else:
        found = list(load_verticals(settings.section("contracts").verticals).values())
    if in_json:
        as_json([one.model_dump(mode="json") for one in found])
        return
    table(
        ("name", "label", "fields", "required", "calibrated with"),
        [
            (
                one.name,
                one.label,
                str(len(one.fields)),
                ", ".join(f.name for f in one.required),
                f"{shipped_table(one.name).documents} documents",
            )
            for one in found
        ],
    )
    if check is not None:
        typer.echo(f"{check} is valid")
