"""A test client for the endpoints and pages of an application: the whole service, without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from interlock.machine import extras

extras.require("service", "starlette")

from starlette.testclient import TestClient as Client

from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.http.app import create_app
from interlock.http.caller import COOKIE, CSRF_HEADER
from interlock.http.service import Service
from interlock.testing.trial import Trial

__all__ = ["Client", "client_of"]


@contextmanager
def client_of(trial: Trial) -> Iterator[Client]:
    """A client that is logged in as the owner of the installation.

    with Trial(registry) as trial, client_of(trial) as client:
        assert client.get("/api/instances").json()["items"] == []
    """
    service = Service(trial.engine, Settings(http={"hosts": ["testserver"]}))
    owner = service.people.setup()
    login = service.people.login_by_link(service.people.login_link(owner.id), address="", browser="")
    app = create_app(service, routers=trial.engine.registry.routers, pages=dashboard())
    try:
        with Client(app, cookies={COOKIE: login.secret}, headers={CSRF_HEADER: login.csrf}) as client:
            yield client
    finally:
        service.close()
