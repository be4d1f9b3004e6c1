"""What a contract is compared with: its vertical's template or offers, another workflow, a file of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.contracts.fields.calibration import Row, Table
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.tables import contract_calibration as C
from interlock.engine import artifacts, creating
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from tests.apps.contracts.comparison.test_amendment import BASE, FIRST
from tests.support.contracts import CLEAR, ENERGY, LAW, OPENING, SIGNATURES, Contracts

TEXAS = tuple(line.replace("New York, without", "Texas, without") for line in LAW)
NOTE = "Dear Bob\nSubject: Tea\n\nwe have agreed on it this morning, in the kitchen.\n"
VERSION = (OPENING, (*TEXAS, *SIGNATURES))


def text_taken(contracts: Contracts, text: str, name: str, **body: Any) -> UUID:
    made = contracts.send(text.encode(), query="?wait=0", filename=name, **body)
    contracts.trial.run_until_idle()
    return UUID(made.json()["data"]["workflowId"])


def compared(contracts: Contracts, it: UUID) -> dict[str, Any]:
    body = contracts.look(it)
    assert body["state"] == "completed", body.get("lastError")
    found: dict[str, Any] = body["comparison"]
    assert body["comparisonKind"] == found["kind"]
    assert body["verdict"] == found["summary"]["verdict"]
    return found


def approved(contracts: Contracts, it: UUID) -> UUID:
    """Whatever is not in it is said to be absent."""
    read = contracts.look(it)["fields"]
    absent = [name for name in ("parties", "agreement_date", "governing_law") if name not in read]
    words = [{"field": name, "action": "absent"} for name in absent]
    assert contracts.review(it, "correct" if words else "approve", *words).status_code == 200
    contracts.trial.run_until_idle()
    return it


def test_a_commercial_contract_meets_its_template(both: Contracts) -> None:
    found = compared(both, both.taken(CLEAR))
    assert found["kind"] == "template"
    assert found["findings"]


def test_an_energy_contract_meets_offers(both: Contracts) -> None:
    found = compared(both, both.taken(ENERGY, vertical="energy"))
    assert (found["kind"], len(found["offers"]) > 1) == ("offers", True)
    assert found["switch"]


def test_another_workflow_is_another_version(both: Contracts) -> None:
    first = both.taken(CLEAR)
    second = both.taken(VERSION, drive=False)
    both.done(second, "extract")
    response = both.done(second, "compare", {"with": str(first)})
    assert response.status_code == 200
    found = compared(both, second)
    assert found["kind"] == "versions"
    changed = [clause for clause in found["clauses"] if clause["status"] == "changed"]
    assert len(changed) == 1, "the law, and nothing else"
    law = next(field for field in found["fields"] if field["name"] == "governing_law")
    assert (law["before"]["value"], law["after"]["value"]) == ("New York", "Texas")


def test_an_amendment_is_laid_over_its_base_whichever_came_first(contracts: Contracts) -> None:
    base = text_taken(contracts, BASE, "base.txt")
    for number, (text, other) in enumerate(((FIRST, base), (FIRST + "\n", base))):
        it = text_taken(contracts, text, f"first-amendment-{number}.txt", compareWith=str(other))
        found = compared(contracts, approved(contracts, it))
        assert found["kind"] == "amendment"
        assert found["documents"][0]["name"] == "base.txt"


def test_what_it_is_compared_with_is_said_when_it_is_taken_in(both: Contracts) -> None:
    first = both.taken(CLEAR)
    assert compared(both, both.taken(VERSION, compareWith=str(first)))["kind"] == "versions"


def test_one_that_is_still_being_read_is_waited_for(contracts: Contracts) -> None:
    other = contracts.taken(CLEAR, read=False)
    contracts.api.post(f"/api/instances/{other}/pause", {})
    it = contracts.taken(VERSION, compareWith=str(other))
    body = contracts.look(it)
    assert (body["state"], body["lastError"]["code"], body["lastError"]["retryable"]) == (
        "failed",
        "NOT_READ_YET",
        True,
    )
    contracts.api.post(f"/api/instances/{other}/resume", {})
    contracts.trial.advance(minutes=1)
    assert compared(contracts, it)["kind"] == "versions"


def test_one_that_could_never_be_read_is_nothing_to_compare_with(contracts: Contracts) -> None:
    other = UUID(contracts.send(b"%PDF-1.7\nthis is no PDF at all", query="?wait=0").json()["data"]["workflowId"])
    contracts.trial.run_until_idle()
    assert contracts.state(other) == "rejected"
    body = contracts.look(contracts.taken(VERSION, compareWith=str(other)))
    error = body["lastError"]
    assert (body["state"], error["code"], error["retryable"]) == ("rejected", "NOTHING_TO_COMPARE", False)


@pytest.mark.parametrize("name", ["../ours", "folder/../../ours", "..", ""])
def test_a_template_is_never_taken_from_outside_of_its_folder(contracts: Contracts, tmp_path: Path, name: str) -> None:
    inside = tmp_path / "templates"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "ours.yaml").write_text("a file that nobody meant", "utf-8")
    contracts.engine.core.settings["contracts"] = ContractSettings(templates=inside)
    refused = contracts.send(NOTE.encode(), filename="a.txt", query="?wait=0", compareWith=f"template:{name}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "NOTHING_TO_COMPARE")


@pytest.mark.parametrize("wanted", [str(UUID(int=9)), "a poem", "template:missing", "offers:../../etc/passwd"])
def test_what_is_not_there_is_refused_before_anything_is_done(contracts: Contracts, wanted: str) -> None:
    it = contracts.taken(CLEAR, drive=False)
    contracts.done(it, "extract")
    refused = contracts.call(it, "compare", {"with": wanted})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["retryable"]) == (422, "NOTHING_TO_COMPARE", False)
    assert contracts.state(it) == "validated"


def test_one_of_another_workspace_is_not_there(contracts: Contracts) -> None:
    theirs = contracts.send(NOTE.encode(), filename="a.txt", who="north-owner", query="?wait=0").json()["data"][
        "workflowId"
    ]
    it = contracts.taken(CLEAR, drive=False)
    contracts.done(it, "extract")
    assert contracts.call(it, "compare", {"with": theirs}).status_code == 422


def test_what_is_gone_when_the_step_runs_is_rejected_with_a_clear_error(both: Contracts) -> None:
    """As when the workflow was begun by other means."""
    missing = str(uuid4())
    it = both.taken(CLEAR, drive=False)
    both.done(it, "extract")
    data = {**both.engine.get(it).data, "drive": True, "compare_with": missing}

    def begin(unit: Unit) -> UUID:
        made = creating.create(unit, contract, data, SYSTEM_ACTOR, by_application=True).id
        artifacts.link_all(unit, it, made)
        return made

    made = both.engine.write(begin)
    both.trial.run_until_idle()
    body = both.look(made)
    assert (body["state"], body["rejectReason"], body["failedAtStep"]) == ("rejected", "not_retryable", "comparing")
    assert missing in body["lastError"]["message"]


def test_once_it_is_compared_it_stays_with_that(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    assert contracts.call(it, "compare").status_code == 200
    refused = contracts.call(it, "compare", {"with": "offers"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "WRONG_STATE")
    assert compared(contracts, it)["kind"] == "template"


def test_a_template_and_offers_of_ones_own(contracts: Contracts, tmp_path: Path) -> None:
    from importlib.resources import files

    shipped = files("interlock.apps.contracts.comparison").joinpath("templates", "commercial.yaml")
    (tmp_path / "ours.yaml").write_text(shipped.read_text("utf-8"), "utf-8")
    contracts.engine.core.settings["contracts"] = ContractSettings(templates=tmp_path)
    it = contracts.taken(CLEAR, compareWith="template:ours")
    assert compared(contracts, it)["kind"] == "template"


LETTER = """
name: letter
label: Letter
threshold: 80
signs: [dear]
signs_needed: 1
fields:
  - {name: topic, label: Topic, type: text, required: true, extractors: [label], labels: [Subject]}
