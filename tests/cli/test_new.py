"""`interlock new`: the skeleton passes our checks and its own tests, and plugs in once it is installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.support.commands import command, process
from tests.support.distributions import ROOT, browser_of, check_types, install, lint, run_tests, search_path
from tests.support.processes import ready, run
from tests.support.servers import free_port


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    done = command("new", "gifts", cwd=folder)
    assert done.code == 0, done.err
    assert "wrote gifts/src/gifts/machine.py" in done.out.splitlines()
    return folder / "gifts"


def test_its_rules_are_ours(project: Path) -> None:
    def tools(file: Path) -> dict[str, object]:
        found = tomllib.loads(file.read_text())["tool"]
        return {"ruff": found["ruff"]["lint"]["select"], "length": found["ruff"]["line-length"], **found["mypy"]}

    ours = tools(ROOT / "pyproject.toml")
    assert {**tools(project / "pyproject.toml"), "packages": ["interlock"], "overrides": ours["overrides"]} == ours


def test_it_passes_lint_and_its_own_tests(project: Path) -> None:
    lint(project)
    run_tests(project)


@pytest.mark.soak
def test_its_types_are_checked(project: Path) -> None:
    check_types(project)


@pytest.mark.parametrize("name", ["q", "an_application_with_a_long_name", "zebras2"])
def test_whatever_its_name_it_is_formatted(tmp_path: Path, name: str) -> None:
    assert command("new", name, "--folder", "here", cwd=tmp_path).code == 0
    lint(tmp_path / "here")
    assert [path.name for path in (tmp_path / "here" / "src").iterdir()] == [name]


@pytest.mark.soak
def test_installed_its_machine_is_listed_and_its_page_is_served(project: Path, tmp_path: Path) -> None:
    site = install(project, tmp_path / "site")
    listed = process("machine", "list", cwd=tmp_path, PYTHONPATH=search_path(site))
    assert "gifts" in listed.out, listed.err
    port = free_port()
    with run("up", "--no-demo", "--port", str(port), folder=tmp_path, PYTHONPATH=str(site)) as up:
        client = ready(port, up)
        made = client.post("/api/gifts", json={"title": "Chairs", "amount": 900})
        assert made.status_code == 201, made.text
        assert client.get(f"/api/gifts/{made.json()['id']}").json()["title"] == "Chairs"
        with browser_of(tmp_path, port) as browser:
            assert "Chairs" in browser.get("/ui/gifts").text
        assert up.stop() == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Gifts", "'Gifts' cannot name a Python package; use up to 31 small letters"),
        ("my-gifts", "'my-gifts' cannot name a Python package"),
        ("7gifts", "'7gifts' cannot name a Python package"),
        ("class", "'class' cannot name a Python package"),
        ("contracts", "an application named 'contracts' is installed; choose another name, or uninstall it first"),
        ("parcel_", ""),
        ("listing", "a machine named 'listing' is installed; choose another name"),
        ("worker", "'worker' is a setting or a command of Interlock; choose another name"),
        ("doctor", "'doctor' is a setting or a command of Interlock; choose another name"),
        ("json", "'json' is a module of Python's standard library; choose another name"),
        ("fastapi", "'fastapi' is a package of the installed distribution fastapi; choose another name"),
        ("tests", "choose another name"),
    ],
)
def test_names_that_could_not_be_installed_are_refused(tmp_path: Path, name: str, why: str) -> None:
    done = command("new", name, cwd=tmp_path)
    assert done.code == (1 if why else 0)
    assert why in done.err
    assert [path.name for path in tmp_path.iterdir()] == ([] if why else [name])


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "gifts"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    done = command("new", "gifts", cwd=tmp_path)
    assert (done.code, done.err) == (
        1,
        "error: gifts exists and is not empty; name another folder with --folder\n",
    )
    assert [path.name for path in folder.iterdir()] == ["notes"]
    (folder / "notes").unlink()
    assert command("new", "gifts", cwd=tmp_path).code == 0
