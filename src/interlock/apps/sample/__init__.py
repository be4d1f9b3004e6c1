"""A sample: parcels that are weighed, labelled, sometimes looked at by a person, and shipped.

Small enough to read in a minute, and with one of everything: work, a retry, an effect, a review, a dead letter.
It is no application, so it is not among the installed machines; `interlock sample` runs it.
"""

from interlock.apps.sample.machine import parcel

__all__ = ["parcel"]
