"""The OpenAPI description is complete, and whatever it allows is answered without an error of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from interlock.apps.contracts.settings import ContractSettings
from interlock.store import migrate, open_store
from tests.http.test_who_may import TABLE
from tests.support.api import APPLICATIONS, TOKENS, Api, open_api

pytestmark = [pytest.mark.slow, pytest.mark.longer]

SOAK = bool(os.environ.get("INTERLOCK_SOAK"))
EXAMPLES = 200 if SOAK else 6
SECRET = {
    "/workflows/{id}/resume",
    "/api/auto-apply/calendar/{secret}.ics",
    "/contracts/calendar/{id}/{signature}.ics",
}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One for the module: whatever the requests leave behind is met by those that follow."""
    path: Path = tmp_path_factory.mktemp("description") / "interlock.db"
    with open_store(f"sqlite:///{path}", durability="normal") as store:
        migrate.upgrade(store)
        with open_api(store, applications=APPLICATIONS) as made:
            made.engine.core.settings["contracts"] = ContractSettings(wait=0)  # nobody works here
            made.asked()
            made.dead()
            made.asked(workspace="north")
            yield made


@pytest.fixture(scope="module")
def schema(api: Api) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", api.client.app)


@pytest.mark.parametrize("operation", [operation for operation, *_ in TABLE])
def test_no_request_that_the_description_allows_meets_an_error_of_ours(schema: Any, operation: str) -> None:
    method, _, path = operation.partition(" ")

    @given(case=schema[path][method].as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not SOAK,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def fits(case: schemathesis.Case) -> None:
        if "wait" in (case.query or {}):
            case.query["wait"] = 0
        answer = case.call(headers={"Authorization": f"Bearer {TOKENS['owner']}"})
        case.validate_response(answer, checks=CHECKS)

    fits()


def test_every_operation_says_what_it_does_what_it_takes_and_who_may_ask(api: Api) -> None:
    body = api.client.get("/openapi.json").json()
    for path, methods in body["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary"), (method, path)
            assert operation.get("tags"), (method, path)
            assert "default" in operation["responses"], (method, path)
            if operation.get("security") == []:
                assert path in SECRET, "a signed link, or a secret address, is all it takes"
                continue
            if path not in {"/healthz", "/readyz", "/api/login"}:
                assert operation["security"] == [{"token": []}, {"login": []}], (method, path)
            keys = [p["name"] for p in operation.get("parameters", ())]
            writes = method != "get" and path not in {"/api/login", "/api/logout", "/api/bulk/preview"}
            assert ("Idempotency-Key" in keys) == writes, (method, path)


def test_every_body_has_an_example_that_is_valid(api: Api) -> None:
    body = api.client.get("/openapi.json").json()
    bodies = [
        (path, option)
        for path, methods in body["paths"].items()
        for operation in methods.values()
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
        if kind == "application/json"
        for option in content["schema"].get("oneOf", content["schema"].get("anyOf", [content["schema"]]))
        if option.get("type") != "null"
    ]
    assert len(bodies) > 10
    for path, option in bodies:
        shape = body["components"]["schemas"][option["$ref"].rpartition("/")[2]] if "$ref" in option else option
        fields = shape["properties"].values()
        assert shape.get("examples") or any("examples" in field for field in fields), path


def test_the_description_needs_no_other_host(api: Api) -> None:
    assert api.client.get("/docs").status_code == 404
    assert "https://" not in api.client.get("/").text
