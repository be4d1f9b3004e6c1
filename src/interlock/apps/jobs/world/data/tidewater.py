"""Tidewater Freight: a large company at home in Portland."""

from interlock.apps.jobs.world.data.places import ATLANTA, PORTLAND, SEATTLE
from interlock.apps.jobs.world.opening import Board, Company, FormQuestion, Opening, Pay

COMPANY = Company(
    name="Tidewater Freight",
    slug="tidewater",
    tagline="Every container, always found.",
    about=(
        "Tidewater Freight runs the booking and tracking platform that moves four million containers a year between "
        "the ports of the Pacific. Carriers, forwarders and customs brokers plan their day in our software.",
        "We began with one warehouse on the Willamette and a spreadsheet. Today our services follow ships, trains and "
        "trucks on three continents, and tell a customer within seconds when a plan has to change.",
    ),
    mission="Our mission is to make the movement of goods as predictable as the tide.",
    culture=(
        "We work in small teams that own a service from the first sketch to the pager. We write things down, so that "
        "people in every office can take part in a decision.",
        "Most of our engineers work remotely or two days a week in the office. Fridays are free of meetings, and every "
        "new parent has sixteen weeks of paid leave.",
    ),
    size=2400,
    headquarters=PORTLAND,
    industry="Logistics software",
    founded=1998,
    technologies=("Python", "FastAPI", "PostgreSQL", "Kafka", "Kubernetes", "AWS", "Terraform", "React", "TypeScript"),
)
AUTHORISED = FormQuestion(
    "authorised", "Are you legally authorised to work in the United States?", "choice", True, ("Yes", "No")
)
BENEFITS = "We pay for health insurance, a retirement plan with a match, and a yearly budget for learning."

BOOKING = Opening(
    "booking-backend",
    "Senior Backend Engineer, Booking",
    "Engineering",
    (PORTLAND,),
    "remote",
    "The booking team keeps the promise that a confirmed container has a place on a ship. You will build the services "
    "behind that promise with five other engineers, fully remote within the United States.",
    (
        "Design and run Python services that confirm 60,000 bookings a day",
        "Move nightly batches to streams, one carrier at a time",
        "Review designs of other teams and share what you learned on call",
    ),
    (
        "5+ years of experience with Python in production",
        "Solid knowledge of PostgreSQL, its indexes and its query plans",
        "Experience with Kafka or another streaming platform",
        "Docker and Kubernetes as your everyday tools",
    ),
    ("FastAPI", "Terraform and AWS"),
    BENEFITS,
    pay=Pay(160_000, 195_000),
    age=3,
    questions=(AUTHORISED, FormQuestion("why", "What would you like to build here?", "long", False)),
)
TRACKING = Opening(
    "tracking-platform",
    "Senior Platform Engineer",
    "Platform",
    (PORTLAND, SEATTLE),
    "hybrid",
    "Forty teams deploy to the platform that you will look after. We are in the office in Portland or Seattle on "
    "Tuesdays and Thursdays.",
    (
        "Run our Kubernetes clusters on AWS, and make them boring",
        "Write Terraform modules that teams use without asking us",
        "Measure what deployments cost, in time and in money",
    ),
    (
        "5 years of experience with Kubernetes and Docker in production",
        "Terraform for infrastructure on AWS",
        "Python for tools and automation",
        "You explain a trade-off in a page of plain English",
    ),
    ("Experience with PostgreSQL at scale", "Redis"),
    BENEFITS,
    pay=Pay(132_000, 152_000),
    age=9,
    questions=(AUTHORISED,),
)
CUSTOMS = Opening(
    "customs-fullstack",
    "Senior Software Engineer, Customs",
    "Engineering",
    (PORTLAND,),
    "remote",
    "Customs papers are the slowest part of a journey. The customs team makes forms that fill themselves in, for "
    "brokers in nine countries. The role is remote in the US; the team works on Pacific time.",
    (
        "Build APIs in Python and FastAPI, and the screens in TypeScript and React that use them",
        "Talk to brokers every week and see them work",
        "Keep declarations correct when the law changes overnight",
    ),
    (
        "6+ years of software development, most of them with Python",
        "FastAPI or Django",
        "React and TypeScript",
        "PostgreSQL",
        "Some years with GraphQL",
    ),
    ("Experience with AWS", "Elasticsearch"),
    BENEFITS,
    pay=Pay(150_000, 180_000),
    age=1,
    questions=(AUTHORISED,),
)
YARD = Opening(
    "yard-supervisor",
    "Yard Operations Supervisor",
    "Operations",
    (SEATTLE,),
    "onsite",
    "You lead the early shift of our container yard: twelve drivers, two cranes, and a schedule that never holds.",
    ("Plan the shift with the terminal", "Walk the yard and keep it safe", "Report delays before they cost money"),
    ("3 years in a yard or a terminal", "A commercial driving licence", "Calm in bad weather"),
    closing=BENEFITS,
    pay=Pay(34, 41, per="hour"),
    age=12,
)
MANAGER = Opening(
    "routing-manager",
    "Engineering Manager, Routing",
    "Engineering",
    (PORTLAND,),
    "hybrid",
    "You lead the eight engineers who decide which ship, train and truck a container takes.",
    ("Hire and grow the team", "Set goals with product and operations", "Keep delivery predictable"),
    ("3+ years as a manager of software engineers", "A background in Python or Java", "Clear writing"),
    closing=BENEFITS,
    pay=Pay(190_000, 220_000),
    age=20,
)
DEPOT = Opening(
    "depot-systems",
    "Senior Backend Engineer, Depots",
    "Engineering",
    (ATLANTA,),
    "onsite",
    "Depots repair and store empty containers. This team sits next to the people who do it, on site in our Atlanta "
    "depot, five days a week. Remote work is not possible.",
    ("Build the services that plan repairs", "Install scanners and make them talk", "Be there when they do not"),
    ("5+ years with Python", "PostgreSQL", "Docker"),
    closing=BENEFITS,
    pay=Pay(150_000, 170_000),
    age=6,
)
OLD = Opening(
    "archive-engineer",
    "Senior Data Engineer, Archive",
    "Data",
    (PORTLAND,),
    "remote",
    "Twenty years of journeys are in an archive that nobody can query. You will change that.",
    ("Design the new store", "Move 80 terabytes without losing a row", "Write the queries that analysts ask for"),
    ("4 years of data engineering", "Python", "PostgreSQL", "AWS"),
    ("Kafka",),
    BENEFITS,
    pay=Pay(150_000, 175_000),
    age=44,
    closes_in=-3,
)
BOARDS = (
    Board("greenhouse", "tidewater", COMPANY, (BOOKING, TRACKING, CUSTOMS, YARD, MANAGER, DEPOT)),
    Board("jsonld", "openings", COMPANY, (CUSTOMS, TRACKING, OLD)),
    Board("api", "api/v1", COMPANY, (BOOKING, TRACKING, CUSTOMS, YARD, MANAGER, DEPOT, OLD)),
)
