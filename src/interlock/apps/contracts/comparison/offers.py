"""Energy offers by what they cost in a year: 12 times the monthly base price, and the price of a kWh times the use.

All money is `Decimal`. Unknown values are ranges and are reported; a rank that a range could change is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interlock.apps.contracts.comparison.errors import BadTemplate, NotComparable
from interlock.apps.contracts.comparison.result import Amount, OfferCost, OffersComparison, Summary
from interlock.apps.contracts.comparison.switching import Period, Running, switch_date

CENT = Decimal("0.01")
MONTHS = 12
LARGEST = 1 << 20

Unit = Literal["month", "year"]


class Assumptions(BaseModel):
    """Assumed ranges for unknown values; each is reported."""

    model_config = ConfigDict(extra="forbid")

    consumption: tuple[Decimal, Decimal] = (Decimal(1500), Decimal(4000))
    """kWh a year: a household of one to four persons."""
    kwh_price: tuple[Decimal, Decimal] = (Decimal("0.25"), Decimal("0.45"))
    base_price_month: tuple[Decimal, Decimal] = (Decimal(5), Decimal(20))
    rise_after_guarantee: Decimal = Decimal("0.10")
    """By how much the price of a kWh may rise where no guarantee covers it."""


class Offer(BaseModel):
    """One tariff; prices are gross, in the currency of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    provider: str = ""
    base_price: Decimal | None = Field(default=None, ge=0, le=100_000)
    base_price_per: Unit = "month"
    kwh_price: Decimal | None = Field(default=None, ge=0, le=100)
    """In the currency, not in cents: 0.32 is 32 cents."""
    bonus: Decimal = Field(default=Decimal(0), ge=0, le=100_000)
    """Paid once, in the first year."""
    price_guarantee_months: int | None = Field(default=None, ge=0, le=240)
    term_months: int | None = Field(default=None, ge=1, le=240)


class OfferFile(BaseModel):
    """Offers to compare with, and what is assumed where they are silent."""

    model_config = ConfigDict(extra="forbid")

    name: str = "offers"
    title: str = "Offers"
    currency: str = Field(default="EUR", pattern=r"^[A-Z]{3}$")
    as_of: date | None = None
    assumptions: Assumptions = Field(default_factory=Assumptions)
    offers: list[Offer] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def _different_names(self) -> OfferFile:
        seen: set[str] = set()
        for offer in self.offers:
            if offer.name in seen:
                raise ValueError(f"two offers are named {offer.name!r}; give each its own name")
            seen.add(offer.name)
        return self


