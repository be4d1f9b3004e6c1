"""Loads the settings, and shows them with secrets hidden."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretBytes, SecretStr, ValidationError
from pydantic_core import to_jsonable_python
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from interlock.config.addresses import origin, secret_parts
from interlock.config.sections import OTHER_VARIABLES, is_secret, with_sections
from interlock.config.settings import Settings
from interlock.machine import InterlockError, installed

DEFAULT_FILE = Path("interlock.toml")
HIDDEN = "********"
SECRET = re.compile(r"secret|password|token$|headers|redis_url|api_key|^webhooks\.|^audit\.key$")
IN_ADDRESS = re.compile(r"(://[^:/@\s]*:)[^/\s]+(?=@)|([?&]\w*password=)[^&\s]+")
"""A password in a URL: before the host, or among the options."""


class ConfigError(InterlockError):
    """The configuration is wrong. The message names every setting that must be changed."""


def load(file: Path | None = None, overrides: Mapping[str, Any] | None = None, *, apps: Sequence[str] = ()) -> Settings:
    """The settings from the command line, the environment and the file; the first of them wins.

    They include the sections of the installed applications, of those in the setting `apps`, and of those in `apps`.
    """
    named = file or (Path(os.environ["INTERLOCK_CONFIG"]) if os.environ.get("INTERLOCK_CONFIG") else None)
    path = named or DEFAULT_FILE
    from_file = _read(path, must_exist=named is not None)
    given = dict(overrides or {})
    named_apps = list(dict.fromkeys([*_apps(given, from_file), *apps]))
    if apps:
        given["apps"] = named_apps
    try:
        whole: Any = with_sections(installed(named_apps).applications.values())
    except InterlockError as error:
        raise ConfigError(f"an application cannot be used: {error}") from error
    _known_variables(whole)

    class Sourced(whole):  # type: ignore[misc]
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, from_file)

    try:
        made: Settings = Sourced(**given)
        return made
    except ValidationError as error:
        problems = "; ".join(sorted({_described(e, path if from_file else None, whole) for e in error.errors()}))
        raise ConfigError(problems) from None
    except ValueError as error:  # a variable that should be JSON and is not
        raise ConfigError(f"{error}; write lists and tables in variables as JSON") from None
    except Exception as error:  # a validator of an application
        raise ConfigError(f"the settings cannot be checked: {type(error).__name__}: {error}") from error


def _read(path: Path, *, must_exist: bool) -> dict[str, Any]:
    if not path.exists():
        if must_exist:
            raise ConfigError(f"there is no configuration file {path}; create it, or name another")
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} cannot be read: it is not UTF-8 ({error.reason})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _apps(given: Mapping[str, Any], from_file: Mapping[str, Any]) -> list[str]:
    """The setting `apps`. A value that is not a list of names is reported later, with all other problems."""
    found = given.get("apps")
    if found is None:
        texts = [text for name, text in os.environ.items() if name.upper() == "INTERLOCK_APPS"]
        try:
            found = json.loads(texts[0]) if texts else from_file.get("apps")
        except ValueError:
            found = None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []


def _known_variables(whole: type[Settings]) -> None:
    """Refuse unknown variables: pydantic-settings ignores them, and a typo must not go unnoticed."""
    for name in sorted(os.environ):
        if name.startswith("INTERLOCK_") and name not in OTHER_VARIABLES:
            first = name.removeprefix("INTERLOCK_").partition("__")[0].lower()
            if first not in whole.model_fields:
                known = ", ".join(f"INTERLOCK_{field.upper()}" for field in whole.model_fields)
                more = f"; {_not_loaded(first)}" if "__" in name else ""
                raise ConfigError(f"the variable {name} is not a setting; there are {known}{more}")


def _not_loaded(name: str) -> str:
    return (
        f"no application {name!r} is loaded: install its package, or name it in apps (or with --app) as "
        "package.module:application"
    )


def _described(error: Any, path: Path | None, whole: type[Settings]) -> str:
    place = ".".join(map(str, error["loc"]))
    variable = "INTERLOCK_" + "__".join(map(str, error["loc"])).upper()
    where = f"{place} ({variable}{f', or {path}' if path else ''})"
    if error["type"] == "extra_forbidden":
        section = len(error["loc"]) == 1 and isinstance(error["input"], dict)
        return f"{where}: there is no such setting" + (f", and {_not_loaded(place)}" if section else "")
    if error["type"] == "missing":
        return f"{where}: it must be given"
    got = error["input"]
    table = error["type"].startswith(("model", "dict"))  # a text in place of a table may contain a password
    hidden = table or isinstance(got, dict | list) or SECRET.search(place) or is_secret(whole, error["loc"])
    problem = error["msg"].removeprefix("Value error, ")
    return f"{where}: {problem}" + ("" if hidden else f", not {_plain(got)!r}")


def shown(settings: Settings) -> dict[str, Any]:
    """The settings as plain values. Secrets, and passwords in URLs, are replaced by stars."""
    plain = _plain(settings.model_dump())
    assert isinstance(plain, dict)
    for name, one in settings.webhooks.items():
        address = one.url.get_secret_value()
        plain["webhooks"][name]["url"] = origin(address) + (f"/{HIDDEN}" if secret_parts(address) else "")
    return plain


def _plain(value: Any) -> Any:
    match value:
        case SecretStr() | SecretBytes():
            return HIDDEN if value.get_secret_value() else ""
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(one) for one in value]
        case str():
            return IN_ADDRESS.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}", value)
        case Path():
            return str(value)
    return to_jsonable_python(value, fallback=str)
