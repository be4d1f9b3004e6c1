"""The contracts application as its callers meet it: endpoints on one side, a worker on the other, time in our hands."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import uvicorn

from interlock.apps.contracts import registry
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.settings import ContractSettings
from interlock.engine import Engine
from interlock.store import Store
from interlock.testing import Trial
from tests.support.api import Api, open_api
from tests.support.files import pdf
from tests.support.waiting import eventually

OPENING = (
    "SUPPLY AGREEMENT",
    'This Supply Agreement (this "Agreement") is made and entered into as of March 5, 2024',
    '(the "Effective Date"), by and between Nordwind Tools, Inc., a Delaware corporation ("Supplier"),',
    'and Harbor Retail LLC, a New York limited liability company ("Buyer").',
    "1. Term. This Agreement commences on the Effective Date and continues until March 5, 2027,",
    "unless terminated earlier in accordance with its terms.",
    "2. Renewal. This Agreement renews automatically for successive terms of one (1) year unless",
    "either party gives ninety (90) days written notice of non-renewal.",
    "3. Limitation of Liability. In no event shall either party's aggregate liability exceed $500,000.",
)
LAW = (
    "4. Assignment. Neither party may assign this Agreement without the prior written consent of the",
    "other party.",
    "5. Governing Law. This Agreement shall be governed by and construed in accordance with the laws",
    "of the State of New York, without regard to its conflict of laws principles.",
    "6. Audit. Buyer may audit the books and records of Supplier upon ten (10) days notice.",
)
SIGNATURES = (
    "IN WITNESS WHEREOF, the parties have executed this Agreement as of March 5, 2024.",
    "NORDWIND TOOLS, INC.",
    "By: /s/ Ann Miller",
    "Name: Ann Miller",
    "Title: President",
    "HARBOR RETAIL LLC",
    "By: /s/ Bob Stone",
    "Name: Bob Stone",
    "Title: Manager",
)
CLEAR = (OPENING, (*LAW, *SIGNATURES))
"""A contract that the rules are sure enough of."""
DOUBTFUL = ((*OPENING[:3], OPENING[3][:-1] + " and Harbor Stores Inc.", *OPENING[4:]), LAW)
"""One rule reads two parties in it and another three, so that it goes to a person."""
POWER = (
    "Stromliefervertrag",
    "Lieferant: Vattenfall",
    "Tarif: Strom Fix 12",
    "Arbeitspreis: 31,5 ct/kWh",
    "Grundpreis: 12,50 EUR pro Monat",
    "Jahresverbrauch: 3.500 kWh",
    "Lieferbeginn: 01.03.2024",
    "Laufzeit: 12 Monate",
    "Kündigungsfrist: 6 Wochen",
)
ENERGY = (POWER,)


@dataclass
class Contracts:
    """The API, and a trial that works on what was sent to it."""

    api: Api
    trial: Trial

    @property
    def engine(self) -> Engine:
        return self.api.engine

    def upload(
        self, content: bytes, filename: str = "a.pdf", who: str = "owner", query: str = "", **fields: Any
    ) -> Any:
        return self.api.call(
            who,
            "POST",
            f"/workflows/ingest{query}",
            files={"file": (filename, content)},
            data={name: str(value).lower() if isinstance(value, bool) else value for name, value in fields.items()},
        )

    def send(self, content: bytes, who: str = "owner", query: str = "", **body: Any) -> Any:
        request = {"pdfBase64": base64.b64encode(content).decode(), **body}
        return self.api.post(f"/workflows/ingest{query}", request, who)

    def taken(self, pages: Sequence[Sequence[str]], *, read: bool = True, **body: Any) -> UUID:
        """A workflow whose file was taken in and, unless asked otherwise, read as far as it goes by itself."""
        made = self.send(pdf(pages), query="?wait=0", **body)
        assert made.status_code == 202, made.text
        if read:
            self.trial.run_until_idle()
        return UUID(made.json()["data"]["workflowId"])

    def in_review(self, **body: Any) -> UUID:
        it = self.taken(DOUBTFUL, **body)
        if body.get("drive") is False:
            self.done(it, "extract")
        assert self.state(it) == "review_required"
        return it

    def look(self, it: UUID, who: str = "owner") -> dict[str, Any]:
        body = self.api.get(f"/workflows/{it}", who).json()
        assert (body["success"], body["error"]) == (True, None), body
        data: dict[str, Any] = body["data"]
        return data

    def state(self, it: UUID) -> str:
        return self.engine.get(it).state

    def call(self, it: UUID, step: str, body: Any = None, who: str = "owner", query: str = "") -> Any:
        return self.api.post(f"/workflows/{it}/{step}{query}", body, who)

    def done(self, it: UUID, step: str, body: Any = None, **options: Any) -> Any:
        """Call the step, do the work, and call again for its answer."""
        first = self.call(it, step, body, query="?wait=0", **options)
        assert first.status_code == 202, first.text
        self.trial.run_until_idle()
        return self.call(it, step, **options)

    def review(self, it: UUID, action: str, *fields: Mapping[str, Any], who: str = "reviewer", **more: Any) -> Any:
        return self.call(it, "review", {"action": action, "fields": list(fields), **more}, who)

    def path(self, it: UUID | str) -> list[str]:
        return [row.to_state for row in self.engine.history(UUID(str(it))) if row.to_state is not None]

    @contextmanager
    def working(self) -> Iterator[None]:
        """Whatever becomes ready is done at once, beside the test."""
        over = threading.Event()
        broken: list[BaseException] = []

        def run() -> None:
            try:
                while not over.wait(0.005):
                    self.trial.run_until_idle()
            except BaseException as error:
                broken.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        assert broken == []


@contextmanager
def open_contracts(store: Store, **settings: Any) -> Iterator[Contracts]:
    with open_api(store, applications=[registry]) as api:
        # Which contracts are in a sample is a matter of their ids, which are others in every run.
        api.engine.core.settings["contracts"] = ContractSettings(**{"blind_share": 0.0, **settings})
        yield Contracts(api, Trial(api.engine))


@contextmanager
def served(contracts: Contracts) -> Iterator[str]:
    """The address of the service on a real server."""
    server = uvicorn.Server(uvicorn.Config(contracts.api.client.app, port=0, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started or not thread.is_alive())
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def close_reader() -> None:
    stored.reader().close()
    while stored._idle:
        stored._idle.pop().close()
