"""Extras: packages that only a part of the product needs. A missing one is reported in one line, with the remedy."""

from __future__ import annotations

from importlib.util import find_spec

from interlock.machine.errors import InterlockError


class MissingExtra(InterlockError, ImportError):
    """A part of the product needs packages that are not installed."""


def require(extra: str, *modules: str) -> None:
    """Raise MissingExtra unless every module is installed. It imports nothing."""
    missing = [module for module in modules if not _is_installed(module)]
    if missing:
        raise MissingExtra(
            f"this needs the extra {extra}: pip install 'interlock[{extra}]' (not installed: {', '.join(missing)})"
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
