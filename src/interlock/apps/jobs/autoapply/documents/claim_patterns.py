"""Words by which the claim check finds what a text says about a person: degrees, certificates, employers, titles."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.identity.keys import word_list

PLACEHOLDER = re.compile(
    r"\[[^\[\]\n]{0,60}\]|\{\{?[^{}\n]{0,60}\}\}?|<[a-z][^<>\n]{0,60}>|\$\{|%\(?[a-z]*\)?s\b|_{3,}|\bx{3,}\b"
    r"|\b(?:lorem|ipsum|todo|tbd|tbc|fixme|placeholder|undefined|null)\b|\binsert \w+ here\b"
    r"|\byour (?:full )?name\b|\b(?:company|firmen|hiring manager) ?name\b|\bjohn doe\b|\bmax mustermann\b"
)
HIDDEN_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+ ?[\[(](?:at|ät)[\])] ?[\w.-]+")
"""A mail address in disguise."""

# -- degrees, certificates, permissions

DEGREES = {
    "bachelor": re.compile(r"\b(?:b\.? ?sc|b\.? ?a|b\.? ?eng|b\. ?s|b\.? ?tech|bachelor\w*)\b(?!\w)"),
    "master": re.compile(
        r"\b(?:m\.? ?sc|m\.? ?eng|m\. ?[sa]|m\.? ?tech|m\.? ?phil|mba|master'?s|master (?:of|in|degree)"
        r"|(?<!scrum )master(?=[.,;:!?\n]|$)|masters|magister)\b"
    ),
    "doctor": re.compile(r"\b(?:ph\.? ?d|d\.? ?phil|doctorate|doctoral|doctor|doktor\w*|promoviert|dr\.)"),
    "diploma": re.compile(r"\b(?:diploma|diplom\w*|staatsexamen)\b"),
    "honours": re.compile(
        r"\b(?:cum laude|honou?rs (?:degree|student)|with (?:honou?rs|distinction)|mit auszeichnung|post-?grad\w*"
        r"|post-?doc\w*|habilit(?:ation|iert))\b"
    ),
    "study": re.compile(r"\b(?:graduated|graduate|alumn\w+|studied|studierte|studium|abitur|valedictorian)\b"),
}
WRITTEN_DEGREE = re.compile(r"\b(?:MS|BS|MA|BA) (?=(?:degree|in|from|of)\b)")
"""Degrees that are two letters: in lower case they are other words, such as milliseconds."""
FIELD = re.compile(
    r"\b(?:degree|bachelor(?:'?s)?|master(?:'?s)?|bsc|msc|phd|doctorate|diploma|diplom|studied|studium|abschluss)"
    r" (?:degree )?(?:in|of|der|des) (\w+)"
)
FIELD_BEFORE = re.compile(r"\b(\w+) degree\b")
NO_FIELD = word_list("""
    a an any the my this that first last same second bachelor bachelors bachelor's master masters master's s doctoral
    college university academic bsc msc ba ma bs ms
""")
"""Words before "degree" that name no field."""
CERTIFICATE = re.compile(
    r"\b(certif\w*|zertifi\w*|licensed|licenced|accredited|pmp|cissp|cka|ckad|csm|itil|ccna|oscp|patents?|awards?"
    r"|awarded|prizes?|medals?|scholarships?|fellowships?|chartered|charterholder|black belt|bar exam|clearance"
    r"|driver'?s licen[cs]e|driving licen[cs]e|führerschein)\b"
)
PERMISSION = re.compile(
    r"\b(citizen\w*|green card|visas?|work permit|residence permit|sponsorship|authori[sz]ed to work"
    r"|staatsb(?:ü|ue)rger\w*|arbeitserlaubnis|aufenthaltstitel)\b"
)
BESIDE_ROLE = word_list("role position post job opening vacancy stelle application apply applying bewerbung team")
BEFORE_COMPANY = word_list("at bei von")
"""Words beside the posting's title or company where it is applied for, and not claimed."""

# -- employers

