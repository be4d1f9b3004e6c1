"""Contract processing: reads a PDF into checked fields and a comparison, and asks a person where it is unsure.

Only workers run steps. The step endpoints arm an unstarted step and wait for its answer. A call during the step waits
for it, and a disconnect cancels nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.apps.contracts.application import registry
    from interlock.apps.contracts.machine import contract

__all__ = ["contract", "registry"]


def __getattr__(name: str) -> Any:
    """Load the application on first use: the process that opens files needs only `reading`, and is started often."""
    if name == "registry":
        from interlock.apps.contracts.application import registry

        return registry
    if name == "contract":
        from interlock.apps.contracts.machine import contract

        return contract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
