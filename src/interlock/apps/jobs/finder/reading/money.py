"""Amounts of money in a text: numbers with their currency, as ranges where two belong together."""

from __future__ import annotations

import re
from typing import NamedTuple

NUMBER = re.compile(r"\d(?:[\d.,']|(?<=\d) (?=\d{3}(?!\d)))*(?<![.,'])")
_BEFORE = re.compile(
    r"(?<![a-z])(?P<mark>us\$|usd ?\$?|cad ?\$?|ca\$|cdn\$|c\$|aud ?\$?|au\$|a\$|nz\$|nzd ?\$?|r\$"
    r"|brl ?(?:r\$)?|s\$|sgd ?\$?|hk\$|mx\$|mxn ?\$?"
    r"|eur ?\u20ac?|gbp ?\u00a3?|inr ?\u20b9?|rs\.?|chf|pln|z\u0142|sek|nok|dkk|jpy|\u00a5|ils"
    r"|\u20aa|zar|czk|huf|ron|rm|myr|php|aed|sar|thb|idr|vnd|cop|ars|clp|uah|krw|cny|rmb|twd|nt\$|hkd|ngn|kes|egp|pkr|bgn)"
    r"(?:\)? ?:)?\s?$"
    r"|(?P<sign>\$|\u20ac|\u00a3|\u20b9|\u00a5|\u20aa|\u20b1|\u20a9|\u20ba|\u20b4|\u20a6|\u0e3f)\s?$"
)
_AFTER = re.compile(
    r"\s?(?P<times>k\b|thousand\b|mil\b|m\b|mm\b|mn\b|million\b|billion\b|bn\b|b\b|trillion\b|lpa\b"
    r"|lakhs?\b|lacs?\b|tsd\b|mio\b)?\+?"
    r"[ ]?\(?(?P<mark>usd\b|us dollars\b|cad\b|aud\b|nzd\b|brl\b|sgd\b|mxn\b|\$|\u20ac|eur\b"
    r"|euros?\b|gbp\b|\u00a3|inr\b|\u20b9|chf\b|pln\b|z\u0142|sek\b"
    r"|nok\b|dkk\b|jpy\b|ils\b|zar\b|czk\b|huf\b|ron\b|myr\b|php\b|aed\b|sar\b|thb\b|idr\b|vnd\b"
    r"|cop\b|ars\b|clp\b|uah\b|krw\b|cny\b|rmb\b|twd\b|hkd\b|ngn\b|kes\b|egp\b|pkr\b|bgn\b)?"
)
_AFTER_PERIOD = re.compile(
    r" ?(?:/ ?|per |an? )(?:hour|hr|day|week|month|mo|year|yr|annum)\.? ?\(?"
    r"(?P<mark>usd|cad|aud|nzd|sgd|eur|gbp|chf|pln|inr|mxn|brl|hkd|jpy|sek|nok|dkk|zar|aed)\b"
)
"""A currency behind the period: "$8,500/month SGD"."""
_JOIN = re.compile(
    r"(?:[ ]?(?:usd|cad|eur|gbp|aud|chf|pln|jpy|\$|\u20ac|\u00a3|\u00a5))?(?:/(?:yr|year|hr|hour|month"
    r"|annum))?[ ]?(?:per (?:year|hour|annum|month) )?"
    r"(?:-{1,2}|to|and|up to|through|a|\u00e0|bis|und|et|y|hasta|tot|en|e|/|\u2192|~)[ ]?"
    r"(?:us\$|usd ?\$?|ca\$|cad ?\$?|c\$|cdn\$|au\$|nz\$|mx\$|nt\$|a\$|aud ?\$?|r\$|s\$|\$"
    r"|eur ?\u20ac?|\u20ac|gbp ?\u00a3?"
    r"|\u00a3|inr ?\u20b9?|\u20b9|chf|pln|z\u0142|sek|nok|dkk|jpy|\u00a5|\u20aa|\u20b1|\u20a9|\u20ba|\u20b4|\u20a6"
    r"|rm|myr|php|aed|sar|zar|krw|cny|twd|hk\$|hkd|sgd|inr|mxn|brl|uah|ngn)?[ ]?"
)
_CURRENCIES = {
    "us$": "USD",
    "usd": "USD",
    "$": "USD",
    "us dollars": "USD",
    "cad": "CAD",
    "ca$": "CAD",
    "cdn$": "CAD",
    "c$": "CAD",
    "aud": "AUD",
    "au$": "AUD",
    "a$": "AUD",
    "nz$": "NZD",
    "nzd": "NZD",
    "r$": "BRL",
    "brl": "BRL",
    "s$": "SGD",
    "sgd": "SGD",
    "hk$": "HKD",
    "mx$": "MXN",
    "mxn": "MXN",
    "\u20ac": "EUR",
    "eur": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "gbp": "GBP",
    "\u00a3": "GBP",
    "inr": "INR",
    "\u20b9": "INR",
    "rs": "INR",
    "chf": "CHF",
    "pln": "PLN",
    "z\u0142": "PLN",
    "sek": "SEK",
    "nok": "NOK",
    "dkk": "DKK",
    "jpy": "JPY",
    "\u00a5": "JPY",
    "ils": "ILS",
    "\u20aa": "ILS",
    "zar": "ZAR",
    "czk": "CZK",
    "huf": "HUF",
    "ron": "RON",
    "rm": "MYR",
    "\u20b1": "PHP",
    "\u20a9": "KRW",
    "\u20ba": "TRY",
    "\u20b4": "UAH",
    "\u20a6": "NGN",
    "\u0e3f": "THB",
    "nt$": "TWD",
    "rmb": "CNY",
}
_WORD = re.compile(r"[^\W\d_]+")
_BEHIND = frozenset("+($\u20ac\u00a3\u20b9")
"""What else `_AFTER` begins with."""
_CODES = ("myr php aed sar thb idr vnd cop ars clp", "uah krw cny twd hkd ngn kes egp pkr bgn")
_CURRENCIES.update({code: code.upper() for codes in _CODES for code in codes.split()})
_SIGNS = frozenset("$\u20ac\u00a3\u20b9\u00a5\u20aa\u20b1\u20a9\u20ba\u20b4\u20a6\u0e3f.):")
"""What a currency before an amount ends with, where it is no letter."""
_APART = frozenset(" \n\t")
_LONGEST = 14
_WIDEST_JOIN = 24
_PENSION = "401"
"""401(k) is a pension plan."""
_WORDS_TOO = frozenset({"php", "rm", "cop", "sar"})
_LEAST_BESIDE_WORDS = 500
"""Words that are a currency only beside an amount of some size: "PHP 8" is a language."""
_TIMES = {
    "k": 1e3,
    "thousand": 1e3,
    "mil": 1e3,
    "tsd": 1e3,
    "lpa": 1e5,
    "lakh": 1e5,
    "lakhs": 1e5,
    "lac": 1e5,
    "lacs": 1e5,
}
_TOO_MUCH = frozenset(["m", "mm", "mn", "mio", "million", "bn", "b", "billion", "trillion"])
_WORDS_BEHIND = _TIMES.keys() | _TOO_MUCH | {"us"} | {name for name in _CURRENCIES if name.isalpha()}
"""The words that `_AFTER` finds."""


