"""What a task is: a prompt with a version, a type, and nothing that is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from interlock import ai
from interlock.machine import InterlockError
from tests.ai.model_trial import JUDGE, Verdict


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"shop_of_prompts_{uuid4().hex}"  # imported once a process, so each test has its own
    folder = tmp_path / name / "prompts"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "judge.md").write_text("\nJudge it für mich.\n", encoding="utf-8")
    (folder / "empty.md").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_prompt_is_a_file_of_a_package(package: str) -> None:
    assert ai.prompt_file(package, "prompts/judge.md") == "Judge it für mich."


@pytest.mark.parametrize(("path", "said"), [("prompts/no.md", "cannot be read"), ("prompts/empty.md", "is empty")])
def test_a_prompt_that_is_not_there_is_refused_by_name(package: str, path: str, said: str) -> None:
    with pytest.raises(InterlockError, match=rf"the prompt '{path}' of {package} {said}"):
        ai.prompt_file(package, path)


def test_the_version_changes_with_the_prompt_and_with_nothing_else() -> None:
    same = ai.ModelTask("other", JUDGE.prompt, Verdict, tier="strong")
    changed = ai.ModelTask("judge", JUDGE.prompt + "!", Verdict)
    assert same.version == JUDGE.version
    assert changed.version != JUDGE.version


def test_no_library_for_models_is_loaded_before_one_is_asked(tmp_path: Path) -> None:
    """It takes a second or two, and most processes never need it."""
    code = (
        "import sys\nfrom tests.ai.model_trial import JUDGE, GIVEN, ModelTrial\nfrom interlock import ai\n"
        "with ModelTrial() as trial:\n    assert trial.ask().by_rules\n"
        "print(sorted({'pydantic_ai', 'anthropic', 'openai', 'genai_prices'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
