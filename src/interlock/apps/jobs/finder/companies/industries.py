"""Industries by the words that companies use for what they do, where no page names the industry itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from interlock.apps.jobs.finder.companies.markup import CompanyPage
from interlock.apps.jobs.finder.companies.values import Fact, quote_of
from interlock.apps.jobs.finder.reading.plain import folded

_TABLE = """
financial technology: fintech|payments?|banking|lending|credit cards?|zahlungen|kredite?
insurance: insurance|insurtech|versicherung(?:en)?
health care: healthcare|health care|patient(?:s|en|innen)?|clinics?|hospitals?|medtech|gesundheitswesen|kliniken
biotechnology: biotech(?:nology)?|drug discovery|genomics|therapeutics|pharma(?:ceuticals?)?
education: education|edtech|learners|students|teachers|schools|bildung|schulen|lernende
e-commerce: e-?commerce|online shops?|online retail|merchants|onlineshops?|onlinehandel
retail: retailers?|stores|einzelhandel
logistics: logistics|freight|supply chains?|shipping|warehouses?|carriers|logistik|fracht|lieferketten?|spedition(?:en)?
travel: travel|hotels?|airlines?|tourism|bookings|reisen|tourismus
energy: renewable|solar|wind power|energy|batter(?:y|ies)|grid|energie|erneuerbare|strom
climate technology: climate|carbon|emissions|sustainability|klima(?:schutz)?
mobility: mobility|electric vehicles|automotive|car sharing|mobilität|automobil(?:industrie)?
manufacturing: manufactur(?:ing|ers?)|factor(?:y|ies)|machines|industrial|maschinenbau|fertigung|produktion
construction: construction|architects|building sites?|baustellen|bauwesen
real estate: real estate|proptech|property management|tenants|landlords|immobilien
agriculture: agriculture|farm(?:s|ers|ing)?|crops|landwirtschaft
food: food|restaurants?|groceries|recipes|kitchens?|lebensmittel|gastronomie
media: publishers?|journalis(?:m|ts)|streaming|podcasts?|film|newspapers?|verlag(?:e)?|medien
games: video games?|game studio|games|players|gaming|spieleentwicklung
cybersecurity: cyber ?security|threats?|vulnerabilit(?:y|ies)|information security|it-sicherheit
developer tools: developer tools?|developers|apis?|open source|software teams|entwickler(?:innen)?
human resources: hr software|payroll|recruiting|hiring teams|personalwesen
marketing technology: marketing|advertis(?:ing|ers)|campaigns|werbung
telecommunications: telecom(?:munications)?|broadband|5g|mobile networks|telekommunikation
space: satellites?|rockets?|spacecraft|launch vehicles?|raumfahrt
robotics: robots?|robotics|autonomous systems|roboter
legal technology: legal tech|law firms?|lawyers|contracts|kanzleien|rechtsanwälte
government: government|public sector|municipal(?:ities)?|citizens|behörden|kommunen|verwaltung
non-profit: non-?profit|charity|foundation|gemeinnützig\\w*|stiftung
consulting: consulting|consultants?|advisory|beratung
"""
INDUSTRIES = {
    name: re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    for name, _, words in (row.partition(": ") for row in _TABLE.strip().split("\n"))
}
LEAST = 2
"""How often its words must be there."""
LONGEST = 6000


def by_words(pages: Sequence[CompanyPage], about: str | None) -> Fact | None:
    """The industry whose words the company uses most about itself; None where two are equal or none is frequent."""
    texts = [(page.url, page.description) for page in pages if page.description]
    if about:
        texts.append((pages[0].url, about))
    counts: dict[str, int] = {}
    first: dict[str, tuple[str, str, re.Match[str]]] = {}
    for url, text in texts:
        for name, pattern in INDUSTRIES.items():
            for found in pattern.finditer(folded(text[:LONGEST])):
                counts[name] = counts.get(name, 0) + 1
                first.setdefault(name, (url, text, found))
    ranked = sorted(counts, key=lambda name: -counts[name])
    if not ranked or counts[ranked[0]] < LEAST or (len(ranked) > 1 and counts[ranked[0]] == counts[ranked[1]]):
        return None
    url, text, found = first[ranked[0]]
    return Fact(value=ranked[0], page=url, quote=quote_of(text, found.start(), found.end()), rule="words of the trade")
