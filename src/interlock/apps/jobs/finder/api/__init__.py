"""The endpoints of the finder: /api/jobs. Companies, sources and postings come in, lists and reasons go out."""

from interlock.apps.jobs.finder.api import adding, deciding, profile, reading, reasons
from interlock.apps.jobs.finder.api.access import router

__all__ = ["adding", "deciding", "profile", "reading", "reasons", "router"]
