"""Comparison of contracts: two versions, amendments over their base, a contract against a standard, energy offers.

Pure functions: documents and fields in, one `Comparison` out, which can be stored as JSON and rendered as HTML. Nothing
reads a clock; where the date matters, `today` is a parameter.
"""

from interlock.machine.extras import require

require("contracts", "rapidfuzz", "yaml")

from interlock.apps.contracts.comparison.amendment import compare_amendments
from interlock.apps.contracts.comparison.errors import BadTemplate, NotComparable
from interlock.apps.contracts.comparison.html import page
from interlock.apps.contracts.comparison.offers import (
    CurrentContract,
    OfferFile,
    compare_offers,
    current_from_fields,
    load_offers,
    shipped_offers,
)
from interlock.apps.contracts.comparison.pair import compare_pair
from interlock.apps.contracts.comparison.result import AnyComparison, Comparison, load
from interlock.apps.contracts.comparison.template import Template, compare_template, load_template, shipped_template
from interlock.apps.contracts.comparison.versions import Source, accept_all, compare_versions, reject_all

__all__ = [
    "AnyComparison",
    "BadTemplate",
    "Comparison",
    "CurrentContract",
    "NotComparable",
    "OfferFile",
    "Source",
    "Template",
    "accept_all",
    "compare_amendments",
    "compare_offers",
    "compare_pair",
    "compare_template",
    "compare_versions",
    "current_from_fields",
    "load",
    "load_offers",
    "load_template",
    "page",
    "reject_all",
    "shipped_offers",
    "shipped_template",
]
