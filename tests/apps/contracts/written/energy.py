"""Contracts for electricity and gas that were written for measuring, in German and English, tables and prose."""

# ruff: noqa: E501 - a wording stands on one line

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

from tests.apps.contracts.written.commercial import MONTHS, Written, _wrapped, formatted

KNOWN = (
    ("E.ON Energie Deutschland GmbH", "E.ON"),
    ("Vattenfall Europe Sales GmbH", "Vattenfall"),
    ("EnBW Energie Baden-Württemberg AG", "EnBW"),
    ("Yello Strom GmbH", "Yello Strom"),
    ("Stadtwerke München GmbH", "Stadtwerke München"),
    ("LichtBlick SE", "LichtBlick"),
)
BRITISH = (("British Gas Trading Limited", "British Gas"), ("EDF Energy Customers Limited", "EDF Energy"))
OTHERS = ("Nordlicht Energie GmbH", "Stadtwerke Grünau GmbH", "Teutoburger Strom AG")
TARIFFS = ("Natur Fix 24", "Klassik", "Smart 12", "Öko Plus", "Family Flex")
GERMAN = (
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
)


def energy(count: int, seed: int = 3) -> list[Written]:
    """So many contracts, the same ones each time; two of three in German."""
    made = []
    for number in range(count):
        r = random.Random(f"{seed}/{number}")
        write = _english if number % 3 == 2 else _german
        made.append(write(r, f"energy-{number:03d}.txt"))
    return made


def _comma(amount: Decimal, digits: int) -> str:
    return f"{amount:.{digits}f}".replace(".", ",")


def _german(r: random.Random, name: str) -> Written:
    listed = r.random() < 0.8
    official, short = r.choice(KNOWN) if listed else ((one := r.choice(OTHERS)), one)
    shown = official if r.random() < 0.5 else short
    cents = Decimal(r.randint(1900, 4600)) / 100
    net = cents / Decimal("1.19")
    base = Decimal(r.randint(600, 2200)) / 100
    use = r.randint(12, 90) * 100
    signed = date(r.randint(2015, 2024), r.randint(1, 12), r.randint(1, 28))
    begins = (signed + timedelta(days=r.randint(15, 90))).replace(day=1)
    term, notice = r.choice([12, 24]), r.choice([4, 6])
    other = next(one for one in (pair[1] for pair in r.sample(KNOWN, 2)) if one != short)
    tariff = r.choice(TARIFFS)
    day = r.choice([begins.strftime("%d.%m.%Y"), f"{begins.day}. {GERMAN[begins.month - 1]} {begins.year}"])
    on = signed.strftime("%d.%m.%Y")
    answers = {"Provider": official, "Working Price": f"{cents / 100} EUR", "Start Date": formatted(begins)}
    unit = r.choice(["ct/kWh", "Cent/kWh", "ct / kWh", "Cent pro kWh"])
    forms: list[Callable[[], list[str]]] = [
        lambda: [
            "Stromliefervertrag",
            f"Lieferant: {shown}",
            f"Kunde: Petra Sommer, Kundennummer {r.randint(10**6, 10**7)}",
            f"Tarif: {tariff}",
            f"Arbeitspreis (brutto): {_comma(cents, 2)} {unit}",
            f"Grundpreis: {_comma(base, 2)} EUR pro Monat",
            f"Jahresverbrauch: {use:,} kWh".replace(",", "."),
            f"Lieferbeginn: {day}",
            f"Laufzeit: {term} Monate",
            f"Kündigungsfrist: {notice} Wochen",
            f"Ort, Datum: Köln, {on}",
        ],
        lambda: [
            f"{shown}",
            "Auftragsbestätigung für Ihre Stromlieferung",
            "Sehr geehrte Frau Sommer,",
            f"vielen Dank für Ihren Auftrag vom {on}. Ab dem {day} beliefern wir Sie mit Strom im Tarif {tariff}.",
            f"Der Arbeitspreis beträgt {_comma(cents, 2)} {unit} (inkl. 19 % MwSt.), der Grundpreis "
            f"{_comma(base, 2)} Euro im Monat.",
            f"Grundlage ist ein Jahresverbrauch von {use} kWh. Die Erstlaufzeit beträgt {term} Monate. Ihr bisheriger "
            f"Lieferant {other} wird von uns gekündigt.",
            f"Belieferung ab: {day}",
        ],
        lambda: [
            "VERTRAG ÜBER DIE LIEFERUNG VON ERDGAS",
            f"zwischen {shown} (nachfolgend Lieferant) und Petra Sommer (Kunde)",
            f"§ 1 Die Lieferung beginnt am {day}.",
            f"§ 2 Preise: Arbeitspreis netto {_comma(net, 2)} ct/kWh, Arbeitspreis brutto {_comma(cents, 2)} {unit}; "
            f"Grundpreis {_comma(base * 12, 2)} EUR pro Jahr.",
            f"§ 3 Der Vertrag hat eine Laufzeit von {term} Monaten. Die Kündigungsfrist beträgt {notice} Wochen.",
            f"§ 4 Der Kunde nimmt voraussichtlich {use:,} kWh im Jahr ab (Verbrauch).".replace(",", "."),
            f"{on}, Unterschrift",
        ],
        lambda: [
            "Ihr Energieliefervertrag auf einen Blick",
            "Versorger",
            f"{shown}",
            "Produkt",
            f"{tariff}",
            "Verbrauchspreis",
            f"{_comma(cents, 2)} {unit}",
            "Grundgebühr",
            f"{_comma(base, 2)} EUR pro Monat",
            "Vertragsbeginn",
            f"{day}",
            "Mindestlaufzeit",
            f"{term} Monate",
            f"Stand der Strompreise: {on}",
            "Netzbetreiber: Netze Nord GmbH",
        ],
        lambda: [
            "Sonderkundenvertrag Strom",
            f"Anbieter: {shown}",
            f"Vertragsschluss: {on}",
            f"Arbeitspreis HT: {_comma(cents, 2)} {unit}",
            f"Arbeitspreis NT: {_comma(cents * Decimal('0.8'), 2)} {unit}",
            f"Lieferbeginn: {day}",
            f"Verbrauch: {use} kWh",
            "Energie aus Wasserkraft",
        ],
        lambda: [
            "Stromvertrag",
            f"Lieferant: {shown}",
            f"Energiepreis: {_comma(cents / 100, 4)} EUR/kWh",
            f"Grundpreis: {_comma(base, 2)} EUR pro Monat",
            f"Beginn der Lieferung: {r.choice(['sofort', 'schnellstmöglich'])}",
            f"Auftrag vom {on}",
            f"Jahresverbrauch: {use} kWh",
        ],
    ]
    at = r.randrange(len(forms))
    answers["Term"] = f"{term} months" if at < 4 else ""
    if at == 5:
        answers["Start Date"] = ""
    if at == 4:
        answers["Working Price"] = ""  # two prices: no one of them is the price
    lines = forms[at]()
    return Written(name, _wrapped("\n".join(lines), 100), answers, f"energy de {at}")


