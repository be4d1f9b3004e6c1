"""What the pages of a company say of it, each value with the words that it was read from."""

from __future__ import annotations

import json

import pytest

from interlock.apps.jobs.finder.companies import Extracted, extract, own_name

from .websites import BRAMBLE, LIGHTHOUSE, NORDWIND, PAGES


def of(text: str, name: str = "Acme") -> Extracted:
    return extract({"https://acme.example/about": f"<html><body>{text}</body></html>"}, name, "https://acme.example")


def test_a_page_in_english_with_json_ld() -> None:
    found = extract(PAGES, "Lighthouse Freight", LIGHTHOUSE)
    assert (found.said("about") or "").startswith("Lighthouse Freight is a logistics software company. We plan")
    assert found.said("culture") == "Calm\nWe finish on time and go home.\nCandour\nWe say what is broken."
    assert found.said("mission") == "Our mission is to end empty containers."
    assert (found.said("size"), found.people) == ("51-200", 125)
    assert found.said("headquarters_location") == "Portland, OR, US"
    assert found.said("industry") == "logistics software"
    assert found.said("founded") == "2014", "not 1971, which the footer says of somebody else"
    assert found.founded
    assert (found.founded.page, found.founded.quote) == (f"{LIGHTHOUSE}/about", "2014-03-01")
    assert found.missing == ()
    assert Extracted.model_validate(json.loads(found.model_dump_json())) == found


def test_a_page_in_german() -> None:
    found = extract({"https://nordwind.example/ueber-uns": NORDWIND}, "Nordwind Energie GmbH", "nordwind.example")
    assert (found.said("founded"), found.said("headquarters_location")) == ("1998", "Hamburg")
    assert (found.said("size"), found.people) == ("Rund 1.200 Mitarbeitende", 1200)
    assert (found.said("culture") or "").startswith("Wir arbeiten auf Augenhöhe")
    assert found.said("mission") == "Strom ohne Kohle, für alle, bis 2035."
    assert found.said("industry") == "Energie"


def test_tiles_count_before_sentences_and_other_peoples_employees_never() -> None:
    found = extract({"https://bramble.example/": BRAMBLE}, "Bramble", "bramble.example")
    assert (found.said("size"), found.people, found.more_people) == ("120+", 120, True)
    assert (found.said("founded"), found.said("headquarters_location")) == ("2019", "Berlin")
    assert found.said("industry") == "robotics"
    assert found.missing == ("culture", "mission")


