"""Commercial agreements that were written for measuring: other words than those that the rules were written from.

Each is put together from an opening, a term, a governing law, clauses and signatures, each in many wordings, by a
generator that is the same on every machine. The answers are known because the values come first and the text after.
"""

# ruff: noqa: E501 - a wording stands on one line

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, timedelta

from interlock.apps.contracts.fields.normalise.dates import add_months

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FIRST = (
    "Aldgate",
    "Bright Harbor",
    "Cinder",
    "Delmarva",
    "Eastmoor",
    "Fennimore & Lyle",
    "Glasshouse",
    "Hollowell",
    "Ironbridge",
    "Juniper Ridge",
    "Kestrel",
    "Lakeshore",
    "Meridian",
    "Northlight",
    "Oakhurst",
    "Pacific Vine",
    "Quarry Hill",
    "Redfern",
    "Silverline",
    "Tamarack",
    "Upland",
    "Vantage Point",
    "Westbrook",
    "Yarrow",
)
SECOND = (
    "Analytics",
    "Beverages",
    "Biologics",
    "Broadcasting",
    "Capital",
    "Devices",
    "Freight",
    "Foods",
    "Health",
    "Imaging",
    "Logistics",
    "Media",
    "Minerals",
    "Networks",
    "Packaging",
    "Robotics",
    "Software",
    "Textiles",
    "Therapeutics",
    "Travel",
)
FORMS = (
    ("Inc.", "a Delaware corporation"),
    ("LLC", "a Nevada limited liability company"),
    ("Corp.", "a corporation organized under the laws of the State of Ohio"),
    ("Ltd.", "an English company"),
    ("Limited", "a company incorporated in Ireland"),
    ("L.P.", "a Texas limited partnership"),
    ("GmbH", "a German limited liability company"),
    ("Corporation", "a New Jersey corporation"),
    ("Co., Inc.", "a Massachusetts corporation"),
    ("S.A.", "a Swiss company"),
    ("B.V.", "a company existing under the laws of the Netherlands"),
)
PEOPLE = ("Maria T. Delgado", "Owen R. Pritchard", "Samuel Adeyemi", "Lena Hoffmann", "Grace O'Neill")
STREETS = (
    "410 Canal Street, Suite 9, Boston, Massachusetts 02110",
    "77 Finsbury Circus, London EC2M 7QA",
    "2200 Pacific Avenue, Tacoma, Washington 98402",
    "18 Quai du Rhone, 1204 Geneva, Switzerland",
    "5501 Elm Fork Road, Dallas, Texas 75201",
)
KINDS = (
    ("Reseller Agreement", "Vendor", "Reseller"),
    ("Master Services Agreement", "Provider", "Customer"),
    ("Content Licence Agreement", "Licensor", "Licensee"),
    ("Toll Manufacturing Agreement", "Client", "Toller"),
    ("Sponsorship Agreement", "Sponsor", "Organizer"),
    ("Joint Marketing Agreement", "First Party", "Partner"),
    ("Hosting Agreement", "Host", "Subscriber"),
    ("Warehousing Contract", "Keeper", "Depositor"),
    ("Franchise Agreement", "Franchisor", "Franchisee"),
    ("Development and Supply Agreement", "Developer", "Buyer"),
    ("Endorsement Agreement", "Brand", "Athlete"),
    ("Equipment Maintenance Agreement", "Contractor", "Owner"),
)
LAWS = (
    "New York",
    "Delaware",
    "California",
    "Texas",
    "Illinois",
    "England",
    "Massachusetts",
    "Ontario",
    "Florida",
    "Switzerland",
    "Germany",
    "Virginia",
    "Washington",
    "Ireland",
    "Singapore",
)
STATES = {
    "New York",
    "Delaware",
    "California",
    "Texas",
    "Illinois",
    "Massachusetts",
    "Florida",
    "Virginia",
    "Washington",
}


Party = tuple[str, str, str]
"""The name, what it is, and its role."""


@dataclass
class Written:
    """A contract and its answers, in the columns of the labels."""

    name: str
    text: str
    answers: dict[str, str] = field(default_factory=dict)
    form: str = ""
    """What it was written after; all that share a form are left out together."""


def commercial(count: int, seed: int = 7) -> list[Written]:
    """So many contracts, the same ones each time."""
    return [_one(random.Random(f"{seed}/{number}"), f"written-{number:03d}.txt") for number in range(count)]


