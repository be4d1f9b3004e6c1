"""Quillstack: a small company that is remote only."""

from interlock.apps.jobs.world.data.places import AUSTIN, LONDON, PORTLAND, SAN_FRANCISCO, TORONTO
from interlock.apps.jobs.world.opening import Board, Company, FormQuestion, Opening, Pay

COMPANY = Company(
    name="Quillstack",
    slug="quillstack",
    tagline="Documents that answer back.",
    about=(
        "Quillstack turns a company's documents into an API. Editors write as they always did; developers ask for the "
        "one paragraph that they need.",
        "We are forty-eight people who have all maintained a wiki that nobody read. Eleven hundred teams use "
        "Quillstack today, from newspapers to nuclear plants.",
    ),
    mission="Our mission is that nobody has to ask a colleague for something that is already written down.",
    culture=(
        "We are a remote company without an office to miss. We write instead of meeting, and a week has four "
        "meetings at most.",
        "Everyone talks to customers, everyone can deploy, and nobody is a hero at night. We take five weeks off, and "
        "we mean it.",
    ),
    size=48,
    headquarters=AUSTIN,
    industry="Developer tools",
    founded=2019,
    technologies=("Python", "FastAPI", "PostgreSQL", "Redis", "TypeScript", "React", "Docker", "AWS"),
    about_path="company",
)
BENEFITS = "You get equity, health insurance for your family, and a budget for a good chair."
LINK = FormQuestion("sample", "A link to something that you wrote, in code or in prose", "text", False)
NOTICE = FormQuestion("notice", "Notice period", "text", True)
RIGHT = FormQuestion("authorised", "Are you legally authorised to work in the United States?", "flag", True)

SEARCH = Opening(
    "search-backend",
    "Senior Backend Engineer",
    "Engineering",
    (SAN_FRANCISCO, PORTLAND),
    "remote",
    "You will own search: the part of Quillstack that people use most and forgive least. The team is remote in the US "
    "and Canada and works mostly on Pacific time.",
    (
        "Make answers better every week, and prove it with numbers",
        "Build services in Python and FastAPI on PostgreSQL",
        "Keep 95 of 100 queries under 80 milliseconds",
    ),
    (
        "5+ years of experience with Python",
        "FastAPI or a similar framework",
        "PostgreSQL beyond the basics",
        "Redis",
        "Elasticsearch or OpenSearch",
    ),
    ("TypeScript and React", "Rust"),
    BENEFITS,
    pay=Pay(165_000, 190_000),
    age=2,
    level="senior",
    questions=(RIGHT, NOTICE, LINK),
)
EDITOR = Opening(
    "editor-frontend",
    "Senior Frontend Engineer, Editor",
    "Engineering",
    (AUSTIN,),
    "remote",
    "The editor is where our customers live. You will make it faster than paper.",
    ("Own the editing core", "Work with our designer on every detail", "Make collaboration feel calm"),
    ("6+ years of TypeScript", "React, and an opinion on what comes after it", "Experience with Vue and WebGL", "CSS"),
    ("Rust for the web",),
    BENEFITS,
    pay=Pay(160_000, 185_000),
    age=8,
    level="senior",
)
INFRA = Opening(
    "infra-platform",
    "Senior Platform Engineer (Remote, US)",
    "Engineering",
    (PORTLAND, AUSTIN),
    "remote",
    "Our second platform engineer. You will share the keys with the first, who has been waiting for you.",
    (
        "Run AWS with Terraform, and nothing by hand",
        "Move our Docker services to Kubernetes when it is worth it",
        "Teach the rest of us what an SLO is",
    ),
    (
        "5 years of experience with AWS and Terraform",
        "Docker, and some Kubernetes",
        "Python for everything that is not Terraform",
        "PostgreSQL operations: backups, upgrades, replicas",
    ),
    ("Kafka", "Prometheus and Grafana", "Nomad"),
    BENEFITS,
    pay=Pay(138_000, 160_000),
    age=11,
    level="senior",
    questions=(RIGHT, NOTICE),
)
SUPPORT = Opening(
    "support-engineer",
    "Support Engineer, Europe",
    "Support",
    (LONDON,),
    "remote",
    "You are the first engineer that a customer in Europe meets. The role is remote within the United Kingdom.",
    ("Answer questions and find the bugs behind them", "Write the guide that makes the question go away"),
    ("2 years of technical support", "SQL and a scripting language", "Patience, in writing"),
    closing=BENEFITS,
    pay=Pay(48_000, 58_000, "GBP"),
    age=6,
    level="mid",
)
WRITER = Opening(
    "docs-writer",
    "Technical Writer (Part-time)",
    "Product",
    (TORONTO,),
    "remote",
    "A company about documents needs good ones. Twenty hours a week, from anywhere in Canada.",
    ("Own our guides and our API reference", "Interview engineers until you understand"),
    ("3 years of technical writing", "You read code without fear", "Git"),
    closing=BENEFITS,
    employment="part_time",
    pay=Pay(55, 70, "CAD", "hour"),
    age=16,
)
SECRET = Opening(
    "unlisted-founder",
    "Founding Engineer, Stealth Product",
    "Engineering",
    (SAN_FRANCISCO,),
    "remote",
    "This opening is not listed; only people whom we told about it should see it.",
    ("Build it",),
    ("Python",),
    age=1,
    listed=False,
)
BOARDS = (
    Board("ashby", "Quillstack", COMPANY, (SEARCH, EDITOR, SUPPORT, WRITER, SECRET)),
    Board("recruitee", "quillstack", COMPANY, (SEARCH, INFRA, EDITOR)),
    Board("feed", "jobs.atom", COMPANY, (SEARCH, INFRA, WRITER), {"format": "atom"}),
)
