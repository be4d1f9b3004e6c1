"""Salary: which amounts of a posting are pay, for which period, and which are stipends, revenue or funding."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.money import Amount, amounts
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Salary

Period = Literal["hour", "day", "week", "month", "year"]

_PAY = re.compile(
    r"\b(?:salar|pay\b|paid\b|compensation|remunerat|wage|base\b|earn|ote\b|on[- ]target|hourly"
    r"|rate\b|annual|per annum|stipulated range|hiring range|package ?:|comp ?:|\bcomp range"
    r"|doe\b|depending on experience"
    r"|gehalt|jahresgehalt|verg\u00fctung|lohn|brutto|salaire|r\u00e9mun\u00e9ration|salario|sueldo"
    r"|remuneraci\u00f3n|bruto|sal\u00e1rio|remunera\u00e7\u00e3o"
    r"|salaris|beloning|l\u00f6n\b|l\u00f8nn?\b|wynagrodzenie|stundensatz|tagessatz|tjm\b|dagtarief|uurtarief|ctc\b)"
)
_NOT_PAY = re.compile(
    r"\b(?:stipend|allowance|reimburs|budget|sign[- ]?(?:on|ing)|referral|revenue|raised|funding"
    r"|funded|valuation|valued|series [a-h]\b|investment|investors"
    r"|customers?|users\b|arr\b|aum\b|assets|match|tuition|deductible|donat|fine\b|penalt|costs?\b"
    r"|quota|deals|worth|portfolio|transactions"
    r"|volume|loans?|mortgage|savings|grants?\b|credit|insurance|coverage|gift|learning|wellness"
    r"|wellbeing|equipment|home office|internet"
    r"|phone|coworking|co-working|commut|relocation|professional development|education|sponsor"
    r"|(?<!geographic )market|opportunity|sales of|sold|saved|spend"
    r"|weiterbildung|zuschuss|umsatz|prime\b|budget|bono\b|ayuda|employees|people|companies|members"
    r"|patients|products\b|pric(?:es?|ing)\b|contracts?(?! (?:rate|pay|salary|role|position|length|duration)))"
)
_BUSINESS = re.compile(
    r"\b(?:budget|revenue|customers?|deals|worth|sav(?:e|es|ed|ing|ings)\b|raised|funding|stipend|loans?|quota|transactions"
    r"|assets|spend|investment|valuation|umsatz|donat|projects of|contracts of)"
)
"""What not even a range is pay beside, unless a word of pay is there too."""
_SIDE_PAY = (
    r"(?:(?:referral|sign[- ]?(?:on|ing)|relocation|retention|performance|welcome|annual|one[- ]time|cash) ){0,2}"
    r"(?:bonus(?:es)?|stipend|allowance|reimbursement)"
)
_SIDE_BEFORE = re.compile(rf"\b{_SIDE_PAY}(?: (?:of|from|between|up to|to|is|worth)){{0,2}}[ :(]{{0,3}}$")
_SIDE_AFTER = re.compile(
    rf"[ )]{{0,2}}(?:usd |eur |gbp )?(?:{_SIDE_PAY}\b"
    r"|(?:in|of) (?:\w+ ){0,2}(?:revenue|arr|sales|savings|funding|assets)\b)"
)
"""What is paid beside a salary, and sums of the business: no pay, not even as a range beside words of pay."""
_AFTER = re.compile(
    r"[ )]{0,2}(?:,? ?\(?(?:usd|cad|eur|gbp|pln|chf|aud|gross|brutto|brutos?|bruts?|base|b2b|net(?:to)?"
    r"|(?:\+|plus|excl\.?) ?vat)\)?,? ?){0,3}"
    r"(?:/ ?|per |an |a |p/|p\.? ?|pro |par |por |al |je |im |ao |each |i )?"
    r"(?P<word>hourly|hour|hr|h\b|stunde|heure|hora|uur|daily|day|tag\b|jour|d\u00eda|dia|dag\b"
    r"|weekly|week|woche|semaine|semana"
    r"|monthly|month|mo\b|monat|mois|mes\b|mensuales|m\u00eas|maand|m\u00e5nad|m\u00e5ned|miesi\u0105c|mies\b|yearly|year|yr|y\b|annually|annual|annum"
    r"|a\.|jahr|an\b|ann\u00e9e|a\u00f1o|ano\b|jaar|anual|(?<=p/)[dwma]\b)"
)
_BEFORE = re.compile(
    r"\b(?:(?P<hour>hourly|per hour|stundenlohn|stundensatz|horaire|uurtarief|por hora)"
    r"|(?P<day>daily rate|day rate|tagessatz|tjm\b|dagtarief|per day)"
    r"|(?P<week>(?<!bi)(?<!bi-)weekly|per week)|(?P<month>(?<!bi)(?<!bi-)(?<!semi-)monthly"
    r"|per month|monatlich|monatsgehalt|mensuel|mensual"
    r"|mensal|maandsalaris|per maand|pro monat)"
    r"|(?P<year>annual|yearly|per year|per annum|a year|jahresgehalt|j\u00e4hrlich|pro jahr|annuel"
    r"|anual|al a\u00f1o|jaarsalaris|per jaar|ctc\b|lpa\b|ote\b))"
)
_BOUNDED = r"(?: (?:base |annual |hourly )?(?:salary|pay|rate|wage|compensation)(?: range)?)?(?: of)?"
_UP_TO = re.compile(rf"(?:up to|bis zu|jusqu'\u00e0|hasta|at\u00e9|tot|max\.?|maximum{_BOUNDED})[ :\n]{{0,2}}$")
_FROM = re.compile(
    r"(?:from|starting (?:at|from)|starts at|at least|min\.?|ab|\u00e0 partir de"
    rf"|desde|a partir de|vanaf|minimum{_BOUNDED})[ :\n]{{0,2}}$"
)
_WORDS: dict[Period, tuple[str, ...]] = {
    "hour": ("hourly", "hour", "hr", "h", "stunde", "heure", "hora", "uur"),
    "day": ("daily", "day", "d", "tag", "jour", "d\u00eda", "dia", "dag"),
    "week": ("weekly", "week", "w", "woche", "semaine", "semana"),
    "month": (
        *("m", "monthly", "month", "mo", "monat", "mois", "mes", "mensuales", "m\u00eas", "maand"),
        *("m\u00e5nad", "m\u00e5ned", "miesi\u0105c", "mies"),
    ),
}
_PERIODS: dict[str, Period] = {word: period for period, words in _WORDS.items() for word in words}
_LIKELY: dict[Period, tuple[float, float]] = {
    "hour": (4, 600),
    "day": (40, 6_000),
    "week": (150, 25_000),
    "month": (200, 400_000),
    "year": (3_000, 3_000_000),
}
"""What one person can be paid; an amount outside is not pay for this period."""
_SMALL_UNITS = frozenset({"INR", "JPY", "HUF", "KRW", "PHP", "CLP", "ARS", "KES", "NGN", "PKR", "COP", "VND", "IDR"})
_SENTENCE_END = re.compile(r"(?<!\b[a-z])[.!?;] ")
"""What the sentence before says of money is no word about this amount."""
_ON_TARGET = re.compile(r"\b(?:ote|on[- ]target|total (?:target |annual |cash )*comp(?:ensation)?)\b")
_LEAST_STATED = 10_000
_LABEL = 60
_FAR = 40
_BLANK = " \u2022*#:-"
_DIGIT = re.compile(r"\d")
_WINDOW = 130
_NEXT = 250
"""How far apart the ranges of a table are."""


class _Pay(NamedTuple):
    amount: Amount
    low: float | None
    high: float | None
    period: Period | None
    rule: str
    on_target: bool


def salary_of(document: Document) -> Salary | None:
    """The pay that the board states, else what the text does; the hull of several ranges (zones, levels)."""
    if document.salary:
        found = _hull(_pays(folded(document.salary), None), "board", lambda amount: document.salary)
        if found is not None:
            return found
    return _hull(_pays(document.low, document), "text", lambda amount: document.quote(amount.start, amount.end))


def _pays(low: str, document: Document | None) -> list[_Pay]:
    """The amounts that are pay. Without a document the text is the board's salary field, and all of them are."""
    found: list[_Pay] = []
    previous = 0
    for amount in amounts(low):
        if amount.plain and document is not None and (amount.low < 1000 or _is_year(amount)):
            continue
        window = max(0, amount.start - _WINDOW)
        line_begin = max(low.rfind("\n", window, amount.start) + 1, window)
        line_end = low.find("\n", amount.end, amount.end + _WINDOW)
        line_end = min(len(low), amount.end + _WINDOW) if line_end < 0 else line_end
        if line_begin > 1 and not low[line_begin : amount.start].strip(_BLANK):
            # A label on a line of its own, as "Minimum salary" above its amount.
            label = low.rfind("\n", max(0, line_begin - _LABEL), line_begin - 1) + 1
            line_begin = label if label and not _DIGIT.search(low, label, line_begin) else line_begin
        before = low[max(line_begin, previous) : amount.start]
        if amount.plain and document is not None:
            same_line = bool(found) and previous >= line_begin and _UP_TO.search(before[-_FAR:]) is not None
            if not (same_line or _PAY.search(before)):
                continue
        in_pay = document is None or amount.start < document.begin or document.section(amount.start) == "pay"
        last = found[-1] if found and amount.start - found[-1].amount.end < _NEXT else None
        after = low[amount.end : line_end]
        pay = _judged(amount, before, low[line_begin : amount.start], after, in_pay, document is None, last)
        if pay is not None:
            found.append(pay)
            previous = amount.end
    return found


