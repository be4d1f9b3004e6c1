"""A posting is read value by value, with the words each came from."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.reading import FIELDS, Source, read
from tests.apps.jobs.finder.reading.written import DUTCH, ENGINEER, FRENCH, GERMAN, MARKUP, SPANISH


def test_a_posting_has_every_value_and_its_evidence() -> None:
    reading = read(ENGINEER)
    assert set(reading.values) == set(FIELDS)
    expected = {
        "seniority": "senior",
        "workArrangement": "remote",
        "salaryMin": 150_000,
        "salaryMax": 185_000,
        "experienceMin": 6,
        "experienceMax": None,
        "roleTypes": ["backend"],
        "includesEquity": True,
        "isLead": False,
        "isManagement": False,
        "relocationRequired": False,
        "timezone": None,
        "city": None,
    }
    assert {name: reading[name] for name in expected} == expected
    assert reading.values["salaryMin"].quote == "Pay range: $150,000 - $185,000 per year."
    assert reading.values["experienceMin"].quote.startswith("6+ years of professional")
    assert (reading.language, reading.understood) == ("en", True)


def test_skills_have_levels_by_heading_and_wording() -> None:
    levels = {skill.name: skill.level for skill in read(ENGINEER).skills}
    assert levels["PostgreSQL"] == levels["Python"] == levels["Redis"] == levels["gRPC"] == "required"
    assert levels["Rust"] == levels["Elixir"] == levels["Terraform"] == "preferred"
    assert levels["Kubernetes"] == "mentioned"
    assert "Java" not in levels, "it is not needed"
    assert "Excel" not in levels, "benefits feed no skills"
    assert set(read(ENGINEER)["technologies"]) == {
        "python",
        "go",
        "postgresql",
        "kafka",
        "kubernetes",
        "aws",
        "redis",
        "grpc",
        "rust",
        "elixir",
        "terraform",
    }


def test_markup_is_read_and_what_it_hides_is_not() -> None:
    reading = read(MARKUP)
    assert set(reading["technologies"]) == {"sql", "dbt", "snowflake", "spark", "flink", "tableau"}
    assert (reading["workArrangement"], reading["timezone"], reading["city"]) == ("hybrid", -7, "Denver")
    assert (reading["salaryMin"], reading["salaryMax"]) == (140_000, 170_000)
    assert (reading["seniority"], reading["isLead"], reading["experienceMin"]) == ("lead", True, 8)
    assert "8+ years of experience with data pipelines" in reading.sections["requirements"]


@pytest.mark.parametrize(
    ("source", "language", "salary", "years", "technologies", "arrangement", "seniority"),
    [
        (
            GERMAN,
            "de",
            (60_000, 75_000),
            3,
            {"java", "spring boot", "postgresql", "docker", "kubernetes"},
            "hybrid",
            "mid",
        ),
        (FRENCH, "fr", (42_000, 50_000), 5, {"vue.js", "symfony", "php", "mysql", "docker"}, "unknown", "senior"),
        (SPANISH, "es", (45_000, 55_000), 4, {"python", "django", "aws", "postgresql", "kafka"}, "remote", "senior"),
        (
            DUTCH,
            "nl",
            (45_600, 58_800),
            3,
            {"react", "typescript", "javascript", "css", "html", "cypress"},
            "hybrid",
            "mid",
        ),
    ],
)
def test_other_languages_are_read_as_far_as_rules_go(
    source: Source,
    language: str,
    salary: tuple[int, int],
    years: int,
    technologies: set[str],
    arrangement: str,
    seniority: str,
) -> None:
    reading = read(source)
    assert (reading.language, reading.understood) == (language, True)
    assert (reading["salaryMin"], reading["salaryMax"]) == salary
    assert reading["experienceMin"] == years
    assert set(reading["technologies"]) == technologies
    assert reading["workArrangement"] == arrangement
    assert reading["seniority"] == seniority
    assert any(skill.level == "preferred" for skill in reading.skills)


def test_a_language_without_rules_is_said() -> None:
    text = "Etsimme kehittäjää tiimiimme Helsinkiin. Työskentelet Pythonilla ja rakennat palveluja satamille, Docker."
    reading = read(Source("Ohjelmistokehittäjä", text))
    assert reading.understood is False
    assert reading["technologies"] == ["docker"]


def test_silence_is_unknown_and_only_a_measurement_guesses() -> None:
    source = Source("Software Engineer", "We build software for ports. " * 40)
    reading, guessed = read(source), read(source, guess=True)
    assert (reading["seniority"], reading["workArrangement"], reading["employmentType"]) == ("unknown",) * 3
    assert reading["salaryMin"] is reading["experienceMin"] is reading["timezone"] is None
    assert (guessed["seniority"], guessed["workArrangement"], guessed["employmentType"]) == (
        "mid",
        "remote",
        "full-time",
    )
    assert guessed.values["seniority"].rule.startswith("guess")


@pytest.mark.parametrize(
    ("title", "seniority"),
    [
        ("Software Engineering Intern", "intern"),
        ("Jr. Web Developer", "junior"),
        ("Software Engineer II", "mid"),
        ("Software Engineer III", "senior"),
        ("Sr Software Engineer", "senior"),
        ("Desarrollador Semi-Senior", "mid"),
        ("Senior Staff Engineer", "staff"),
        ("Member of Technical Staff", "unknown"),
        ("Senior Principal Engineer", "principal"),
        ("Tech Lead, Payments", "lead"),
        ("Director of Engineering", "director"),
        ("Engineer", "unknown"),
        ("Engineering Manager, Platform", "lead"),
        ("Product Manager", "unknown"),
        ("Software Engineer 2", "mid"),
        ("Engineer, Lead Generation", "unknown"),
        ("Software Engineer 4", "senior"),
        ("Software Engineer, Level 5", "senior"),
        ("SDE-3", "senior"),
        ("SWE 2", "mid"),
        ("Early-Career Software Engineer", "junior"),
    ],
)
def test_seniority_by_title(title: str, seniority: str) -> None:
    assert read(Source(title))["seniority"] == seniority


@pytest.mark.parametrize(
    ("location", "text", "arrangement"),
    [
        ("Remote", "", "remote"),
        ("Berlin (Hybrid)", "", "hybrid"),
        ("Austin, TX", "This is a fully remote position.", "remote"),
        ("Austin, TX", "You spend three days a week in our office.", "hybrid"),
        ("Austin, TX", "This role is on-site in Austin.", "onsite"),
        ("Austin, TX", "This is not a remote role.", "onsite"),
        ("Austin, TX", "You run hybrid cloud environments.", "unknown"),
        ("Austin, TX", "People work from in-office, to fully remote, as their role requires.", "unknown"),
        ("Remote, US", "Come in 3 days a week in New York.", "hybrid"),
        ("", "You will support remote sites.", "unknown"),
        ("Austin, TX", "#LI-Onsite", "onsite"),
        ("Virtual, US", "", "remote"),
        ("Munich", "There are two fixed office days a week.", "hybrid"),
        ("Salem, OR", "Telework up to two days per week may be approved.", "hybrid"),
        ("Remote", "We work remotely five days a week.", "remote"),
        ("Osaka", "Remote OK within Japan.", "remote"),
        ("Boston, MA", "We are in the office five days a week.", "onsite"),
        ("Boston, MA", "Our team is onsite 2-3 days per week.", "hybrid"),
        ("Boston, MA", "You come into the office at least twice a week.", "hybrid"),
        ("Boston, MA", "You may work from home one day a week.", "hybrid"),
        ("Boston, MA", "Work from home, the office or a mix of both.", "hybrid"),
        ("London", "Most people come in 2-3 days a week.", "hybrid"),
        ("London", "We work from our office Monday through Thursday.", "hybrid"),
        ("S\u00e3o Paulo, hibrido", "", "hybrid"),
        ("London", "You split your time between home and our office.", "hybrid"),
        ("Berlin", "Du arbeitest zwei Tage pro Woche im Homeoffice.", "hybrid"),
        ("Boston, MA", "Work type: Remote", "remote"),
        ("Boston, MA", "Work type: On-site", "onsite"),
    ],
)
def test_work_arrangement(location: str, text: str, arrangement: str) -> None:
    assert read(Source("Engineer", text, locations=[location]))["workArrangement"] == arrangement


@pytest.mark.parametrize(
    ("location", "text", "offset"),
    [
        ("Bangalore, India", "This role is on-site in Bangalore.", 5.5),
        ("Portland, OR", "A hybrid role.", -8),
        ("Portland, ME", "A hybrid role.", -5),
        ("Remote", "You keep core hours in Eastern Time.", -5),
        ("Remote", "The team works on Pacific time.", -8),
        ("Remote", "Four hours of overlap with CET are needed.", 1),
        ("Remote", "Working hours follow UTC-3.", -3),
        ("Remote", "You are available during US Central Time.", -6),
        ("Remote", "Hours: 9 to 5, Central Time.", -6),
        ("Remote", "You live within 3 hours of EST.", -5),
        ("Remote", "Applications close at 5 pm Pacific Time.", None),
        ("Remote", "Applications close at 5pm PST.", None),
        ("Remote", "You are there from 9am to 5pm PST.", -8),
        ("Remote", "The team keeps 9-5 ET core hours.", -5),
        ("Remote", "You live in a time zone between UTC-8 and UTC-5.", None),
        ("US-CA-San Diego", "This role is on-site.", -8),
        ("Sydney NSW", "A hybrid role.", 10),
        ("Remote within CET", "", 1),
        ("Remote, UTC-5 to UTC+2", "", None),
        ("Remote, PT", "", None),
        ("Remote", "We are a friendly team.", None),
        ("Remote", "Our people are spread across time zones from PST to CET.", None),
        ("Denver, CO", "Fully remote position.", None),
    ],
)
def test_time_zone(location: str, text: str, offset: float | None) -> None:
    assert read(Source("Engineer", text, locations=[location]))["timezone"] == offset


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("5+ years of experience with Python", 5, None),
        ("3-5 years of experience", 3, 5),
        ("You have between 3 and 5 years of experience with Java", 3, 5),
        ("Five-plus years of engineering experience", 5, None),
        ("You have been writing production code for 5+ years", 5, None),
        ("0-2 years of experience", 0, 2),
        ("Up to 3 years of experience", 0, 3),
        ("Five (5) or more years of experience", 5, None),
        ("3 (three) years of experience", 3, None),
        ("5 YOE", 5, None),
        ("You are 18 years or older", None, None),
        ("three to five years of experience", 3, 5),
        ("At least two (2) years of experience in QA", 2, None),
        ("8 years of experience, with 2 years of leadership experience", 8, None),
        ("3 years of experience with Go.\n7+ years of engineering experience.", 7, None),
        ("Years of experience: 5+", 5, None),
        ("You have 4+ years in product design.", 4, None),
        ("- 10+ years of engineering, 3+ of people management", 10, None),
        ("Must: React Native, 3 years or more.", 3, None),
        ("Fourteen (14) years of experience as an engineer", 14, None),
        ("We have grown for 10+ years in business.", None, None),
        ("Our team has 12+ years in shipping.", None, None),
        ("Years of relevant experience required: 3-5", 3, 5),
        ("For over 20 years we have built ships.", None, None),
        ("We have 20 years of experience in the market.", None, None),
        ("Our company has 30 years of history.", None, None),
        ("With over 25 years of experience, Acme is a leading provider.", None, None),
        ("Backed by 15+ years of experience, we help clients grow.", None, None),
        ("We've been developing our product for 16 years and have experience.", None, None),
        (
            "2+ years of experience with Java.\nWe will also consider three years of experience in lieu of a degree.",
            2,
            None,
        ),
        ("5 years of experience, or 9 years of experience in lieu of a degree", 5, None),
        ("Options vest over 4 years.", None, None),
    ],
)
def test_years_of_experience(text: str, least: int | None, most: int | None) -> None:
    reading = read(Source("Engineer", text))
    assert (reading["experienceMin"], reading["experienceMax"]) == (least, most)


def test_the_years_that_the_employer_has_are_no_demand() -> None:
    text = "Lamp Works has more than 20 years of experience in lamps.\nYou have 3 years of experience."
    assert read(Source("Engineer", text, company="Lamp Works"))["experienceMin"] == 3


@pytest.mark.parametrize(
    ("title", "text", "roles"),
    [
        ("Full Stack Developer", "", ["fullstack"]),
        ("Frontend/Backend Engineer", "", ["fullstack"]),
        ("Site Reliability Engineer", "", ["devops"]),
        ("MLOps Engineer", "", ["ml-ai", "devops"]),
        ("Prompt Engineer", "", ["ml-ai"]),
        ("Controls Engineer", "", ["embedded"]),
        ("Forward Deployed Engineer", "", ["fullstack"]),
        ("Senior QA Engineer", "", ["qa"]),
        ("iOS Engineer", "", ["mobile"]),
        ("Firmware Engineer", "", ["embedded"]),
        ("Security Engineer", "An active Secret clearance is needed.", ["security", "clearance-required"]),
        ("Data Engineer", "We are a consulting firm.", ["data", "consulting"]),
        ("Mechanical Engineer", "", ["non-software"]),
        ("Account Executive", "", ["non-software"]),
        ("Technical Writer", "", ["non-software"]),
        ("Penetration Tester", "", ["security"]),
        ("Network Administrator", "", ["devops"]),
        ("Senior Java (Spring)", "", ["backend"]),
        ("Software Engineer, Developer Platform", "", ["backend", "devops"]),
        ("Sales Consultant", "", ["non-software", "consulting"]),
        ("Software Engineer", "Node.js and React", ["fullstack"]),
        ("Software Engineer, Marketing", "", ["backend"]),
        ("Cloud Engineer", "", ["devops"]),
        ("Cloud Security Engineer", "", ["devops", "security"]),
        ("Software Engineer", "Public Trust clearance required", ["backend", "clearance-required"]),
        (
            "Software Engineer",
            "You build React components and Node.js services in frontend and backend.",
            ["fullstack"],
        ),
    ],
)
def test_role_types(title: str, text: str, roles: list[str]) -> None:
    assert read(Source(title, text))["roleTypes"] == roles


@pytest.mark.parametrize(
    ("title", "manages"),
    [
        ("Engineering Manager", True),
        ("Head of Data", True),
        ("Chief Technology Officer", True),
        ("Product Manager", False),
        ("Senior Engineer", False),
    ],
)
def test_who_manages_by_title(title: str, manages: bool) -> None:
    assert read(Source(title))["isManagement"] is manages


def test_the_heading_above_a_line_may_be_in_other_words() -> None:
    text = (
        "As an engineer, you will:\nRun Kafka\nAt a minimum, you need to have:\nRedis\nThe process\nA call about Docker"
    )
    sections = {skill.name: skill.section for skill in read(Source("Engineer", text)).skills}
    assert sections == {"Kafka": "duties", "Redis": "requirements", "Docker": "other"}


def test_an_unknown_heading_over_a_list_ends_what_feeds_no_skills() -> None:
    text = "Why join us\nWe sail.\nThe craft\n* Kafka\n* Redis\nPerks\n* A course in Tableau"
    assert read(Source("Engineer", text))["technologies"] == ["kafka", "redis"]


def test_a_line_of_pay_says_nothing_of_the_lines_below_it() -> None:
    text = "Salary: $4,610.00 - $5,890.00 Monthly\nJob Type: Full-Time\nRequires one year of experience with Drupal."
    found = read(Source("Web Developer", text))
    assert (found["technologies"], found["experienceMin"], found["salaryMax"]) == (["drupal"], 1, 70_680)
    assert read(Source("Web Developer", "Salary\nWe pay well, in Drupal coins."))["technologies"] == []


def test_a_posting_in_one_line_is_not_all_legal_text() -> None:
    text = "You build services in Go and Kafka for ports. " * 12 + "We are an equal opportunity employer, also in Java."
    assert read(Source("Engineer", text))["technologies"] == ["go", "kafka"]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("You will receive stock options.", "includesEquity", True),
        ("We care about diversity, equity and inclusion.", "includesEquity", False),
        ("We improve health equity for all.", "includesEquity", False),
        ("You build screens for equity traders.", "includesEquity", False),
        ("There is a generous stock package.", "includesEquity", True),
        ("You must relocate to Oslo.", "relocationRequired", True),
        ("We offer relocation assistance.", "relocationRequired", False),
        ("This is a 6-month contract.", "isContract", True),
        ("You negotiate contracts with ports.", "isContract", False),
        ("This is a temporary role for maternity cover.", "isContract", True),
        ("This is a 12 month fixed-term contract to cover parental leave.", "isContract", True),
        ("Duration: 12 months", "isContract", True),
        ("Duration: 12+ Months. Rate: $65/hr on W2.", "isContract", True),
        ("You get a W-2 form and benefits.", "isContract", False),
        ("0.1-0.4% options, and 30 days of holiday.", "includesEquity", True),
        ("We grew 40% and have many options.", "includesEquity", False),
        ("Type: 1099 contractor, 40 hours a week", "isContract", True),
        ("Employment type: Contractor", "isContract", True),
        ("This is a repost of an earlier opening.", "isRepost", True),
        ("You will have six direct reports.", "isManagement", True),
        ("Direct reports: none", "isManagement", False),
        ("Not inclusive of any bonus or equity that might exist.", "includesEquity", False),
        ("We are a globally distributed team. This is a remote role.", "timezoneFlexible", True),
        ("Apply from anywhere in the world.", "timezoneFlexible", True),
        ("This is a part-time position.", "employmentType", "part-time"),
        ("Employment type: full-time", "employmentType", "full-time"),
    ],
)
def test_flags(text: str, name: str, value: object) -> None:
    assert read(Source("Engineer", text))[name] == value


@pytest.mark.parametrize(
    ("title", "offset"),
    [
        ("Support Engineer (US West Coast)", -8),
        ("Support Engineer, CET", 1),
        ("Support Engineer (EST hours)", -5),
        ("Best Support Engineer, est. 1990", None),
        ("Support Engineer, PST or EST", None),
    ],
)
def test_a_title_may_ask_for_a_time_zone(title: str, offset: int | None) -> None:
    assert read(Source(title, locations=["Remote"]))["timezone"] == offset


def test_a_team_around_the_globe_frees_no_job_that_is_bound_to_a_country() -> None:
    text = "We are a globally distributed, remote team."
    assert read(Source("Engineer", text, locations=["Remote"]))["timezoneFlexible"]
    assert not read(Source("Engineer", text, locations=["Remote, United States"]))["timezoneFlexible"]


@pytest.mark.parametrize(
    ("location", "city"),
    [
        ("Boston, MA; New York, NY; Remote", "Boston"),
        ("New York, NY; Boston, MA", "New York"),
        ("Washington, D.C. (remote)", "Washington"),
        ("Portland, OR, or San Francisco, CA", "Portland"),
        ("Remote, United States", None),
    ],
)
def test_the_first_city_of_several_counts(location: str, city: str | None) -> None:
    assert read(Source("Engineer", locations=[location]))["city"] == city
