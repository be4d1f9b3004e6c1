"""The example application, installed as a distribution: every door works through the command line and HTTP."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.console.options import registry_of
from interlock.demo import mark
from interlock.demo.parts import parts_of, played
from interlock.demo.past import Past
from interlock.engine import Engine
from interlock.engine.listing import Where
from interlock.machine import USER, Actor, attribute
from interlock.testing import Trial, broken_laws
from tests.support.commands import Done, command
from tests.support.distributions import ROOT, browser_of, check_types, install, lint, run_tests
from tests.support.processes import Running, ready, run
from tests.support.servers import free_port
from tests.support.waiting import eventually

EXAMPLE = ROOT / "examples" / "expenses"
LUNCH: dict[str, Any] = {
    "employee": "Bo Lind",
    "account": "NO9386011117947",
    "shop": "Café Nord",
    "cents": 18_50,
    "category": "meals",
}


@pytest.mark.soak
def test_it_passes_lint_types_and_its_own_tests() -> None:
    lint(EXAMPLE)
    check_types(EXAMPLE)
    run_tests(EXAMPLE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that it is installed in."""
    return install(EXAMPLE, tmp_path_factory.mktemp("site"))


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed for commands that run in this process."""
    monkeypatch.syspath_prepend(str(site))


def called(home: Path, *arguments: str) -> Done:
    done = command(*arguments, cwd=home)
    assert done.code == 0, done.err
    return done


@pytest.mark.usefixtures("installed")
class TestCommands:
    def test_its_machine_is_listed_and_drawn(self, tmp_path: Path) -> None:
        assert "receipt" in called(tmp_path, "machine", "list").out
        assert "approval" in called(tmp_path, "machine", "show", "receipt").out

    def test_its_documentation_is_printed(self, tmp_path: Path) -> None:
        assert "Expenses" in called(tmp_path, "expenses", "docs").out
        assert "`POST /api/expenses`" in called(tmp_path, "expenses", "docs", "expenses").out

    def test_its_program_is_a_command(self, tmp_path: Path) -> None:
        assert called(tmp_path, "check-iban", "NO9386011117947", "DE89 3704 0044 0532 0130 00").out.count("good") == 2
        wrong = command("check-iban", "NO9386011117948", "my pocket", cwd=tmp_path)
        assert (wrong.code, wrong.out.count("wrong")) == (1, 2)

    def test_its_section_is_shown_and_checked(self, tmp_path: Path) -> None:
        (tmp_path / "interlock.toml").write_text("[expenses]\napprove_above = 5000\n")
        shown = called(tmp_path, "config", "show").out
        assert "approve_above = 5000" in shown
        assert "audit_days = 30" in shown
        wrong = command("config", "show", cwd=tmp_path, INTERLOCK_EXPENSES__AUDIT_DAYS="0")
        assert wrong.code == 1
        assert "expenses.audit_days (INTERLOCK_EXPENSES__AUDIT_DAYS" in wrong.err

    def test_its_branch_of_migrations_is_in_the_status(self, tmp_path: Path) -> None:
        address = f"sqlite:///{tmp_path}/here.db"
        assert "migrated expenses: empty → 0001" in called(tmp_path, "db", "migrate", "--database", address).out
        status = called(tmp_path, "db", "status", "--database", address).out
        assert ["expenses", "0001", "0001"] in [line.split() for line in status.splitlines()]


class Service:
    """A service with the application, and its owner's client."""

    def __init__(self, home: Path, up: Running, client: httpx2.Client, port: int) -> None:
        self.home, self.up, self.client, self.port = home, up, client, port

    def submit(self, **changes: object) -> str:
        made = self.client.post("/api/expenses", json=LUNCH | changes)
        assert made.status_code == 201, made.text
        found: str = made.json()["id"]
        return found

    def until(self, it: str, state: str) -> None:
        eventually(lambda: self.client.get(f"/api/expenses/{it}").json()["state"] == state, f"state {state}")

    def review(self, it: str) -> str:
        def waiting() -> list[dict[str, str]]:
            found: list[dict[str, str]] = self.client.get("/api/reviews", params={"instance": it}).json()["reviews"]
            return found

        found: str = eventually(waiting, "a review")[0]["id"]
        return found

    def decide(self, it: str, decision: str, **answer: str) -> None:
        body = {"decision": decision, **({"answer": answer} if answer else {})}
        done = self.client.post(f"/api/reviews/{self.review(it)}/decide", json=body)
        assert done.status_code == 200, done.text