def _is_year(amount: Amount) -> bool:
    """A number that is much rather a year than pay."""
    return amount.high is None and 1900 <= amount.low < 2100


def _judged(
    amount: Amount, before: str, line_before: str, after: str, in_pay: bool, always: bool, last: _Pay | None
) -> _Pay | None:
    top = amount.high if amount.high is not None else amount.low
    if top < 4 or (amount.high is not None and (amount.high < amount.low or amount.high > 6 * amount.low)):
        return None
    period = _period(before, line_before, after)
    about = in_pay or _PAY.search(line_before) is not None or _PAY.search(after[:30]) is not None
    near = _SENTENCE_END.split(before[-70:])[-1] + " " + after[:40].partition(" plus ")[0]
    if not always and (_SIDE_BEFORE.search(before[-60:]) or _SIDE_AFTER.match(after)):
        return None
    against = _NOT_PAY.search(near)
    is_range = amount.high is not None
    if last is not None and is_range and last.amount.high is not None and last.amount.currency == amount.currency:
        about = True  # the next line of a table of zones
        period = period or last.period
    if not always:
        stated = top >= _LEAST_STATED or (about and _AFTER.match(after) is not None)
        if against and not (is_range and stated and (about or not _BUSINESS.search(near))):
            return None
        if not is_range and not about and period is None:
            return None
        if not is_range and not about and not (amount.currency and _AFTER.match(after)):
            return None
        if is_range and amount.plain and not about:
            return None
    rule = "stated period"
    if period is None:
        if top < _LEAST_STATED:
            return None if not always else _Pay(amount, *_bounds(amount, before), None, "period not stated", False)
        if always or about:
            period, rule = "year", "salary without a period"
        else:
            rule = "period not stated"
    if period is not None and not _is_likely(amount, period):
        return None
    on_target = _ON_TARGET.search(before[-40:]) is not None or _ON_TARGET.match(after.lstrip(" (")) is not None
    return _Pay(amount, *_bounds(amount, before), period, rule, on_target)


