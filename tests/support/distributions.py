"""Applications in packages of their own: checked by their own rules, installed as distributions, run as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.support.commands import command

ROOT = Path(__file__).parents[2]
PIP = ("install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index")


def search_path(*folders: Path) -> str:
    """A `PYTHONPATH` with these folders and the code of this checkout."""
    return os.pathsep.join([*map(str, folders), str(ROOT / "src")])


def run_tool(project: Path, tool: str, *arguments: str) -> None:
    """Run a tool in a project, as its author would; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": search_path(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{tool} {' '.join(arguments)}\n{done.stdout}{done.stderr}"


def lint(project: Path) -> None:
    run_tool(project, "ruff", "check", "--no-cache", ".")
    run_tool(project, "ruff", "format", "--no-cache", "--check", ".")


def check_types(project: Path) -> None:
    """The cache is kept: without it, mypy reads all of Interlock and its dependencies."""
    run_tool(project, "mypy", "--cache-dir", str(ROOT / ".mypy_cache" / project.name))


def run_tests(project: Path) -> None:
    run_tool(project, "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio")


def install(project: Path, target: Path) -> Path:
    """Install the project as a distribution into a folder; the folder belongs on the `PYTHONPATH`."""
    run_tool(project, "pip", *PIP, "--target", str(target), ".")
    return target


@contextmanager
def browser_of(folder: Path, port: int) -> Iterator[httpx2.Client]:
    """A browser in which the owner of a service in this folder is logged in."""
    made = command("login-link", "--url", f"http://127.0.0.1:{port}", cwd=folder)
    assert made.code == 0, made.err
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True, timeout=60) as browser:
        assert browser.get(made.out.strip()).status_code == 200
        yield browser
