"""The sections of a resume, recognised by their headings in the six languages that rules know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.resume.lines import Line

Kind = Literal["top", "summary", "contact", "experience", "education", "skills", "projects", "languages", "other"]
_HEADINGS: dict[Kind, str] = {
    "experience": r"""(?:(?:work|professional|relevant|industry|selected|employment|career)[ ])?(?:experience|history)
        |employment|work|career|experiences|positions|berufserfahrung(?:en)?|(?:beruflicher[ ])?werdegang
        |praxiserfahrung|berufspraxis|berufliche[ ](?:erfahrung(?:en)?|stationen|tatigkeiten?)
        |(?:praktische[ ])?erfahrung(?:en)?
        |(?:parcours|experiences?)[ ]professionnel(?:le)?s?|parcours|emplois
        |experiencias?(?:[ ](?:laborale?s?|profesionale?s?|profissiona(?:l|is)))?|trayectoria(?:[ ]profesional)?
        |historial[ ]laboral|historico[ ]profissional|(?:werk|relevante[ ])?ervaring|loopbaan|werkzaamheden""",
    "education": r"""education(?:[ ](?:and|&)[ ](?:training|certifications?|qualifications))?
        |academic[ ](?:background|history)|studies|(?:schul|aus)?bildung|bildungsweg|studium
        |(?:schulische|akademische)r?[ ](?:aus)?bildung|akademischer[ ]werdegang|schule
        |(?:ausbildung|studium)[ ](?:und|&)[ ](?:studium|ausbildung)
        |formations?(?:[ ]academique)?|etudes|diplomes(?:[ ]et[ ]formations?)?|formacion(?:[ ]academica)?|educacion
        |estudios
        |formacao(?:[ ]academica)?|educacao|escolaridade|opleiding(?:en)?|onderwijs""",
    "skills": r"""(?:(?:technical|computer|core|key|professional|it|hard|relevant|main|other)[ ])?
        (?:skills?|competenc(?:ies|es)|expertise|technologies|proficiencies)
        (?:[ ](?:and|&|und)[ ](?:tools|technologies|competencies|expertise|interests))?
        |tech(?:nology)?[ ]stack|tools(?:[ ](?:and|&)[ ]technologies)?|programming[ ]languages|skill[ ]?set
        |(?:edv-|it-|fach|technische[ ]|besondere[ ])?(?:kenntnisse|fahigkeiten|kompetenzen)
        (?:[ ](?:und|&)[ ](?:kenntnisse|fahigkeiten))?|programmiersprachen|technologien
        |competences(?:[ ](?:techniques|informatiques|cles))?|habilidades(?:[ ]tecnicas)?|competencias(?:[ ]tecnicas)?
        |conocimientos(?:[ ](?:tecnicos|informaticos))?|aptitudes|conhecimentos(?:[ ]tecnicos)?|vaardigheden|kennis
        |competenties""",
    "projects": r"""(?:(?:personal|side|selected|key|notable|open[- ]source|own)[ ])?projects?
        |open[- ]source(?:[ ](?:work|contributions))?|(?:(?:eigene|private|ausgewahlte)[ ])?projekte?
        |projets?(?:[ ]personnels)?|proyectos?(?:[ ]personales)?|projetos?(?:[ ]pessoais)?|projecten""",
    "summary": r"""(?:(?:professional|executive|career)[ ])?(?:summary|profile|overview|objective)|about(?:[ ]me)?
        |(?:personliches[ ])?profil|uber[ ]mich|kurzprofil|zusammenfassung
        |a[ ]propos(?:[ ]de[ ]moi)?|resumen|perfil(?:[ ](?:profesional|profissional))?|sobre[ ]mi(?:m)?|resumo|profiel
        |over[ ]mij|samenvatting""",
    "contact": r"""contact(?:[ ](?:details|information|info))?|personal[ ](?:details|information|data)|kontakt(?:daten)?
        |personliche[ ](?:daten|angaben)|(?:angaben[ ])?zur[ ]person|details|coordonnees|contacto|contato
        |datos[ ]personales|dados[ ]pessoais|persoonlijke[ ]gegevens""",
    "languages": r"""(?:spoken[ ])?languages?|sprachen|sprachkenntnisse|fremdsprachen|langues|idiomas|talen
        |talenkennis""",
    "other": r"""certificat(?:ions?|es)(?:[ ](?:and|&)[ ].{3,30})?|licen[sc]es.{0,30}|awards?(?:[ ](?:and|&)[ ].{3,30})?
        |honou?rs.{0,30}|publications|patents|talks|interests|hobbies(?:[ ](?:and|&)[ ]interests)?|references
        |volunteer(?:ing)?(?:[ ]experience)?|courses|training|memberships|links|military[ ]service|zertifikate
        |zertifizierungen|[fw](?:ort|eiter)bildung(?:en)?|interessen|hobbys?(?:[ ](?:und|&)[ ]interessen)?
        |ehrenamt(?:liches[ ]engagement)?|engagement|referenzen|auszeichnungen|veroffentlichungen|sonstiges
        |wehrdienst|zivildienst|centres?[ ]d'?[ ]?interets?|loisirs|certificacion(?:es)?|certificac(?:ao|oes)|intereses
        |interesses|referencias|hobby'?s|certificaten""",
}
_KINDS: list[tuple[Kind, re.Pattern[str]]] = [
    (kind, re.compile(words, re.VERBOSE)) for kind, words in _HEADINGS.items()
]
_TITLE = re.compile(r"(?:curriculum(?: vitae)?|cv|resume|lebenslauf|tabellarischer lebenslauf|curriculo|hoja de vida)")
_CONTACT = re.compile(r"\w@\w|\bhttps?:|\b(?:www|linkedin|github)\.|\+\d{1,3}[ (]")
_SPACED = re.compile(r"(?:\w ){3,}\w")


