"""Brightwater Health: a company of medium size on the East Coast."""

from interlock.apps.jobs.world.data.places import BOSTON, NEW_YORK, PORTLAND
from interlock.apps.jobs.world.opening import Board, Company, Opening, Pay

COMPANY = Company(
    name="Brightwater Health",
    slug="brightwater",
    tagline="The clinic that calls you back.",
    about=(
        "Brightwater Health gives 120 clinics one place for appointments, records and bills. Patients get an answer "
        "the same day, and doctors get their evenings back.",
        "Nurses, doctors and engineers design our software together. It runs wherever care happens: in a hospital, in "
        "a van, in a kitchen.",
    ),
    mission="Our mission is to give every patient the attention of a small practice.",
    culture=(
        "We speak plainly and we listen. Somebody who has worked on a ward has a voice in every design review.",
        "We protect time: no messages after six, and a quiet week every quarter. Our offices in Boston and New York "
        "are open to all who like company.",
    ),
    size=640,
    headquarters=BOSTON,
    industry="Healthcare software",
    founded=2012,
    technologies=("Python", "Django", "PostgreSQL", "Redis", "React", "AWS", "Docker", "Kubernetes"),
)
BENEFITS = "We offer health insurance without a waiting period, 401(k), and twelve weeks of leave for new parents."

RECORDS = Opening(
    "records-backend",
    "Senior Backend Engineer, Patient Records",
    "Engineering",
    (BOSTON, PORTLAND),
    "remote",
    "A record that opens a second sooner is ten patients more a day. You will build the services that open it. The "
    "role is remote in the United States.",
    (
        "Design APIs in Python that 9,000 clinicians use",
        "Make access to records safe by design, and show it to auditors",
        "Plan the move of our largest tables without a night of downtime",
    ),
    (
        "5+ years of professional experience with Python",
        "PostgreSQL, with tables of more than a billion rows",
        "Redis, Docker and AWS",
        "You have worked with data that people trust you with",
    ),
    ("Kubernetes", "Django", "Elasticsearch"),
    BENEFITS,
    pay=Pay(155_000, 188_000),
    age=4,
)
BILLING = Opening(
    "billing-fullstack",
    "Senior Full Stack Engineer, Billing",
    "Engineering",
    (NEW_YORK,),
    "hybrid",
    "Billing is where trust is lost. We meet in the New York office three days a week and take it apart together.",
    ("Build screens in React and services in Python", "Sit with billers once a month", "Retire the old system"),
    ("6 years of web development", "Python", "React", "PostgreSQL"),
    ("Django",),
    BENEFITS,
    pay=Pay(150_000, 175_000),
    age=10,
)
INTERN = Opening(
    "summer-intern",
    "Software Engineering Intern",
    "Engineering",
    (BOSTON,),
    "onsite",
    "Twelve weeks in a team, with a project that ships before you leave.",
    ("Build a feature with a mentor", "Present it to the company"),
    ("You study computer science or taught yourself", "Some Python"),
    closing=BENEFITS,
    employment="internship",
    pay=Pay(38, 42, per="hour"),
    age=13,
)
CONTRACT = Opening(
    "migration-contract",
    "Senior Python Developer, Contract",
    "Engineering",
    (BOSTON,),
    "remote",
    "Nine months, one large migration. You will move a Django application to its own cluster with our platform team.",
    ("Split the monolith at its seams", "Write the tests that were never written"),
    ("6 years of Python", "Django", "PostgreSQL"),
    closing="The work is remote in the United States.",
    employment="contract",
    pay=Pay(85, 105, per="hour"),
    age=5,
)
LEGACY = Opening(
    "legacy-php",
    "Senior Backend Engineer (PHP)",
    "Engineering",
    (BOSTON,),
    "remote",
    "Our first product still sends two million reminders a week. It deserves somebody who likes it.",
    ("Keep the reminders running", "Write new modules in PHP and Laravel", "Decide with us when to retire it"),
    ("6+ years of PHP with Laravel or Symfony", "MySQL", "Vue", "Magento or a similar shop system"),
    closing=BENEFITS,
    pay=Pay(140_000, 160_000),
    age=17,
)
REPOST = Opening(
    "records-backend-2",
    "Senior Backend Engineer, Patient Records",
    "Engineering",
    (BOSTON, PORTLAND),
    "remote",
    RECORDS.intro,
    RECORDS.duties,
    RECORDS.wanted,
    RECORDS.preferred,
    BENEFITS,
    pay=RECORDS.pay,
    age=0,
)
"""The same opening, published again under a new id."""
CLINIC = Opening(
    "clinic-nurse",
    "Registered Nurse, Mobile Clinic",
    "Care",
    (BOSTON,),
    "onsite",
    "You drive with a doctor to people who cannot come to us.",
    ("Care for twelve patients a day", "Keep records while you do"),
    ("A nursing licence in Massachusetts", "2 years of practice", "A driving licence"),
    closing=BENEFITS,
    pay=Pay(78_000, 92_000),
    age=8,
)
BOARDS = (
    Board("lever", "brightwater", COMPANY, (RECORDS, REPOST, BILLING, INTERN, LEGACY)),
    Board("bamboohr", "brightwater", COMPANY, (RECORDS, CLINIC, BILLING, INTERN)),
    Board("api", "partners/v2", COMPANY, (RECORDS, CONTRACT, LEGACY, BILLING, CLINIC, INTERN), {"key": "BRIGHTWATER"}),
)
