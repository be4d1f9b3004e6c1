"""The library works without the extras, and each part that needs one says so in one line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SERVICE = {
    *("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "pydantic_settings", "argon2", "httpx2", "jinja2"),
    *("multipart", "python_multipart", "graphlay", "nh3", "typer", "click", "rich"),
}
OTHERS = {
    *(
        "psycopg",
        "redis",
        "opentelemetry",
        "pydantic_ai",
        "mcp",
        "pypdfium2",
        "PIL",
        "docx",
        "yaml",
        "rapidfuzz",
        "rapidocr",
    ),
    *("selectolax", "defusedxml", "feedparser", "tldextract", "protego", "httpcore2", "playwright", "typst"),
    *("phonenumbers", "xlsxwriter", "feedparser", "ahocorasick", "onnxruntime", "claude_agent_sdk"),
}
WITHOUT = """
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.partition(".")[0] in %r else found(name, path, target)
)
"""
PROGRAM = """
from interlock import FINAL, Go, Machine, State, Transition
from interlock.testing import Trial

parcel = Machine("parcel", initial="new", states=[State("new"), State("sent", FINAL)],
                 transitions=[Transition("new", "sent", on="send")])

@parcel.work("new")
def send(task):
    return Go("sent")

with Trial([parcel]) as trial:
    one = trial.create("parcel", {})
    trial.run_until_idle()
    print(trial.engine.get(one).state)
"""


DEMO = """
from interlock.demo.parts import parts_of, played
from interlock.machine import installed
print(*sorted(part.name for part in parts_of(played(installed()))))
"""
IMPORTS = """
from importlib import import_module
for name in {modules!r}:
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        print(name, error)
    except ImportError:
        pass
"""


def python(code: str, absent: set[str] = SERVICE | OTHERS) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT % absent + code], capture_output=True, text=True, check=False)


def test_an_engine_with_handlers_and_trials_needs_no_extra() -> None:
    done = python(PROGRAM)
    assert (done.stdout, done.stderr) == ("sent\n", "")


def test_so_does_a_worker() -> None:
    done = python("import interlock; interlock.Worker; interlock.AsyncEngine; print('there')")
    assert (done.stdout, done.stderr) == ("there\n", "")


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import interlock.http.app", "service"),
        ("import interlock.dashboard.app", "service"),
        ("import interlock.config", "service"),
        ("import interlock.people", "service"),
        ("import interlock.console.printing", "service"),
        ("import interlock.testing.http", "service"),
        ("from interlock.machine import installed; installed()", "service"),
        ("from interlock.engine.redis_mirror import RedisMirror; RedisMirror('redis://localhost')", "redis"),
        ("import interlock.apps.jobs.agents", "agents"),
        ("import interlock.apps.jobs.finder.sources", "jobs"),
        ("import interlock; interlock.Engine('postgresql://localhost/none', [])", "postgres"),
        ("from interlock.__main__ import main; main()", "service"),
    ],
)
def test_an_absence_is_one_line_with_the_remedy(code: str, extra: str) -> None:
    done = python(code)
    assert done.returncode == 1
    assert f"this needs the extra {extra}: pip install 'interlock[{extra}]'" in done.stderr.splitlines()[-1]


def test_with_the_service_alone_the_demo_has_the_parts_that_need_no_more() -> None:
    done = python(DEMO, OTHERS - {"opentelemetry"})  # FastAPI brings its API
    assert (done.stdout, done.stderr) == ("claims parcels sessions\n", "")


def test_every_module_that_the_reference_imports_says_which_extra_it_needs() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    modules = sorted({name for page in pages for name in re.findall(r"^from (interlock[\w.]*) import", page, re.M)})
    assert len(modules) > 10
    done = python(IMPORTS.format(modules=modules))
    assert (done.stdout, done.stderr) == ("", "")
