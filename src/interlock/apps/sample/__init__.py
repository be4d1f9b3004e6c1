"""A sample: parcels that are weighed, labelled, sometimes cleared by a person, and shipped.

It is small and has one of everything: work, a retry, an effect, a review, a dead letter.
It is not an application, so it is not among the installed machines; `interlock sample` runs it.
"""

from interlock.apps.sample.machine import parcel

__all__ = ["parcel"]
