"""Finding jobs and applying for them: the finder, the claims and auto-apply, which are one world.

The finder saves postings, rules turn matches into applications, and every application, whoever sends it, goes
through a claim, so that nobody applies twice.
"""

from interlock.apps.jobs.application import registry

__all__ = ["registry"]
