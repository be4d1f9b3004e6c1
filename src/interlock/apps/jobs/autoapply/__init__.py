"""Auto-apply: a posting that matches a rule becomes an application, prepared by a model and approved by its user.

Nothing is submitted before the user has approved the packet, unless the rule needs no approval. Nothing is submitted
twice: an unknown outcome waits in `requires_review` until a person has verified it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.apps.jobs.autoapply.machine import application

__all__ = ["application"]


def __getattr__(name: str) -> Any:
    """The machine with its followers, which need the engine; `machine` alone does not."""
    if name in __all__:
        from interlock.apps.jobs.autoapply import machine
        from interlock.apps.jobs.autoapply.review import verdicts  # noqa: F401 - it registers

        return getattr(machine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
