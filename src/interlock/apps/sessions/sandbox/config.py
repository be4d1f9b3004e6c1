"""Local sandboxes in the configuration: `[sessions.sandbox]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from interlock.apps.sessions.sandbox.confinement import Limits
from interlock.config import Table


class SandboxConfig(Table):
    """What the commands of an agent may use in a local sandbox."""

    network: bool = Field(False, description="Whether commands reach the network.")
    visible: list[Path] = Field(
        default_factory=list, description="More folders of the host that commands may read, such as a toolchain."
    )
    seconds: float = Field(600.0, gt=0, le=86400, description="The longest time that a command may be given.")
    processes: int = Field(256, ge=8, le=100_000, description="Processes that a command may have.")
    memory_mb: int = Field(4096, ge=64, description="Memory that its processes may have together, in MB.")
    file_mb: int = Field(512, ge=1, description="The largest file that it may write, in MB.")
    output_kb: int = Field(
        48, ge=4, le=1024, description="The longest answer of a tool, in kB. Claude Code takes 25,000 tokens."
    )

    def limits(self) -> Limits:
        return Limits(self.processes, self.memory_mb * 1024**2, self.file_mb * 1024**2)
