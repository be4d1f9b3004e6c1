"""Resumes in several layouts come to the same profile; what cannot be read is refused with a reason."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.resume import Draft, ResumeError, read_resume
from interlock.apps.jobs.finder.resume.dates import period_in, without_dates
from interlock.apps.jobs.finder.resume.draft import draft_of
from interlock.apps.jobs.finder.resume.lines import Line, line_of

from . import made

TODAY = date(2026, 11, 16)


def draft(tmp_path: Path, data: bytes) -> Draft:
    path = tmp_path / "resume"
    path.write_bytes(data)
    return read_resume(path, TODAY)


def written(*rows: str) -> Draft:
    """The draft of lines; two bars divide cells."""
    lines = [line_of(row.split("||"), 1) for row in rows]
    return draft_of([line for line in lines if line], TODAY)


@pytest.mark.parametrize("layout", made.LAYOUTS)
def test_a_layout_is_read(tmp_path: Path, layout: str) -> None:
    make: Callable[[], bytes] = made.LAYOUTS[layout]
    found = draft(tmp_path, make())
    profile = found.profile
    assert (profile["identity"]["name"], profile["identity"]["email"]) == (made.NAME, made.EMAIL)
    assert profile["identity"]["phone"] == made.PHONE
    assert profile["home"] == {"city": "Portland", "region": "OR", "country": "US"}
    assert profile["time_zone"] == "America/Los_Angeles"
    posts = profile["employment"]
    assert [(one["title"], one["company"]) for one in posts] == [one[:2] for one in made.POSTS]
    assert [(one["start"], one.get("end")) for one in posts] == [("2021-03", None), ("2018-06", "2021-02")]
    assert [len(one["highlights"]) for one in posts] == [2, 2], "a broken line goes on"
    assert posts[0]["highlights"][0].endswith("bookings a day are confirmed in seconds.")
    assert posts[1]["skills"] == ["Python", "Redis", "TypeScript", "React"]
    assert profile["years"] == 8.5
    skills = {one["name"]: (one.get("years"), one.get("last_used")) for one in profile["skills"]}
    assert skills["Python"] == (3.0, "2021-02")
    assert skills["Kafka"] == (6.0, "2026-11")
    assert skills["Docker"] == (6.0, None), "said in the list, shown by no post"
    assert {"SQL", "Beekeeping", "Terraform"} <= set(skills)
    assert profile["education"] == [
        {
            "school": "Cascade State University",
            "degree": "BSc",
            "field": "Computer Science",
            "start": "2014",
            "end": "2018",
        }
    ]
    (project,) = profile["projects"]
    assert (project["name"], project["url"]) == ("Tide Table", "https://example.org/tides")
    assert (profile["titles"][0], profile["seniority"]) == ("Senior Backend Engineer", ["senior"])
    assert found.missing == ("workplace", "employment_types", "salary", "work_authorisation")
    check_profile(profile)
    assert {one.key for one in found.read} >= {"identity.name", "home", "employment", "skills"}
    assert all(one.line for one in found.read)


def test_a_german_resume_is_read(tmp_path: Path) -> None:
    found = draft(tmp_path, made.german())
    profile = found.profile
    assert profile["identity"] == {
        "name": "Anke Petersen",
        "email": "anke.petersen@example.org",
        "phone": "+49 40 5550142",
    }
    assert (profile["home"], profile["time_zone"]) == ({"city": "Hamburg", "country": "DE"}, "Europe/Berlin")
    assert [(one["title"], one["company"], one["location"]) for one in profile["employment"]] == [
        ("Leitende Softwareentwicklerin", "Nordwind Energie GmbH", "Hamburg"),
        ("Softwareentwicklerin", "Alsterdaten AG", "Hamburg"),
    ]
    assert profile["education"][0]["school"] == "Universität Hamburg"
    assert (profile["education"][0]["degree"], profile["education"][0]["field"]) == ("M.Sc", "Informatik")
    assert profile["skills"][0] == {"name": "Java", "years": 11.0, "last_used": "2026-11"}
    assert found.left_out == ("the section 'Sprachen': the profile has no place for it",)
    check_profile(profile)


@pytest.mark.parametrize(
    ("language", "periods", "school", "skills"),
    [
        (
            "french",
            [("2021-03", None), ("2017-09", "2021-02")],
            ("Université Lyon 1", "Master", "Informatique"),
            {"Python", "Django", ".NET", "Kafka"},
        ),
        (
            "spanish",
            [("2019-01", None), ("2015-06", "2018-12")],
            ("Universidad Complutense de Madrid", "Grado", "Ingeniería Informática"),
            {"Java", "PHP", "Docker", "MySQL"},
        ),
        (
            "portuguese",
            [("2019-10", None), ("2016-02", "2019-09")],
            ("Universidade do Porto", "Bacharelado", "Informática"),
            {"Python", "Airflow", "Java", "Spark", "Spring Boot"},
        ),
        (
            "dutch",
            [("2018-03", None), ("2014-05", "2018-02")],
            ("Hogeschool Utrecht", "Bachelor", "Informatica"),
            {"C#", ".NET", "Azure", "Linux", "Ansible"},
        ),
    ],
)
def test_other_languages_are_read(
    tmp_path: Path,
    language: str,
    periods: list[tuple[str, str | None]],
    school: tuple[str, str, str],
    skills: set[str],
) -> None:
    found = draft(tmp_path, made.elsewhere(language))
    profile, written = found.profile, made.ELSEWHERE[language]
    assert profile["identity"]["name"] == written["top"][0]
    assert [(one["title"], one["company"]) for one in profile["employment"]] == [one[:2] for one in written["posts"]]
    assert [(one["start"], one.get("end")) for one in profile["employment"]] == periods
    [read] = profile["education"]
    assert (read["school"], read["degree"], read["field"]) == school
    assert {one["name"] for one in profile["skills"]} == skills
    check_profile(profile)


DATES = {
    "Mar 2021 – Present": ("2021-03", None),  # noqa: RUF001
    "March 2021 - February 2023": ("2021-03", "2023-02"),
    "03/2021 bis 04/2022": ("2021-03", "2022-04"),
    "seit 05/2019": ("2019-05", None),
    "01.03.2019 - 31.12.2020": ("2019-03", "2020-12"),
    "2018—2021": ("2018", "2021"),
    "2021-03 to 2022-11": ("2021-03", "2022-11"),
    "Okt. 2015 – heute": ("2015-10", None),  # noqa: RUF001
    "Sept 2010 – Juni 2012": ("2010-09", "2012-06"),  # noqa: RUF001
    "June 2020 -": ("2020-06", None),
    "(2014 - 2018)": ("2014", "2018"),
    "2014": ("2014", "2014"),
    "janv. 2019 \u2013 ao\u00fbt 2021": ("2019-01", "2021-08"),
    "Depuis mars 2020": ("2020-03", None),
    "septembre 2018 \u00e0 ce jour": ("2018-09", None),
    "Enero de 2017 - Actualidad": ("2017-01", None),
    "marzo 2015 a diciembre 2016": ("2015-03", "2016-12"),
    "fev 2020 at\u00e9 o momento atual": ("2020-02", None),
    "Desde 2019": ("2019", None),
    "desde 2015 hasta 2018": ("2015", "2018"),
    "mrt 2016 t/m heden": ("2016-03", None),
    "03/21 - 05/23": ("2021-03", "2023-05"),
    "11/98 - Present": ("1998-11", None),
    "Mar '21 - Jun '22": ("2021-03", "2022-06"),
    "2019.04 - 2020.11": ("2019-04", "2020-11"),
    "05/23": None,
    "3/12 of the team": None,
    "in 4021 places": None,
    "+1 503 555 2014": ("2014", "2014"),
}


@pytest.mark.parametrize("text", DATES)
def test_dates(text: str) -> None:
    found = period_in(text)
    assert (None if found is None else (found.start, found.end)) == DATES[text]


def test_a_text_without_its_dates() -> None:
    assert without_dates("Engineer | Acme | Mar 2021 – Present (3 years)") == "Engineer | Acme"  # noqa: RUF001
    assert without_dates("Acme (2018 - 2020)") == "Acme"


HEADERS: dict[tuple[str, ...], tuple[str, str]] = {
    ("Data Engineer at Acme Tea||2019 - 2021",): ("Data Engineer", "Acme Tea"),
    ("Acme Tea — Data Engineer||2019 - 2021",): ("Data Engineer", "Acme Tea"),
    ("Acme Tea, Data Engineer||2019 - 2021",): ("Data Engineer", "Acme Tea"),
    ("2019 - 2021||Data Engineer", "Acme Tea GmbH, Berlin"): ("Data Engineer", "Acme Tea GmbH"),
    ("2019 - 2021", "Data Engineer", "Acme Tea (Berlin)"): ("Data Engineer", "Acme Tea"),
    ("Data Engineer, Platform||2019 - 2021", "Acme Tea||Berlin"): ("Data Engineer, Platform", "Acme Tea"),
    ("Data Engineer (2019 - 2021)", "Acme, Germany"): ("Data Engineer", "Acme"),
}


@pytest.mark.parametrize("header", HEADERS)
def test_titles_and_companies_in_any_order(header: tuple[str, ...]) -> None:
    (post,) = written("Ann Poe", "Experience", *header, "• Brewed tea in large vats.").profile["employment"]
    assert (post["title"], post["company"]) == HEADERS[header]
    assert post["highlights"] == ["Brewed tea in large vats."]


def test_a_header_that_ends_with_a_full_stop_and_prose_under_it() -> None:
    found = written(
        "Experience",
        "2020–present||Engineer, Brim GmbH, Kleinstadt.",  # noqa: RUF001
        "Built kettles with Python on GCP. Reduced the time to boil",
        "from 200 to 40 seconds.",
        "2016–2020||Cook, Acme.",  # noqa: RUF001
    )
    assert [(one["title"], one["company"], one.get("location")) for one in found.profile["employment"]] == [
        ("Engineer", "Brim GmbH", "Kleinstadt"),
        ("Cook", "Acme", None),
    ]
    assert found.profile["employment"][0]["highlights"] == [
        "Built kettles with Python on GCP. Reduced the time to boil from 200 to 40 seconds."
    ]


def test_a_name_on_two_lines_with_a_degree_and_a_date_that_is_no_phone() -> None:
    lines = [Line((text,), 1, size) for text, size in (("Ann", 20.0), ("Poe, PhD", 20.2), ("Cook", 10.0))]
    assert draft_of(lines, TODAY).profile == {}, "two words each, or one"
    lines = [Line((text,), 1, size) for text, size in (("Ann", 20.0), ("Poe", 20.2), ("Master Cook", 10.0))]
    assert draft_of(lines, TODAY).profile == {"identity": {"name": "Ann Poe"}}
    assert written("Ann Poe, MSc").profile == {"identity": {"name": "Ann Poe"}}
    assert written("Ann Poe", "Geburtsdatum||04.07.1985", "Telefon||0561 / 555 01 22").profile["identity"] == {
        "name": "Ann Poe",
        "phone": "0561 / 555 01 22",
    }


def test_letters_of_another_size_and_a_column_that_begins_with_an_address(tmp_path: Path) -> None:
    paper = made.Paper()
    paper.write(50, 790, "Ann Poe", 24)
    paper.write(150, 790, "Head Cook", 10)
    rows = ["Experience", "Cook at Acme Tea", "2018 - 2020", "• Cooked.", "• Baked.", "• Served."]
    for index, text in enumerate(rows):
        paper.write(50, 760 - 14 * index, text)
    for index, text in enumerate(("+1 503 555 0142", "Portland, OR", "Skills", "Python", "Docker", "Kafka")):
        paper.write(400, 770 - 14 * index, text)
    profile = draft(tmp_path, paper.done()).profile
    assert profile["identity"] == {"name": "Ann Poe", "phone": "+1 503 555 0142"}
    assert profile["home"]["city"] == "Portland"
    assert profile["employment"][0]["highlights"] == ["Cooked.", "Baked.", "Served."]
    assert [one["name"] for one in profile["skills"]] == ["Python", "Docker", "Kafka"]


def test_what_was_done_is_not_taken_for_a_company() -> None:
    found = written(
        "Berufserfahrung", "2014 - 2019||Analystin bei Daten GmbH, Bern", "Datenmodelle in SQL, Berichte in Power BI"
    )
    (post,) = found.profile["employment"]
    assert (post["title"], post["company"], post["location"]) == ("Analystin", "Daten GmbH", "Bern")
    assert post["highlights"] == ["Datenmodelle in SQL, Berichte in Power BI"]


def test_projects_and_schools_in_other_words() -> None:
    found = written(
        "1 Main St, Portland, OR 97201",
        "Projects",
        "pgslice — slices tables",
        "tinykv: a store in Go",
        "Education",
        "University of California, Berkeley||2012 to 2016",
        "B.S. Electrical Engineering",
    )
    assert [one["name"] for one in found.profile["projects"]] == ["pgslice", "tinykv"]
    (school,) = found.profile["education"]
    assert (school["school"], school["degree"]) == ("University of California, Berkeley", "B.S")
    assert found.profile["home"] == {"city": "Portland", "region": "OR", "country": "US"}


def test_groups_of_skills_beside_their_names() -> None:
    found = written("Skills", "Languages||Java, SQL", "Tools||Docker, Git", "Languages", "German")
    assert [one["name"] for one in found.profile["skills"]] == ["Java", "SQL", "Docker", "Git"]


def test_a_german_postcode_names_the_country() -> None:
    text = "Betrieb und Wartung der Server für die Verwaltung, mit der wir im Haus und bei den Kunden arbeiten."
    found = written("Kontakt", "Anschrift||Gartenweg 3, 34117 Kassel", "Profil", text)
    assert found.profile["home"] == {"city": "Kassel", "country": "DE"}


def test_several_titles_at_one_company() -> None:
    found = written(
        "Experience", "Acme Tea||Berlin", "Lead Engineer||2021 - 2023", "• Led.", "Engineer||2019 - 2021", "• Wrote."
    )
    assert [(one["title"], one["company"]) for one in found.profile["employment"]] == [
        ("Lead Engineer", "Acme Tea"),
        ("Engineer", "Acme Tea"),
    ]


def test_posts_at_the_same_time_count_once() -> None:
    found = written("Experience", "Cook, Acme||2015 - 2018", "Baker, Brim||2016 - 2017")
    assert found.profile["years"] == 4.0


def test_a_post_without_a_title_is_left_out_and_named() -> None:
    found = written("Experience", "Brimful||2015 - 2018")
    assert "employment" not in found.profile
    assert found.left_out == ("a post without a title: Brimful 2015 - 2018",)


def test_script_and_hidden_marks_are_only_text() -> None:
    found = written("Ann\u202e Poe", "ann@example.org", "Skills", "<script>alert(1)</script>, Python\x00")
    assert found.profile["identity"]["name"] == "Ann Poe"
    assert [one["name"] for one in found.profile["skills"]][-1] == "Python"
    check_profile(found.profile)


def test_lines_of_anything_never_raise() -> None:
    texts = [
        "(" * 3000,
        "2020 - " * 500,
        "a" * 100_000,
        "• " * 500,
        "," * 3000,
        "Experience",
        "1/2020 - 13/2021",
        ":::",
    ]
    found = draft_of([Line((text,), 1) for text in texts * 5], TODAY)
    assert found.profile == {}


def _pdf(write: Callable[[Any], None], **how: Any) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas: Any = Canvas(out, **how)
    write(canvas)
    canvas.save()
    return out.getvalue()


def _archive(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), data)
    return out.getvalue()


def _pages(canvas: Any) -> None:
    for number in range(31):
        canvas.drawString(50, 700, f"page {number}")
        canvas.showPage()


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "encrypted": (lambda: _pdf(lambda c: c.drawString(9, 9, "x"), encrypt="secret"), "password"),
    "no text": (lambda: _pdf(lambda c: c.rect(9, 9, 9, 9)), "may be a scan"),
    "too many pages": (lambda: _pdf(_pages), "31 pages"),
    "broken": (lambda: b"%PDF-1.7\n" + b"\x00" * 2000, "cannot be opened"),
    "a bomb": (lambda: _archive(word__document_xml=b"\x00" * 21_000_000), "unpacks to more than"),
    "no document": (lambda: _archive(hello=b"x"), "without a Word document"),
    "broken document": (lambda: _archive(word__document_xml=b"<a><b>"), "cannot be opened"),
    "no archive": (lambda: b"PK\x03\x04" + b"x" * 100, "cannot be unpacked"),
    "an image": (lambda: b"\x89PNG\r\n\x1a\n", "neither a PDF nor a DOCX"),
    "too large": (lambda: b"%PDF-" + b"x" * 10_000_001, "more than 10,000,000 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_are_no_resume_are_refused(tmp_path: Path, name: str) -> None:
    make, reason = HOSTILE[name]
    with pytest.raises(ResumeError, match=reason):
        draft(tmp_path, make())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ResumeError, match="cannot be read"):
        read_resume(tmp_path / "none.pdf", TODAY)