class Section(NamedTuple):
    """Lines under a heading."""

    kind: Kind
    heading: str
    lines: tuple[Line, ...]


def heading_kind(text: str) -> Kind | None:
    """The kind of section that begins with this text; None where it is no heading."""
    if len(text) > 60:
        return None
    bare = text.replace(" ", "") if _SPACED.fullmatch(text.strip()) else text
    low = fold(bare).strip(" :.-_|/\u2013\u2014•")
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(low)), None) if low else None


def is_title(text: str) -> bool:
    """Whether a text only says that this is a resume."""
    return bool(_TITLE.fullmatch(fold(text).strip(" :.-")))


def _contact_first(lines: Sequence[Line]) -> bool:
    """Whether a column begins with an e-mail address, a phone or a link, before its first heading."""
    for line in lines[:8]:
        if heading_kind(line.cells[0]):
            return False
        if _CONTACT.search(line.text):
            return True
    return False


def sections_of(lines: Sequence[Line]) -> list[Section]:
    """The sections in their order. What comes before the first heading is the section `top`."""
    found: list[Section] = []
    kind: Kind = "top"
    heading = ""
    kept: list[Line] = []
    for index, line in enumerate(lines):
        # A heading stands alone, or with something beside it in a cell of its own.
        begins = None if line.is_bullet else heading_kind(line.cells[0])
        if begins is not None and len(line.cells) == 1 and line.text.endswith((",", ";")):
            begins = None
        if kind == "skills" and begins in ("skills", "languages") and len(line.cells) > 1:
            begins = None  # a group of skills, and its name
        if begins is None and line.column and _contact_first(lines[index:]):
            found.append(Section(kind, heading, tuple(kept)))
            kind, heading, kept = "top", "", []
        if begins is None:
            kept.append(line)
            continue
        found.append(Section(kind, heading, tuple(kept)))
        kind, heading, kept = begins, line.cells[0], []
        if len(line.cells) > 1:
            kept.append(line._replace(cells=line.cells[1:]))
    found.append(Section(kind, heading, tuple(kept)))
    return [one for one in found if one.lines]
