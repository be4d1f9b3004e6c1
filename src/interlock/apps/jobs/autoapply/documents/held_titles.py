"""Titles that a text says somebody held, in whatever case they are written: "I was the vice president"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from interlock.apps.jobs.finder.identity.keys import fold, word_list

NOUNS = word_list("""
    accountant administrator administratorin analyst analystin architect architekt architektin artist attorney auditor
    baker banker berater beraterin biologist boss broker buyer captain chairman chairwoman cto ceo cfo coo chef chemist
    consultant cook coordinator deputy designer designerin developer director direktor direktorin economist editor
    electrician engineer entwickler entwicklerin executive founder geschaftsfuhrer geschaftsfuhrerin head ingenieur
    ingenieurin instructor journalist lawyer lead leader lecturer leiter leiterin manager managerin mechanic nurse
    officer operator owner partner pharmacist physician physicist pilot planner president principal producer professor
    programmer recruiter researcher sales scientist secretary specialist strategist supervisor surgeon teacher
    technician therapist trader translator tutor vorstand vp writer
""")
_PLAIN = word_list("""
    a an the their its our my very real good great strong new former only first sole own single member of team this
    kind same such responsible more part ein eine einer eines der die das dem den ihr ihre sehr gute guter
""")
"""Words before a title that are no part of it."""
_HELD = (
    r"i was|i have been|i've been|i had been|i became|worked as|served as|serving as|acted as|hired as|employed as|"
    r"promoted to|rose to|years as|career as|experience as|background as|my (?:last |previous |former |first )?"
    r"(?:role|title|position|job|post) was(?: that of)?|ich war|war ich|arbeitete als|gearbeitet als|tatig als|"
    r"jahre als"
)
_SAID = (
    r"i am|i'm|my (?:current |present )?(?:role|title|position|job|post) is|ich bin|bin ich|as|als|work as|working as"
)
_CLAIM = re.compile(rf"\b(?:(?P<held>{_HELD})|(?:{_SAID}))\s+(?P<words>(?:[\w'/-]+[ ,]+){{0,4}}[\w'/-]+)")
_WORD = re.compile(r"[\w-]+")


class HeldTitle(NamedTuple):
    """A title and its place in the text."""

    words: tuple[tuple[str, int, int], ...]
    """Each word of it, folded, with its place."""
    past: bool
    """It is said of a post that was held, and not of the one that is applied for."""


def held_titles(low: str) -> Iterator[HeldTitle]:
    """The titles that a text in lower case claims."""
    for one in _CLAIM.finditer(low):
        begin = one.start("words")
        words = [
            (fold(word[0], 100), begin + word.start(), begin + word.end()) for word in _WORD.finditer(one["words"])
        ]
        last = next((at for at, word in enumerate(words) if _noun(word[0])), None)
        if last is None:
            continue
        # The noun, or the nouns that stand together, with the words before them.
        while last + 1 < len(words) and _noun(words[last + 1][0]):
            last += 1
        found = tuple(word for word in words[: last + 1] if word[0] not in _PLAIN)
        if found:
            yield HeldTitle(found, one["held"] is not None)


def _noun(word: str) -> bool:
    return word in NOUNS or word.removesuffix("s") in NOUNS or word.rpartition("-")[2] in NOUNS
