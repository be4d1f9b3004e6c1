"""The library works without the extras, and each part that needs one says so in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    *("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "pydantic_settings", "argon2", "httpx2", "jinja2"),
    *("multipart", "python_multipart", "graphlay", "nh3", "typer", "click", "rich", "psycopg", "redis"),
    *("opentelemetry", "pydantic_ai", "mcp", "pypdfium2", "PIL", "docx", "yaml", "rapidfuzz", "rapidocr"),
    *("selectolax", "defusedxml", "feedparser", "tldextract", "protego", "httpcore2", "playwright", "typst"),
    *("phonenumbers", "xlsxwriter", "feedparser", "ahocorasick", "onnxruntime", "claude_agent_sdk"),
}
WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
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


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)


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
