"""Sections: which part of a posting a line belongs to, by the heading above it and by what the line itself says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from interlock.apps.jobs.finder.reading.values import Section
from interlock.apps.jobs.finder.reading.vocabulary import Hit

LONGEST_HEADING = 90
LONGEST_PARAGRAPH = 1500

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
_LEAD = " \u2022*#-:>\"'_=~\u25ba\u2714\u2705"


def heading(line: str) -> Section | None:
    """The section that a line in lower case begins, if it is a heading."""
    if len(line) > LONGEST_HEADING:
        return None
    bare = line.strip(_LEAD)
    if (
        not bare
        or bare[-1] in ".,;"
        or bare.count(" ") > 9
        or (line.startswith(("\u2022", "* ", "- ")) and line[-1] != ":")
    ):
        return None
    found = _HEADING.match(bare)
    # "Experience with Kubernetes" begins like a heading and is none.
    if found is None or (line[-1] != ":" and len(bare) - found.end() > 40):
        found = _ANNOUNCED.search(bare) if line[-1] == ":" or bare.count(" ") < 8 else None
    return None if found is None else found.lastgroup  # type: ignore[return-value]


def sections_of(low: str, begin: int, cues: Mapping[str, Sequence[Hit]]) -> tuple[list[int], list[Section]]:
    """Where each section begins, and its kind; the title is "other"."""
    starts, kinds = [0], ["other"]
    legal = [hit.start for hit in cues.get("legal", ())]
    perks = [hit.start for hit in cues.get("benefits", ())]
    at, current, next_legal, next_perk = begin, "other", 0, 0
    while at < len(low):
        end = low.find("\n", at)
        end = len(low) if end < 0 else end
        line_kind = current
        if end - at <= LONGEST_HEADING:
            found = heading(low[at:end])
            if found is not None:
                line_kind = current = found
        while next_legal < len(legal) and legal[next_legal] < at:
            next_legal += 1
        while next_perk < len(perks) and perks[next_perk] < at:
            next_perk += 1
        if end - at > LONGEST_PARAGRAPH:
            pass  # a whole posting without line breaks is not legal text because it ends in some
        elif next_legal < len(legal) and legal[next_legal] < end:
            line_kind = "legal"
        elif (
            line_kind not in {"requirements", "preferred", "duties"}
            and next_perk < len(perks)
            and perks[next_perk] < end
        ):
            line_kind = "benefits"
        if kinds[-1] != line_kind:
            starts.append(at)
            kinds.append(line_kind)
        at = end + 1
    return starts, kinds  # type: ignore[return-value]
