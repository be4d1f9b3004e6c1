"""A task for a model: its name, its prompt, the type of its answer, and how to do it without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Generic, Literal

from pydantic import BaseModel
from typing_extensions import TypeVar

from interlock.machine import InterlockError

I = TypeVar("I", default=Any)  # noqa: E741 - the input
O = TypeVar("O", bound=BaseModel, default=BaseModel)  # noqa: E741 - the output
Tier = Literal["cheap", "strong"]


def prompt_file(package: str, path: str) -> str:
    """The text of a prompt in a package, such as prompt_file("shop.offers", "prompts/judge.md")."""
    found = files(package).joinpath(path)
    try:
        text = found.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InterlockError(f"the prompt {path!r} of {package} cannot be read: {error}") from error
    if not text:
        raise InterlockError(f"the prompt {path!r} of {package} is empty")
    return text


@dataclass(frozen=True)
class ModelTask(Generic[I, O]):
    """A task for a model. The input is a Pydantic model, a mapping or a text; all of it is data.

    JUDGE = ModelTask("judge", prompt_file("shop.offers", "prompts/judge.md"), Verdict, rules=judge_by_rules)
    """

    name: str
    prompt: str
    """The instructions. Do not put anything from outside into them."""
    output: type[O]
    tier: Tier = "cheap"
    rules: Callable[[I], O] | None = None
    """Does the task if no model is configured."""
    max_tokens: int | None = None
    """Tokens that the answer may have; None: as configured."""

    @cached_property
    def version(self) -> str:
        """Changes with every change of the prompt."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()[:12]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The type of the answer, as it is described to the model."""
        return self.output.model_json_schema()

    @cached_property
    def schema_text(self) -> str:
        return json.dumps(self.schema, sort_keys=True)