def formatted(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _date(r: random.Random, day: date) -> str:
    month = MONTHS[day.month - 1]
    return r.choice(
        [
            f"{month} {day.day}, {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{day.day} {month} {day.year}",
            f"the {_ordinal(day.day)} day of {month}, {day.year}",
            f"{month} {_ordinal(day.day)}, {day.year}",
            f"this {_ordinal(day.day)} day of {month} {day.year}",
            f"{day.month}/{day.day}/{day.year}",
            f"{month[:3]}. {day.day}, {day.year}" if len(month) > 4 else f"{month} {day.day}, {day.year}",
            f"{day.isoformat()}",
        ]
    )


def _plain(r: random.Random, day: date) -> str:
    month = MONTHS[day.month - 1]
    return r.choice(
        [f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}", f"{month} {_ordinal(day.day)}, {day.year}"]
    )


def _span(r: random.Random, number: int, unit: str) -> str:
    many = "" if number == 1 else "s"
    return r.choice(
        [f"{WORDS[number]} ({number}) {unit}{many}", f"{number} {unit}{many}", f"{WORDS[number]} {unit}{many}"]
    )


def _one(r: random.Random, name: str) -> Written:
    kind, role_a, role_b = r.choice(KINDS)
    firsts, seconds = r.sample(FIRST, 2), r.sample(SECOND, 2)
    (form_a, what_a), (form_b, what_b) = r.choice(FORMS), r.choice(FORMS)
    a = f"{firsts[0]} {seconds[0]} {form_a}"
    person = r.random() < 0.12
    b = r.choice(PEOPLE) if person else f"{firsts[1]} {seconds[1]} {form_b}"
    if person:
        what_b = "an individual"
    if r.random() < 0.3:
        a = a.upper()
    made = date(r.randint(1996, 2022), r.randint(1, 12), r.randint(1, 28))
    answers = {"Document Name": kind, "Parties": f'{a} ("{role_a}"); {b} ("{role_b}")'}
    opening, dated, effective = _opening(r, kind, (a, what_a, role_a), (b, what_b, role_b), made)
    body = [*_recitals(r, role_a, role_b, made)]
    term, effective, ends = _term(r, dated, effective, answers)
    law = _law(r, answers)
    body += r.sample(CLAUSES, r.randint(5, 9))
    middle = [*body, term, law]
    tail = middle[2:]
    r.shuffle(tail)
    numbered = [*middle[:2], *(f"{i}. {text}" for i, text in enumerate(tail, 1))]
    signed, late = _signatures(r, a, b, made, bare=dated is None)
    blanks = [f"[]/[]/{made.year}"] if any("__________, " in line for line in opening) else []
    days = [formatted(day) for day in (dated or late,) if day]
    answers["Agreement Date"] = "; ".join(blanks + days)
    answers["Effective Date"] = formatted(effective) if effective else ""
    answers["Expiration Date"] = ends if isinstance(ends, str) else (formatted(ends) if ends else "")
    text = "\n".join([*opening, *numbered, *signed])
    return Written(name, _wrapped(text, r.choice([72, 90, 108])), answers)


def _opening(
    r: random.Random, kind: str, one: Party, two: Party, made: date
) -> tuple[list[str], date | None, date | None]:
    """The lines, the date that the agreement bears in them, and when it says there that it takes effect."""
    (a, what_a, role_a), (b, what_b, role_b) = one, two
    day = _date(r, made)
    title = kind.upper() if r.random() < 0.6 else kind
    at_a, at_b = r.sample(STREETS, 2)
    the = "the " if r.random() < 0.5 else ""
    pick = r.randint(0, 15)
    if pick == 0:
        return (
            [
                title,
                f'This {kind} ("Agreement") is concluded on {day} between {a}, {what_a} ({the}"{role_a}"), and {b}, {what_b} ({the}"{role_b}").',
            ],
            made,
            None,
        )
    if pick == 1:
        return (
            [
                title,
                f'THIS AGREEMENT, having been executed on {day}, is by and between {a}, with its principal place of business at {at_a} (hereinafter referred to as "{role_a}") and {b}, whose address is {at_b} (hereinafter referred to as "{role_b}").',
            ],
            made,
            None,
        )
    if pick == 2:
        return (
            [
                title,
                f'This {kind} (the "Agreement") is effective as of {day} (the "Effective Date") and is made between {a} ("{role_a}") and {b} ("{role_b}").',
            ],
            made,
            made,
        )
    if pick == 3:
        return (
            [
                title,
                "between",
                a,
                "and",
                b,
                f"Dated {_plain(r, made)}",
                f'This {kind} is made between {a}, {what_a} ("{role_a}"), and {b}, {what_b} ("{role_b}").',
            ],
            made,
            None,
        )
    if pick == 4:
        later = made + timedelta(days=r.randint(5, 60))
        return (
            [
                title,
                f'This {kind}, dated {_plain(r, made)} but effective as of {_plain(r, later)} (the "Effective Date"), is entered into by {a}, {what_a} ("{role_a}") and {b}, {what_b} ("{role_b}").',
            ],
            made,
            later,
        )
    if pick == 5:
        return (
            [
                title,
                f"Date: {_plain(r, made)}",
                "Parties:",
                f'(1) {a}, {what_a}, of {at_a} ("{role_a}"); and',
                f'(2) {b}, {what_b}, of {at_b} ("{role_b}").',
                "Background",
            ],
            made,
            None,
        )
    if pick == 6:
        return [title, f'{a} ("{role_a}") and {b} ("{role_b}") enter into this {kind} on {day}.'], made, None
    if pick == 7:
        return (
            [
                title,
                f'In consideration of the mutual promises below, {a}, {what_a} (the "{role_a}"), and {b}, {what_b} (the "{role_b}"), agree as set out in this {kind}, which takes effect on {_plain(r, made)} (the "Effective Date").',
            ],
            made,
            made,
        )
    if pick == 8:
        return (
            [
                title,
                f'THIS {kind.upper()} is made the {_ordinal(made.day)} day of {MONTHS[made.month - 1]} {made.year} BETWEEN {a} of {at_a} (the "{role_a}") of the one part and {b} of {at_b} (the "{role_b}") of the other part.',
            ],
            made,
            None,
        )
    if pick == 9:
        return (
            [
                title,
                f"Effective Date: {_plain(r, made)}",
                f'This {kind} is entered into by and between {a}, {what_a} ("{role_a}"), and {b}, {what_b} ("{role_b}"), as of the Effective Date set forth above.',
            ],
            made,
            made,
        )
    if pick == 10:  # no date in the opening: the signatures have it, or nobody has
        return (
            [
                title,
                f'This {kind} (this "Agreement") is entered into by and between {a}, {what_a} ("{role_a}"), and {b}, {what_b} ("{role_b}").',
            ],
            None,
            None,
        )
    if pick == 11:
        return (
            [
                title,
                f'Agreement made {day}, by and between {a}, {what_a}, having an office at {at_a} ("{role_a}"), and {b}, {what_b}, residing or having an office at {at_b} ("{role_b}").',
            ],
            made,
            None,
        )
    if pick == 12:
        return (
            [
                title,
                f'This {kind} ("Agreement") is made and entered into as of {day}, by and between {a}, {what_a} ({the}"{role_a}"), and {b}, {what_b} ({the}"{role_b}").',
            ],
            made,
            None,
        )
    if pick == 13:
        return (
            [
                title,
                f'This {kind} (the "Agreement") is made by and between {a}, {what_a} ("{role_a}") and {b}, {what_b} ("{role_b}"), and shall be effective on {_plain(r, made)} ("Effective Date").',
            ],
            made,
            made,
        )
    if pick == 14:
        blank = f"__________, {made.year}"  # as the labels write it: the year, and what is left open
        return (
            [
                title,
                f'This {kind} ("Agreement") is entered into as of {blank} by and between {a}, {what_a} ("{role_a}"), and {b}, {what_b} ("{role_b}").',
            ],
            None,
            None,
        )
    return (
        [
            title,
            f'The undersigned, {a}, {what_a} ("{role_a}"), and {b}, {what_b} ("{role_b}"), have on {_plain(r, made)} entered into the following {kind}.',
        ],
        made,
        None,
    )


def _recitals(r: random.Random, role_a: str, role_b: str, made: date) -> list[str]:
    before = made - timedelta(days=r.randint(200, 900))
    lines = [
        f"WHEREAS, {role_a} and {role_b} wish to set out the terms on which they will work together; and",
        f"WHEREAS, {role_a} and {role_b} signed a letter of intent dated {_plain(r, before)}, which this Agreement replaces;",
        f"A. {role_a} has developed certain know-how. B. {role_b} desires to make use of it.",
        f"Recitals. {role_a} owns United States Patent No. 6,{r.randint(100, 999)},{r.randint(100, 999)}, issued on {_plain(r, before)}.",
        f"The parties intend that this Agreement govern all dealings between {role_a} and {role_b}.",
    ]
    return [r.choice(lines), "NOW, THEREFORE, the parties agree as follows:"]


def _term(
    r: random.Random, dated: date | None, effective: date | None, answers: dict[str, str]
) -> tuple[str, date | None, date | str | None]:
    start = effective or dated
    years = r.randint(1, 7)
    months = 12 * years
    pick = r.randint(0, 13)
    if start is None or pick == 0:
        return (
            "Termination. Either party may end this Agreement if the other commits a material breach that it does not cure in thirty (30) days.",
            effective,
            "",
        )
    if pick in (1, 2):
        last = start + timedelta(days=365 * years + r.randint(0, 200))
        text = r.choice(
            [
                f"Term. Unless terminated sooner as provided herein, this Agreement will expire on {_plain(r, last)}.",
                f"Duration. This Agreement remains in force until {_plain(r, last)}, when it ends without notice being required.",
                f'Term of Agreement. The term of this Agreement runs through {_plain(r, last)} (the "Term").',
                f"Period. The engagement under this Agreement ends at midnight on {_plain(r, last)}.",
            ]
        )
        return text, effective, last
    if pick in (3, 4, 5):
        span = _span(r, years, "year")
        text = r.choice(
            [
                f"Term. This Agreement shall have a term of {span} from the {'Effective Date' if effective else 'date of this Agreement'}.",
                f"Term. The initial term of this Agreement is {span}, starting on the {'Effective Date' if effective else 'date first written above'}.",
                f"Duration. This Agreement shall remain in full force and effect for a period of {span} following the {'Effective Date' if effective else 'date hereof'}.",
                f'Term and Termination. This Agreement begins on the {"Effective Date" if effective else "date hereof"} and lasts for {span} (the "Initial Term").',
            ]
        )
        # A term that is counted from the date of the agreement begins with it.
        return text, effective or dated, add_months(start, months)
    if pick in (6, 7):
        span, again, notice = _span(r, years, "year"), r.choice([1, 2]), r.choice([30, 60, 90])
        answers["Renewal Term"] = f"{again} years"
        answers["Notice Period To Terminate Renewal"] = f"{notice} days"
        text = (
            f"Term. The term of this Agreement commences on the {'Effective Date' if effective else 'date first set forth above'} and continues for {span}. "
            f"Thereafter it shall be extended automatically for further periods of {_span(r, again, 'year')} each unless a party "
            f"gives the other written notice that it does not wish to renew not later than {notice} days before the end of the then current period."
        )
        return text, effective or dated, add_months(start, months)
    if pick in (8, 9):
        begin = start + timedelta(days=r.randint(10, 80))
        last = add_months(begin, months)
        text = f"Term. The term shall begin on {_plain(r, begin)} and end on {_plain(r, last)}, unless this Agreement is terminated earlier."
        return text, effective or begin, last
    if pick == 10:
        return (
            "Term. This Agreement has no fixed term and continues until ended by either party on ninety (90) days' written notice.",
            effective,
            "perpetual",
        )
    if pick == 11:
        return (
            r.choice(
                [
                    "Term. This Agreement shall continue in effect indefinitely unless and until terminated in accordance with this Section.",
                    "Duration. This Agreement is concluded for an indefinite period. Either party may terminate it at the end of a calendar quarter.",
                ]
            ),
            effective,
            "perpetual",
        )
    if pick == 12:
        nth = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")[years - 1]
        word = "Effective Date" if effective else "date of this Agreement"
        return (
            f"Term. This Agreement will terminate on the {nth} anniversary of the {word}, unless extended in writing.",
            effective,
            add_months(start, months),
        )
    m = r.choice([6, 9, 18, 24, 36])
    return (
        f"Term. The services will be provided for an initial term of {m} months after the {'Effective Date' if effective else 'date hereof'}.",
        effective or dated,
        add_months(start, m),
    )


def _law(r: random.Random, answers: dict[str, str]) -> str:
    law = r.choice(LAWS)
    the = f"the State of {law}" if law in STATES and r.random() < 0.7 else law
    if law == "Ontario":
        the = "the Province of Ontario"
    text = r.choice(
        [
            f"Governing Law. This Agreement is governed by the laws of {the}.",
            f"Applicable Law. The validity and interpretation of this Agreement shall be subject to the law of {the}, excluding its conflicts rules.",
            f"Choice of Law. The laws of {the} shall control this Agreement and any dispute that arises out of it.",
            f"Miscellaneous. Any question about this Agreement will be decided under {law} law.",
            f"Law and Forum. This Agreement shall be interpreted, and the rights of the parties determined, in accordance with the laws of {the}. The courts sitting there have exclusive jurisdiction.",
            f"This contract is made under, and is to be construed according to, the internal laws of {the} without giving effect to principles of conflict of laws.",
            f"Law. The parties submit to the laws of {the}.",
            "",
        ]
    )
    if not text:
        return "Disputes. The parties will try to settle any dispute by talks between their managers before going to court."
    answers["Governing Law"] = law
    return text


CLAUSES = (
    "Payment. Invoices are due within thirty (30) days of receipt. Late sums bear interest at one percent a month.",
    "Confidentiality. Each party will keep the other's information secret during this Agreement and for two (2) years afterwards.",
    "Force Majeure. No party answers for delay caused by events beyond its control.",
    "Insurance. Each party will carry general liability insurance of at least one million dollars per occurrence.",
    "Notices. Notices must be in writing and are deemed given three (3) business days after mailing.",
    "Entire Agreement. This document contains everything the parties have agreed on its subject.",
    "Relationship. The parties are independent contractors and nothing here creates a partnership.",
    "Warranty. Goods are free from defects for twelve (12) months from delivery.",
    "Records. Complete books shall be kept for three (3) years and may be inspected by the other party on request.",
    "Assignment. Neither party may transfer its rights without the other's consent in writing.",
    "Liability. Neither party is liable for lost profits, and total liability is limited to the fees paid.",
    "Indemnity. Each party holds the other harmless from third-party claims caused by its own negligence.",
    "Severability. If a provision is invalid the rest stays in force.",
    "Delivery. The first delivery is planned for the third quarter and will be confirmed in writing.",
    "Publicity. Press releases need the approval of both parties, which may not be withheld unreasonably.",
    "Waiver. Failure to enforce a right is no waiver of it.",
)


def _signatures(r: random.Random, a: str, b: str, made: date, *, bare: bool) -> tuple[list[str], date | None]:
    pick = r.randint(0, 4)
    if bare:
        if pick <= 1:  # nobody wrote a date
            return [a.upper(), "By: ______________", "Title:", b.upper(), "By: ______________", "Title:"], None
        late = made + timedelta(days=r.randint(1, 9))
        return [
            "Agreed and accepted:",
            a,
            "By: /s/ J. Carver",
            f"Date: {_plain(r, made)}",
            b,
            "By: /s/ P. Lund",
            f"Date: {_plain(r, late)}",
        ], late
    if pick == 0:
        return [
            "IN WITNESS WHEREOF, the parties have caused this Agreement to be signed as of the date first above written.",
            a.upper(),
            "By: /s/ J. Carver",
            b.upper(),
            "By: /s/ P. Lund",
        ], None
    if pick == 1:
        return [f"SIGNED by the parties on {_plain(r, made)}.", a, "By: ____________", b, "By: ____________"], None
    if pick == 2:
        later = made + timedelta(days=r.randint(0, 12))
        return [
            "The parties have signed below.",
            a,
            "By: /s/ J. Carver",
            f"Date: {_plain(r, made)}",
            b,
            "By: /s/ P. Lund",
            f"Date: {_plain(r, later)}",
        ], None
    if pick == 3:
        return [f"{a}", "Name: J. Carver", "Title: Chief Executive", f"{b}", "Name: P. Lund", "Title: Secretary"], None
    return [
        f"IN WITNESS WHEREOF the parties hereto have set their hands this {_ordinal(made.day)} day of {MONTHS[made.month - 1]}, {made.year}.",
        a,
        "/s/ J. Carver",
        b,
        "/s/ P. Lund",
    ], None


def _wrapped(text: str, width: int) -> str:
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            if len(line) + len(word) + 1 > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(line)
    pages = [lines[at : at + 45] for at in range(0, len(lines), 45)]
    return "\f".join("\n".join(page) for page in pages)
