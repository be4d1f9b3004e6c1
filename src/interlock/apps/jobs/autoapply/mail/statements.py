"""What a mail says about an application: rules for each kind, and the sentence that says it.

Only a clear sentence counts. What is said under a condition ("if your profile fits, we will invite you to an
interview") is no invitation, and a rejection outweighs everything else in the same mail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.mail.message import Mail

LONGEST_QUOTE = 400
MOST_SENTENCES = 400


class Kind(StrEnum):
    """What a mail says."""

    CONFIRMATION = "confirmation"
    REJECTION = "rejection"
    INTERVIEW = "interview"
    OFFER = "offer"
    OTHER = "other"
    """It is about an application, and says none of these."""


LEADS_TO: dict[Kind, tuple[Stage, Ending | None] | None] = {
    Kind.CONFIRMATION: None,
    Kind.REJECTION: (Stage.CLOSED, Ending.REJECTED),
    Kind.INTERVIEW: (Stage.INTERVIEW, None),
    Kind.OFFER: (Stage.OFFER, None),
    Kind.OTHER: None,
}
"""Where a proposal moves the card when a person accepts it; None leaves it where it is."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a mail says, with its words."""

    kind: Kind
    quote: str


def _any(*patterns: str) -> re.Pattern[str]:
    """One pattern out of several; `~N` stands for up to N words in between."""
    spread = (re.sub(r"~(\d+) ", lambda most: f"(?:[\\w',]+ ){{0,{most[1]}}}", one) for one in patterns)
    return re.compile("|".join(f"(?:{one})" for one in spread))


_REJECTION = _any(
    r"not (?:be )?(?:moving|proceed|progress|going|taking|continu)\w* (?:forward|further|ahead)",
    r"not (?:be )?(?:moving|proceed|progress|going|taking|continu)\w* with your",
    r"(?:decided|chosen|opted|elected) to (?:move|proceed|go|continue|pursue)\w* ~2 with (?:an)?other",
    r"(?:decided|chosen|opted|elected) not to (?:move|proceed|progress|pursue|continue|invite|offer)",
    r"(?:have not|haven't|were not|weren't|not been) (?:been )?(?:selected|successful|shortlisted)",
    r"(?:unable|not able) ~3 (?:offer you|move forward|proceed|to consider your application)",
    r"regret (?:that|to inform you)",
    r"position (?:has been|was|is) (?:already )?(?:filled|closed|cancel\w+)",
    r"pursu\w+ other (?:candidates|applicants)",
    r"unsuccessful (?:on this occasion|this time|at this time)",
    r"application (?:has been|was) (?:rejected|unsuccessful|declined)",
    r"leider ~12 (?:nicht|absag\w+|andere\w*)",
    r"(?:haben|hat) ~6 gegen (?:ihre|deine|eine) bewerbung entschieden",
    r"fur (?:einen |eine )?andere\w* (?:bewerber|kandidat)\w* ~3 entschieden",
    r"\babsage\b",
)
_OFFER = _any(
    r"(?:pleased|happy|delighted|excited|thrilled|would like) to (?:\w+ )?offer you",
    r"(?:pleased|happy|delighted|excited|thrilled|would like) to (?:extend|make) (?:you )?an offer",
    r"(?:attached|enclosed|here) (?:is|you will find|you'll find|please find) ~4 (?:offer|contract)",
    r"offer letter",
    r"(?:job|employment) offer (?:is|for you|attached)",
    r"vertragsangebot",
    r"(?:stelle|position) anbieten",
    r"freuen uns, (?:ihnen|dir) ~6 (?:anzubieten|ein angebot)",
)
_INTERVIEW = _any(
    r"(?:invite you|inviting you|invitation) ~6 (?:interview|call|chat|conversation|meeting|talk)",
    r"(?:schedule|book|arrange|set up|find|pick|choose) ~5 (?:interview|call|chat|time|slot|conversation|meeting)",
    r"(?:would|we'd|i'd) (?:like|love) to (?:meet|speak|talk|chat|learn more)",
    r"(?:would like|we'd like|would love|we'd love) to invite you",
    r"next (?:step|stage|round) ~4 interview",
    r"your (?:\w+ )?interview (?:is|has been|will be|with)",
    r"are you (?:available|free) ~5 (?:call|chat|interview|meet\w*|week)",
    r"(?:laden|einladen|einladung|lade) ~10 (?:gesprach|interview|kennenlernen|vorstellungsgesprach|termin)",
    r"(?:zum|zu einem|ein) (?:\w+ )?(?:vorstellungsgesprach|kennenlerngesprach|telefoninterview)\b",
)
_CONFIRMATION = _any(
    r"(?:thank you|thanks) (?:so much |very much )?for (?:applying|your (?:\w+ )?(?:application|interest)|submitting)",
    r"(?:we|have|has been|was) ~3 received ~3 (?:your )?application",
    r"application (?:has been|was|is) ~2 (?:received|submitted|sent)",
    r"(?:successfully|safely) (?:received|submitted|applied)",
    r"(?:vielen dank|danke) fur (?:ihre|deine) bewerbung",
    r"(?:ihre|deine) bewerbung ~4 (?:erhalten|eingegangen)",
    r"eingangsbestatigung",
    r"bestatigen ~4 eingang",
)
_CONDITION = re.compile(
    r"\b(?:if|should|in case|once|when|whether|may|might|could|unless|eventually|falls|sollte|wenn|sofern)\b"
)
_WRAPPED = re.compile(r"(?<![.!?:\n])\n(?!\n)")
"""A line that goes on in the next one."""
_END = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_ABOUT = re.compile(r"\b(?:applicat\w+|applied|bewerbung\w*|candida\w+|position|role|stelle|kandidat\w*)\b")
RULES: tuple[tuple[Kind, re.Pattern[str], bool], ...] = (
    (Kind.REJECTION, _REJECTION, False),
    (Kind.OFFER, _OFFER, True),
    (Kind.INTERVIEW, _INTERVIEW, True),
    (Kind.CONFIRMATION, _CONFIRMATION, False),
)
"""Kind, its words, and whether a condition in the sentence takes them back; the first kind that is found counts."""


def found_in(mail: Mail) -> Found | None:
    """What a mail says about an application; None where it is about something else."""
    sentences = _sentences(f"{mail.subject}.\n{mail.text}")
    plain = [_plain(one) for one in sentences]
    for kind, pattern, conditional in RULES:
        for sentence, said in zip(sentences, plain, strict=True):
            hit = pattern.search(said)
            if hit and not (conditional and _CONDITION.search(said[: hit.end()])):
                return Found(kind, sentence[:LONGEST_QUOTE])
    about = next((one for one, said in zip(sentences, plain, strict=True) if _ABOUT.search(said)), None)
    return Found(Kind.OTHER, about[:LONGEST_QUOTE]) if about is not None else None


def _sentences(text: str) -> list[str]:
    parts = _END.split(_WRAPPED.sub(" ", text))
    return [said for one in parts if (said := " ".join(one.split()))][:MOST_SENTENCES]


_FOLDED = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss", "\u2019": "'", "é": "e"})


def _plain(sentence: str) -> str:
    return sentence[:2000].lower().translate(_FOLDED)
