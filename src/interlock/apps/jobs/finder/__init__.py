"""The job finder: companies lead to sources, sources to listings, and listings that match to jobs.

One instance walks the stages of its pipeline: each stage is a round PENDING → PROCESSING → SUCCESS, and all but
the last go on SUCCESS → PENDING in the same transaction, with the next stage in the data.
"""

from interlock.apps.jobs.finder.machine import company, listing, source

__all__ = ["company", "listing", "source"]
