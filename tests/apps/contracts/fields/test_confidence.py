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
    features,
    fold_of,
    parse_table,
    refit,
    shipped_table,
)
from interlock.apps.contracts.fields.calibration_errors import brier, calibration_error, chance_error, interval
from interlock.apps.contracts.fields.confidence import Assessment, assess, grade
from interlock.apps.contracts.fields.errors import BadCalibration
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.profile import frequencies, profile
from interlock.apps.contracts.fields.promise import Score
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
    "by": "a,b",
}


READ = extract(document(CONTRACT), COMMERCIAL).fields


def sure(n: int = 400, documents: int = 400, **right: int) -> Calibration:
    """A table that has seen `n` values of each required field, as `CONTRACT` has them, with so many right."""
    rows = [
        Row(field=name, signals={**features(READ[name].signals), "agreement": agreement}, n=n, right=right.get(name, n))
        for name in ("parties", "agreement_date", "governing_law")
        for agreement in ("agree", "single")
    ]
    return Calibration(Table(vertical="commercial", version="t", documents=documents, rows=tuple(rows)))


def judged(text: str = CONTRACT, calibration: Calibration | None = None, **options: Any) -> Assessment:
    pages = {name: options.pop(name) for name in ("source", "quality") if name in options}
    return assess(document(text, **pages), COMMERCIAL, today=TODAY, calibration=calibration or sure(), **options)


def test_it_is_what_is_promised_for_the_required_fields_together() -> None:
    calibration = sure(parties=360, agreement_date=380, governing_law=400)
    result = judged(calibration=calibration)
    estimates = [calibration.estimate(f.name, result.extraction.fields[f.name].signals) for f in COMMERCIAL.required]
    product = estimates[0].p * estimates[1].p * estimates[2].p
    assert product - 0.05 < result.final_confidence / 100 < product, "a little less than the product: it is cautious"
    assert result.interval[0] < result.final_confidence < result.interval[1]
    assert not result.needs_review


def test_few_known_documents_lower_the_promise() -> None:
    many, few = judged(calibration=sure(n=400)), judged(calibration=sure(n=6))
    assert few.final_confidence < many.final_confidence - 5
    assert few.interval[1] - few.interval[0] > 2 * (many.interval[1] - many.interval[0])


def test_documents_that_were_wrong_as_a_whole_lower_the_promise_though_their_fields_are_right_apart() -> None:
    together = [Score(together=4.0, right=number % 2 == 0) for number in range(60)]
    table = sure().table.model_copy(update={"scores": tuple(together), "weights": {}, "promise": None})
    assert judged(calibration=Calibration(table)).final_confidence < 79
    kept = table.model_copy(update={"scores": tuple(Score(together=4.0, right=True) for _ in range(60))})
    assert judged(calibration=Calibration(kept)).final_confidence > 90


def test_a_required_value_that_is_likelier_wrong_is_no_answer_but_a_suggestion() -> None:
    result = judged(calibration=sure(governing_law=100))
    assert "governing_law" not in result.extraction.fields
    assert result.suggestions["governing_law"].normalised == "New York"
    assert result.needs_review
    assert any("too unlikely" in reason for reason in result.reasons)
    described = result.json()["fields"]["governing_law"]
    assert described["value"] is described["confidence"] is described["page"] is None
    assert described["alternatives"][0]["value"] == "New York"
    assert described["suggestion"]["normalised"] == "New York"


def test_another_field_is_stated_only_if_twenty_known_values_and_their_interval_allow_it() -> None:
    def audited(n: int, right: int) -> bool:
        more = Row(field="audit_rights", n=n, right=right)
        table = sure().table.model_copy(update={"rows": (*sure().table.rows, more), "weights": {}, "promise": None})
        return "audit_rights" in judged(calibration=Calibration(table)).extraction.fields

    assert audited(60, 54)
    assert not audited(15, 15), "fewer than twenty"
    assert not audited(60, 30), "as often wrong as right"
    assert not audited(0, 0), "documents were counted, and in none of them there was a value"


def test_without_a_calibration_every_value_is_stated_for_the_person_who_sees_them_all() -> None:
    few = sure(documents=10, governing_law=100)
    assert "governing_law" in judged(calibration=few).extraction.fields


def test_a_document_unlike_those_of_the_calibration_goes_to_a_person() -> None:
    letters = [
        f"Dear Ms {name}, we thank you for the kind words on the {name} garden party. " * 30 for name in "abcdefgh"
    ]
    strange = sure().table.model_copy(update={"profile": profile([frequencies(one) for one in letters * 4])})
    result = judged(calibration=Calibration(strange))
    assert result.final_confidence <= 79
    assert "unlike the 32" in " ".join(result.reasons)
    usual = sure().table.model_copy(update={"profile": profile([frequencies(CONTRACT + "x " * n) for n in range(30)])})
    assert not judged(calibration=Calibration(usual)).needs_review


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
    text = CONTRACT.replace("continue for three (3) years", "expire on May 1, 1999")
    signals = features(extract(document(text), COMMERCIAL).fields["expiration_date"].signals)
    table = sure().table
    ends = Row(field="expiration_date", signals=signals, n=400, right=400)
    surely = table.model_copy(update={"rows": (*table.rows, ends), "weights": {}})
    result = judged(text, calibration=Calibration(surely))
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