_THOUSAND, _LAKH = 1e3, 1e5


class Amount(NamedTuple):
    """One amount, or two that make a range."""

    start: int
    end: int
    low: float
    high: float | None
    """None for a single amount."""
    currency: str | None
    plain: bool
    """No currency, no thousands: only its surroundings can say that it is money."""
    open_ended: bool = False
    """A plus follows: it may be more."""


def number(token: str) -> float:
    """The value of digits with the separators of any locale. A single one before three digits separates thousands."""
    if token.isdigit():
        return float(token)
    token = token.replace(" ", "").replace("'", "")
    dot, comma = token.rfind("."), token.rfind(",")
    if dot >= 0 and comma >= 0:
        decimal = max(dot, comma)
    else:
        decimal = max(dot, comma)
        if decimal >= 0 and (token.count(token[decimal]) > 1 or len(token) - decimal == 4):
            decimal = -1
    whole = token if decimal < 0 else token[:decimal]
    digits = whole.replace(".", "").replace(",", "")
    fraction = "" if decimal < 0 else token[decimal + 1 :]
    return float(f"{digits or 0}.{fraction or 0}") if fraction.isdigit() or not fraction else 0.0


class _Single(NamedTuple):
    start: int
    end: int
    value: float
    currency: str | None
    times: float
    """1, or what a "k" or its like multiplied it by."""
    open_ended: bool

    @property
    def plain(self) -> bool:
        return self.currency is None and self.times == 1


