"""Contract processing: a PDF becomes checked fields and a comparison, with a person where the machine is unsure.

Only workers run a step. The step endpoints arm a step that is held and wait for its answer; a call while it runs
attaches to it, and a disconnect cancels nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.apps.contracts.application import registry
    from interlock.apps.contracts.machine import contract

__all__ = ["contract", "registry"]


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: the process that opens files needs the reading alone, and is started often."""
    if name == "registry":
        from interlock.apps.contracts.application import registry

        return registry
    if name == "contract":
        from interlock.apps.contracts.machine import contract

        return contract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