class CurrentContract(BaseModel):
    """The contract that is in force: its prices and how it ends."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tariff: Offer
    consumption: Decimal | None = Field(default=None, gt=0, le=10_000_000)
    running: Running = Field(default_factory=Running)


def shipped_offers() -> OfferFile:
    """Return the offers that come with the energy vertical; they are made up, to show the shape of the file."""
    file = files("interlock.apps.contracts.comparison") / "templates" / "energy-offers.yaml"
    return load_offers(file.read_text("utf-8"), file.name)


def load_offers(text: str, name: str = "offers") -> OfferFile:
    """Read offers from YAML; what is wrong with them is said with its place."""
    if len(text) > LARGEST:
        raise BadTemplate(f"{name} has {len(text)} characters; a file of offers has at most {LARGEST}.")
    try:
        # Prices stay text until they are Decimal: YAML would read them as binary fractions.
        return OfferFile.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506
    except yaml.YAMLError as error:
        raise BadTemplate(f"{name} is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BadTemplate(f"{name}: {place}: {first['msg']}.") from error
    except RecursionError as error:
        raise BadTemplate(f"{name} is nested too deeply.") from error


def compare_offers(current: CurrentContract, offers: OfferFile, today: date) -> OffersComparison:
    """Rank a present contract and offers by their yearly cost over their term, and say when one can switch."""
    assumed = offers.assumptions
    notes: list[str] = []
    use = _known(current.consumption, assumed.consumption)
    if current.consumption is None:
        notes.append(f"The consumption is not known: {use.low} to {use.high} kWh a year were assumed.")
    else:
        notes.append(f"{_plain(use.low)} kWh a year, the same for each offer.")
    notes.append("Yearly cost = 12 * base price a month + price of a kWh * kWh. Prices are taken as gross.")
    rise = _plain(assumed.rise_after_guarantee * 100)
    notes.append(f"Where no price guarantee holds, the price of a kWh may rise by up to {rise} %.")
    if offers.as_of:
        notes.append(f"The offers are of {offers.as_of.isoformat()}.")
    costs = [_cost(current.tariff, use, assumed, current=True)]
    costs += [_cost(offer, use, assumed, current=False) for offer in offers.offers]
    ranked = _ranked(costs, offers.currency)
    switch = switch_date(current.running, today)
    best = ranked[0]
    counts = {
        "offers": len(offers.offers),
        "cheaper": sum(not cost.current and cost.saving is not None and cost.saving.middle > 0 for cost in ranked),
        "unsure": sum(not cost.certain for cost in ranked),
    }
    return OffersComparison(
        title=f"{current.tariff.name} against {len(offers.offers)} offers",
        summary=Summary(verdict=_verdict(best, offers.currency, switch.verdict), counts=counts),
        notes=notes,
        currency=offers.currency,
        consumption=use,
        offers=ranked,
        switch=switch,
    )


def money(amount: Amount, currency: str = "") -> str:
    """Write an amount as a person reads it."""
    unit = f" {currency}" if currency else ""
    if amount.exact:
        return f"{amount.low:,.2f}{unit}"
    return f"{amount.low:,.2f} to {amount.high:,.2f}{unit}"


def current_from_fields(fields: Mapping[str, Mapping[str, Any]], name: str = "present contract") -> CurrentContract:
    """Make the present contract from fields that were read; what is missing stays unknown."""

    def value(*names: str) -> Any:
        for key in names:
            stored = fields.get(key)
            if stored and stored.get("value") not in (None, ""):
                normal = stored.get("normalised")
                return normal if normal is not None else stored["value"]
        return None

    yearly = value("base_price_year", "base_price_yearly", "grundpreis_jahr")
    monthly = value("base_price_month", "base_price_monthly", "base_price", "monthly_price", "grundpreis")
    cents = _decimal(value("kwh_price_ct", "unit_price_ct", "arbeitspreis_ct"))
    price = _decimal(value("working_price", "kwh_price", "unit_price", "energy_price", "arbeitspreis"))
    if price is None and cents is not None:
        price = cents / 100
    elif price is not None and price > 3:
        # No household pays three euros for a kWh: the number is in cents.
        price = price / 100
    try:
        return CurrentContract(
            tariff=Offer(
                name=str(value("tariff", "tariff_name", "product") or name),
                provider=str(value("provider", "supplier") or ""),
                base_price=_decimal(yearly if yearly is not None else monthly),
                base_price_per="year" if yearly is not None else "month",
                kwh_price=price,
                bonus=_decimal(value("bonus", "new_customer_bonus")) or Decimal(0),
                price_guarantee_months=_months(value("price_guarantee", "price_guarantee_months")),
                term_months=_months(value("term", "term_months", "contract_term", "initial_term")),
            ),
            consumption=_decimal(value("consumption", "annual_consumption", "consumption_kwh", "yearly_consumption")),
            running=Running(
                start=_date(value("start_date", "delivery_start", "effective_date", "supply_start")),
                end=_date(value("end_date", "expiration_date", "contract_end")),
                term=Period.read(value("term", "term_months", "contract_term", "initial_term")),
                notice=Period.read(value("notice_period", "notice", "notice_period_to_terminate_renewal")),
                renewal=Period.read(value("renewal_term", "renewal", "renewal_months")),
            ),
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise NotComparable(f"The present contract has a value that cannot be: {place}: {first['msg']}.") from error


def _cost(offer: Offer, use: Amount, assumed: Assumptions, *, current: bool) -> OfferCost:
    notes: list[str] = []
    if offer.base_price is None:
        base = _range(*assumed.base_price_month)
        notes.append(f"Base price not stated: {money(base)} a month assumed.")
    else:
        monthly = offer.base_price if offer.base_price_per == "month" else offer.base_price / MONTHS
        base = _range(monthly, monthly)
    price = _known(offer.kwh_price, assumed.kwh_price)
    if offer.kwh_price is None:
        notes.append(f"Price of a kWh not stated: {_plain(price.low)} to {_plain(price.high)} assumed.")
    term = offer.term_months or MONTHS
    if offer.term_months is None:
        notes.append("Term not stated: 12 months assumed.")
    guarantee = offer.price_guarantee_months or 0
    if offer.price_guarantee_months is None:
        notes.append("No price guarantee stated.")
    if offer.bonus:
        notes.append(f"A bonus of {offer.bonus:,.2f} is taken off in the first year.")
    flat = Amount(low=base.low * MONTHS + price.low * use.low, high=base.high * MONTHS + price.high * use.high)
    first = _over(base, price, use, MONTHS, guarantee, assumed, offer.bonus)
    # A shorter term goes on: a bonus for one month is not earned twelve times a year.
    months = max(term, MONTHS)
    whole = _over(base, price, use, months, guarantee, assumed, offer.bonus)
    share = Decimal(MONTHS) / months
    return OfferCost(
        rank=None,
        name=offer.name,
        provider=offer.provider,
        current=current,
        yearly=_cents(flat),
        first_year=_cents(first),
        average=_cents(Amount(low=whole.low * share, high=whole.high * share)),
        term_months=term,
        notes=notes,
        verdict="",
    )


def _over(
    base: Amount, price: Amount, use: Amount, months: int, guarantee: int, assumed: Assumptions, bonus: Decimal
) -> Amount:
    """Return the cost of some months; outside of the guarantee the price of a kWh is a range."""
    fixed = Decimal(min(months, guarantee))
    loose = Decimal(months) - fixed
    low = base.low * months + price.low * use.low * months / MONTHS - bonus
    risen = price.high * (1 + assumed.rise_after_guarantee)
    high = base.high * months + (price.high * fixed + risen * loose) * use.high / MONTHS - bonus
    return Amount(low=low, high=high)


def _ranked(costs: Sequence[OfferCost], currency: str) -> list[OfferCost]:
    present = next(cost for cost in costs if cost.current)
    ranked = []
    in_order = sorted(costs, key=lambda cost: (cost.average.middle, not cost.current, cost.name))
    for rank, cost in enumerate(in_order, 1):
        others = [other for other in in_order if other is not cost]
        certain = not any(
            cost.average.low <= other.average.high and other.average.low <= cost.average.high for other in others
        )
        saving = None
        said = f"{cost.name}: {money(cost.average, currency)} a year on average"
        if not cost.current:
            saving = Amount(low=present.average.low - cost.average.high, high=present.average.high - cost.average.low)
            middle = present.average.middle - cost.average.middle
            word = "less" if middle >= 0 else "more"
            said += f", about {abs(middle).quantize(CENT):,.2f} {word} than now"
        ranked.append(
            cost.model_copy(update={"rank": rank, "certain": certain, "saving": saving, "verdict": f"{said}."})
        )
    return ranked


def _verdict(best: OfferCost, currency: str, switch: str) -> str:
    if best.current:
        return f"No offer is cheaper than the present contract. {switch}"
    sure = "" if best.certain else " The ranges overlap, so this is not certain."
    return f"{best.verdict}{sure} {switch}"


def _known(value: Decimal | None, otherwise: tuple[Decimal, Decimal]) -> Amount:
    return _range(*otherwise) if value is None else _range(value, value)


def _range(low: Decimal, high: Decimal) -> Amount:
    return Amount(low=min(low, high), high=max(low, high))


def _cents(amount: Amount) -> Amount:
    return Amount(low=amount.low.quantize(CENT, ROUND_HALF_UP), high=amount.high.quantize(CENT, ROUND_HALF_UP))


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, Mapping):
        value = value.get("amount", value.get("value"))
    if value is None or isinstance(value, bool):
        return None
    for word in str(value).replace("\u00a0", " ").split():
        try:
            number = Decimal(word)
        except ArithmeticError:
            continue
        if number.is_finite():
            return number
    return None


def _months(value: Any) -> int | None:
    period = Period.read(value)
    return period.as_months() if period else None


def _date(value: Any) -> date | None:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
