"""Finding jobs and applying for them: finder, claims and auto-apply.

The finder saves postings, rules turn matches into applications, and every application, whoever sends it, goes
through a claim, so that nobody applies twice.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.apps.jobs.application import registry

__all__ = ["registry"]


def __getattr__(name: str) -> Any:
    """Load the application on first use: a program that uses `agents` needs neither a database nor the engine."""
    if name == "registry":
        from interlock.apps.jobs.application import registry

        return registry
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