SIZES = {
    "We are a team of 45 across three cities.": (45, False),
    "A small team of twelve builds it.": (12, False),
    "More than 1,200 employees work here.": (1200, True),
    "Acme employs 3.400 people.": (3400, False),
    "We're now 60 people.": (60, False),
    "Our 35-person team ships daily.": (35, False),
    "Wir sind ein Team von 80 Leuten.": (80, False),
    "Über 250 Mitarbeiterinnen und Mitarbeiter.": (250, True),
    "Company size: 201-500 employees": (350, False),
    "<dl><dt>Founded<dd>2014<dt>Employees<dd>90</dl>": (90, False),
    "<div>2014</div><div>Founded</div><div>90</div><div>Employees</div>": (90, False),
    "Trusted by 5,000 people every day.": None,
    "We help companies with 500 employees or more.": None,
    "Our customers have 20,000 employees.": None,
    "We grew by 120% and answer 3,000 people a day.": None,
    "The year 2024 was good for us.": None,
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_are_those_of_the_company(text: str) -> None:
    found = of(f"<p>{text}</p>")
    assert (None if found.people is None else (found.people, found.more_people)) == SIZES[text]


FOUNDED = {
    "Acme was founded in a garage in 1994.": "1994",
    "Founded by two sisters in the spring of 2011, Acme sells tea.": "2011",
    "Est. 1887": "1887",
    "It began in 2013; Acme was founded a year later, in 2014.": "2014",
    "Gründungsjahr: 2003": "2003",
    "Das Unternehmen wurde im Jahr 2007 gegründet.": "2007",
    "We have brewed tea since 1999.": "1999",
    "Version 4 was launched in 2020.": None,
    "The lighthouse has stood since 1880.": None,
    "Founded on trust.": None,
}


@pytest.mark.parametrize("text", FOUNDED)
def test_years_are_those_of_the_foundation(text: str) -> None:
    assert of(f"<p>{text}</p>").said("founded") == FOUNDED[text]


SEATS = {
    "Headquartered in Portland, Oregon, Acme sells tea.": "Portland, Oregon",
    "Our headquarters are in New York and we have a shop in Rome.": "New York",
    "Acme is based in Berlin.": "Berlin",
    "Leeds (HQ)": "Leeds",
    "Am Stammsitz in Bielefeld arbeiten alle.": "Bielefeld",
    "Hauptsitz: München, Deutschland": "München, Deutschland",
    "Acme mit Sitz in Köln verkauft Tee.": "Köln",
    "We serve customers based in Berlin.": None,
    "Our work is based in Trust and Care.": None,
}


@pytest.mark.parametrize("text", SEATS)
def test_seats_are_those_of_the_company(text: str) -> None:
    assert of(f"<p>{text}</p>").said("headquarters_location") == SEATS[text]


def test_an_organisation_of_another_name_is_not_the_company() -> None:
    other = '{"@type": "Organization", "name": "Gloom Agency", "foundingDate": "1971", "numberOfEmployees": 7}'
    found = of(f'<script type="application/ld+json">{other}</script><p>Tea.</p>')
    assert (found.founded, found.people) == (None, None)
    same = of(f'<script type="application/ld+json">{other}</script><p>Tea.</p>', "Gloom Agency LLC")
    assert (same.said("founded"), same.people) == ("1971", 7)


def test_short_texts_of_one_page_are_taken_together() -> None:
    said = "A team of 23 oceanographers and engineers in nine lands."
    found = of(f'<meta name=description content="Acme maps the sea floor with drones."><p>{said}</p>')
    assert found.said("about") == f"{said}\nAcme maps the sea floor with drones."


def test_one_heading_for_mission_and_values() -> None:
    found = of("<h2>Mission &amp; Values</h2><p>To help those who make things. Patience, thrift.</p>")
    assert found.said("mission") == found.said("culture") == "To help those who make things. Patience, thrift."


def test_an_industry_without_its_praise() -> None:
    assert of("<p>Acme is an independent, family-owned bank since 1921.</p>").said("industry") == "bank"
    assert of("<p>We are a fast-growing, remote-first logistics software company.</p>").said("industry") == (
        "logistics software"
    )


def test_what_no_page_says_is_unknown() -> None:
    found = of("<p>Hello.</p>")
    assert found.missing == ("about", "culture", "mission", "size", "headquarters_location", "industry", "founded")
    assert extract({}, "Acme", "acme.example").missing == found.missing


def test_the_words_of_a_trade_name_an_industry_where_nothing_else_does() -> None:
    page = '<meta name=description content="Insurance that pays: insurance for bikes and their riders.">'
    found = of(page)
    assert found.said("industry") == "insurance"
    assert found.industry
    assert found.industry.rule == "words of the trade"


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ('<meta property="og:site_name" content="Blue Harbour"><title>Home</title>', "Blue Harbour"),
        ("<title>Containers that arrive | Blue Harbour GmbH</title>", "Blue Harbour GmbH"),
        ("<title>Blue Harbour: containers that arrive</title>", "Blue Harbour"),
        ("<title>We move containers</title>", None),
        ('<meta property="og:site_name" content=""><title></title>', None),
    ],
)
def test_a_company_of_which_only_the_address_is_known_is_called_as_its_pages_say(page: str, name: str | None) -> None:
    assert own_name({"https://blue-harbour.example/": page}, "https://blue-harbour.example") == name


def test_the_name_of_the_organisation_goes_first_unless_there_are_several() -> None:
    assert own_name(PAGES, LIGHTHOUSE) == "Lighthouse Freight, Inc."
    other = '<script type="application/ld+json">{"@type": "Organization", "name": "Gloom Agency"}</script>'
    assert own_name({**PAGES, f"{LIGHTHOUSE}/": other}, LIGHTHOUSE) is None
