"""The API of a service with people of every role, two workspaces, and a machine that does a little of everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from argon2 import PasswordHasher
from pydantic import BaseModel
from starlette.testclient import TestClient

from interlock.apps import contracts, jobs
from interlock.config import Settings
from interlock.engine import Engine, Instance, Result
from interlock.engine.leases import Mirror
from interlock.http.app import create_app
from interlock.http.caller import COOKIE, CSRF_HEADER
from interlock.http.service import Service
from interlock.machine import (
    AGENT,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Fail,
    Failures,
    Go,
    Machine,
    Outcome,
    Registry,
    Review,
    State,
    Timer,
    Transition,
    WorkError,
)
from interlock.people import People, Role, scopes_with
from interlock.store import Micros, Store
from interlock.store import service_tables as tables
from interlock.testing import VirtualClock
from interlock.watch.tracing import Tracing
from interlock.worker import Task

BY = Actor(OWNER, "test")
TOKENS = {"owner": "il_owner_token_of_the_tests_000"}
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""The tests are not about how long a password takes to guess."""


APPLICATIONS = (jobs.registry, contracts.registry)
"""The applications with endpoints of their own."""


class Order(BaseModel):
    """What an order knows."""

    item: str = "tea"
    note: str = ""
    api_key: str = ""


class Answer(BaseModel):
    """The form of a review."""

    note: str


order = Machine(
    "order",
    initial="new",
    data=Order,
    states=[
        State("new"),
        State(
            "asked",
            WAITING,
            waits_for="a person to approve it",
            review=Review("Send it?", decisions={"yes": "approve", "no": "refuse"}, form=Answer),
            timers=(Timer(timedelta(hours=24), fire="refuse"),),
        ),
        State("sent", FINAL, good=True),
        State("refused", FINAL, good=False),
        State("cancelled", FINAL),
    ],
    transitions=[
        Transition("new", "asked", on="checked"),
        Transition("asked", "sent", on="approve", by=USER, accepts=("note",)),
        Transition("asked", "refused", on="refuse", by=(USER, SYSTEM)),
        Transition("asked", "sent", on="report", by=AGENT),
        Transition("asked", "cancelled", on="destroy", by=OWNER),
        Transition(("new", "asked"), "cancelled", on="cancel", by=USER),
    ],
    failures=Failures(),
    cancel="cancelled",
)


@order.work("new")
def check(task: Task[Order]) -> Outcome:
    return Go("asked")


class Broken(WorkError):
    """It cannot be done."""


