"""What a call cost: as configured, else as bundled for the provider's own address, else nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage

from interlock.ai import prices
from interlock.config import AiSettings

USED = Usage(input_tokens=100_000, output_tokens=10_000)


def settings(**more: Any) -> AiSettings:
    given = {"provider": "anthropic", "api_key": "k", "cheap": "a", "strong": "b", **more}
    return AiSettings.model_validate(given)


def test_a_configured_price_counts_to_the_billionth() -> None:
    own = settings(prices={"mine": {"input": 0.123456, "output": 2}})
    assert prices.cost_of(own, "mine", USED) == 32_345_600
    assert prices.cost_of(own, "mine", Usage(input_tokens=1, output_tokens=0)) == 123


def test_a_model_of_the_provider_has_its_bundled_price() -> None:
    assert prices.dollars(prices.cost_of(settings(), "claude-sonnet-4-5", USED)) == Decimal("0.45")
    assert prices.known(settings(), "claude-sonnet-4-5")


def test_a_configured_price_wins_over_a_bundled_one() -> None:
    own = settings(prices={"claude-sonnet-4-5": {"input": 1, "output": 0}})
    assert prices.dollars(prices.cost_of(own, "claude-sonnet-4-5", USED)) == Decimal("0.1")


@pytest.mark.parametrize(
    ("model", "more"),
    [("nobody-knows-it", {}), ("claude-sonnet-4-5", {"base_url": "http://127.0.0.1:9"})],
    ids=["unknown model", "another's server"],
)
def test_what_is_not_known_is_not_invented(model: str, more: dict[str, Any]) -> None:
    assert prices.cost_of(settings(**more), model, USED) is None
    assert prices.known(settings(**more), model) is False