def _english(r: random.Random, name: str) -> Written:
    official, short = r.choice(BRITISH)
    shown = official if r.random() < 0.5 else short
    pence = Decimal(r.randint(1500, 3900)) / 100
    standing = Decimal(r.randint(3000, 6000)) / 100
    use = r.randint(15, 60) * 100
    signed = date(r.randint(2015, 2024), r.randint(1, 12), r.randint(1, 28))
    begins = signed + timedelta(days=r.randint(10, 60))
    day = r.choice(
        [
            f"{begins.day} {MONTHS[begins.month - 1]} {begins.year}",
            f"{MONTHS[begins.month - 1]} {begins.day}, {begins.year}",
        ]
    )
    on = f"{signed.day} {MONTHS[signed.month - 1]} {signed.year}"
    pounds = f"£{pence / 100:.4f}"
    euros = f"{pence / 100:.4f} EUR"
    answers = {"Provider": official, "Start Date": formatted(begins)}
    forms: list[tuple[str, list[str]]] = [
        (
            f"{pence / 100:.4f} GBP",
            [
                "Electricity Supply Contract",
                f"Supplier: {shown}",
                "Tariff: Standard Fixed",
                f"Unit rate: {pounds} per kWh",
                f"Standing charge: £{standing:.2f} per month",
                f"Annual consumption: {use:,} kWh",
                f"Start of supply: {day}",
                "Contract term: 12 months",
                "Notice period: 30 days",
                f"Printed on {on}",
            ],
        ),
        (
            f"{pence / 100:.4f} EUR",
            [
                "Energy supply agreement",
                f"This agreement is made on {on} between {shown} and the customer.",
                f"The supply starts on {day}. The energy price is {euros} per kWh and the basic charge 9.50 EUR per month.",
                f"The term of the contract is 24 months. The tariff assumes a consumption of {use} kWh per year.",
            ],
        ),
        (
            f"{pence / 100:.4f} GBP",
            [
                "Your new energy tariff",
                f"Energy supplier: {shown}",
                "Product name: Green Saver",
                "Unit price",
                f"{pounds} per kWh",
                "Supply start date",
                f"{day}",
                f"Quote valid until {on}",
                "Fixed rate for 12 months",
            ],
        ),
    ]
    at = r.randrange(len(forms))
    price, lines = forms[at]
    answers |= {"Working Price": price, "Term": ("12 months", "24 months", "12 months")[at]}
    return Written(name, _wrapped("\n".join(lines), 100), answers, f"energy en {at}")
