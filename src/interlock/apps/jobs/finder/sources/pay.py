"""Pay that a source gives in fields of its own."""

from __future__ import annotations

import re
from typing import Literal

from interlock.apps.jobs.finder.postings.posting import Salary
from interlock.apps.jobs.finder.sources.vocabulary import Period

LARGEST = 1e9


def money(
    low: int | float | None,
    high: int | float | None,
    currency: str | None,
    per: Period | None,
    quote: str | None,
    source: Literal["board", "jsonld"] = "board",
) -> Salary | None:
    """Pay that a board names; None when the numbers can be none."""
    low, high = (amount if amount and 0 < amount < LARGEST else None for amount in (low, high))
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        return None
    whole = [int(amount) if amount is not None and float(amount).is_integer() else amount for amount in (low, high)]
    code = (currency or "").strip().upper()
    return Salary(
        min=whole[0],
        max=whole[1],
        currency=code if re.fullmatch(r"[A-Z]{3}", code) else None,
        period=per,
        source=source,
        quote=quote or None,
    )
