"""A program: `interlock check-iban ACCOUNT…` tells whether account numbers can be right. It needs no database."""

from __future__ import annotations

from typing import Annotated

import typer


def check(accounts: Annotated[list[str], typer.Argument(metavar="ACCOUNT…", help="IBANs.")]) -> None:
    """Check the digits of account numbers. Exit code 1 if one is wrong."""
    wrong = [one for one in accounts if not valid(one)]
    for one in accounts:
        typer.echo(f"{one}: {'wrong' if one in wrong else 'good'}")
    if wrong:
        raise typer.Exit(1)


def valid(account: str) -> bool:
    """Whether the check digits of an IBAN fit (ISO 7064)."""
    plain = "".join(account.split()).upper()
    if not plain.isalnum() or not plain.isascii() or not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1
