"""Terms of the vocabulary are found as terms, not as words that only look like them."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.reading import Source, read
from interlock.apps.jobs.finder.reading.cues import CUES
from interlock.apps.jobs.finder.reading.vocabulary import terms


@pytest.mark.parametrize(
    ("text", "technologies"),
    [
        ("Experience with Go, Rust and Swift", {"go", "rust", "swift"}),
        ("You will go to market with us and react to swift changes in spring.", set()),
        ("We use python, go and react", {"python", "go", "react"}),
        ("Go-to-market teams", set()),
        ("React quickly. Spring 2026. Rest assured.", set()),
        ("Knowledge of R, Python and SQL", {"r", "python", "sql"}),
        ("Our R&D team and the C-suite; Acme(R) is a mark", set()),
        ("C, C++ and C#", {"c", "c++", "c#"}),
        ("JavaScript", {"javascript"}),
        ("Javanese cooking", set()),
        ("Node.js/TypeScript, nodejs, Next.js", {"node.js", "typescript", "next.js"}),
        ("React/Next and Vue/Nuxt", {"react", "next.js", "vue.js", "nuxt"}),
        (".NET Core, ASP.NET Core", {".net", "asp.net core"}),
        ("Spring Boot and Spring", {"spring boot", "spring"}),
        ("Postgres, MySQL, MS SQL Server", {"postgresql", "mysql", "sql server"}),
        ("Write to python@example.com or see https://example.com/python", set()),
        ("You excel at Excel, Tableau", {"tableau"}),
        ("Kubernetes (k8s)", {"kubernetes"}),
        ("Front-End StackVue.js", {"vue.js"}),
        ("SystemVerilog, UVM and Vivado", {"systemverilog", "uvm", "vivado"}),
        ("Lisp, Prolog, GDB and Valgrind", {"common lisp", "prolog", "gdb", "valgrind"}),
        ("Agile, Scrum, CI/CD, microservices", set()),
        ("Thymeleaf, Ant Design (antd), ECharts and gulp.js", {"thymeleaf", "ant design", "echarts", "gulp"}),
        ("Pekko, http4s, sbt; Testcontainers, Flyway", {"pekko", "http4s", "sbt", "testcontainers", "flyway"}),
        ("We grunt with effort and greet Hugo. Teams cohere.", set()),
        ("You write controllers in Go for Kubernetes", {"go", "kubernetes"}),
        ("Familiarity with Next.js.", {"next.js"}),
        ("See our next steps. Next, we travel.", set()),
        ("Java, JS, TS or Python", {"java", "javascript", "typescript", "python"}),
        ("The TS position reports to J. S. Bach", set()),
        ("Cloud node pools and worker nodes", set()),
        ("A Shopify-like storefront", set()),
        ("Top tier companies like Databricks, Stripe and OpenAI use it.", set()),
        ("Requirements:\nExperience at companies like ours, with Databricks", {"databricks"}),
        ("Des interfaces en Vue 3, en vue de les vendre", {"vue.js"}),
    ],
)
def test_terms(text: str, technologies: set[str]) -> None:
    assert set(read(Source("Engineer", text))["technologies"]) == technologies


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Requirements:\nKafka", "required"),
        ("Preferred qualifications\nKafka", "preferred"),
        ("Requirements:\nKafka is a plus", "preferred"),
        ("Our stack has Kafka", "mentioned"),
        ("Strong experience with Kafka", "required"),
        ("Our stack has Kafka.\nRequirements:\nKafka", "required"),
    ],
)
def test_levels(text: str, level: str) -> None:
    [skill] = read(Source("Engineer", text)).skills
    assert (skill.name, skill.level) == ("Kafka", level)
    assert "Kafka" in skill.quote


@pytest.mark.parametrize(
    "text", ["No Kafka experience is required", "You can come without Kafka", "Keine Kafka-Kenntnisse"]
)
def test_negated_terms_are_left_out(text: str) -> None:
    assert read(Source("Engineer", text)).skills == ()


def test_not_only_negates_nothing() -> None:
    assert read(Source("Engineer", "You know not only Kafka"))["technologies"] == ["kafka"]


def test_the_vocabulary_names_only_its_own_terms_and_each_spelling_once() -> None:
    spelled: dict[str, str] = {}
    for term in terms().values():
        assert set(term.implies) | set(term.parallels) <= set(terms()), term.name
        assert term.case in {"", "exact", "list"}
        assert 0 < term.weight <= 1
        for spelling in {term.name.lower(), *term.aliases}:
            assert spelling == spelling.lower()
            assert spelled.setdefault(spelling, term.name) == term.name, spelling
    assert len(terms()) > 500
    assert "C++" in terms()["Qt"].implies


def test_cues_are_in_lower_case() -> None:
    for name, phrases in CUES.items():
        assert phrases, name
        for phrase in phrases:
            assert phrase == phrase.lower().strip(" "), (name, phrase)


def test_what_an_employer_says_of_its_product_is_no_demand() -> None:
    about = "Sentry helps developers fix errors. We build Sentry in Python."
    assert read(Source("Engineer", about, company="Sentry"))["technologies"] == ["python"]
    asked = f"{about}\nRequirements:\nYou have used Sentry."
    assert set(read(Source("Engineer", asked, company="Sentry"))["technologies"]) == {"python", "sentry"}
