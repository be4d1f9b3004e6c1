"""Sections: which part of a posting a line belongs to, by the heading above it and by what the line itself says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from interlock.apps.jobs.finder.reading.values import Section
from interlock.apps.jobs.finder.reading.vocabulary import Hit

LONGEST_HEADING = 90
LONGEST_NOTE = 400
"""A longer line has other things to say before its legal or benefits sentences."""

_HEADINGS: tuple[tuple[Section, tuple[str, ...]], ...] = (
    (
        "preferred",
        (
            r"preferred\b(?! location)",
            r"nice[- ]to[- ]have",
            r"bonus\b",
            r"(?:it'?s |that'?s |would be )?a plus\b",
            r"plus(?:es)?$",
            r"desired\b",
            r"desirable\b",
            r"(?:and )?ideally\b",
            r"good to have",
            r"great to have",
            r"beneficial\b",
            r"extra(?: credit| points)",
            r"additional (?:skills|qualifications)",
            r"what (?:would|will) (?:make you stand out|set you apart|be a plus)",
            r"you might also have",
            r"optional\b",
            r"(?:von vorteil|wünschenswert|das wäre|pluspunkte)",
            r"(?:les plus|atouts|serait un plus|souhaité)",
            r"(?:se valorará|deseable|valoramos|diferenciais|desejável|será um diferencial)",
            r"(?:een pre\b|mooi meegenomen|pluspunten)",
        ),
    ),
    (
        "requirements",
        (
            r"(?:key |job |basic |minimum |required |core |technical |essential |position |role |our |your "
            r"|the |general )*"
            r"(?:requirements?|qualifications?|skills?|competenc(?:y|ies)|must[- ]haves?)\b",
            r"qualifications and",
            r"what (?:you'?ll|you will) (?:need|bring)",
            r"what you(?: should)? (?:bring|have|need)",
            r"you (?:have|bring|are|should have|will have|'?ll have|might be|must have)\b",
            r"you'(?:ve|re)\b",
            r"(?:what|who) we(?:'re| are) looking for",
            r"what we look for",
            r"we(?:'re| are) looking for\b.{0,20}$",
            r"we look for",
            r"who you are",
            r"about you\b",
            r"experience(?: required| and skills| you'?ll need|s)?$",
            r"required (?:experience|education|skills)",
            r"(?:your|ideal) (?:profile|background|candidate|experience|skills|skillset)",
            r"(?:the )?ideal candidate",
            r"(?:skills|experience|education) (?:and|&|/)",
            r"must[- ]haves?",
            r"to (?:be successful|succeed)",
            r"(?:dein|ihr|das) profil|anforderungen|qualifikation|was du mitbring|das bringst du mit"
            r"|voraussetzungen|was sie mitbringen",
            r"(?:votre |le )?profil(?: recherché)?|compétences|prérequis|ce que nous recherchons",
            r"requisitos|perfil|qué buscamos|lo que buscamos|o que buscamos|requerimientos|conocimientos|experiencia",
            r"(?:jouw|je) profiel|vereisten|functie-eisen|wat (?:jij|je) meebrengt|wie (?:jij|je) bent"
            r"|dit neem je mee",
        ),
    ),
    (
        "duties",
        (
            r"(?:key |main |major |primary |your |job |essential |core |the "
            r"|day[- ]to[- ]day )*(?:responsibilit(?:y|ies)|duties|tasks)\b",
            r"what (?:you'?ll|you will|you'd) (?:do|be|work|own|accomplish|build|get)",
            r"what you(?:r day)? (?:do|looks)",
            r"you(?:'ll| will)\b",
            r"(?:about )?(?:the|this|your) (?:role|job|position|opportunity|impact|mission|day)",
            r"(?:role|position|job) (?:description|overview|summary|purpose)",
            r"your (?:role|opportunity|day|impact|mission)",
            r"in this role",
            r"the impact you",
            r"how you",
            r"a day in the life",
            r"job (?:description|summary|duties)",
            r"(?:our )?tech(?:nology)? stack",
            r"(?:deine |ihre )?aufgaben|das erwartet dich|was dich erwartet|dein job|stellenbeschreibung",
            r"(?:vos |les |tes )?missions|responsabilités|le poste|descriptif du poste",
            r"responsabilidades|funciones|atividades|qué harás|sobre la posición|tus funciones|suas responsabilidades",
            r"(?:jouw )?taken|wat ga je doen|functieomschrijving|de functie|je werkzaamheden",
        ),
    ),
    (
        "pay",
        (
            r"(?:our )?(?:compensation|salary|pay|base pay|annual pay|us pay|expected pay)\b(?! and benefits)",
            r"(?:zone|tier) \d.{0,20}pay range",
            r"gehalt|vergütung|salaire|rémunération|salario|remuneración|salaris|salário",
        ),
    ),
    (
        "benefits",
        (
            r"(?:our |the |company |employee |us |key |additional |some |great |compensation (?:and"
            r"|&) )*(?:benefits|perks|rewards)\b",
            r"what (?:we|you'?ll) (?:offer|get|love)",
            r"what we (?:can )?(?:offer|provide)",
            r"what's in it for you",
            r"what you can expect",
            r"we offer",
            r"why (?:you|join|work|us|we)",
            r"total rewards",
            r"life at\b",
            r"wir bieten|was wir (?:dir |ihnen )?bieten|deine vorteile|unser angebot|benefits|das bieten wir",
            r"avantages|ce que nous (?:vous )?(?:offrons|proposons)|nous (?:vous )?offrons|pourquoi nous rejoindre",
            r"beneficios|ofrecemos|qué ofrecemos|lo que ofrecemos|benefícios|o que oferecemos|nossos benefícios",
            r"wat (?:wij|we) (?:jou )?bieden|wij bieden|arbeidsvoorwaarden|dit krijg je",
        ),
    ),
    (
        "legal",
        (
            r"equal (?:employment )?opportunit",
            r"(?:eeo|diversity|disclosure|disclaimer|privacy|accommodation|compliance|legal"
            r"|our commitment to|notice)\b",
            r"(?:work authorization|important notice|e-verify|pay transparency (?:notice|act))",
            r"datenschutz|chancengleichheit|égalité|igualdad|gelijke kansen",
        ),
    ),
    (
        "other",
        (
            r"(?:the |our |interview |interviewing |hiring |recruitment |recruiting |application "
            r"|selection )*process\b",
            r"how to apply|next steps|what happens next|additional (?:details|information)|to apply",
            r"bewerbungsprozess|so bewirbst du dich|processus de recrutement|proceso de selecci\u00f3n"
            r"|sollicitatieprocedure",
        ),
    ),
    (
        "company",
        (
            r"about (?:us|the company|the team|our)\b",
            r"who we are",
            r"who is\b",
            r"our (?:company|mission|story|culture|values|client|team)\b",
            r"company (?:description|overview|summary)",
            r"about [a-z0-9&.'-]+(?: [a-z0-9&.'-]+){0,3}$",
            r"über uns|wer wir sind|à propos|qui sommes-nous|sobre nosotros|quiénes somos|sobre (?:a|nós)"
            r"|over ons|wie zijn wij",
        ),
    ),
)
_HEADING = re.compile(
    "|".join(f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in _HEADINGS),
)
_ANNOUNCED = re.compile(
    r"(?P<preferred>\bnice to have|\bbonus points|\bpreferred qualif|\bis a plus$|\bgreat addition)"
    r"|(?P<requirements>\brequirements$|\bqualifications$|you (?:need|bring|have)(?: to have)?$"
    r"|\bmust have$|\bwe expect\b|looking for$|\bgood fit if\b|you'll need$)"
    r"|(?P<duties>\byou(?:'ll| will)$|\bresponsibilities(?: include)?$|\bduties(?: include)?$"
    r"|\btasks(?: include)?$|you'll be doing$)"
    r"|(?P<benefits>\bbenefits(?: include)?$|\bperks$|\bwe offer$)"
)
"""What ends a line that announces a list, whatever it begins with."""
_BULLETS = ("\u2022", "* ", "- ")
_DIGIT = re.compile(r"\d")
"""After a colon, it makes a heading of pay a label with its value, which says nothing of the lines below it."""
_BESIDE = frozenset({"benefits", "company", "legal", "pay"})
"""Sections that feed no skills; a heading that is not known must not be swallowed by them."""
_LEAD = " \u2022*#-:>\"'_=~\u25ba\u2714\u2705"


def heading(line: str) -> Section | None:
    """The section that a line in lower case begins, if it is a heading."""
    if len(line) > LONGEST_HEADING:
        return None
    bare = line.strip(_LEAD)
    if not bare or bare[-1] in ".,;" or bare.count(" ") > 9 or (line.startswith(_BULLETS) and line[-1] != ":"):
        return None
    found = _HEADING.match(bare)
    # "Experience with Kubernetes" begins like a heading and is none.
    if found is None or (line[-1] != ":" and len(bare) - found.end() > 40):
        found = _ANNOUNCED.search(bare) if line[-1] == ":" or bare.count(" ") < 8 else None
    return None if found is None else found.lastgroup  # type: ignore[return-value]


def _begins_list(low: str, at: int, end: int) -> bool:
    """Whether a short line stands above a list: a heading in words that are not known, which ends the one before."""
    return not low.startswith(_BULLETS, at) and low.startswith(_BULLETS, end + 1) and low[end - 1] not in ".!?,;"


def sections_of(low: str, begin: int, cues: Mapping[str, Sequence[Hit]]) -> tuple[list[int], list[Section]]:
    """Where each section begins, and its kind; the title is "other"."""
    starts: list[int] = [0]
    kinds: list[Section] = ["other"]
    legal, perks = _Places(cues.get("legal", ())), _Places(cues.get("benefits", ()))
    current: Section = "other"

    def add(start: int, kind: Section) -> None:
        if kinds[-1] != kind:
            starts.append(start)
            kinds.append(kind)

    at = begin
    while at < len(low):
        end = low.find("\n", at)
        end = len(low) if end < 0 else end
        if end - at <= LONGEST_HEADING:
            found = heading(low[at:end])
            if found == "pay" and (colon := low.find(":", at, end)) >= 0 and _DIGIT.search(low, colon, end):
                add(at, found)
                at = end + 1
                continue
            if found is not None:
                current = found
            elif current in _BESIDE and _begins_list(low, at, end):
                current = "other"
        note: Section = "legal"
        place = legal.within(at, end)
        perk = perks.within(at, end)
        if place is None and current not in {"requirements", "preferred", "duties"}:
            note, place = "benefits", perk
        if place is None:
            add(at, current)
        else:
            sentence = at if end - at <= LONGEST_NOTE else max(at, low.rfind(". ", at, place) + 2)
            if sentence > at:
                add(at, current)
            add(sentence, note)
        at = end + 1
    return starts, kinds


class _Places:
    """Places of a cue, asked for from the first line to the last."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._starts = [hit.start for hit in hits]
        self._next = 0

    def within(self, begin: int, end: int) -> int | None:
        """The first place between two others."""
        while self._next < len(self._starts) and self._starts[self._next] < begin:
            self._next += 1
        if self._next < len(self._starts) and self._starts[self._next] < end:
            return self._starts[self._next]
        return None
