"""Companies: what their pages say of them, by rules and without network or database.

The stages of a company call one function each: FETCH asks `pages.page_addresses` where to look, EXTRACT calls
`extract.extract` (or `model_reader.extract_with_model`), ANALYZE calls `analyze.analyze`, and `completeness` decides
whether that is enough. `markup` reads one page; `facts` and `sections` find values in it; `stack`, `boards` and `tier`
are the parts of the analysis.
"""

from interlock.machine.extras import require

require("jobs", "selectolax", "nh3", "ahocorasick")

from interlock.apps.jobs.finder.companies.analyze import Analysis, analyze, record_of
from interlock.apps.jobs.finder.companies.boards import Board
from interlock.apps.jobs.finder.companies.completeness import (
    Completeness,
    completeness,
    insufficient,
    skip_analysis,
)
from interlock.apps.jobs.finder.companies.extract import extract, own_name
from interlock.apps.jobs.finder.companies.pages import linked_pages, page_addresses, website_of
from interlock.apps.jobs.finder.companies.tier import Points, priority_of, size_category, tier_of
from interlock.apps.jobs.finder.companies.values import Extracted, Fact

__all__ = [
    "Analysis",
    "Board",
    "Completeness",
    "Extracted",
    "Fact",
    "Points",
    "analyze",
    "completeness",
    "extract",
    "insufficient",
    "linked_pages",
    "own_name",
    "page_addresses",
    "priority_of",
    "record_of",
    "size_category",
    "skip_analysis",
    "tier_of",
    "website_of",
]
