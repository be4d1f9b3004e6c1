"""Checks a file and creates its workflow. Used by the endpoint, the command line and the demo."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

from interlock.apps.contracts.ingest import refusal
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.models import Contract
from interlock.apps.contracts.reading.file import media_type
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.steps import vertical_of
from interlock.engine import KeyTaken, artifacts
from interlock.engine.application import Unit, create
from interlock.machine import Actor


@dataclass(frozen=True, slots=True)
class Intake:
    """A file that is accepted."""

    content: bytes
    filename: str
    vertical: str
    media_type: str
    digest: str

    @property
    def key(self) -> str:
        """The same file for the same vertical is the same workflow."""
        return f"{self.digest}:{self.vertical}"


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """The workflow of a file, and whether it is new."""

    id: UUID
    new: bool


def inspect(content: bytes, filename: str, vertical: str, settings: ContractSettings, *, named: bool = True) -> Intake:
    """Refuse at once an unknown vertical, and a file that is no contract, by its name and with the reason."""
    vertical_of(vertical, settings)
    kind = media_type(content, filename)
    refusal.check(content, filename if named else "", kind)
    return Intake(content, filename, vertical, kind, hashlib.sha256(content).hexdigest())


def take_in(
    unit: Unit,
    file: Intake,
    actor: Actor,
    *,
    workspace: str = "default",
    drive: bool = True,
    compare_with: str | None = None,
) -> IngestedFile:
    """Create a workflow for the file, or return the existing one."""
    data = Contract(
        filename=file.filename,
        vertical=file.vertical,
        drive=drive,
        compare_with=compare_with,
        media_type=file.media_type,
        size=len(file.content),
        pdf=file.digest,
    )
    try:
        made = create(
            unit,
            contract,
            data,
            actor,
            key=file.key,
            workspace=workspace,
            labels={"vertical": file.vertical},
            by_application=True,
        )
    except KeyTaken as taken:
        return IngestedFile(taken.existing, False)
    artifacts.keep(
        unit, made.id, "original", file.content, media_type=file.media_type, actor=actor, step=contract.initial
    )
    return IngestedFile(made.id, True)
