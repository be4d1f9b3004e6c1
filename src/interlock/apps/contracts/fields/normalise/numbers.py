"""Numbers, money and durations, in English and German."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_NUMBER = r"[+-]?\d[\d.,' ]{0,24}\d|[+-]?\d"
_CURRENCIES = {
    "$": "USD",
    "us$": "USD",
    "usd": "USD",
    "dollars": "USD",
    "dollar": "USD",
    "u.s.$": "USD",
    "€": "EUR",
    "eur": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "gbp": "GBP",
    "pounds": "GBP",
    "chf": "CHF",
    "¥": "JPY",
    "jpy": "JPY",
    "cad": "CAD",
    "c$": "CAD",
    "rmb": "CNY",
    "cny": "CNY",
    "ct": "EUR/100",
    "cent": "EUR/100",
    "cents": "USD/100",
    "p": "GBP/100",
    "pence": "GBP/100",
}
_SIGN = r"(?:us ?\$|u\.s\. ?\$|c\$|\$|€|£|¥|usd|eur|gbp|chf|jpy|cad|rmb|cny)"
_MONEY = re.compile(
    rf"(?P<before>{_SIGN}) ?(?P<first>{_NUMBER})(?P<scale1> ?(?:million|billion|thousand|mio\.?|mrd\.?)\b)?"
    rf"|(?P<second>{_NUMBER})(?P<scale2> (?:million|billion|thousand|mio\.?|mrd\.?))? ?"
    rf"(?P<after>{_SIGN}|euros?\b|dollars?\b|pounds\b|pence\b|(?<=\d)p\b|cents?\b|ct\b)",
    re.IGNORECASE,
)
_SCALES = {"thousand": 1000, "million": 10**6, "mio": 10**6, "billion": 10**9, "mrd": 10**9}

_ONES = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "ein": 1,
    "eine": 1,
    "einen": 1,
    "einem": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
    "zehn": 10,
    "zwölf": 12,
}
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fourty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "zwanzig": 20,
    "vierundzwanzig": 24,
    "dreißig": 30,
}
_COUNT_WORDS = "|".join(sorted([*_ONES, *_TENS, "hundred"], key=len, reverse=True))
_COUNT = (
    rf"(?P<words>(?:{_COUNT_WORDS})(?:[- ]{{1,2}}(?:and )?(?:{_COUNT_WORDS})){{0,3}})?"
    r" ?-?(?:[(\[] ?(?P<paren>\d{1,4}) ?[)\]]|(?P<digits>\d{1,4}))?"
)
_UNITS = {
    "year": "Y",
    "years": "Y",
    "yr": "Y",
    "yrs": "Y",
    "jahr": "Y",
    "jahre": "Y",
    "jahren": "Y",
    "jahres": "Y",
    "month": "M",
    "months": "M",
    "monat": "M",
    "monate": "M",
    "monaten": "M",
    "monats": "M",
    "week": "W",
    "weeks": "W",
    "woche": "W",
    "wochen": "W",
    "day": "D",
    "days": "D",
    "tag": "D",
    "tage": "D",
    "tagen": "D",
}
_DURATION = re.compile(
    rf"(?<![\w$.]){_COUNT}[ -]{{1,2}}(?:full |consecutive |additional |calendar |business |contract |more |volle )?"
    rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)


def parse_number(text: str) -> Decimal | None:
    """The number in a text: `1.234,56` and `1,234.56` are the same."""
    match = re.search(_NUMBER, text)
    if match is None:
        return None
    return _decimal(match.group())


def _decimal(digits: str) -> Decimal | None:
    digits = digits.replace("'", "").replace(" ", "")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        thousands = "." if comma > dot else ","
        digits = digits.replace(thousands, "").replace(",", ".")
    elif comma >= 0:
        # `1,234` is a thousand in English and `0,321` is a fraction in German: three digits after the only comma are
        # thousands, unless nothing but a zero stands before it.
        parts = digits.split(",")
        grouped = all(len(part) == 3 for part in parts[1:]) and parts[0].lstrip("+-") not in ("0", "")
        digits = digits.replace(",", "" if grouped or len(parts) > 2 else ".")
    elif dot >= 0:
        parts = digits.split(".")
        if len(parts) > 2:
            digits = digits.replace(".", "")
    try:
        return Decimal(digits)
    except InvalidOperation:
        return None


def german_number(text: str) -> Decimal | None:
    """The number in a German text, where `1.234` is a thousand and more."""
    match = re.search(_NUMBER, text)
    if match is None:
        return None
    digits = match.group()
    if "," not in digits and re.fullmatch(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", digits):
        return _decimal(digits.replace(".", ""))
    return _decimal(digits)


def find_money(text: str, start: int = 0, end: int | None = None) -> list[tuple[str, int, int]]:
    """The sums of money in a text as (`1234.56 EUR`, start, end)."""
    found = []
    for match in _MONEY.finditer(text, start, len(text) if end is None else end):
        sign = (match["before"] or match["after"]).lower().replace(" ", "")
        german = _CURRENCIES[sign].startswith("EUR")
        digits = match["first"] or match["second"]
        amount = german_number(digits) if german else parse_number(digits)
        if amount is None:
            continue
        scale = (match["scale1"] or match["scale2"] or "").strip().rstrip(".").lower()
        amount *= _SCALES.get(scale, 1)
        currency = _CURRENCIES[sign]
        if currency.endswith("/100"):
            amount, currency = amount / 100, currency[:3]
        found.append((f"{plain(amount)} {currency}", match.start(), match.end()))
    return found


def parse_money(text: str) -> str | None:
    """The first sum of money in a text, as `1234.56 EUR`."""
    found = find_money(" ".join(text.split()))
    return found[0][0] if found else None


def plain(number: Decimal) -> str:
    """A number without exponent and without zeros at its end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def find_durations(text: str, start: int = 0, end: int | None = None) -> list[tuple[str, int, int]]:
    """The durations in a text as (`P2Y`, start, end)."""
    found = []
    for match in _DURATION.finditer(text, start, len(text) if end is None else end):
        count = _count(match)
        if count is None:
            continue
        unit = _UNITS[match["unit"].lower()]
        found.append((f"P{count}{unit}", match.start(), match.end()))
    return found


def parse_duration(text: str) -> str | None:
    """The first duration in a text, as ISO 8601: `two (2) years` is `P2Y`."""
    found = find_durations(" ".join(text.split()))
    return found[0][0] if found else None


def days_of(duration: str) -> float | None:
    """About how many days a duration has, to compare it with another."""
    match = re.fullmatch(r"P(\d+)([YMWD])", duration)
    return int(match[1]) * {"Y": 365.25, "M": 30.4375, "W": 7, "D": 1}[match[2]] if match else None


def months_of(duration: str) -> int | None:
    """The months of a duration in years or months; `None` for days and weeks."""
    match = re.fullmatch(r"P(\d+)([YM])", duration)
    return int(match[1]) * (12 if match[2] == "Y" else 1) if match else None


def _count(match: re.Match[str]) -> int | None:
    digits = match["paren"] or match["digits"]
    if digits:
        return int(digits)
    if not match["words"]:
        return None
    total = 0
    for word in re.findall(r"[a-zäöüß]+", match["words"].lower()):
        if word == "hundred":
            total = max(total, 1) * 100
        elif word in _TENS:
            total += _TENS[word]
        elif word in _ONES:
            total += _ONES[word]
    return total or None
