"""Postings of our own writing, in the shapes in which boards give them."""

from __future__ import annotations

from interlock.apps.jobs.finder.reading import Source

ENGINEER = Source(
    title="Senior Backend Engineer, Billing",
    company="Harbour Lights",
    locations=["Remote - US"],
    text="""About Harbour Lights
Harbour Lights sells lamps to ports. Our apps run on iOS and Android. We raised $40 million last year.

What You'll Do
* Build billing services in Python and Go that talk to PostgreSQL and Kafka
* Run them on Kubernetes in AWS

What You'll Need
* 6+ years of professional software engineering experience, including 3+ years with Python
* Strong knowledge of PostgreSQL, Redis and gRPC
* No Java experience is needed

Nice to have
* Experience with Rust or Elixir
* Terraform

Benefits
* Medical, dental and vision insurance, and a yearly Excel course
* $1,500 home office stipend and $200 / month for a gym
* Stock options

Pay range: $150,000 - $185,000 per year. Harbour Lights is an equal opportunity employer.
""",
)

MARKUP = Source(
    title="Lead Data Engineer",
    company="Quay &amp; Co",
    locations=["Denver, CO"],
    text=(
        "<div><h2>The role</h2><p>This is a <b>hybrid</b> role: 3 days a week in the office.</p>"
        "<h2>Requirements</h2><ul><li>8&#43; years of experience with data pipelines</li>"
        "<li>SQL, dbt and Snowflake</li><li>Apache&nbsp;Spark or Flink</li></ul>"
        "<h2>Bonus points</h2><ul><li>Tableau</li></ul>"
        "<p>The base salary is $140k&ndash;$170k, plus bonus.</p>"
        "<script>var x = 'Kotlin';</script><!-- Perl --><style>.scala {}</style></div>"
    ),
)

GERMAN = Source(
    title="Softwareentwickler (m/w/d) Backend",
    company="Leuchtturm GmbH",
    locations=["Hamburg, Deutschland"],
    text="""Über uns
Wir sind ein Team von 40 Leuten und bauen Software für Häfen.

Deine Aufgaben
- Du entwickelst Dienste mit Java und Spring Boot für unsere Kunden

Dein Profil
- Mindestens 3 Jahre Berufserfahrung mit Java
- Gute Kenntnisse in PostgreSQL und Docker
- Kubernetes ist von Vorteil

Wir bieten
- 30 Urlaubstage und eine betriebliche Altersvorsorge
- Hybrides Arbeiten mit zwei Tagen im Büro
- Ein Gehalt von 60.000 € bis 75.000 € brutto im Jahr, Vollzeit, unbefristet
""",
)

FRENCH = Source(
    title="Développeur Full Stack",
    company="Phare",
    locations=["Lyon, France"],
    text="""À propos
Nous sommes une équipe de vingt personnes et nous créons des outils pour les ports.

Vos missions
- Développer des applications avec Vue.js et Symfony pour nos clients

Profil recherché
- 5 ans d'expérience dans le développement web avec PHP
- Maîtrise de MySQL
- La connaissance de Docker est un plus

Ce que nous offrons
- CDI, temps plein, mutuelle
- Rémunération : 42 000 € à 50 000 € par an selon votre expérience
""",
)

SPANISH = Source(
    title="Desarrollador Python Senior",
    company="Faro",
    locations=["Madrid, España"],
    text="""Sobre nosotros
Somos un equipo de treinta personas y hacemos programas para los puertos.

Responsabilidades
- Desarrollar servicios con Python y Django para las navieras

Requisitos
- Al menos 4 años de experiencia con Python
- Conocimientos de AWS y de PostgreSQL
- Se valorará Kafka

Ofrecemos
- Trabajo remoto y jornada completa
- Salario de 45.000 € a 55.000 € brutos anuales
""",
)

DUTCH = Source(
    title="Medior Frontend Developer",
    company="Vuurtoren",
    locations=["Rotterdam, Nederland"],
    text="""Over ons
Wij zijn een team van twintig mensen en maken software voor de haven.

Wat ga je doen
- Je bouwt met React en TypeScript aan onze webapplicatie

Wie jij bent
- Je hebt minimaal 3 jaar ervaring met JavaScript
- Kennis van CSS en HTML
- Ervaring met Cypress is een pre

Wat wij bieden
- Een salaris van € 3.800 tot € 4.900 per maand, 26 vakantiedagen
- Hybride werken
""",
)
