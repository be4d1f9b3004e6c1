"""Endpoints and pages, through the real service without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from interlock.testing import Trial
from interlock.testing.http import Client, client_of

from expenses.application import registry
from expenses.host import checks
from expenses.settings import ExpenseSettings

LUNCH = {"employee": "Bo Lind", "account": "NO9386011117947", "shop": "Café Nord", "cents": 18_50, "category": "meals"}


@pytest.fixture
def trial() -> Iterator[Trial]:
    with Trial(registry) as made:
        yield made


@pytest.fixture
def client(trial: Trial) -> Iterator[Client]:
    with client_of(trial) as made:
        yield made


def test_a_receipt_is_submitted_and_looked_at(trial: Trial, client: Client) -> None:
    made = client.post("/api/expenses", json=LUNCH | {"number": "17"})
    assert made.status_code == 201, made.text
    trial.run_until_idle()
    found = client.get(f"/api/expenses/{made.json()['id']}").json()
    assert (found["shop"], found["state"]) == ("Café Nord", "paid")
    assert "account" not in found
    assert client.get("/api/expenses/totals").json() == [{"employee": "Bo Lind", "payments": 1, "cents": 18_50}]


def test_the_same_number_of_a_shop_is_taken_once_while_it_is_open(client: Client) -> None:
    assert client.post("/api/expenses", json=LUNCH | {"number": "17"}).status_code == 201
    again = client.post("/api/expenses", json=LUNCH | {"number": "17"})
    assert (again.status_code, again.json()["type"]) == (409, "key-taken")


def test_an_account_that_is_none_is_refused(client: Client) -> None:
    refused = client.post("/api/expenses", json=LUNCH | {"account": "my pocket"})
    assert refused.status_code == 422
    assert "account" in refused.text


def test_a_token_does_what_its_scopes_say(client: Client) -> None:
    token = client.post("/api/tokens", json={"name": "till", "scopes": ["expenses_submit"]}).json()
    till = {"Authorization": f"Bearer {token['secret']}"}
    made = client.post("/api/expenses", json=LUNCH, headers=till)
    assert made.status_code == 201, made.text
    for path in (f"/api/expenses/{made.json()['id']}", "/api/expenses/totals", f"/api/instances/{made.json()['id']}"):
        assert client.get(path, headers=till).status_code == 403
    assert "submit receipts" in client.get("/ui/settings").text


def test_the_page_lists_payments_and_is_in_the_navigation(trial: Trial, client: Client) -> None:
    trial.create("receipt", LUNCH | {"employee": "<b>Bo</b>"})
    trial.run_until_idle()
    assert 'href="/ui/expenses"' in client.get("/ui").text
    page = client.get("/ui/expenses").text
    assert "&lt;b&gt;Bo&lt;/b&gt;" in page
    assert "18.50" in page


def test_a_reviewer_sees_the_receipt(trial: Trial, client: Client) -> None:
    trial.create("receipt", LUNCH | {"cents": 900_00})
    trial.run_until_idle()
    [review] = trial.engine.reviews.waiting()
    page = client.get(f"/ui/reviews?review={review.id}").text
    assert "Bo Lind spent 900.00 at Café Nord" in page


def test_an_empty_service_names_what_to_do_first(client: Client) -> None:
    page = client.get("/ui").text
    assert "Submit a receipt" in page
    assert client.get("/ui/machines/receipt/new").status_code == 200


def test_a_missing_folder_is_named_with_its_remedy(tmp_path: Path) -> None:
    [found] = checks(ExpenseSettings(papers=tmp_path / "none"))
    assert str(tmp_path / "none") in found.says
    assert found.do
    assert not checks(ExpenseSettings(papers=tmp_path))[0].do
