"""A model reads the pages where one is configured; only what the pages prove is taken from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interlock import ai
from interlock.apps.jobs.finder.companies import extract
from interlock.apps.jobs.finder.companies.extract import read_pages
from interlock.apps.jobs.finder.companies.model_reader import CompanyAnswers, checked, extract_with_model
from interlock.testing import Trial
from interlock.testing.model import Fails, FakeModel

URL = "https://acme.example/about"
SAID = "Acme roasts coffee in Lisbon. Some forty people keep the drums warm, and in 2011 Ana Reis lit the first."
PAGES = {URL: f"<p>{SAID}</p>"}
ABOUT = "Acme roasts coffee in Lisbon."


def says(*answers: tuple[str, str, str]) -> dict[str, Any]:
    return {"answers": [{"field": f, "value": v, "quote": q, "page": 1} for f, v, q in answers]}


RIGHT = says(
    ("about", "Acme roasts coffee in Lisbon.", ABOUT),
    ("founded", "2011", "in 2011 Ana Reis lit the first"),
    ("size", "forty people", "Some forty people"),
)


def taken(*answers: tuple[str, str, str]) -> Any:
    ruled = extract(PAGES, "Acme", "https://acme.example")
    return checked(ruled, read_pages(PAGES), CompanyAnswers.model_validate(says(*answers)))


def test_what_the_pages_prove_is_taken() -> None:
    found = taken(("founded", "in 2011", "In 2011 Ana  Reis lit"), ("headquarters_location", "Lisbon", ABOUT))
    assert (found.said("founded"), found.said("headquarters_location")) == ("2011", "Lisbon")
    assert (found.method, found.founded.rule, found.note) == ("model", "model", "")


INVENTED = {
    "a quote of no page": ("founded", "2011", "Acme was founded in 2011"),
    "a number of no page": ("about", "Acme roasts 900 tons of coffee.", ABOUT),
    "a name of no page": ("about", "Acme roasts coffee for Starbucks.", ABOUT),
    "a year beside its quote": ("founded", "2011", ABOUT),
    "a size without a number": ("size", "many people", "Some forty people"),
    "an empty quote": ("industry", "coffee", " "),
}


@pytest.mark.parametrize("name", INVENTED)
def test_what_is_invented_is_dropped(name: str) -> None:
    answer = INVENTED[name]
    ruled = extract(PAGES, "Acme", "https://acme.example")
    found = taken(answer)
    assert getattr(found, answer[0]) == getattr(ruled, answer[0])
    assert found.note == f"not on the pages, so dropped: {answer[0]}"


def test_script_in_a_models_answer_is_no_markup() -> None:
    found = taken(("about", "Acme roasts <script>coffee</script> in Lisbon.", ABOUT))
    assert "<" not in found.said("about")


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Trial([]) as made:
        yield made


def test_a_configured_model_is_asked_and_rules_stand_in_for_it(trial: Trial) -> None:
    outside = ai.Outside(trial.engine)
    assert extract_with_model(outside, PAGES, "Acme", "https://acme.example").method == "rules"
    with FakeModel(RIGHT, Fails(401, "invalid x-api-key")) as model:
        ai.configure(trial.engine, model.settings())
        found = extract_with_model(outside, PAGES, "Acme", "https://acme.example")
        assert (found.method, found.people, found.said("founded")) == ("model", 40, "2011")
        failed = extract_with_model(outside, {**PAGES, f"{URL}/x": "<p>Tea.</p>"}, "Acme", "https://acme.example")
        assert (failed.method, failed.founded) == ("rules", None)
        assert failed.note.startswith("read by rules: ModelRefused")
        assert extract_with_model(outside, {}, "Acme", "https://acme.example").missing
        assert len(model.requests) == 2
