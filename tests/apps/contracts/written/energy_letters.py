"""Longer energy contracts as suppliers send them: order forms, confirmations, principal terms, contracts of businesses."""

# ruff: noqa: E501 - a wording stands on one line

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal

from tests.apps.contracts.written.commercial import MONTHS, Written, formatted

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
KNOWN = (
    ("E.ON Energie Deutschland GmbH", "E.ON"),
    ("Vattenfall Europe Sales GmbH", "Vattenfall"),
    ("EnBW Energie Baden-Württemberg AG", "EnBW"),
    ("LichtBlick SE", "LichtBlick"),
)
BRITISH = (("British Gas Trading Limited", "British Gas"), ("EDF Energy Customers Limited", "EDF Energy"))
SMALL_PRINT = """Allgemeine Bedingungen. Der Lieferant ist berechtigt, die Preise nach billigem Ermessen anzupassen, wenn sich die Kosten der
Beschaffung oder der Netznutzung ändern. Über Änderungen wird der Kunde mindestens sechs Wochen vorher in Textform informiert; er
kann den Vertrag dann zum Zeitpunkt der Änderung kündigen. Abgelesen wird einmal im Jahr. Der Kunde zahlt monatliche Abschläge von
{pay} EUR. Widerrufsbelehrung: Sie haben das Recht, binnen vierzehn Tagen ohne Angabe von Gründen diesen Vertrag zu widerrufen."""
TERMS = """General terms. We may change our prices if our costs change and will tell you at least 30 days before. You can end the contract
without charge if you do not accept a change. You pay by monthly direct debit of {pay}. If you move out, tell us 10 working days
before. You have 14 days from the day you receive this letter to cancel."""


def letters(count: int, seed: int = 5) -> list[Written]:
    """So many contracts, the same ones each time; every form in turn."""
    made = []
    for number in range(count):
        r = random.Random(f"{seed}/{number}")
        write = FORMS[number % len(FORMS)]
        made.append(write(r, f"letter-{number:03d}.txt"))
    return made


class _Facts:
    def __init__(self, r: random.Random) -> None:
        self.official, self.short = r.choice(KNOWN)
        self.cents = Decimal(r.randint(1900, 4600)) / 100
        self.base = Decimal(r.randint(600, 2200)) / 100
        self.use = r.randint(12, 90) * 100
        self.signed = date(r.randint(2015, 2024), r.randint(1, 12), r.randint(1, 28))
        self.begins = (self.signed + timedelta(days=r.randint(20, 90))).replace(day=1)
        self.term = r.choice([12, 24])
        self.pay = r.randint(60, 190)

    @property
    def day(self) -> str:
        return self.begins.strftime("%d.%m.%Y")

    @property
    def long_day(self) -> str:
        return f"{self.begins.day}. {GERMAN[self.begins.month - 1]} {self.begins.year}"

    def answers(self, **more: str) -> dict[str, str]:
        return {
            "Provider": self.official,
            "Working Price": f"{self.cents / 100} EUR",
            "Start Date": formatted(self.begins),
            "Term": f"{self.term} months",
            **more,
        }


def _comma(amount: Decimal, digits: int = 2) -> str:
    return f"{amount:.{digits}f}".replace(".", ",")


