"""Numbers of clauses as contracts write them: `1.`, `1.1`, `(a)`, `(iv)`, `ARTICLE IV`, `Section 3.2`, `§ 5`.

A label is read in its context: `(ii)` starts a clause only if `(i)` did, `2004.` at the start of a line is the end of
a date, and `(i)` after `(h)` is a letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SCOPE = re.compile(
    r"(?P<word>EXHIBIT|SCHEDULE|ANNEX|APPENDIX|ATTACHMENT|ANLAGE|ANHANG)\s+(?P<value>[A-Z]{1,2}|\d{1,2}|[A-Z]-?\d{1,2})"
    r"(?=$|[\s:-]|\.(?!\d))"
)
_RESTART = re.compile(r"(?:THIS )?(?:[A-Z]+ ){0,3}(?:AMENDMENT|ADDENDUM)\b|THIS (?:[A-Z-]+ ){0,5}AGREEMENT\b")
_LOUD = re.compile(r"[A-Z][A-Z'-]+[.,/]?(?: (?:[A-Z&][A-Z'-]*)[.,:/]?)+|[A-Z]{3,}[.,:/]?(?:\Z| )")
_ARTICLE = re.compile(r"(?:ARTICLE|Article|ARTIKEL|Artikel)\s+(?P<value>[IVXLC]{1,7}|\d{1,3})\b[.:]?")
_SECTION = re.compile(
    r"(?:(?:SECTION|Section|Sec\.|CLAUSE|Clause|Ziffer|Ziff\.)\s+|§{1,2}\s*)"
    r"(?P<value>\d{1,3}(?:\.\d{1,3}){0,5})(?P<subs>(?:\([a-z0-9]{1,4}\))*)[.:]?(?=$|\s)"
)
_DECIMAL = re.compile(r"(?P<value>\d{1,3}(?:\.\d{1,3}){1,5})[.):]?(?=$|\s)")
_INTEGER = re.compile(r"(?P<value>\d{1,3})(?P<close>[.)])(?=$|\s)")
_PAREN = re.compile(r"\((?P<value>[a-z]{1,5}|[A-Z]|\d{1,2})\)")
_LETTER = re.compile(r"(?P<value>[A-Za-z]|[ivx]{2,5})(?P<close>[.)])(?=$|\s)")
_ROMAN = re.compile(r"(?=[ivxlc])(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})\Z")
_DIGIT = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
MOST = 99
"""The highest number of a clause; a higher one is a year or an amount."""
GAP = 3
"""How many numbers of a series may be missing before it is no longer taken for the same series."""


@dataclass(frozen=True, slots=True)
class Label:
    """The number of a clause: as it is printed, as the way to it, and in one written form."""

    printed: str
    path: tuple[str, ...]
    number: str
    top: bool
    """Whether it is a section in its own right and not a part of one."""


@dataclass(slots=True)
class _Level:
    style: str
    value: int


@dataclass(slots=True)
class Numbering:
    """Follows the numbers of one document from its first line to its last."""

    scope: str = ""
    article: str = ""
    top: tuple[str, ...] = ()
    levels: list[_Level] = field(default_factory=list)
    last_integer: int | None = None
    seen_letters: bool = False

    def read(self, line: str, fresh: bool) -> Label | None:
        """Return the label that the line starts with, if it starts a clause.

        `fresh` says that the line before ended a sentence, so that this one can start something.
        """
        if fresh and _RESTART.match(line):
            # A file can hold several instruments, and each counts from 1.
            self._restart("")
            return None
        for match, take in (
            (_SCOPE.match(line), self._take_scope),
            (_ARTICLE.match(line), self._take_article),
            (_SECTION.match(line), self._take_section),
            (_DECIMAL.match(line), self._take_decimal),
            (_INTEGER.match(line), self._take_integer),
            (_PAREN.match(line), self._take_part),
            (_LETTER.match(line), self._take_part),
        ):
            if match:
                rest = line[match.end() :].lstrip()
                # A number before capitals is a heading whatever stands above it, such as a footer in mid-page.
                return take(match, rest, fresh or bool(_LOUD.match(rest)))
        return None

    def _take_scope(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        if len(rest) > 80 or (rest[:1].islower()) or not fresh:
            return None
        self._restart(f"{match['word'].title()} {match['value']}")
        return Label(match.group(), (self.scope,), self.scope, top=True)

    def _restart(self, scope: str) -> None:
        self.scope, self.article, self.top, self.last_integer, self.seen_letters = scope, "", (), None, False
        self.levels.clear()

    def _take_article(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        if not fresh or rest[:1].islower():
            return None
        value = match["value"]
        self.article = value if value.isdigit() else str(roman(value.lower()))
        self.last_integer = None
        return self._settle(match.group(), (self.article,))

    def _take_section(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        if not fresh or rest[:1].islower() or rest[:1] in {",", ";"} or _SENTENCE.match(rest):
            return None
        parts = (*match["value"].split("."), *re.findall(r"\((\w+)\)", match["subs"]))
        return self._settle(match.group(), parts)

    def _take_decimal(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        parts = tuple(match["value"].split("."))
        if any(int(part) > MOST for part in parts):
            return None
        follows = len(parts) > 1 and self.top[: len(parts) - 1] == parts[:-1]
        if rest[:1].islower() and not (fresh and follows):
            return None
        if not fresh and not (follows and rest[:1].isupper() and len(self.top) == len(parts)):
            return None
        return self._settle(match.group(), parts)

    def _take_integer(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        value = int(match["value"])
        if match["close"] == ")":
            return self._take_part(match, rest, fresh)
        last = self.last_integer
        in_series = value == 1 or last is None or 0 < value - last <= GAP
        if not fresh or value > MOST or value == 0 or not in_series or rest[:1].islower():
            return None
        self.last_integer = value
        return self._settle(match.group(), (self.article, str(value)) if self.article else (str(value),))

    def _take_part(self, match: re.Match[str], rest: str, fresh: bool) -> Label | None:
        """Take `(a)`, `(iv)`, `(2)`, `A.`, `i.` or `2)`: a part of the section that is open."""
        printed, value = match.group(), match["value"]
        form = "(" if printed.startswith("(") else match["close"]
        for depth in range(len(self.levels) - 1, -1, -1):
            level = self.levels[depth]
            # No gap: "(d)" at the start of a line, after "(b)" and "(c)" inside a sentence, goes on with it.
            if level.style[0] == form and _value(value, level.style) - level.value == 1:
                del self.levels[depth:]
                return self._push(printed, value, level.style)
        if not fresh:
            return None
        for style in _styles(form, value):
            first = _value(value, style) == 1
            # A file can start in the middle of a series of capital letters; a name such as "J. Smith" does not.
            late = style.endswith("A") and not self.seen_letters and not self.levels and len(rest.split()) > 4
            if first or late:
                return self._push(printed, value, style)
        return None

    def _push(self, printed: str, value: str, style: str) -> Label:
        self.seen_letters = self.seen_letters or style.endswith("A")
        self.levels.append(_Level(style, _value(value, style)))
        names = tuple(_name(level) for level in self.levels)
        return self._label(printed, (*self.top, *names), top=False)

    def _settle(self, printed: str, parts: tuple[str, ...]) -> Label:
        self.top = parts
        self.levels.clear()
        return self._label(printed, parts, top=True)

    def _label(self, printed: str, parts: tuple[str, ...], *, top: bool) -> Label:
        scoped = (self.scope, *parts) if self.scope else parts
        number = f"{self.scope}, {written(parts)}" if self.scope else written(parts)
        return Label(printed, scoped, number, top=top)


_SENTENCE = re.compile(r"(?:of|and|or|above|below|hereof|shall|is|are|to)\b", re.IGNORECASE)


def written(parts: tuple[str, ...]) -> str:
    """Write the way to a clause as lawyers do: `14.2(a)(2)`."""
    out = ""
    for index, part in enumerate(parts):
        plain = part.isdigit() and (index == 0 or "(" not in out) and not part.startswith("0")
        out += (f".{part}" if out and plain else part) if plain or not out else f"({part})"
    return out


def parts_of(reference: str) -> tuple[str, ...]:
    """Return the way to a clause from how it is written: `14.2(a)(2)` is `14`, `2`, `a`, `2`."""
    return tuple(re.findall(r"\d+|[A-Za-z]+", reference))


def roman(text: str) -> int:
    """Return the value of a Roman number in small letters, or 0 if it is none."""
    if not text or not _ROMAN.match(text):
        return 0
    total = 0
    for here, after in zip(text, [*text[1:], ""], strict=True):
        total += -_DIGIT[here] if after and _DIGIT[after] > _DIGIT[here] else _DIGIT[here]
    return total


def _styles(form: str, value: str) -> tuple[str, ...]:
    if value.isdigit():
        return (form + "1",)
    if value.isupper():
        return (form + "A",)
    # A lone "i" that starts a series is Roman; "a" is a letter.
    return (form + "i", form + "a") if roman(value) else (form + "a",)


def _value(value: str, style: str) -> int:
    kind = style[1]
    if kind == "1":
        return int(value) if value.isdigit() else 0
    if kind == "i":
        return roman(value)
    if len(set(value)) != 1 or not value.isalpha() or value.isupper() != (kind == "A"):
        return 0
    return ord(value[0].lower()) - 96 + 26 * (len(value) - 1)


def _name(level: _Level) -> str:
    kind = level.style[1]
    if kind == "1":
        return str(level.value)
    if kind == "i":
        return _roman_of(level.value)
    letter = chr(96 + (level.value - 1) % 26 + 1) * ((level.value - 1) // 26 + 1)
    return letter.upper() if kind == "A" else letter


def _roman_of(value: int) -> str:
    out = ""
    for amount, sign in (
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ):
        while value >= amount:
            out, value = out + sign, value - amount
    return out