def one_field(n: int, right: int) -> Calibration:
    return Calibration(
        Table(vertical="v", version="1", documents=60, rows=(Row(field="f", signals=FULL, n=n, right=right),))
    )


def test_the_estimate_is_what_was_counted_where_much_was_counted() -> None:
    estimate = one_field(400, 300).estimate("f", AGREE)
    assert estimate.p == pytest.approx(0.75, abs=0.04)
    assert estimate.n == 400
    assert 0.65 < estimate.low < estimate.p < estimate.high < 0.80


def test_few_values_move_the_estimate_by_little_and_leave_it_wide() -> None:
    few, nothing = one_field(3, 0).estimate("f", AGREE), one_field(0, 0).estimate("f", AGREE)
    assert 0.2 < few.p < nothing.p
    assert few.high - few.low > 0.3


@given(st.integers(1, 60), st.data())
def test_more_right_values_never_lower_the_estimate(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n - 1))
    assert one_field(n, right).estimate("f", AGREE).p <= one_field(n, right + 1).estimate("f", AGREE).p + 1e-3


@given(st.lists(st.tuples(st.sampled_from(["agree", "single", "weak", "split"]), st.booleans()), max_size=40))
def test_a_signal_never_says_the_opposite_of_what_it_means(seen: list[tuple[str, bool]]) -> None:
    rows = tuple(Row(field="f", signals={**FULL, "agreement": how}, n=1, right=float(right)) for how, right in seen)
    calibration = Calibration(Table(vertical="v", version="1", documents=60, rows=rows))
    by = {
        how: calibration.estimate("f", replace(AGREE, agreement=how)).likely.mean
        for how in ("agree", "single", "weak", "split")
    }
    assert by["agree"] >= by["single"] >= max(by["weak"], by["split"])


def test_a_model_that_agrees_raises_the_odds_and_one_that_differs_lowers_them() -> None:
    calibration = Calibration(shipped_table("commercial"))
    alone = calibration.estimate("parties", AGREE)
    same = calibration.estimate("parties", replace(AGREE, extractors=("a", "b", "model")))
    other = calibration.estimate("parties", replace(AGREE, agreement="split", disputed=True))
    assert other.p < alone.p < same.p


def test_what_only_a_model_read_is_at_most_even_until_reviews_have_judged_ten() -> None:
    only = replace(AGREE, agreement="model", extractors=("model",))
    rows = tuple(Row(field="f", signals={"agreement": "model"}, n=n, right=n) for n in (9, 60))
    few, many = (Calibration(Table(vertical="v", version="1", documents=60, rows=(row,))) for row in rows)
    assert few.estimate("f", only).p <= 0.5 < many.estimate("f", only).p


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
    assert {row.source for row in table.rows} == {"measured"}
    assert (table.documents, table.written, table.priors) == (206, 0, 0)
    assert "CUAD" in table.note
    assert table.measured
    assert len(table.scores) > 100
    assert table.profile.documents == 206


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


def test_a_documents_part_can_be_left_out() -> None:
    rows = (Row(field="f", n=1, right=1, fold=fold_of("a")), Row(field="f", n=1, right=0, fold=fold_of("b")))
    table = Table(vertical="v", version="1", documents=2, rows=rows, known_documents=("a", "b")).learned()
    assert table.knows("a")
    assert [row.fold for row in table.without("a").rows] == [fold_of("b")]
    assert not table.without("a").weights, "they are learned again"


def test_a_field_whose_values_are_all_in_the_part_that_is_left_out_is_still_a_counted_one() -> None:
    rows = (Row(field="f", n=2, right=1, fold=fold_of("a")), Row(field="g", n=1, right=0, fold=fold_of("b")))
    rest = Table(vertical="v", version="1", documents=2, rows=rows, known_documents=("a", "b")).without("a")
    assert Calibration(rest).estimate("f", AGREE).n == 0
    assert Calibration(rest).estimate("another", AGREE).n is None


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
    rows = tuple(
        Row(field=f"f{number}", signals={**FULL, "agreement": how}, n=50, right=right)
        for number in range(5)
        for how, right in (("single", 45), ("split", 5))
    )
    table = Table(vertical="v", version="1", documents=60, rows=(*rows, Row(field="g", signals=FULL, n=100, right=95)))
    split = replace(AGREE, agreement="split", competing=1)
    alone = table.model_copy(update={"rows": table.rows[-1:]})
    guessed, learned = (Calibration(one).estimate("g", split).p for one in (alone, table))
    assert learned < guessed - 0.15, "where nothing is known of it, it is a guess"


def test_the_interval_of_a_share_narrows_with_what_was_counted() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    low, high = interval(9, 10)
    assert low < 0.9 < high
    assert interval(900, 1000)[0] > low
    assert brier([(1.0, False), (0.0, False)]) == pytest.approx(0.5)


def test_in_a_cross_validation_values_that_nothing_tells_apart_are_in_one_bin() -> None:
    pairs = [(0.8, False)] * 20 + [(0.7, True)] * 20
    assert calibration_error(pairs) == pytest.approx(0.55), "sorted by what their own answers left out"
    assert calibration_error(pairs, [0.75] * 40) == pytest.approx(0.25)


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