def _order(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    net = f.cents / Decimal("1.19")
    text = f"""{f.official}
Auftrag zur Lieferung von Strom für Haushaltskunden
1. Kundendaten
Name: Jonas Winter    Straße: Am Anger 4    PLZ/Ort: 04109 Leipzig
2. Angaben zur Lieferstelle
Zählernummer: {r.randint(10**6, 10**7)}    bisheriger Stromlieferant: Stadtwerke Leipzig    Vorjahresverbrauch: {f.use} kWh
3. Produkt und Preise
                         netto            brutto
Arbeitspreis      {_comma(net)} ct/kWh      Arbeitspreis brutto: {_comma(f.cents)} ct/kWh
Grundpreis        {_comma(f.base / Decimal("1.19"))} EUR/Monat    {_comma(f.base)} EUR/Monat
4. Laufzeit
Vertragslaufzeit: {f.term} Monate
Kündigungsfrist: 4 Wochen
Lieferbeginn: {f.day}
{SMALL_PRINT.format(pay=f.pay)}
Leipzig, {f.signed.strftime("%d.%m.%Y")}"""
    return Written(name, text, f.answers(), "letter order")


def _confirmation(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    text = f"""{f.official} | Postfach 10 20 30 | 20099 Hamburg
Hamburg, {f.signed.strftime("%d.%m.%Y")}
Ihre Vertragsbestätigung
Guten Tag Frau Albers,
willkommen bei {f.short}. Gern bestätigen wir Ihnen Ihren Liefervertrag. Wir beliefern Sie ab dem {f.long_day} mit Ökostrom.
Bei einem Jahresverbrauch von {f.use} kWh ergibt sich ein monatlicher Abschlag von {f.pay} EUR.
Ihr Arbeitspreis: {_comma(f.cents)} Cent/kWh (brutto)
Ihr Grundpreis: {_comma(f.base)} Euro/Monat (brutto)
Laufzeit: {f.term} Monate, danach auf unbestimmte Zeit, mit einer Kündigungsfrist von einem Monat
Lieferbeginn: {f.long_day}
{SMALL_PRINT.format(pay=f.pay)}
Mit freundlichen Grüßen
{f.official}"""
    return Written(name, text, f.answers(), "letter confirmation")


def _business(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    price = f.cents / 100
    text = f"""STROMLIEFERUNGSVERTRAG FÜR SONDERKUNDEN
zwischen
{f.official}, nachfolgend "Lieferant" genannt,
und der Möbelwerk Tanne GmbH, nachfolgend "Kunde" genannt.
§ 1 Gegenstand. Der Lieferant liefert dem Kunden elektrische Energie für die Abnahmestelle Werkstraße 12.
§ 2 Vertragsdauer. Die Lieferung beginnt am {f.day}. Der Vertrag hat eine Laufzeit von {f.term} Monaten.
§ 3 Preise. Der Energiepreis beträgt {_comma(price, 4)} EUR/kWh. Der Grundpreis beträgt {_comma(f.base * 12)} EUR pro Jahr. Hinzu kommen Netzentgelte,
Umlagen und Steuern in der jeweils geltenden Höhe.
§ 4 Menge. Die Parteien gehen von einer Abnahmemenge von {f.use * 10:,} kWh im Jahr aus.
§ 5 Zahlung. Der Kunde zahlt Abschläge von {f.pay * 10} EUR je Monat.
Geschlossen am {f.signed.strftime("%d.%m.%Y")}""".replace(",000 kWh", ".000 kWh")
    return Written(name, text, f.answers(), "letter business")


def _change(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    text = f"""{f.short}
Änderung Ihrer Preise zum {f.day}
Sehr geehrter Herr Brandt,
die Beschaffungskosten sind gestiegen. Daher passen wir Ihre Preise an.
                    bisher             ab {f.day}
Arbeitspreis     {_comma(f.cents - 3)} ct/kWh     {_comma(f.cents)} ct/kWh
Grundpreis       {_comma(f.base)} EUR/Monat     {_comma(f.base + 1)} EUR/Monat
Ihr Vertrag läuft sonst unverändert weiter. Sie können ihn bis zum {f.day} kündigen."""
    answers = f.answers(**{"Start Date": "", "Working Price": "", "Term": ""})  # a change of prices is no contract
    return Written(name, text, answers, "letter change")


def _gas(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    cents = Decimal(r.randint(700, 1500)) / 100
    f.cents = cents
    text = f"""Erdgasliefervertrag "Wärme {f.term}"
Lieferant: {f.official}
Kunde: Familie Ritter, Lindenweg 7, 79098 Freiburg
Verbrauchspreis: {_comma(cents)} ct/kWh
Grundpreis: {_comma(f.base * 12)} EUR/Jahr
Jahresverbrauch: {f.use * 5} kWh
Vertragsbeginn: {f.long_day}
Erstlaufzeit: {f.term} Monate
Kündigungsfrist: 6 Wochen
Preisgarantie bis zum Ende der Erstlaufzeit, ausgenommen Steuern und Abgaben
{SMALL_PRINT.format(pay=f.pay)}"""
    return Written(name, text, f.answers(), "letter gas")


def _day_of(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _principal_terms(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    official, short = r.choice(BRITISH)
    text = f"""Principal terms of your energy contract
Supplier: {official}
Product: Fixed Saver {f.term}
Your electricity
Unit rate: {f.cents}p per kWh
Standing charge: 53.20p per day
Your estimated annual consumption: {f.use:,} kWh
Start of supply: {_day_of(f.begins)}
Contract term: {f.term} months
Exit fee: £30 if you leave before the end
{TERMS.format(pay=f"£{f.pay}")}
{short}, {_day_of(f.signed)}"""
    answers = f.answers(**{"Provider": official, "Working Price": f"{f.cents / 100} GBP"})
    return Written(name, text, answers, "letter principal terms")


def _business_english(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    official, _ = r.choice(BRITISH)
    text = f"""ELECTRICITY SUPPLY AGREEMENT
This agreement is dated {_day_of(f.signed)} and made between {official} (the "Supplier") and Hawthorn Bakery Ltd (the "Customer").
1. Supply. The supply starts on {_day_of(f.begins)} and the contract runs for {f.term} months.
2. Charges. The Customer pays a unit price of £{f.cents / 100:.4f} per kWh and a standing charge of £{f.base:.2f} per month.
3. Volume. The parties expect a consumption of {f.use * 10} kWh per year.
4. Ending. Either party may end this agreement with a notice of 30 days before the end of the term.
{TERMS.format(pay=f"£{f.pay}")}"""
    answers = f.answers(**{"Provider": official, "Working Price": f"{f.cents / 100} GBP"})
    return Written(name, text, answers, "letter business english")


def _day_and_night(r: random.Random, name: str) -> Written:
    f = _Facts(r)
    official, short = r.choice(BRITISH)
    text = f"""Welcome to {short}
Thank you for choosing {official}. Here is a summary of your contract.
Tariff name: Economy Two Rates
Day unit rate: £{f.cents / 100:.4f} per kWh
Night unit rate: £{f.cents / 200:.4f} per kWh
Standing charge: £{f.base:.2f} per month
Supply start date: {_day_of(f.begins)}
Minimum term: {f.term} months
{TERMS.format(pay=f"£{f.pay}")}"""
    answers = f.answers(**{"Provider": official, "Working Price": ""})  # two prices: no one of them is the price
    return Written(name, text, answers, "letter day and night")


FORMS = (_order, _confirmation, _business, _change, _gas, _principal_terms, _business_english, _day_and_night)