@pytest.fixture(scope="module")
def service(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home, port = tmp_path_factory.mktemp("home"), free_port()
    (home / "interlock.toml").write_text("[expenses]\napprove_above = 200_00\n")
    with run("up", "--no-demo", "--port", str(port), folder=home, PYTHONPATH=str(site)) as up:
        yield Service(home, up, ready(port, up), port)
        assert up.stop() == 0
    assert "Traceback" not in up.said


@pytest.mark.usefixtures("installed")
class TestService:
    def test_a_receipt_is_asked_about_approved_paid_and_audited(self, service: Service) -> None:
        it = service.submit(cents=900_00, category=None)
        service.decide(it, "answer", category="travel")
        service.until(it, "approval")
        service.decide(it, "approve")
        service.until(it, "paid")
        service.decide(it, "agrees")
        with browser_of(service.home, service.port) as browser:
            page = browser.get("/ui/expenses").text
        assert "900.00" in page
        assert "agrees" in page

    def test_the_limit_of_the_configuration_counts(self, service: Service) -> None:
        service.until(service.submit(cents=150_00), "paid")

    def test_a_command_submits_and_reports(self, service: Service) -> None:
        made = called(service.home, "expenses", "submit", "Ada Moen", LUNCH["account"], "Night Train", "7000")
        it = made.out.strip()
        service.decide(it, "answer", category="travel")
        service.until(it, "paid")
        report = json.loads(called(service.home, "expenses", "report", "--json").out)
        assert {"employee": "Ada Moen", "payments": 1, "cents": 70_00} in report
        assert "70.00" in called(service.home, "expenses", "report").out

    def test_its_metrics_and_alert_rules_are_there(self, service: Service) -> None:
        service.until(service.submit(cents=60_00), "paid")
        text = service.client.get("/metrics").text
        [value] = [line.split()[1] for line in text.splitlines() if line.startswith("interlock_expenses_audits_open ")]
        assert float(value) >= 1
        rules = {one["name"]: one for one in service.client.get("/api/alert-rules").json()["rules"]}
        assert rules["expenses_audits_overdue"]["built_in"]

    def test_erasing_a_person_empties_the_ledger_and_keeps_the_sum(self, service: Service) -> None:
        service.until(service.submit(employee="Kai Berg", cents=12_34), "paid")
        erased = called(service.home, "erase", "Kai Berg", "--reason", "left the company")
        assert "1" in erased.out
        report = json.loads(called(service.home, "expenses", "report", "--json").out)
        assert {"employee": "", "payments": 1, "cents": 12_34} in report
        assert "Kai Berg" not in {one["employee"] for one in report}


@pytest.mark.usefixtures("installed")
def test_the_ledger_follows_receipts_on_both_databases(url: str) -> None:
    registry, ledger = attribute("expenses.application:registry"), import_module("expenses.ledger")
    with Trial(registry, store=url) as trial:
        large = trial.create("receipt", LUNCH | {"cents": 80_00})
        trial.create("receipt", LUNCH)
        trial.run_until_idle()
        assert trial.engine.read(ledger.audits) == {"none": 1, "open": 1}
        assert [(one.employee, one.payments, one.cents) for one in trial.engine.read(ledger.totals)] == [
            ("Bo Lind", 2, 98_50)
        ]
        trial.advance(days=30)
        trial.look_after()
        assert trial.engine.read(ledger.audits) == {"none": 1, "overdue": 1}
        [audit] = trial.engine.reviews.waiting(instance_id=large)
        trial.engine.reviews.decide(audit.id, "agrees", actor=Actor(USER, "ann"))
        assert trial.engine.read(ledger.audits) == {"none": 1, "agrees": 1}
        assert broken_laws(trial.engine) == []


@pytest.mark.usefixtures("installed")
def test_it_plays_its_part_in_the_demo(tmp_path: Path) -> None:
    registry = played(registry_of(None))
    [part] = [part for part in parts_of(registry) if part.name == "expenses"]
    with Engine(f"sqlite:///{tmp_path}/demo.db", registry) as engine:
        mark.claim_untouched(engine.store, registry)
        past = Past(engine, [part], count=6)
        while past.write_next():
            pass
        states = Counter(one.state for one in engine.page(Where(machine="receipt")).instances)
        assert states["approval"] >= 1
        assert states["paid"] >= 3
        assert broken_laws(engine) == []
