"""The settings that the commands need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.config import Settings


def contract_settings(config: Path | None) -> Settings:
    """The settings; one clear line where the extra is not installed."""
    from interlock.config import load
    from interlock.machine import InterlockError

    try:
        import interlock.apps.contracts.fields.vertical
        import interlock.apps.contracts.reading  # noqa: F401 - only whether they can be
    except ImportError as error:
        raise InterlockError(f"this needs the extra contracts: pip install 'interlock[contracts]' ({error})") from error
    return load(config)
