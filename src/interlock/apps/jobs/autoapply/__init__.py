"""Auto-apply: a posting that matches a rule becomes an application, prepared by a model and approved by its user.

Nothing is submitted before the user has approved the packet, unless the rule needs no approval. Nothing is submitted
twice: an unknown outcome waits in `requires_review` until a person has verified it.
"""

from interlock.apps.jobs.autoapply import claiming  # noqa: F401 - it registers
from interlock.apps.jobs.autoapply.machine import application

__all__ = ["application"]
