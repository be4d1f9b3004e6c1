"""Nordlicht Systeme: a German company, with texts in German and pay in euros."""

from interlock.apps.jobs.world.data.places import BERLIN, HAMBURG, PORTLAND
from interlock.apps.jobs.world.opening import Board, Company, Opening, Pay

COMPANY = Company(
    name="Nordlicht Systeme GmbH",
    slug="nordlicht",
    tagline="Software for ports and the people in them.",
    about=(
        "Nordlicht Systeme builds planning software for harbours. Twenty ports from Rotterdam to Gdańsk assign berths, "
        "cranes and pilots with our programs.",
        "We were founded by two harbour pilots and a physicist. We still test every release with people who stand on "
        "the quay at five in the morning.",
    ),
    mission="Our mission is that no ship waits for a message.",
    culture=(
        "We decide in the team that has to live with a decision. We speak German and English, and nobody is asked to "
        "be perfect in both.",
        "Thirty days of leave, an hour for lunch, and a sailing boat that belongs to all of us.",
    ),
    size=310,
    headquarters=HAMBURG,
    industry="Maritime software",
    founded=2003,
    technologies=("Java", "Kotlin", "Python", "PostgreSQL", "Kafka", "Kubernetes", "Angular"),
    about_path="about-us",
)
ENDE = "Wir bieten 30 Tage Urlaub, eine betriebliche Altersvorsorge und ein Deutschlandticket."

BERTHS = Opening(
    "berth-planning",
    "Senior Backend-Entwickler (m/w/d) Liegeplatzplanung",
    "Entwicklung",
    (HAMBURG,),
    "hybrid",
    "Du entwickelst die Dienste, mit denen zwanzig Häfen ihre Liegeplätze planen. Wir arbeiten hybrid: zwei Tage in "
    "der Woche im Büro in Hamburg, sonst von zu Hause.",
    ("Du entwirfst und baust Dienste in Kotlin und Python", "Du begleitest sie bis in den Betrieb"),
    ("Mindestens fünf Jahre Erfahrung in der Backend-Entwicklung", "Kotlin oder Java", "PostgreSQL und Kafka"),
    ("Kubernetes",),
    ENDE,
    level="senior",
    pay=Pay(72_000, 88_000, "EUR"),
    age=6,
    language="de",
)
QUAY = Opening(
    "quay-apprentice",
    "Ausbildung Fachinformatiker (m/w/d)",
    "Ausbildung",
    (HAMBURG,),
    "onsite",
    "Du lernst bei uns in drei Jahren, wie man Software für Häfen baut.",
    ("Du arbeitest vom ersten Tag an in einem Team mit", "Du besuchst die Berufsschule"),
    ("Ein guter Schulabschluss", "Freude an Technik"),
    closing=ENDE,
    level="entry",
    age=21,
    language="de",
)
GATEWAY = Opening(
    "gateway-python",
    "Senior Software Engineer, Gateway (Remote)",
    "Engineering",
    (PORTLAND,),
    "remote",
    "Our first team in North America connects ports on the Pacific. You work remotely in the United States and talk to "
    "Hamburg in your morning; the team's day is on Pacific time.",
    (
        "Build the gateway that speaks the protocols of forty port authorities",
        "Own it in production with two colleagues",
        "Visit a port twice a year",
    ),
    (
        "6+ years of experience with Python",
        "Kafka and PostgreSQL",
        "Docker and Kubernetes",
    ),
    ("Terraform", "Scala", "RabbitMQ"),
    "We pay for your health insurance and for English lessons that you will not need.",
    level="senior",
    pay=Pay(150_000, 175_000),
    age=3,
)
PILOT = Opening(
    "pilot-frontend",
    "Frontend Engineer, Pilot App",
    "Engineering",
    (BERLIN,),
    "hybrid",
    "Pilots read our app on a ladder in the rain. You make it readable. Three days a week in our Berlin office.",
    ("Build the app with Angular and TypeScript", "Test it on the water"),
    ("3 years with Angular", "TypeScript", "German at level B1"),
    closing="We offer 30 days of leave and a pension plan.",
    level="mid",
    pay=Pay(60_000, 72_000, "EUR"),
    age=9,
)
CRANES = Opening(
    "crane-remote",
    "Senior Java Developer, Cranes (EU remote)",
    "Engineering",
    (BERLIN,),
    "remote",
    "Cranes plan two hours ahead, and so do you. You can work from anywhere in Germany.",
    ("Develop the planner in Java and Spring Boot", "Tune it with the crane drivers"),
    ("6 years of Java", "Spring Boot", "Oracle databases"),
    closing="We offer 30 days of leave and a pension plan.",
    level="senior",
    pay=Pay(75_000, 90_000, "EUR"),
    age=14,
)
BOARDS = (
    Board("personio", "nordlicht", COMPANY, (BERTHS, QUAY, PILOT, CRANES)),
    Board("teamtailor", "nordlicht", COMPANY, (GATEWAY, PILOT, CRANES, BERTHS)),
    Board("html", "jobs", COMPANY, (GATEWAY, BERTHS, PILOT, CRANES, QUAY)),
)