def amounts(low: str) -> list[Amount]:
    """Every amount of money in a text in lower case. Millions and more are left out: nobody is paid so."""
    found: list[Amount] = []
    last: _Single | None = None
    for one in NUMBER.finditer(low):
        this = _single(low, one)
        if this is not None and last is not None and _are_range(low, last, one.start()):
            found[-1] = _range(last, this)
            last = None
            continue
        if this is not None:
            found.append(Amount(this.start, this.end, this.value, None, this.currency, this.plain, this.open_ended))
        last = this
    return found


def _are_range(low: str, left: _Single, start: int) -> bool:
    return start - left.end < _WIDEST_JOIN and _JOIN.fullmatch(low, left.end, start) is not None


def _single(low: str, one: re.Match[str]) -> _Single | None:
    digits = one.group()
    start, end = one.span()
    if len(digits) > _LONGEST or digits == _PENSION:
        return None
    beside = low[start - 1] if start else ""
    if beside in _APART:
        beside = low[start - 2] if start > 1 else ""
    marked = beside.isalpha() or beside in _SIGNS
    before = _BEFORE.search(low, max(0, start - 9), start) if marked else None
    if before is None and start and low[start - 1].isalpha():
        return None
    after = _AFTER.match(low, end) if _says_more(low, end) else None
    times, behind = (after["times"], after["mark"]) if after else (None, None)
    if times is not None and times not in _TIMES:
        return None
    mark = (before["mark"] or before["sign"]) if before else behind
    if mark is None or mark == "$":
        if behind is None and (before or low.startswith("/", end)):
            period = _AFTER_PERIOD.match(low, end)
            behind = period["mark"] if period else None
        mark = behind or mark  # "$90,000 CAD"
    currency = (_CURRENCIES.get(mark.strip(" .$")) or _CURRENCIES.get(mark.strip())) if mark else None
    if mark and mark.strip() in _WORDS_TOO and number(digits) * _TIMES.get(times or "", 1) < _LEAST_BESIDE_WORDS:
        return None
    factor = _TIMES.get(times or "", 1.0)
    if factor == _LAKH and currency is None:
        currency = "INR"
    value = number(digits)
    if factor == _THOUSAND <= value:
        factor = 1.0  # "250,000k"
    stop = after.end() if after and (times or after["mark"]) else end
    return _Single(
        before.start() if before else start,
        stop,
        value * factor,
        currency,
        factor,
        "+" in low[end : stop + 1],
    )


def _says_more(low: str, end: int) -> bool:
    """Whether a multiple or a currency may follow. Most numbers have neither, and the pattern is long."""
    at = end + 1 if low[end : end + 1].isspace() else end
    word = _WORD.match(low, at)
    if word is None:
        return low[at : at + 1] in _BEHIND
    return word.group() in _WORDS_BEHIND


def _range(left: _Single, right: _Single) -> Amount:
    low, high = left.value, right.value
    times = right.times if right.times > 1 else 1000
    if left.times == 1 and low < 1000 <= high and high / 10 < low * times <= high * 1.001:
        low *= times  # "120-150k"
    currency = left.currency or right.currency
    if left.currency == "USD" and right.currency is not None:
        currency = right.currency  # "$90,000 - $120,000 CAD"
    return Amount(left.start, right.end, low, high, currency, left.plain and right.plain, right.open_ended)