"""


@pytest.mark.parametrize("asked", [True, False])
def test_a_vertical_with_too_few_known_answers_goes_to_a_person_unless_configured_otherwise(
    contracts: Contracts, tmp_path: Path, asked: bool
) -> None:
    (tmp_path / "letter.yaml").write_text(LETTER, "utf-8")
    counts = Table(vertical="letter", version="few", documents=49, rows=(Row(field="topic", n=49, right=49),))
    values = {"vertical": "letter", "version": "few", "counts": counts.model_dump_json(), "documents": 49, "labels": 49}
    contracts.engine.write(lambda unit: unit.conn.execute(C.insert().values(**values, at=unit.now)), name="counts")
    contracts.engine.core.settings["contracts"] = ContractSettings(verticals=tmp_path, review_uncalibrated=asked)
    it = text_taken(contracts, NOTE, "letter.txt", vertical="letter", drive=False)
    contracts.done(it, "extract")
    body = contracts.look(it)
    assert (body["needsReview"], body["finalConfidence"] >= 80, body["calibrationVersion"]) == (asked, not asked, "few")


def test_a_correction_must_be_one_of_the_choices(contracts: Contracts, tmp_path: Path) -> None:
    chosen = LETTER.replace("labels: [Subject]", "labels: [Subject], choices: [Tea, Coffee]")
    (tmp_path / "letter.yaml").write_text(chosen, "utf-8")
    contracts.engine.core.settings["contracts"] = ContractSettings(verticals=tmp_path)
    it = text_taken(contracts, NOTE.replace("Tea", "Milk"), "letter.txt", vertical="letter", drive=False)
    contracts.done(it, "extract")
    refused = contracts.review(it, "correct", {"field": "topic", "action": "correct", "value": "Water"})
    assert refused.status_code == 422
    assert "none of Tea, Coffee" in refused.json()["error"]["message"]
    assert contracts.state(it) == "review_required"
    body = contracts.review(it, "correct", {"field": "topic", "action": "correct", "value": "Coffee"}).json()["data"]
    assert (body["state"], body["problems"], body["fields"]["topic"]["value"]) == ("validated", [], "Coffee")


def test_a_person_may_insist_on_what_stands_there(contracts: Contracts, tmp_path: Path) -> None:
    chosen = LETTER.replace("labels: [Subject]", "labels: [Subject], choices: [Tea, Coffee]")
    (tmp_path / "letter.yaml").write_text(chosen, "utf-8")
    contracts.engine.core.settings["contracts"] = ContractSettings(verticals=tmp_path)
    it = text_taken(contracts, NOTE.replace("Tea", "Milk"), "letter.txt", vertical="letter", drive=False)
    contracts.done(it, "extract")
    body = contracts.review(it, "approve").json()["data"]
    assert (body["state"], len(body["problems"])) == ("validated", 1)


def test_a_vertical_of_ones_own(contracts: Contracts, tmp_path: Path) -> None:
    (tmp_path / "letter.yaml").write_text(LETTER, "utf-8")
    contracts.engine.core.settings["contracts"] = ContractSettings(verticals=tmp_path)
    it = text_taken(contracts, NOTE, "letter.txt", vertical="letter")
    body = contracts.look(it)
    assert (body["fields"]["topic"]["value"], body["needsReview"]) == ("Tea", True)
    assert any("uncalibrated" in reason for reason in body["reasons"])
    assert (
        contracts.review(it, "correct", {"field": "topic", "action": "correct", "value": "Coffee"}).status_code == 200
    )
    contracts.trial.run_until_idle()
    body = contracts.look(it)
    assert (body["state"], "no template for the vertical 'letter'" in body["lastError"]["message"]) == (
        "rejected",
        True,
    )


def test_the_ranges_of_a_provider_in_the_database_count(contracts: Contracts) -> None:
    provider = {"aliases": ["Vattenfall"], "ranges": {"working_price": {"min": 0.4, "max": 0.5}}}
    made = contracts.api.call("owner", "PUT", "/workflows/providers/energy/Vattenfall Europe Sales GmbH", provider)
    assert made.status_code == 200, made.text
    it = contracts.taken(ENERGY, vertical="energy")
    assert any("0.315" in problem for problem in contracts.look(it)["problems"]), "the range of the database counts"


def test_providers_of_the_database_have_the_last_word(both: Contracts) -> None:
    answer = both.api.get("/workflows/providers/energy", "viewer").json()["data"]["providers"]
    assert any(one["name"] == "LichtBlick SE" for one in answer)
    body = {"aliases": ["Strom Fix"], "ranges": {"working_price": {"min": 0.1, "max": 0.2}}}
    for _ in range(2):
        assert both.api.call("owner", "PUT", "/workflows/providers/energy/Nordwind AG", body).status_code == 200
    named = both.api.get("/workflows/providers/energy").json()["data"]["providers"]
    assert [one["name"] for one in named].count("Nordwind AG") == 1
    own = (("Stromliefervertrag", "Lieferant: Strom Fix", *ENERGY[0][3:]),)
    it = both.taken(own, vertical="energy")
    fields = both.look(it)["fields"]
    assert fields["provider"]["normalised"] == "nordwind ag"
    assert any("0.315" in problem for problem in both.look(it)["problems"])


def test_a_vertical_without_providers_takes_none(contracts: Contracts) -> None:
    refused = contracts.api.call("owner", "PUT", "/workflows/providers/commercial/X", {})
    assert (refused.status_code, "has no providers" in refused.text) == (422, True)
    assert contracts.api.get("/workflows/providers/commercial").json()["data"]["providers"] == []
