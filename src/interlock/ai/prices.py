"""The cost of a call, in billionths of a dollar. An unknown price stays unknown."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from interlock.config import AiSettings

BILLION = 1_000_000_000


def cost_of(settings: AiSettings, model: str, usage: Any) -> int | None:
    """The cost of a call: by the configured price, else the bundled price of the provider's own address, else None."""
    own = settings.prices.get(model)
    if own is not None:
        dollars = Decimal(str(own.input)) * usage.input_tokens + Decimal(str(own.output)) * usage.output_tokens
        return nanos(dollars / 1_000_000)
    if settings.base_url is not None:  # another server: the provider's prices do not apply
        return None
    from genai_prices import calc_price

    try:
        return nanos(calc_price(usage, model, provider_id=settings.provider).total_price)
    except (LookupError, ValueError):
        return None


def known(settings: AiSettings, model: str) -> bool:
    """Whether the model's price is known."""
    if model in settings.prices:
        return True
    if settings.base_url is not None:
        return False
    from genai_prices import Usage

    return cost_of(settings, model, Usage(input_tokens=1, output_tokens=1)) is not None


def nanos(dollars: Decimal | float) -> int:
    exact = dollars if isinstance(dollars, Decimal) else Decimal(str(dollars))
    return int((exact * BILLION).to_integral_value(ROUND_HALF_UP))


def dollars(nano: int | None) -> Decimal | None:
    """Convert billionths to dollars."""
    return None if nano is None else Decimal(nano) / BILLION
