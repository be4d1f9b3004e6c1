"""Resumes of made-up people, written as PDF and DOCX in the layouts that people use."""

from __future__ import annotations

import io
from textwrap import wrap
from typing import Any

NAME, EMAIL, PHONE = "Robin Vale", "robin.vale@example.org", "+1 503 555 0142"
POSTS = (
    ("Senior Backend Engineer", "Harbour Freight Data", "Portland, OR", "Mar 2021", "Present"),
    ("Software Engineer", "Lantern Maps Inc.", "Seattle, WA", "Jun 2018", "Feb 2021"),
)
DONE = (
    (
        "Moved the booking service from nightly batches to Kafka and PostgreSQL, so that 40,000 bookings a day",
        "are confirmed in seconds.",
        "Led the move of 30 services to Kubernetes on AWS with Terraform.",
    ),
    ("Built the route planner in Python and Redis.", "Wrote the editor for map data in TypeScript and React."),
)
SKILLS = ("Languages: Python, TypeScript, SQL", "Tools: PostgreSQL, Kafka, Kubernetes, Docker (6 years), Beekeeping")
SCHOOL = ("BSc Computer Science", "Cascade State University", "2014", "2018")
PROJECT = ("Tide Table", "Forecasts of tides for kayakers, in Python and FastAPI.", "https://example.org/tides")

GERMAN_POSTS = (
    ("Leitende Softwareentwicklerin", "Nordwind Energie GmbH", "Hamburg", "05/2019", "heute"),
    ("Softwareentwicklerin", "Alsterdaten AG", "Hamburg", "09/2015", "04/2019"),
)
GERMAN_DONE = (
    ("Aufbau der Abrechnung für 200.000 Kunden mit Java und PostgreSQL.", "Einführung von Docker und Kubernetes."),
    ("Entwicklung von Schnittstellen in Java und Spring Boot.",),
)


class Paper:
    """A PDF page that lines are written on, at places."""

    def __init__(self) -> None:
        from reportlab.pdfgen.canvas import Canvas

        self._file = io.BytesIO()
        self._canvas: Any = Canvas(self._file, pagesize=(595, 842), invariant=True)

    def write(
        self, x: float, y: float, text: str, size: float = 10, *, bold: bool = False, right: bool = False
    ) -> None:
        self._canvas.setFont("Helvetica-Bold" if bold else "Helvetica", size)
        (self._canvas.drawRightString if right else self._canvas.drawString)(x, y, text)

    def done(self) -> bytes:
        self._canvas.save()
        return self._file.getvalue()


def _lines(done: tuple[str, ...]) -> list[str]:
    """Bullets; a line that begins with a small letter goes on with the one before."""
    return [("   " if one[0].islower() else "• ") + one for one in done]


def dates_right() -> bytes:
    """One column, the title left and the dates at the right margin."""
    paper, y = Paper(), 790.0
    paper.write(50, y, NAME, 20, bold=True)
    paper.write(50, y - 18, f"Portland, OR | {EMAIL} | {PHONE} | github.com/robinvale")
    y -= 50
    paper.write(50, y, "EXPERIENCE", 12, bold=True)
    for (title, company, _, start, end), done in zip(POSTS, DONE, strict=True):
        y -= 18
        paper.write(50, y, f"{title}, {company}", bold=True)
        paper.write(545, y, f"{start} – {end}", right=True)  # noqa: RUF001
        for line in _lines(done):
            y -= 13
            paper.write(60, y, line)
    _rest(paper, y - 26)
    return paper.done()


def company_above() -> bytes:
    """The company and its place on one line, the title and the dates on the next."""
    paper, y = Paper(), 790.0
    paper.write(297, y, NAME.upper(), 18, bold=True)
    paper.write(200, y - 18, f"{EMAIL}  •  {PHONE}  •  Portland, OR")
    y -= 50
    paper.write(50, y, "Work Experience", 12, bold=True)
    for (title, company, place, start, end), done in zip(POSTS, DONE, strict=True):
        y -= 18
        paper.write(50, y, company, bold=True)
        paper.write(545, y, place, right=True)
        y -= 13
        paper.write(50, y, title)
        paper.write(545, y, f"{start} - {end}", right=True)
        for line in _lines(done):
            y -= 13
            paper.write(60, y, line)
    _rest(paper, y - 26)
    return paper.done()


def title_above() -> bytes:
    """The title alone, then company, dates and place on one line with bars."""
    paper, y = Paper(), 790.0
    paper.write(50, y, NAME, 22)
    paper.write(50, y - 18, f"{EMAIL} · {PHONE}")
    paper.write(50, y - 31, "Portland, OR, USA")
    y -= 60
    paper.write(50, y, "Professional Experience", 13)
    for (title, company, place, start, end), done in zip(POSTS, DONE, strict=True):
        y -= 20
        paper.write(50, y, title, bold=True)
        y -= 13
        paper.write(50, y, f"{company} | {start} – {end} | {place}")  # noqa: RUF001
        for line in _lines(done):
            y -= 13
            paper.write(60, y, line)
    _rest(paper, y - 26)
    return paper.done()


