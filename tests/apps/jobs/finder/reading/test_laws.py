"""What holds for every posting, however it is written."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.reading import Source, as_json, read
from interlock.apps.jobs.finder.reading.plain import MOST, plain

SENTENCES = [
    "5+ years of experience with Python and PostgreSQL are required.",
    "Kubernetes and Terraform are a plus.",
    "This is a fully remote position.",
    "The base salary is $120,000 - $150,000 per year.",
    "You will receive stock options.",
    "No Kafka experience is needed.",
]
UNRELATED = [
    "Our office has a garden with apple trees.",
    "We paint lighthouses in all colours.",
    "About us\nWe are forty people who like the sea.",
    "Benefits\nA bicycle for everybody.",
]


@given(st.permutations(SENTENCES), st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
@settings(max_examples=20, deadline=None)
def test_case_changes_no_value(sentences: list[str], change: object) -> None:
    text = "\n".join(sentences)
    assert callable(change)
    assert as_json(read(Source("Senior Engineer", change(text)))) == as_json(read(Source("Senior Engineer", text)))


@given(st.sampled_from([" ", "  ", "\t", "\u00a0 ", " \u200b"]), st.sampled_from(["\n", "\n\n", "\r\n", " \n \n"]))
@settings(max_examples=20, deadline=None)
def test_white_space_changes_no_value(space: str, line: str) -> None:
    text = "\n".join(SENTENCES)
    assert as_json(read(Source("Engineer", text.replace(" ", space).replace("\n", line)))) == as_json(
        read(Source("Engineer", text))
    )


@given(st.permutations(SENTENCES), st.sampled_from(UNRELATED), st.booleans())
@settings(max_examples=30, deadline=None)
def test_an_unrelated_paragraph_removes_no_skill(sentences: list[str], unrelated: str, first: bool) -> None:
    text = "Requirements\n" + "\n".join(sentences)
    with_it = f"{unrelated}\n{text}" if first else f"{text}\n{unrelated}"
    before = {(skill.name, skill.level) for skill in read(Source("Engineer", text)).skills}
    assert before <= {(skill.name, skill.level) for skill in read(Source("Engineer", with_it)).skills}


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read(text: str, title: str, location: str, salary: str) -> None:
    source = Source(title, text, company=title, locations=[location], salary=salary)
    reading = read(source)
    assert as_json(reading) == as_json(read(source))
    for skill in reading.skills:
        assert skill.quote


HOSTILE = {
    "spaces": " ",
    "digits": "1",
    "amounts": "$1 - ",
    "ranges": "$100,000 - $120,000 ",
    "tags": "<p",
    "open tags": "<div>",
    "comments": "<!--",
    "scripts": "<script>",
    "entities": "&amp;lt;",
    "words": "python ",
    "years": "5 years of experience ",
    "lines": "requirements\n",
    "surrogates": "\ud800",
    "marks": ".A",
    "commas": "1,",
    "quotes": "'",
    "glued": "Requirements",
    "employers": "companies like Databricks, ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_long_text_takes_as_long_as_it_should(piece: str) -> None:
    """Ten times the text in less than forty times the time; a square would take a hundred times."""

    def took(size: int) -> float:
        text = piece * (size // len(piece))
        gc.disable()  # it would look through all that other tests have left
        begun = time.process_time()
        read(Source(text, text, company=text, locations=[text], salary=text))
        spent = time.process_time() - begun
        gc.enable()
        return max(spent, 2e-3)

    # A busy moment may double one of them; a square is one every time.
    assert min(took(200_000) / took(20_000) for _ in range(2)) < 40


def test_lone_surrogates_and_script_leave_no_trace() -> None:
    reading = read(
        Source("Engineer \ud83d", "<script>alert('Kotlin')</script><p>Python \udc00 $100,000 per year salary</p>")
    )
    assert reading["technologies"] == ["python"]
    for value in reading.values.values():
        value.quote.encode()


def test_a_long_posting_is_cut() -> None:
    assert len(plain("word " * MOST)) <= MOST
    megabyte = "<p>" + "Python and Go. " * 70_000
    assert set(read(Source("Engineer", megabyte))["technologies"]) == {"python", "go"}
