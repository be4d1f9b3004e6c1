"""Finding jobs and applying for them: the finder, the claims and auto-apply, which are one world.

The finder saves postings, rules turn matches into applications, and every application, whoever sends it, goes
through a claim, so that nobody applies twice.
"""

from interlock.apps.jobs import autoapply, claims, finder
from interlock.machine import Registry

registry = Registry()
for application in (finder, claims, autoapply):
    registry.include(application.registry)

__all__ = ["registry"]
