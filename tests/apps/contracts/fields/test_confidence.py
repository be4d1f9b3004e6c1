"""The final confidence is a probability with hard rules after it, and its table can be read, refitted and explained."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import pi, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.contracts.fields.calibration import (
    Calibration,
    Label,
    Row,
    Table,
    brier,
    calibration_error,
    chance_error,
    features,
    parse_table,
    refit,
    shipped_table,
)
from interlock.apps.contracts.fields.confidence import Assessment, assess, grade
from interlock.apps.contracts.fields.errors import BadCalibration
from interlock.apps.contracts.fields.signals import Signals
from tests.apps.contracts.fields.texts import COMMERCIAL, CONTRACT, ENERGY, document

TODAY = date(2026, 1, 15)
AGREE = Signals("agree", ("a", "b"), "exact", True, True, "text", 0)
FULL = {
    "agreement": "agree",
    "form": "usual",
    "derivation": "yes",
    "valid": "yes",
    "source": "text",
    "competing": "none",
}


def sure(n: int = 400, documents: int = 400, **right: int) -> Calibration:
    """A table that has seen `n` values of each required field, with so many right."""
    rows = [
        Row(field=name, signals={**FULL, "agreement": agreement}, n=n, right=right.get(name, n))
        for name in ("parties", "agreement_date", "governing_law")
        for agreement in ("agree", "single")
    ]
    return Calibration(Table(vertical="commercial", version="t", documents=documents, rows=tuple(rows)))


def judged(text: str = CONTRACT, calibration: Calibration | None = None, **options: Any) -> Assessment:
    pages = {name: options.pop(name) for name in ("source", "quality") if name in options}
    return assess(document(text, **pages), COMMERCIAL, today=TODAY, calibration=calibration or sure(), **options)


def test_it_is_the_product_over_the_required_fields() -> None:
    calibration = sure(parties=360, agreement_date=380, governing_law=400)
    result = judged(calibration=calibration)
    expected = 1.0
    for name in ("parties", "agreement_date", "governing_law"):
        expected *= calibration.estimate(name, result.extraction.fields[name].signals).p
    assert result.final_confidence == round(100 * expected) == 86
    assert not result.needs_review


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CONTRACT.replace("laws of the State of\nNew York", "rules of reason"), "Governing law was not found"),
        (CONTRACT.replace("May 6, 2003", "________, 2003"), "Agreement date has blanks"),
        (CONTRACT.replace("May 6, 2003", "May 6, 2093"), "more than 2 years ahead"),
    ],
)
def test_a_required_field_that_is_missing_or_invalid_goes_to_a_person(text: str, reason: str) -> None:
    result = judged(text)
    assert result.needs_review
    assert any(reason in answer for answer in result.reasons)


def test_a_broken_rule_of_another_field_goes_to_a_person_whatever_the_number() -> None:
    result = judged(CONTRACT.replace("continue for three (3) years", "expire on May 1, 1999"))
    assert result.final_confidence >= 80
    assert result.needs_review


def test_a_text_of_another_kind_is_capped_at_40() -> None:
    vertical = COMMERCIAL.model_copy(update={"signs": ("kilowatt",), "signs_needed": 1})
    result = assess(document(CONTRACT), vertical, today=TODAY, calibration=sure())
    assert result.final_confidence == 40
    assert result.uncapped > 90
    assert result.needs_review


def test_bad_ocr_is_capped_at_79_and_good_ocr_is_not() -> None:
    assert judged(source="ocr", quality=0.85).final_confidence <= 79
    assert "OCR" in " ".join(judged(source="ocr", quality=0.85).reasons)
    assert not any("OCR" in reason for reason in judged(source="ocr", quality=0.97).reasons)


def test_replacement_characters_are_capped_at_79() -> None:
    assert judged(CONTRACT + "\ufffd").final_confidence == 79


def test_too_few_known_answers_are_capped_at_79_unless_the_cap_is_off() -> None:
    few = sure(documents=49)
    assert judged(calibration=few).final_confidence == 79
    assert not judged(calibration=few).calibrated
    assert judged(calibration=few, cap_uncalibrated=False).final_confidence > 90
    assert judged(calibration=sure(documents=50)).final_confidence > 90


def test_a_vertical_without_a_table_is_uncalibrated() -> None:
    other = ENERGY.model_copy(update={"name": "water"})
    result = assess(document("Arbeitspreis: 30 ct/kWh"), other, today=TODAY)
    assert not result.calibrated
    assert result.final_confidence <= 79


def test_the_version_of_the_table_is_kept() -> None:
    assert judged().calibration_version == "t"
    assert (
        assess(document(CONTRACT), COMMERCIAL, today=TODAY).calibration_version == shipped_table("commercial").version
    )


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "poor"), (49, "poor"), (50, "review"), (79, "review"), (80, "good"), (89, "good"), (90, "excellent")],
)
def test_grades(number: int, name: str) -> None:
    assert grade(number) == name


def test_the_estimate_is_the_count_with_four_of_the_base() -> None:
    calibration = Calibration(
        Table(vertical="v", version="1", documents=60, rows=(Row(field="f", signals=FULL, n=20, right=19),))
    )
    everything = (19 + 4 * 0.5) / 24
    base = (19 + 4 * everything) / 24
    assert calibration.estimate("f", AGREE).p == pytest.approx((19 + 4 * base) / 24)


def test_fewer_signals_are_asked_for_below_ten_values() -> None:
    rows = (Row(field="f", signals=FULL, n=9, right=0), Row(field="f", signals={"agreement": "agree"}, n=91, right=91))
    estimate = Calibration(Table(vertical="v", version="1", documents=60, rows=rows)).estimate("f", AGREE)
    assert estimate.level == ("agreement",)
    assert estimate.n == 100
    assert estimate.p == pytest.approx(0.91, abs=0.01)


def test_a_value_without_its_quote_in_the_text_has_no_probability() -> None:
    assert sure().estimate("parties", replace(AGREE, grounding="none")).p == 0


@pytest.mark.parametrize("worse", [{"derivation": False}, {"valid": False}, {"source": "poor"}])
def test_a_signal_against_a_value_never_raises_it(worse: dict[str, Any]) -> None:
    calibration = Calibration(shipped_table("commercial"))
    for name in ("parties", "agreement_date", "governing_law"):
        assert calibration.estimate(name, replace(AGREE, **worse)).p < calibration.estimate(name, AGREE).p


def test_the_shipped_table_trusts_agreement_more_than_one_rule_and_that_more_than_a_guess() -> None:
    calibration = Calibration(shipped_table("commercial"))
    for name in ("governing_law", "agreement_date"):
        agree = calibration.estimate(name, AGREE).p
        single = calibration.estimate(name, replace(AGREE, agreement="single")).p
        weak = calibration.estimate(name, replace(AGREE, agreement="weak", form="unusual")).p
        assert agree > single > weak


def test_the_shipped_table_says_where_its_counts_come_from() -> None:
    table = shipped_table("commercial")
    assert {row.source for row in table.rows} == {"prior", "guess", "measured", "all clauses together"}
    assert (table.documents, table.written, table.priors) == (35, 0, 501)
    prior = [row for row in table.rows if row.source == "prior" and row.field == "governing_law"]
    assert sum(row.n for row in prior) == 402
    assert table.note
    assert table.measured


LABELS = st.lists(
    st.builds(
        Label, st.sampled_from(["f", "g"]), st.just(features(AGREE)) | st.just({"agreement": "weak"}), st.booleans()
    ),
    max_size=40,
)


@given(LABELS, LABELS)
def test_refitting_in_two_steps_is_refitting_once(first: list[Label], second: list[Label]) -> None:
    empty = Table(vertical="v", version="0", documents=0)
    once = refit(empty, first + second, version="2", documents=2)
    twice = refit(refit(empty, first, version="1", documents=1), second, version="2", documents=1)

    def counts(table: Table) -> dict[tuple[str, str], tuple[float, float]]:
        return {(row.field, str(sorted(row.signals.items()))): (row.n, row.right) for row in table.rows}

    assert counts(once) == counts(twice)
    assert twice.documents == 2
    assert sum(row.n for row in once.rows) == len(first) + len(second)


def test_reviews_move_the_estimate() -> None:
    table = shipped_table("commercial")
    wrong = [Label("governing_law", features(AGREE), False)] * 400
    later = refit(table, wrong, version="later", documents=400)
    assert later.version == "later"
    assert table.version != "later"
    assert Calibration(later).estimate("governing_law", AGREE).p < 0.6


def test_a_document_can_be_left_out() -> None:
    rows = (Row(field="f", n=1, right=1, document="a"), Row(field="f", n=1, right=0, document="b"))
    table = Table(vertical="v", version="1", documents=2, rows=rows)
    assert table.knows("a")
    assert not table.without("a").knows("a")
    assert [row.document for row in table.without("a").rows] == ["b"]


MORE_RIGHT_THAN_SEEN = '{"vertical": "v", "version": "1", "documents": 1, "rows": [{"field": "f", "n": 1, "right": 2}]}'


@pytest.mark.parametrize("text", ["{", "[]", '{"vertical": "v"}', MORE_RIGHT_THAN_SEEN])
def test_a_bad_table_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadCalibration, match=r"t\.json"):
        parse_table(text, "t.json")


def test_calibration_error_is_the_distance_of_what_was_said_and_what_came_true() -> None:
    assert calibration_error([(0.8, True)] * 8 + [(0.8, False)] * 2) == pytest.approx(0)
    assert calibration_error([(0.9, False)] * 10) == pytest.approx(0.9)
    assert calibration_error([]) == chance_error([]) == 0


def test_what_is_too_sure_and_what_is_not_sure_enough_do_not_cancel_out_in_bins_of_twenty() -> None:
    few = [(0.2, True)] * 15 + [(0.8, False)] * 15
    assert calibration_error(few) == pytest.approx(0), "thirty values are one bin, and its mean is right"
    assert calibration_error(few * 2) == pytest.approx(0.8)


def test_values_that_are_equally_sure_are_never_in_two_bins() -> None:
    mixed = [(0.9, number % 10 > 0) for number in range(100)]
    assert calibration_error(mixed) == pytest.approx(0)


def test_the_error_that_chance_alone_gives_falls_with_the_number_of_values() -> None:
    assert chance_error([(0.9, True)] * 25) == pytest.approx(sqrt(2 / pi * 0.09 / 25))
    assert chance_error([(0.9, True)] * 400) < chance_error([(0.9, True)] * 25) / 3
    assert chance_error([(1.0, True)] * 25) == 0


def test_what_a_signal_says_over_all_fields_counts_where_its_own_field_has_too_few() -> None:
    rows = (
        Row(field="f", signals=FULL, n=100, right=100),
        Row(field="*", signals={"agreement": "split"}, n=96, right=0),
    )
    split = replace(AGREE, agreement="split", competing=1)
    table = Table(vertical="v", version="1", documents=60, rows=rows)
    assert Calibration(table).estimate("f", AGREE).p > 0.99
    assert Calibration(table).estimate("f", split).p == pytest.approx(0.04, abs=0.001)
    alone = table.model_copy(update={"rows": rows[:1]})
    assert Calibration(alone).estimate("f", split).p == Calibration(alone).base("f"), "nothing is known of it"


def test_counts_of_others_say_nothing_of_a_signal_in_another_field() -> None:
    rows = (
        Row(field="f", signals=FULL, n=100, right=100),
        Row(field="g", signals={"agreement": "weak"}, n=96, right=0, source="prior"),
    )
    table = Calibration(Table(vertical="v", version="1", documents=60, rows=rows))
    assert table.estimate("f", replace(AGREE, agreement="weak")).p == table.base("f")
    assert brier([(1.0, False), (0.0, False)]) == pytest.approx(0.5)


def test_signals_are_said_in_words() -> None:
    assert AGREE.words() == "2 rules agree; quote found in the text"
    doubtful = replace(
        AGREE, agreement="split", derivation=False, valid=False, source="poor", competing=2, form="unusual"
    )
    for part in (
        "rules differ",
        "does not give the value",
        "breaks a rule",
        "badly by OCR",
        "2 other values",
        "unusual",
    ):
        assert part in doubtful.words()
