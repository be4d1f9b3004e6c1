"""Numbers and dates in a text, with what stands around them, so that a true number beside a false thing is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlock.apps.jobs.autoapply.documents.text_view import TextView, Token
from interlock.apps.jobs.finder.identity.keys import word_list

_NUMBER = re.compile(r"\d[\d.,']*")
_GROUPED = re.compile(r"\d{1,3}(?:[.,']\d{3})+")
_UNIT = re.compile(
    r"\s?(%|percent\b|per cent\b|prozent\b|k\b|thousand\b|tausend\b|m\b|million(?:en|s)?\b|mio\b|bn\b"
    r"|billion(?:en|s)?\b|\u20ac|eur\b|usd\b|\$|gbp\b|chf\b)?"
)
_TIMES = {"k": 1e3, "t": 1e3, "m": 1e6, "b": 1e9}
_MONEY = ("\u20ac", "eur", "usd", "$", "gbp", "chf")
_NAMED = """
    0.25 quarter quarters viertel
    0.333 third thirds drittel
    0.5 half halved halbiert halfte
    2 two twice double doubled zwei zweimal verdoppelt
    3 three triple tripled trebled drei verdreifacht
    4 four quadrupled vier vervierfacht
    5 five funf
    6 six sechs
    7 seven sieben
    8 eight acht
    9 nine neun
    10 ten decade decades zehn jahrzehnt jahrzehnte
    11 eleven elf
    12 twelve zwolf dozen dozens dutzend dutzende
    13 thirteen dreizehn
    14 fourteen vierzehn
    15 fifteen funfzehn
    16 sixteen sechzehn
    17 seventeen siebzehn
    18 eighteen achtzehn
    19 nineteen neunzehn
    20 twenty zwanzig
    30 thirty dreissig
    40 forty vierzig
    50 fifty funfzig
    60 sixty sechzig
    70 seventy siebzig
    80 eighty achtzig
    90 ninety neunzig
    100 hundred hundreds hundert hunderte
    1000 thousand thousands tausend tausende
    1000000 million millions millionen
    1000000000 billion billions milliarde milliarden
    1980 eighties achtziger
    1990 nineties neunziger
    2000 noughties
"""
"""Numbers in words, without accents."""
_WORDS = {name: float(line.split()[0]) for line in _NAMED.strip().splitlines() for name in line.split()[1:]}
_ONES = {"ein": 1, "zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_GERMAN = {"mär": 3, "mae": 3, "mai": 5, "okt": 10, "dez": 12}
_NAMED_MONTH = re.compile(
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz"
    r"|maerz|mai|juni|juli|oktober|dezember|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|okt|nov|dec|dez)\b\.? ?(\d{4})\b"
)
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])\b")
_SLASHED = re.compile(r"\b(0?[1-9]|1[0-2])/(\d{4})\b")
_YEAR = re.compile(r"(?<![\d.,'])(?:19[5-9]\d|20\d\d)(?![\d%]|[.,']\d)")
AROUND = 4
"""Words on each side that say what a number counts."""
_SMALL = word_list("""
    a about all also am an and are as at be been but by each for from had has have i in into is it its more most my
    of on one or our over per so than that the their them then there they this to up was we were which with within
    you your experience year years day days
    aber als auch auf aus bei das dem den der des die ein eine einem einen einer es fur habe ich im in ist je mehr mit
    nach oder pro sie sind sowie uber um und uns von war wir wurde zu zum zur jahr jahre jahren erfahrung
""")


class Amount(NamedTuple):
    """A number, what it is a number of, and its place in the view."""

    value: float
    unit: str
    """`%`, `money` or nothing."""
    around: frozenset[str]
    start: int
    end: int


class When(NamedTuple):
    """A year, or a month of it, and its place in the view."""

    year: int
    month: int | None
    start: int
    end: int


def stems(tokens: Sequence[Token]) -> frozenset[str]:
    """The beginnings of words that say something."""
    return frozenset(one.folded[:5] for one in tokens if one.folded not in _SMALL and not one.folded[0].isdigit())


def dates_in(view: TextView) -> list[When]:
    """The dates, without those inside another."""
    found = [When(int(one[1]), int(one[2]), *one.span()) for one in _ISO.finditer(view.low)]
    found += [When(int(one[2]), int(one[1]), *one.span()) for one in _SLASHED.finditer(view.low)]
    found += [When(int(one[2]), _month(one[1]), *one.span()) for one in _NAMED_MONTH.finditer(view.low)]
    taken = {place for one in found for place in range(one.start, one.end)}
    for one in _YEAR.finditer(view.low):
        if one.start() not in taken:
            found.append(When(int(one[0]), None, *one.span()))
    return sorted(found, key=lambda when: when.start)


def _month(name: str) -> int:
    short = name[:3]
    return _GERMAN[short] if short in _GERMAN else _MONTHS.index(short) + 1


def amounts_in(view: TextView) -> Iterator[Amount]:
    """The numbers, in digits and in words."""
    for sentence in view.sentences:
        for index, token in enumerate(sentence):
            beside = (*sentence[max(0, index - AROUND) : index], *sentence[index + 1 : index + 1 + AROUND])
            value = _worded(token.folded)
            if value is not None:
                if token.folded == "third" and any(
                    one.folded.startswith("part") for one in sentence[index + 1 : index + 2]
                ):
                    continue  # a third party
                yield Amount(
                    value, "", stems([one for one in beside if one.folded not in _WORDS]), token.start, token.end
                )
            elif token.text[0].isdecimal():
                yield from _digits(view, token, beside)
            else:
                for one in re.finditer(r"\d+", token.text):
                    yield Amount(float(one[0]), "", stems([token]), token.start, token.end)


def _worded(word: str) -> float | None:
    """The number that a word is, such as twelve, tenfold or fünfundzwanzig."""
    if word in _WORDS:
        return _WORDS[word]
    if word.endswith("fold") and word[:-4] in _WORDS:
        return _WORDS[word[:-4]]
    ones, _, tens = word.partition("und")
    return _ONES[ones] + _WORDS[tens] if ones in _ONES and tens in _WORDS else None


def _digits(view: TextView, token: Token, beside: tuple[Token, ...]) -> Iterator[Amount]:
    # A token ends at a comma or a full stop, but the number may go on: the part after it was given already.
    before = view.text[max(0, token.start - 1) : token.start]
    if before and before in ".,'" and view.text[max(0, token.start - 2) : token.start - 1].isdigit():
        return
    number = _NUMBER.match(view.text, token.start)
    assert number is not None
    digits = number[0].rstrip(".,'")
    end = token.start + len(digits)
    try:
        value = float(re.sub(r"[.,']", "", digits) if _GROUPED.fullmatch(digits) else digits.replace(",", "."))
    except ValueError:
        value = float(re.sub(r"\D", "", digits)[:300])
    unit = _UNIT.match(view.low, end)
    kind = unit[1] if unit and unit[1] else ""
    money = kind in _MONEY or bool(before and before in "$\u20ac\u00a3")
    if kind and kind not in _MONEY and not kind.startswith("p") and kind != "%":
        value *= _TIMES[kind[0]]
    name = "%" if kind == "%" or kind.startswith("p") else "money" if money else ""
    yield Amount(value, name, stems(beside), token.start, unit.end() if unit and kind else end)