def _is_likely(amount: Amount, period: Period) -> bool:
    least, most = _LIKELY[period]
    if amount.currency in _SMALL_UNITS:
        most *= 100
    return least <= amount.low and (amount.high if amount.high is not None else amount.low) <= most


def _bounds(amount: Amount, before: str) -> tuple[float | None, float | None]:
    if amount.high is not None:
        return amount.low, amount.high
    if _UP_TO.search(before[-_FAR:]):
        return None, amount.low
    if amount.open_ended or _FROM.search(before[-_FAR:]):
        return amount.low, None
    return amount.low, amount.low


def _period(before: str, line_before: str, after: str) -> Period | None:
    found = _AFTER.match(after)
    if found is not None:
        return _PERIODS.get(found["word"], "year")
    for text in (before[-80:], line_before):
        stated = [one.lastgroup for one in _BEFORE.finditer(text)]
        if stated:
            period: Period = stated[-1]  # type: ignore[assignment]
            return period
    later = _BEFORE.search(after[:40])
    if later is not None:
        period = later.lastgroup  # type: ignore[assignment]
        return period
    return None


def _hull(pays: list[_Pay], origin: Literal["board", "text"], quote: Callable[[Amount], str]) -> Salary | None:
    if not pays:
        return None
    base = [pay for pay in pays if not pay.on_target] or pays
    groups: dict[tuple[str | None, Period | None], list[_Pay]] = {}
    for pay in base:
        groups.setdefault((pay.amount.currency, pay.period), []).append(pay)
    for currency, period in [*groups]:
        # The first range of a table has no word beside it that the next ones have.
        if period is None and (year := groups.get((currency, "year"))):
            year.extend(one for one in groups.pop((currency, None)) if one.amount.high is not None)
    if len(groups) > 1:
        groups = {key: group for key, group in groups.items() if key[0] is not None} or groups

    def worth(key: tuple[str | None, Period | None]) -> tuple[bool, bool, int]:
        group = groups[key]
        return any(pay.low != pay.high for pay in group), key[1] == "year", len(group)

    chosen = groups[max(groups, key=worth)]
    ranges = [pay for pay in chosen if pay.amount.high is not None] or chosen
    lows = [pay.low for pay in ranges if pay.low is not None]
    highs = [pay.high for pay in ranges if pay.high is not None]
    first = ranges[0]
    return Salary(
        min(lows, default=None),
        max(highs, default=None),
        first.amount.currency,
        first.period,
        origin,
        first.rule if len(ranges) == 1 else f"{first.rule}, {len(ranges)} ranges",
        quote(first.amount),
        first.on_target,
    )
