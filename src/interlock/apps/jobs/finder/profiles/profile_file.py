"""Profiles as YAML files: read with errors that say what to do, and a sample to start from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ValidationError

from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.machine import InterlockError

LONGEST = 1_000_000
"""Bytes of a profile."""


class ProfileError(InterlockError):
    """A profile that cannot be used; the message names every problem with its key."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML in which NO is Norway, 2021-03 is text, and nothing refers to something else."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a profile has no anchors and aliases; write the value out")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|false|False)\Z"), list("tTfF"))


def sample() -> str:
    """The sample profile, as it is in the package."""
    return (files(__package__) / "sample-profile.yaml").read_text(encoding="utf-8")


def read_profile(path: Path) -> Profile:
    """The profile of a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfileError(
            f"{path} cannot be read: {error.strerror}; `interlock jobs init --sample` writes one"
        ) from None
    if len(data) > LONGEST:
        raise ProfileError(f"{path} has {len(data):,} bytes; a profile has at most {LONGEST:,}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from None
    return parse_profile(text, str(path))


def parse_profile(text: str, name: str = "profile") -> Profile:
    """The profile that a YAML text describes."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ProfileError(f"{name} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise ProfileError(f"{name} must have keys and values, such as identity, titles and skills")
    return check_profile(data, name)


def check_profile(data: Mapping[str, Any], name: str = "profile") -> Profile:
    """The profile of plain values."""
    given = {key: value for key, value in data.items() if value is not None}
    try:
        return Profile.model_validate(given)
    except ValidationError as error:
        problems = [f"{name}: {_described(one)}" for one in error.errors()]
        raise ProfileError("\n".join(dict.fromkeys(problems))) from None


def _described(error: Any) -> str:
    where = ".".join(str(one) for one in error["loc"] if one != "str-pattern") or "profile"
    if error["type"] == "extra_forbidden":
        known = _keys(error["loc"][:-1])
        near = get_close_matches(str(error["loc"][-1]), known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
        return f"{where}: no such key; {remedy}"
    if error["type"] == "missing":
        return f"{where}: is missing; add it"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "string_pattern_mismatch":
        message = "write three letters, such as USD" if where.endswith("currency") else "write 2021 or 2021-03"
    given = error.get("input")
    shown = f" (given: {str(given)[:80]!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {message}{shown}"


def _keys(path: tuple[Any, ...]) -> list[str]:
    """The keys of the part of the profile at a path."""
    part: type[BaseModel] = Profile
    for step in path:
        if isinstance(step, str) and step in part.model_fields:
            part = _part(part.model_fields[step].annotation) or part
    return list(part.model_fields)


def _part(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _part(one))), None)
