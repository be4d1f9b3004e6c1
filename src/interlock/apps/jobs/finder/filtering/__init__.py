"""The filter: rules without a model that tell which postings are worth a closer look.

The checks run in the order of their cost: stop list, title, country, workplace, employment, age, pay, content. Each is
performed, or skipped with the reason. A check that hits rejects the posting or gives it strikes; as many strikes as the
threshold reject it too. Data that is missing costs nothing, and every rejection and strike has its quote. A posting
that the stop list rejects is not read: the checks behind are skipped.
"""

from interlock.apps.jobs.finder.filtering.checks import CHECKS
from interlock.apps.jobs.finder.filtering.result import FilterResult, Rejection, Skipped, Strike
from interlock.apps.jobs.finder.filtering.rules import filter_posting

__all__ = ["CHECKS", "FilterResult", "Rejection", "Skipped", "Strike", "filter_posting"]
