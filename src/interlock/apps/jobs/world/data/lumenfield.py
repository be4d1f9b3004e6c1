"""Lumenfield Energy: a company of medium size with most of its jobs in the field."""

from interlock.apps.jobs.world.data.generated import field_jobs
from interlock.apps.jobs.world.data.places import DENVER, PORTLAND, SAN_FRANCISCO
from interlock.apps.jobs.world.opening import Board, Company, Opening, Pay

COMPANY = Company(
    name="Lumenfield Energy",
    slug="lumenfield",
    tagline="Sunlight, on schedule.",
    about=(
        "Lumenfield Energy builds and operates solar parks and the batteries beside them. Our forecasts decide every "
        "five minutes what 300 sites sell to the grid.",
        "We own what we build, so we care how it runs in year twenty. Half of our people work at a site, the others "
        "write the software that keeps it running.",
    ),
    mission="Our mission is to make clean power the cheapest and the most dependable power there is.",
    culture=(
        "Safety comes before speed, on a roof and in a release. We ask for help early and thank people for bad news.",
        "Engineers visit a site in their first month. Software teams are remote within the United States and meet four "
        "times a year.",
    ),
    size=870,
    headquarters=DENVER,
    industry="Renewable energy",
    founded=2006,
    technologies=("Python", "PostgreSQL", "Kafka", "AWS", "Docker", "Terraform", "Airflow", "Rust"),
    about_path="about-us",
)
BENEFITS = (
    "Benefits: medical, dental and vision from the first day, a 401(k) with a match, and a bicycle if you want one."
)

FORECAST = Opening(
    "forecast-backend",
    "Senior Software Engineer, Forecasting",
    "Software",
    (DENVER,),
    "remote",
    "Clouds are our weather and our business. The forecasting team turns satellite pictures into orders on the power "
    "market. You can work from anywhere in the United States; we meet on Eastern time.",
    (
        "Run the Python services that forecast 300 sites every five minutes",
        "Shorten the way from a new model to production",
        "Own the data in PostgreSQL that traders rely on",
    ),
    (
        "7+ years of experience as a software engineer with Python",
        "PostgreSQL and SQL that you can defend",
        "Docker, and AWS or another cloud",
        "Airflow or Dagster for pipelines",
    ),
    ("Terraform", "Rust"),
    BENEFITS,
    pay=Pay(158_000, 192_000),
    age=2,
)
BATTERY = Opening(
    "battery-control",
    "Senior Backend Engineer, Battery Control",
    "Software",
    (DENVER, SAN_FRANCISCO),
    "remote",
    "A battery that answers a second late pays a fine. You will write the services that tell ours when to charge. The "
    "team is remote in the US, with the core of its day on Pacific time.",
    (
        "Build control services in Python that answer within 200 milliseconds",
        "Simulate a month of market prices before every release",
        "Share the on-call rota, which is quiet because we made it so",
    ),
    (
        "5+ years of backend development with Python",
        "PostgreSQL, Redis and Kafka",
        "Kubernetes on AWS",
    ),
    ("FastAPI", "Terraform"),
    BENEFITS,
    pay=Pay(165_000, 200_000),
    age=7,
)
GRID = Opening(
    "grid-embedded",
    "Principal Embedded Engineer",
    "Hardware",
    (DENVER,),
    "onsite",
    "You decide what the controllers in our inverters do when the grid does something that no book describes.",
    ("Write firmware in Rust and C", "Test it on the bench and in the desert", "Set the standard for four teams"),
    ("10+ years of embedded development", "Rust or C++", "Power electronics"),
    closing=BENEFITS,
    pay=Pay(185_000, 230_000),
    age=15,
)
ANALYST = Opening(
    "market-analyst",
    "Junior Market Analyst",
    "Trading",
    (DENVER,),
    "hybrid",
    "You explain to the desk every morning why yesterday's prices were not what we thought.",
    ("Prepare the daily report", "Keep the spreadsheets honest", "Learn Python from people who enjoy teaching it"),
    ("A degree in economics or something with numbers", "Excel", "Curiosity"),
    closing=BENEFITS,
    pay=Pay(68_000, 80_000),
    age=4,
    level="entry",
)
RATES = Opening(
    "rates-data",
    "Senior Data Engineer",
    "Data",
    (PORTLAND,),
    "hybrid",
    "Our Portland office looks after tariffs: what a kilowatt-hour is worth, where and when. We are there on Mondays "
    "and Wednesdays.",
    (
        "Build pipelines in Python and Airflow for 40 utilities and their formats",
        "Model tariffs in PostgreSQL, so that an analyst can ask questions of them",
        "Find out why a number is wrong, and make sure that it stays right",
    ),
    (
        "5 years of data engineering with Python",
        "PostgreSQL and SQL",
        "AWS and Docker",
        "Snowflake",
    ),
    ("dbt", "Terraform"),
    BENEFITS,
    pay=Pay(148_000, 172_000),
    age=5,
)
BOARDS = (
    Board(
        "workday",
        "lumenfield",
        COMPANY,
        (FORECAST, BATTERY, GRID, ANALYST, RATES, *field_jobs("lumenfield", 40)),
        {"site": "Lumenfield_Careers"},
    ),
    Board("smartrecruiters", "LumenfieldEnergy", COMPANY, (BATTERY, RATES, ANALYST)),
    Board("feed", "jobs.rss", COMPANY, (FORECAST, GRID, RATES), {"format": "rss"}),
)
