"""The endpoints of auto-apply: /auto-apply, as the specification names them, and the same under /api/auto-apply."""

from interlock.apps.jobs.autoapply.api import acting, reading, rules
from interlock.apps.jobs.autoapply.api.access import routers

__all__ = ["acting", "reading", "routers", "rules"]
