"""Compares two documents of one contract: two versions, or a base and its amendment."""

from __future__ import annotations

from interlock.apps.contracts.comparison.amendment import compare_amendments
from interlock.apps.contracts.comparison.result import AmendmentComparison, VersionsComparison
from interlock.apps.contracts.comparison.versions import Source, compare_versions


def compare_pair(before: Source, after: Source) -> VersionsComparison | AmendmentComparison:
    """Compare an amendment with its base, in either order; otherwise compare two versions."""
    if _amends(after) and not _amends(before):
        return compare_amendments(before, [after])
    if _amends(before) and not _amends(after):
        return compare_amendments(after, [before])
    return compare_versions(before, after)


def _amends(one: Source) -> bool:
    title = str(one.fields.get("document_name", {}).get("value") or "") + " " + one.name
    return "amendment" in title.lower()
