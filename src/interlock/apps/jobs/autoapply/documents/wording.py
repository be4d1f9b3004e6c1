"""Our own words in resumes and letters. Everything else in them is copied from the profile or the posting."""

from __future__ import annotations

from typing import Final

from interlock.apps.jobs.autoapply.documents.values import Language

HEADINGS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "summary": "Summary",
        "skills": "Skills",
        "employment": "Experience",
        "projects": "Projects",
        "education": "Education",
    },
    "de": {
        "summary": "Profil",
        "skills": "Kenntnisse",
        "employment": "Berufserfahrung",
        "projects": "Projekte",
        "education": "Ausbildung",
    },
}

PHRASES: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "present": "present",
        "with": " with ",
        "years": " years of experience",
        "works_with": " Works with ",
        "and": " and ",
        "dear": "Dear hiring team",
        "dear_at": " at ",
        "subject": "Application: ",
        "apply": "I am applying for the role of ",
        "apply_open": "I am applying for your open position",
        "apply_at": " at ",
        "i_am": " My current role is ",
        "i_was": " My last role was ",
        "role_at": " at ",
        "experience": ", and I have ",
        "experience_alone": " I have ",
        "facts": " From my work:",
        "at": "At ",
        "colon": ": ",
        "skill_years": " years of work with ",
        "skills": "Your posting asks for skills that I bring: ",
        "talk": "I would be glad to tell you more in a conversation.",
        "closing": "Kind regards",
    },
    "de": {
        "present": "heute",
        "with": " mit ",
        "years": " Jahren Erfahrung",
        "works_with": " Arbeitet mit ",
        "and": " und ",
        "dear": "Guten Tag",
        "dear_at": ", liebes Team von ",
        "subject": "Bewerbung: ",
        "apply": "ich bewerbe mich um die Stelle ",
        "apply_open": "ich bewerbe mich um Ihre offene Stelle",
        "apply_at": " bei ",
        "i_am": " Meine jetzige Stelle: ",
        "i_was": " Meine letzte Stelle: ",
        "role_at": " bei ",
        "experience": ", mit ",
        "experience_alone": " Ich komme mit ",
        "facts": " Aus meiner Arbeit:",
        "at": "Bei ",
        "colon": ": ",
        "skill_years": " Jahre Arbeit mit ",
        "skills": "Ihre Anzeige nennt Kenntnisse, die ich mitbringe: ",
        "talk": "Gerne erzähle ich Ihnen in einem Gespräch mehr.",
        "closing": "Mit freundlichen Grüßen",
    },
}
UNTIL: Final = " \u2013 "
"""Between two dates."""
MARKS: Final = (", ", UNTIL, " · ", ".", ",", " (", ")", " ")
"""Punctuation between copied values."""


def our_words() -> frozenset[str]:
    """Every piece that has no source."""
    return frozenset([*MARKS, *(text for words in PHRASES.values() for text in words.values())])
