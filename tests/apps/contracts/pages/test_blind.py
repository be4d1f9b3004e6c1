"""The blind check, without a script: the file beside an empty form, and answers that are counted once."""

from __future__ import annotations

import re
from html import unescape
from uuid import UUID

import pytest

from interlock.apps.contracts.settings import ContractSettings
from tests.support.contracts import CLEAR, Contracts
from tests.support.review_page import form_of
from tests.support.site import Site


class Check:
    """Somebody's window on a blind check."""

    def __init__(self, contracts: Contracts, it: UUID, who: str = "reviewer") -> None:
        self.contracts, self.who = contracts, who
        self.site, self.path = Site(contracts.api), f"/ui/contracts/{it}/blind"
        self.page = self.site.get(self.path, who)
        if f'action="{self.path}/take"' in self.page.text:
            self.page = self.site.send(self.path, f"{self.path}/take", who=who)

    @property
    def text(self) -> str:
        return unescape(self.page.text)

    @property
    def form(self) -> dict[str, str]:
        return form_of(self.page.text)[1]

    def send(self, **fields: str) -> None:
        typed = {name.replace("__", "."): value for name, value in fields.items()}
        self.page = self.site.browser(self.who).post(self.path, data={**self.form, **typed})


@pytest.fixture
def it(contracts: Contracts) -> UUID:
    contracts.engine.core.settings["contracts"] = ContractSettings(blind_share=1.0)
    return contracts.taken(CLEAR, filename="clear.pdf")


def answer(contracts: Contracts, it: UUID) -> object:
    review = contracts.engine.reviews.waiting(instance_id=it)
    return review[0].answer if review else "answered"


def test_it_has_empty_questions_beside_the_file(contracts: Contracts, it: UUID) -> None:
    check = Check(contracts, it)
    assert {name: value for name, value in check.form.items() if name.startswith("value.")} == {
        "value.parties": "",
        "value.agreement_date": "",
        "value.governing_law": "",
    }
    assert "<h1>clear.pdf</h1>" in check.text
    assert "Nordwind" not in check.text


def test_what_the_reader_found_is_stored(contracts: Contracts, it: UUID) -> None:
    check = Check(contracts, it)
    check.send(decision="done", value__parties="Nordwind Tools, Inc.; Harbor Retail LLC", value__governing_law="Texas")
    assert check.page.url.path == "/ui/reviews"
    assert "Your reading of clear.pdf is counted" in check.text
    assert contracts.engine.reviews.waiting(instance_id=it) == []
    again = Check(contracts, it)
    assert "Answered: <strong>done</strong> by reviewer" in again.text
    assert again.form == {}


def test_an_empty_form_asks_first(contracts: Contracts, it: UUID) -> None:
    check = Check(contracts, it)
    check.send(decision="done")
    assert check.page.status_code == 422
    assert "no field has a value" in check.text
    assert answer(contracts, it) is None
    check.send(decision="done", sure="yes")
    assert answer(contracts, it) == "answered"


def test_a_value_of_the_wrong_kind_is_named_and_kept(contracts: Contracts, it: UUID) -> None:
    check = Check(contracts, it)
    check.send(decision="done", value__agreement_date="some day", value__parties="Nordwind Tools, Inc.")
    assert check.page.status_code == 422
    assert "Agreement date: 'some day' is not a date" in check.text
    assert check.form["value.parties"] == "Nordwind Tools, Inc."
    assert answer(contracts, it) is None


def test_turning_the_page_and_searching_keep_what_was_entered(contracts: Contracts, it: UUID) -> None:
    check = Check(contracts, it)
    check.send(look="page:2", value__governing_law="New York")
    assert "/pages/2?scale=2" in check.text
    check.send(look="find", q="governing law")
    assert "<mark>Governing Law</mark>" in check.page.text
    assert check.form["value.governing_law"] == "New York"


def test_opening_claims_nothing_and_a_late_decision_is_refused(contracts: Contracts, it: UUID) -> None:
    site = Site(contracts.api)
    site.get(f"/ui/contracts/{it}/blind", "owner")
    assert contracts.engine.reviews.waiting(instance_id=it)[0].claimed_by is None
    check = Check(contracts, it)
    other = Check(contracts, it, "owner")
    assert "<strong>reviewer</strong> has claimed it" in other.text
    assert other.form == {}
    check.send(decision="unreadable")
    csrf = site.form("/ui/halt", "/ui/halt", "owner")["csrf"]
    answer = site.browser("owner").post(f"/ui/contracts/{it}/blind/take", data={"csrf": csrf})
    assert "Too late: reviewer has decided already (unreadable)." in answer.text


@pytest.mark.parametrize(("who", "status"), [("viewer", 200), ("north-owner", 404)])
def test_only_reviewers_of_the_workspace_answer(contracts: Contracts, it: UUID, who: str, status: int) -> None:
    check = Check(contracts, it, who)
    assert check.page.status_code == status
    assert check.form == {}
    token = re.search(r'name="csrf" value="([^"]+)"', check.site.get("/ui/settings", who).text)
    assert token is not None
    sent = check.site.browser(who).post(check.path, data={"csrf": token[1], "decision": "unreadable"})
    assert sent.status_code in {403, 404}
    assert answer(contracts, it) is None


def test_a_contract_in_no_sample_has_no_check(contracts: Contracts) -> None:
    assert Site(contracts.api).get(f"/ui/contracts/{contracts.taken(CLEAR)}/blind").status_code == 404