def sidebar(right: bool = False) -> bytes:
    """Two columns: contact, skills and education beside the posts."""
    paper = Paper()
    side, main = (400, 50) if right else (40, 220)
    paper.write(main, 790, NAME, 22, bold=True)
    y = 750.0
    for text in (
        "CONTACT",
        EMAIL,
        PHONE,
        "Portland, OR",
        "",
        "SKILLS",
        *(
            f"- {one}"
            for one in (
                "Python",
                "TypeScript",
                "SQL",
                "PostgreSQL",
                "Kafka",
                "Kubernetes",
                "Docker (6 years)",
                "Beekeeping",
            )
        ),
        "",
        "EDUCATION",
        SCHOOL[0],
        SCHOOL[1],
        f"{SCHOOL[2]} - {SCHOOL[3]}",
    ):
        y -= 14
        if text:
            paper.write(side, y, text, 9)
    y = 750.0
    paper.write(main, y, "EXPERIENCE", 12, bold=True)
    for (title, company, _, start, end), done in zip(POSTS, DONE, strict=True):
        y -= 18
        paper.write(main, y, f"{title} at {company}", bold=True)
        y -= 12
        paper.write(main, y, f"{start} - {end}")
        for line in _lines(done):
            for piece in wrap(line, 62, drop_whitespace=False):
                y -= 12
                paper.write(main, y, piece, 9)
    y -= 24
    paper.write(main, y, "PROJECTS", 12, bold=True)
    paper.write(main, y - 14, f"{PROJECT[0]}: {PROJECT[1]}", 9)
    paper.write(main, y - 26, PROJECT[2], 9)
    return paper.done()


def german() -> bytes:
    """A German resume: dates left, texts right."""
    paper, y = Paper(), 790.0
    paper.write(50, y, "Lebenslauf", 18, bold=True)
    y -= 30
    paper.write(50, y, "Persönliche Daten", 12, bold=True)
    for label, value in (
        ("Name:", "Anke Petersen"),
        ("Anschrift:", "Deichstraße 7, 20459 Hamburg"),
        ("Telefon:", "+49 40 5550142"),
        ("E-Mail:", "anke.petersen@example.org"),
        ("Geburtsdatum:", "12.03.1988"),
    ):
        y -= 14
        paper.write(50, y, label)
        paper.write(180, y, value)
    y -= 30
    paper.write(50, y, "Berufserfahrung", 12, bold=True)
    for (title, company, place, start, end), done in zip(GERMAN_POSTS, GERMAN_DONE, strict=True):
        y -= 16
        paper.write(50, y, f"{start} – {end}")  # noqa: RUF001
        paper.write(180, y, title, bold=True)
        y -= 13
        paper.write(180, y, f"{company}, {place}")
        for line in _lines(done):
            y -= 13
            paper.write(180, y, line)
    y -= 26
    paper.write(50, y, "Studium", 12, bold=True)
    paper.write(50, y - 16, "10/2010 – 08/2015")  # noqa: RUF001
    paper.write(180, y - 16, "M.Sc. Informatik")
    paper.write(180, y - 29, "Universität Hamburg")
    y -= 55
    paper.write(50, y, "Kenntnisse", 12, bold=True)
    paper.write(50, y - 16, "Java, Spring Boot, PostgreSQL, Docker, Kubernetes (gut)")
    paper.write(50, y - 40, "Sprachen", 12, bold=True)
    paper.write(50, y - 56, "Deutsch (Muttersprache), Englisch (fließend)")
    return paper.done()


def _rest(paper: Paper, y: float) -> None:
    """Education, skills and a project, in one column."""
    paper.write(50, y, "EDUCATION", 12, bold=True)
    paper.write(50, y - 16, f"{SCHOOL[0]}, {SCHOOL[1]}")
    paper.write(545, y - 16, f"{SCHOOL[2]} – {SCHOOL[3]}", right=True)  # noqa: RUF001
    y -= 42
    paper.write(50, y, "TECHNICAL SKILLS", 12, bold=True)
    for line in SKILLS:
        y -= 14
        paper.write(50, y, line)
    y -= 28
    paper.write(50, y, "PROJECTS", 12, bold=True)
    paper.write(50, y - 16, f"{PROJECT[0]} ({PROJECT[2]})")
    paper.write(60, y - 29, f"• {PROJECT[1]}")