EMPLOYED = re.compile(
    r"\b(?:at|joined|employed by|hired by|(?:worked|working|freelanced|consulted|contracted|interned) (?:for|at)"
    r"|(?:was|were|been|time|career|stint|stay) with|came from|employer(?: was| is|,|:)?"
    r"|(?:company|start-?up|firm) (?:named|called)|founded|left|bei) (\w[\w'-]*)"
)
WORKED_FOR = re.compile(r"\bfor (\w[\w'-]*),? i (?:have )?(?:was|\w+ed|led|built|ran|wrote|made)\b")
FORMER = re.compile(r"\b(?:ex-|former )(\w+)")
JOINING = re.compile(r"\b(?:join|joining|role at|position at|team at|apply to|applying to|dear|stelle bei|bewerbe)\b")
EXPERIENCED = re.compile(
    r"\bi (?:have |had |also )?(?:was|been|\w+ed|led|built|ran|wrote|made|grew|held|spent|cut)\b"
    r"|\b(?:worked|employed|arbeitete|gearbeitet|ich war|war ich)\b"
)
"""Words with which somebody speaks of a past post."""
NOT_EMPLOYERS = word_list("""
    a all an any as at because behind best both customers each employees every everyone every first for from full good
    great had has her high him his home in instance into is it its large least me months more most my night nobody one
    our out over people present research scale school science somebody someone speed that the their them then there
    these this those three time to two university us was weeks what when where which who with within work years you
    your about after almost already always early late of on off some so still
    dem den der die einem einer ihnen ihrem ihrer meinem meiner uns
""")
"""Words after those that name no employer."""
NOT_FORMER = word_list("""
    boss client clients colleague colleagues companies company customer customers employer employers job jobs lead leads
    life manager managers member members position positions post posts role roles student students team teams work
""")

# -- names, titles, languages

OPENERS = word_list("""
    a about across additionally after all also although an and another any as at based because before being
    besides best beyond both but by dear during each earlier every finally first for from furthermore given good
    hello here hi how however i if in into it its kind last later like many me more moreover most my no not now of
    on one or our over overall please several since sincerely so some such thank thanks that the their then there
    these they this those through throughout to today together under until up use warm we what when where whether
    which while who why with within without would yours you your
    built cut did drew drove gave grew held kept knew led left made met ran read saw set shipped spent taught took
    went won wrote work works write
    als auch auf aus bei da das dabei daher damit danach dank dann darüber dass dazu der die dies diese dort ein
    eine für gerne guten hier ich im in mein meine mit nach seit sie so und unter viele vom von vor während was
    wenn wie wir zu zudem zum zuletzt zur
""")
SPOKEN = re.compile(
    r"\b(?:fluent|fluently|speak|spreche|flie\u00dfend|bilingual|speaker of)(?: fluent| in| flie\u00dfend)? (\w+)"
)
LANGUAGES = word_list("""
    english german french spanish italian portuguese dutch russian ukrainian mandarin cantonese chinese japanese korean
    arabic hebrew turkish swedish danish norwegian finnish czech hungarian greek hindi urdu bengali tamil farsi persian
    vietnamese romanian bulgarian croatian serbian
    englisch deutsch franzosisch spanisch italienisch portugiesisch niederlandisch russisch ukrainisch chinesisch
    japanisch koreanisch arabisch turkisch schwedisch danisch norwegisch polnisch tschechisch griechisch
""")
"""Spoken languages, without accents. Those that are other words too in lower case are found by their capital."""
OWN_LANGUAGE = {"en": {"english", "englisch"}, "de": {"german", "deutsch"}}
"""What a text shows by itself."""
RANKS = word_list("senior junior principal director president chief cto ceo cfo coo vp manager founder cofounder")
SPELLED_RANK = re.compile(r"\b(?:c\. ?[teofi]\. ?o|v\. ?p)\b\.?")
LEVELS = word_list("senior junior lead principal staff head director chief cto ceo vp manager founder architect")

# -- skills that are ordinary words in lower case

BEFORE_SKILL = re.compile(
    r"\b(?:in|with|using|used?|uses|writes?|wrote|writing|knew|know|learn(?:ed|t)?|cod(?:e|ed|ing)|program\w*) $"
)
AFTER_SKILL = re.compile(r"\s*(?:[.,;:!?)\n]|$|(?:and|or|code|services?|developer|programs?)\b)")
