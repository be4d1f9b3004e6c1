"""A text as the claim check reads it: without hidden characters, in composed letters, with places of the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from interlock.apps.jobs.finder.identity.keys import WORD, fold

_BREAK = re.compile(r"[.!?:;]\s|\n|[\u2022\u2013\u2014]\s")
_LAID_OUT = frozenset("\n\t\r ")
_FLAGS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
"""Letters that are drawn as flags, or as letters."""


class Token(NamedTuple):
    """A word and its place in the view."""

    text: str
    folded: str
    start: int
    end: int
    first: bool
    """It begins a sentence, a line or what follows a colon."""

    @property
    def named(self) -> bool:
        """It is written as a name is: with a capital."""
        return self.text != "I" and any(one.isupper() for one in self.text)


class TextView:
    """A text, its words and sentences. Places in the view are turned into places of the original by `place`."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.hidden: list[tuple[int, int]] = []
        """Places in the original of characters that nobody sees, or that are drawn around others."""
        found: list[str] = []
        self._at: list[int] = []
        for index, one in enumerate(original):
            kind = unicodedata.category(one)
            if kind in ("Cf", "Cs", "Co", "Cn", "Me") or (kind == "Cc" and one not in _LAID_OUT) or one in _FLAGS:
                self.hidden.append((index, index + 1))
            elif kind == "Mn" and found:
                both = unicodedata.normalize("NFC", found[-1] + one)
                found[-1] = both if len(both) == 1 else found[-1]
            else:
                plain = one if one.isascii() else unicodedata.normalize("NFKC", one)
                found += plain
                self._at += [index] * len(plain)
        self.text = "".join(found)
        self.low = "".join(small if len(small := one.lower()) == 1 else one for one in self.text)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """A place of the view in the original."""
        if start >= end:
            first = self._at[start] if start < len(self._at) else len(self.original)
            return first, first
        after = self._at[end] if end < len(self._at) else len(self.original)
        return self._at[start], max(after, self._at[end - 1] + 1)

    @cached_property
    def breaks(self) -> list[int]:
        """Where sentences begin, and the end."""
        return [0, *(one.end() for one in _BREAK.finditer(self.text)), len(self.text)]

    @cached_property
    def tokens(self) -> list[Token]:
        starts = set(self.breaks)
        found: list[Token] = []
        begins = True
        last = 0
        for one in WORD.finditer(self.text):
            begins = not found or any(place in starts for place in range(last, one.start() + 1))
            found.append(Token(one[0], fold(one[0], 10**6), one.start(), one.end(), begins))
            last = one.end()
        return found

    @cached_property
    def sentences(self) -> list[list[Token]]:
        """The words of each sentence."""
        found: list[list[Token]] = []
        for token in self.tokens:
            if token.first or not found:
                found.append([])
            found[-1].append(token)
        return found

    def sentence_at(self, place: int) -> list[Token]:
        """The words of the sentence at a place; none before the first word."""
        index = bisect_right(self.sentences, place, key=lambda one: one[0].start) - 1
        return self.sentences[index] if index >= 0 else []

    @cached_property
    def folded(self) -> tuple[str, list[int]]:
        """Lower case without accents and in single spaces, and the place of each character in the view."""
        found: list[str] = []
        at: list[int] = []
        for index, one in enumerate(self.text):
            plain = " " if one.isspace() else fold(one)
            if plain == " " and (not found or found[-1] == " "):
                continue
            found += plain
            at += [index] * len(plain)
        return "".join(found), at


def phrase(text: str) -> str:
    """The words of a text, folded, with one space between; what is equal by this is the same name."""
    return " ".join(WORD.findall(fold(text, 10**6)))


def seen_phrase(text: str) -> str:
    """The phrase of a text as it is seen: without its hidden characters."""
    return phrase(TextView(text).text)