def word(*, table: bool = False) -> bytes:
    """A Word file with headings and lists; with `table`, the posts stand in one, dates left."""
    import docx

    file: Any = docx.Document()
    file.add_paragraph(NAME, style="Title")
    file.add_paragraph(f"Portland, OR\t{EMAIL}\t{PHONE}")
    file.add_paragraph("https://github.com/robinvale")
    file.add_heading("Experience", 1)
    rows = file.add_table(rows=0, cols=2) if table else None
    for (title, company, place, start, end), done in zip(POSTS, DONE, strict=True):
        texts = [one.strip() for one in "\n".join(done).replace("\nare confirmed", " are confirmed").split("\n")]
        if rows is not None:
            cells = rows.add_row().cells
            cells[0].text = f"{start} – {end}"  # noqa: RUF001
            cells[1].text = title
            cells[1].add_paragraph(f"{company}, {place}")
            for one in texts:
                cells[1].add_paragraph(one, style="List Bullet")
            continue
        file.add_paragraph(f"{title}\t{start} – {end}")  # noqa: RUF001
        file.add_paragraph(f"{company}, {place}")
        for one in texts:
            file.add_paragraph(one, style="List Bullet")
    file.add_heading("Education", 1)
    file.add_paragraph(f"{SCHOOL[0]}, {SCHOOL[1]}\t{SCHOOL[2]} – {SCHOOL[3]}")  # noqa: RUF001
    file.add_heading("Skills", 1)
    for line in SKILLS:
        file.add_paragraph(line)
    file.add_heading("Projects", 1)
    file.add_paragraph(f"{PROJECT[0]} – {PROJECT[1]} {PROJECT[2]}")  # noqa: RUF001
    out = io.BytesIO()
    file.save(out)
    return out.getvalue()


LAYOUTS = {
    "dates right": dates_right,
    "company above": company_above,
    "title above": title_above,
    "sidebar left": sidebar,
    "sidebar right": lambda: sidebar(right=True),
    "word": word,
    "word table": lambda: word(table=True),
}


ELSEWHERE: dict[str, Any] = {
    "french": {
        "top": ("Camille Dubois", "Lyon, France · camille.dubois@example.org · +33 6 12 34 56 78"),
        "headings": ("EXPÉRIENCE PROFESSIONNELLE", "FORMATION", "COMPÉTENCES"),
        "posts": (
            ("Développeuse back-end senior", "Rivage Données", "mars 2021 – à ce jour", "Facturation avec Kafka."),  # noqa: RUF001
            ("Développeuse Python", "Atelier Nuage S.A.", "sept. 2017 – févr. 2021", "API en Django."),  # noqa: RUF001
        ),
        "school": "Master Informatique, Université Lyon 1, 2015 – 2017",  # noqa: RUF001
        "skills": "Python, Django, .NET",
    },
    "spanish": {
        "top": ("Lucía Moreno Gil", "Madrid, España | lucia.moreno@example.org | +34 612 345 678"),
        "headings": ("Experiencia profesional", "Formación académica", "Conocimientos técnicos"),
        "posts": (
            ("Ingeniera de software", "Bahía Sistemas S.L.", "Enero 2019 - Actualidad", "Servicios con Java."),
            ("Desarrolladora web", "Taller Digital", "06/2015 - 12/2018", "Tiendas con PHP y MySQL."),
        ),
        "school": "Grado en Ingeniería Informática, Universidad Complutense de Madrid, 2011 - 2015",
        "skills": "Java, PHP, Docker",
    },
    "portuguese": {
        "top": ("Rafael Nunes", "Porto, Portugal | rafael.nunes@example.org | +351 912 345 678"),
        "headings": ("Experiência profissional", "Formação", "Competências técnicas"),
        "posts": (
            ("Engenheiro de dados", "Cais Dados Ltda.", "out 2019 até o momento", "Fluxos em Airflow e Spark."),
            ("Desenvolvedor Java", "Norte Bank", "fev 2016 - set 2019", "APIs com Spring Boot."),
        ),
        "school": "Bacharelado em Informática, Universidade do Porto, 2011 - 2015",
        "skills": "Python, Airflow, Java",
    },
    "dutch": {
        "top": ("Sanne de Vries", "Utrecht, Nederland | sanne@example.org | +31 6 12345678"),
        "headings": ("Werkervaring", "Opleiding", "Vaardigheden"),
        "posts": (
            ("Software ontwikkelaar", "Grachten Data B.V.", "mrt 2018 – heden", "Diensten in C# op Azure."),  # noqa: RUF001
            ("Systeem beheerder", "Polder Netwerken", "05/14 - 02/18", "Beheer van Linux en Ansible."),
        ),
        "school": "Bachelor Informatica, Hogeschool Utrecht, 2010 – 2014",  # noqa: RUF001
        "skills": "C#, .NET, Azure",
    },
}
"""Resumes in other languages: each post with its title, company, dates and what was done."""


def elsewhere(language: str) -> bytes:
    """One column; the title left and the dates at the right margin, the company below."""
    one, paper, y = ELSEWHERE[language], Paper(), 800.0
    paper.write(50, y, one["top"][0], 20, bold=True)
    paper.write(50, y - 16, one["top"][1])
    y -= 50
    paper.write(50, y, one["headings"][0], 12, bold=True)
    for title, company, dates, done in one["posts"]:
        y -= 18
        paper.write(50, y, title, bold=True)
        paper.write(545, y, dates, right=True)
        paper.write(50, y - 13, company)
        y -= 26
        paper.write(60, y, f"• {done}")
    for heading, line in zip(one["headings"][1:], (one["school"], one["skills"]), strict=True):
        paper.write(50, y - 26, heading, 12, bold=True)
        y -= 42
        paper.write(50, y, line)
    return paper.done()
