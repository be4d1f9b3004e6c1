"""Adds the settings that applications declare as sections of the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, Field, SecretBytes, SecretStr, create_model

from interlock.config.settings import Settings
from interlock.machine import Application, InterlockError

OTHER_VARIABLES = {"INTERLOCK_CONFIG", "INTERLOCK_USER", "INTERLOCK_URL", "INTERLOCK_SOAK"}
"""Environment variables that are not settings: the path of the file, the user of the command line, the address of the
service for agents, and the switch for long tests."""


def with_sections(applications: Iterable[Application]) -> type[Settings]:
    """A class of settings with a section for each application that declares one."""
    fields: dict[str, Any] = {}
    for application in applications:
        if application.settings is not None:
            _check(application)
            fields[application.name] = (application.settings, Field(default_factory=dict, validate_default=True))
    made = create_model("Settings", __base__=Settings, **fields)
    made.section_names = tuple(fields)
    return made


def _check(application: Application) -> None:
    name = application.name
    if name in Settings.model_fields or hasattr(Settings, name) or f"INTERLOCK_{name.upper()}" in OTHER_VARIABLES:
        raise InterlockError(f"the application {name!r} cannot have settings: [{name}] is taken; give it another name")
    if not isinstance(application.settings, type) or not issubclass(application.settings, BaseModel):
        raise InterlockError(f"the settings of the application {name!r} must be a Pydantic model")
    for model in _models(application.settings):
        if model.model_config.get("extra") != "forbid":
            raise InterlockError(
                f"{model.__name__} in the settings of the application {name!r} accepts unknown keys; "
                "derive it from interlock.config.Table"
            )


def _models(kind: Any, seen: set[Any] | None = None) -> Iterator[type[BaseModel]]:
    """A model and every model inside it."""
    seen = set() if seen is None else seen
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and issubclass(one, BaseModel):
            if one not in seen:
                seen.add(one)
                yield one
                for field in one.model_fields.values():
                    yield from _models(field.annotation, seen)
        elif one is not kind:
            yield from _models(one, seen)


def is_secret(kind: Any, place: Sequence[Any]) -> bool:
    """Whether the value at this place of a model is a secret or a part of one."""
    inside = (kind, *get_args(kind))
    if any(isinstance(one, type) and issubclass(one, SecretStr | SecretBytes) for one in inside):
        return True
    if not place:
        return any(is_secret(one, ()) for one in inside[1:])
    for one in inside:
        if isinstance(one, type) and issubclass(one, BaseModel):
            field = one.model_fields.get(str(place[0]))
            if field is not None and is_secret(field.annotation, place[1:]):
                return True
        elif one is not kind and (is_secret(one, place) or is_secret(one, place[1:])):
            return True
    return False


def secret_values(value: Any) -> list[str]:
    """All secret values inside a section."""
    match value:
        case SecretStr():
            return [value.get_secret_value()]
        case SecretBytes():
            return [value.get_secret_value().decode("utf-8", "replace")]
        case BaseModel():
            return secret_values(value.model_dump())
        case dict():
            return [found for one in value.values() for found in secret_values(one)]
        case list() | tuple() | set() | frozenset():
            return [found for one in value for found in secret_values(one)]
    return []
