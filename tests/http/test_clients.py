"""Programs that read the OpenAPI description understand it: a validator, and a maker of clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import migrate, open_store
from tests.support.api import APPLICATIONS, Api, open_api

pytestmark = pytest.mark.slow

PROGRAMS = Path(sys.prefix) / "clients/bin"
needed = pytest.mark.skipif(
    not (PROGRAMS / "openapi-python-client").exists(), reason="the makers of clients are installed by `make test`"
)


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url) as store:
        migrate.upgrade(store)
        with open_api(store, applications=APPLICATIONS) as made:
            yield made


@pytest.fixture
def description(api: Api, tmp_path: Path) -> Path:
    """The description of the whole service, with its applications."""
    path = tmp_path / "openapi.json"
    path.write_bytes(api.client.get("/openapi.json").content)
    return path


def run(*command: str | Path) -> str:
    paths = {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}  # ruff is there, which formats the client
    done = subprocess.run(
        list(map(str, command)), env=os.environ | paths, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needed
def test_the_description_is_valid(description: Path) -> None:
    run(PROGRAMS / "openapi-spec-validator", description)


@needed
def test_a_client_is_made_of_it_without_a_warning(description: Path, tmp_path: Path) -> None:
    maker = (PROGRAMS / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning")
    said = run(*maker, "--path", description, "--output-path", tmp_path / "client")
    assert "warning" not in said.lower()
    assert (tmp_path / "client/api/instances").is_dir()


def test_models_have_short_names_of_their_own(description: Path) -> None:
    schemas = json.loads(description.read_text())["components"]["schemas"]
    assert {"OutboxWhy", "MovingWhy"} <= set(schemas)
    assert [name for name in schemas if "__" in name] == []
    assert [name for name, schema in schemas.items() if schema["title"] != name] == []


def test_a_caller_that_accepts_only_bytes_gets_a_file_as_bytes(api: Api) -> None:
    wanted = {"Accept": "application/octet-stream"}
    plain, as_bytes = (api.get("/flows/process-contract.yaml", headers=headers) for headers in ({}, wanted))
    assert plain.headers["content-type"] == "application/yaml"
    assert as_bytes.headers["content-type"] == "application/octet-stream"
    assert plain.content == as_bytes.content
    refused = api.get("/api/instances/nope", headers=wanted)
    assert refused.headers["content-type"] == "application/problem+json"