@dataclass
class Api:
    """The API, and a client for each of its callers."""

    engine: Engine
    service: Service
    client: TestClient
    clock: VirtualClock
    tokens: dict[str, str]

    @property
    def people(self) -> People:
        return self.service.people

    def call(self, who: str | None, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Ask as somebody; None is nobody."""
        headers: dict[str, str] = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, who: str | None = "owner", **options: Any) -> Any:
        return self.call(who, "GET", path, **options)

    def post(self, path: str, body: Any = None, who: str | None = "owner", **options: Any) -> Any:
        return self.call(who, "POST", path, {} if body is None else body, **options)

    def logged_in(self, who: str) -> dict[str, str]:
        """The headers of somebody in a login of theirs."""
        made = self.people.login_by_link(self.people.login_link(self.people.find(who).id), address="", browser="")
        return {"Cookie": f"{COOKIE}={made.secret}", CSRF_HEADER: made.csrf}

    # -- instances in every situation

    def new(self, data: Mapping[str, Any] | None = None, *, workspace: str = "default", **options: Any) -> UUID:
        return self.engine.create("order", data or {}, workspace=workspace, **options).id

    def asked(self, data: Mapping[str, Any] | None = None, *, workspace: str = "default", **options: Any) -> Instance:
        """One that waits for a person."""
        made = self.new(data, workspace=workspace, **options)
        self._work(made, Go("asked"))
        return self.engine.get(made)

    def dead(self, *, workspace: str = "default") -> UUID:
        """A dead letter."""
        made = self.new(workspace=workspace)
        while not (found := [d for d in self.engine.dead_letters.find() if d.instance_id == made]):
            self._work(made, Fail(Broken(f"order {made} is broken")))
            self.clock.advance(timedelta(hours=24))
            self.engine.tick()
        return found[0].id

    def _work(self, wanted: UUID, outcome: Outcome) -> None:
        worker = uuid4()
        for claim in self.engine.claim(worker, ["order"], 100):
            if claim.id == wanted:
                assert self.engine.finish([Result(claim, outcome)]) == [True]
            else:
                self.engine.give_back([claim])


TABLES = (tables.workspace, tables.person, tables.membership, tables.token, tables.action)
_settled: dict[tuple[Micros, tuple[str, ...]], tuple[dict[str, str], dict[str, list[dict[str, Any]]]]] = {}
"""By the time at which they came and the scopes: the tokens of the first people, and their rows."""


def add_people(engine: Engine, people: People) -> dict[str, str]:
    """Add people and agents; returns their tokens. It takes long: after the first time, their rows are copied."""
    now, scopes = engine.clock.now(), scopes_with(engine.registry.scopes)
    if (now, scopes) in _settled:
        tokens, rows = _settled[now, scopes]
        engine.store.write(lambda conn: [conn.execute(sa.insert(table), rows[table.name]) for table in TABLES])
    else:
        tokens = _come(people, scopes)
        rows = engine.read(
            lambda conn: {t.name: [dict(r) for r in conn.execute(t.select()).mappings()] for t in TABLES}
        )
        _settled[now, scopes] = tokens, rows
    return dict(tokens)


def _come(people: People, scopes: Sequence[str]) -> dict[str, str]:
    owner = people.setup(token=TOKENS["owner"])
    assert owner.name == "owner"
    tokens = dict(TOKENS)
    people.add_workspace("north", "The north", BY)
    for role in (Role.MEMBER, Role.REVIEWER, Role.VIEWER):
        person = people.add(role.value, role=role, by=BY)
        tokens[role.value] = people.create_token("default", "t", kind="person", person_id=person.id, by=BY)[1]
    for role in Role:
        person = people.add(f"north-{role.value}", role=role, workspace="north", by=BY)
        made = people.create_token("north", "t", kind="person", person_id=person.id, by=BY)
        tokens[f"north-{role.value}"] = made[1]
    for workspace, name in (("default", "agent"), ("north", "north-agent")):
        tokens[name] = people.create_token(workspace, name, kind="agent", scopes=scopes, by=BY)[1]
    return tokens


def _with_hosts(**settings: Any) -> Settings:
    return Settings(http={"hosts": ["testserver"], **settings.pop("http", {})}, **settings)


@cache
def _usual() -> Settings:
    """To look for the settings takes a third of the time in which an API is made."""
    return _with_hosts()


@contextmanager
def open_api(
    store: Store,
    *,
    clock: VirtualClock | None = None,
    applications: Sequence[Registry] = (),
    mirror: Mirror | None = None,
    tracing: Tracing | None = None,
    **settings: Any,
) -> Iterator[Api]:
    """An API with an owner, and in each of two workspaces an owner, a member, a reviewer, a viewer and an agent."""
    time = clock or VirtualClock()
    registry = Registry([order])
    for application in applications:
        registry.include(application)
    engine = Engine(store, registry, clock=time, mirror=mirror)
    service = Service(engine, _with_hosts(**settings) if settings else _usual().model_copy(deep=True))
    service.people = People(engine, hasher=QUICK)
    service.callers._people = service.people
    tokens = add_people(engine, service.people)
    client = TestClient(
        create_app(service, routers=registry.routers, tracing=tracing),
        raise_server_exceptions=False,
        base_url="http://testserver",
    )
    with client:
        yield Api(engine, service, client, time, tokens)
    service.close()
