"""The OpenAPI description of sessions is complete, and whatever it allows is answered without an error of ours."""

from __future__ import annotations

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

from interlock.store import migrate, open_store
from tests.support.api import TOKENS
from tests.support.sessions import Sessions, open_sessions

pytestmark = [pytest.mark.slow, pytest.mark.longer]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PATHS = ("/sessions", "/prompts")
STREAM = "/sessions/{id}/events"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """One for the module: whatever the requests leave behind is met by those that follow."""
    folder: Path = tmp_path_factory.mktemp("description")
    with open_store(f"sqlite:///{folder / 'interlock.db'}", durability="normal") as store:
        migrate.upgrade(store)
        with open_sessions(store, folder / "sessions") as made:
            yield made


def operations(sessions: Sessions) -> dict[tuple[str, str], Any]:
    body = sessions.api.client.get("/openapi.json").json()
    return {
        (method, path): operation
        for path, methods in body["paths"].items()
        if path.startswith(PATHS)
        for method, operation in methods.items()
    }


@pytest.mark.soak
def test_no_request_that_the_description_allows_meets_an_error_of_ours(one: Sessions) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", one.api.client.app)
    known = one.start("One")["id"]
    for method, path in operations(one):
        if path == STREAM:
            continue

        @given(case=schema[path][method.upper()].as_strategy())
        @settings(
            max_examples=3,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def fits(case: schemathesis.Case) -> None:
            for mine in (False, True):
                if mine and "id" in (case.path_parameters or {}):
                    case.path_parameters["id"] = known
                answer = case.call(headers={"Authorization": f"Bearer {TOKENS['owner']}"})
                case.validate_response(answer, checks=CHECKS)

        fits()


def test_every_operation_says_what_it_does_and_every_body_has_an_example(one: Sessions) -> None:
    body = one.api.client.get("/openapi.json").json()
    for place, operation in operations(one).items():
        assert operation["summary"], place
        assert operation["tags"] == ["sessions"], place
        assert operation["security"] == [{"token": []}, {"login": []}], place
        keys = [p["name"] for p in operation.get("parameters", ())]
        assert ("Idempotency-Key" in keys) == (place[0] != "get"), place
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        for option in content["schema"].get("anyOf", [content["schema"]]):
            if option.get("type") == "null":
                continue
            shape = body["components"]["schemas"][option["$ref"].rpartition("/")[2]]
            fields = shape["properties"].values()
            assert shape.get("examples") or any("examples" in field for field in fields), place
