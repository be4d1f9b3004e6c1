"""The section `[notes]` of the configuration."""

from __future__ import annotations

from pydantic import Field, SecretStr

from interlock.config import Table


class PrinterSettings(Table):
    """Where notes are printed."""

    name: str = Field("hall", description="The printer's name.")
    copies: int = Field(1, ge=1, le=9, description="Copies of each note.")


class NotesSettings(Table):
    """How notes are kept."""

    greeting: str = Field("hello", description="What stands at the top of a note.")
    password: SecretStr | None = Field(None, description="Opens the cupboard.")
    marks: dict[str, SecretStr] = Field(default_factory=dict, description="Words that only the porter knows.")
    printer: PrinterSettings = PrinterSettings()
