"""Auto-apply: a posting that matches a rule becomes an application, prepared by a model and approved by its user.

Nothing is submitted before the packet that the user saw was approved, unless the rule says that no approval is
wanted; and nothing is submitted twice: an unknown outcome rests in `requires_review` until somebody looked.
"""

from interlock.apps.jobs.autoapply import claiming  # noqa: F401 - it registers
from interlock.apps.jobs.autoapply.machine import application

__all__ = ["application"]
