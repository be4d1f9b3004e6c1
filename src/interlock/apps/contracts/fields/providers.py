"""Providers: lookup by name, and the usual ranges of their contracts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Protocol

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, ValidationError

from interlock.apps.contracts.fields.errors import BadVertical
from interlock.apps.contracts.fields.vertical import Range


class Provider(BaseModel):
    """A provider, the names it is known by, and the ranges that its values usually lie in, by field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    aliases: tuple[str, ...] = ()
    ranges: dict[str, Range] = {}


class Providers(Protocol):
    """A lookup of providers; one that reads a database and the shipped list are the same to the rules."""

    def by_alias(self, name: str) -> Provider | None:
        """The provider that this name means."""

    def find(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The providers that a text names, as (name, start, end)."""


def alias_key(name: str) -> str:
    """What two spellings of a provider's name have in common."""
    return " ".join(re.findall(r"\w+", name.casefold()))


@dataclass(frozen=True, slots=True)
class ListedProviders:
    """Providers from a list in memory."""

    providers: Sequence[Provider]
    _memo: dict[str, Provider] = field(default_factory=dict, init=False, repr=False, compare=False)

    def by_alias(self, name: str) -> Provider | None:
        return self._aliases().get(alias_key(name))

    def find(self, text: str) -> Iterator[tuple[str, int, int]]:
        names = sorted(self._aliases(), key=len, reverse=True)
        if not names:
            return
        pattern = "|".join(r"\W{1,3}".join(map(re.escape, name.split())) for name in names)
        for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE):
            provider = self.by_alias(match.group())
            if provider is not None:
                yield provider.name, match.start(), match.end()

    def _aliases(self) -> Mapping[str, Provider]:
        if not self._memo:
            for provider in self.providers:
                for name in (provider.name, *provider.aliases):
                    self._memo[alias_key(name)] = provider
        return self._memo


def parse_providers(text: str, source: str) -> list[Provider]:
    """The providers that a YAML text lists. `BadVertical` names the source and the key that is wrong."""
    try:
        data = yaml.safe_load(text)
        return [Provider.model_validate(entry) for entry in data["providers"]]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise BadVertical(f"{source} must be YAML with a list under `providers`: {error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        raise BadVertical(f"{source}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from error


@lru_cache(maxsize=8)
def shipped_providers(name: str) -> ListedProviders:
    """The list of providers that comes with the package under this name."""
    entry = files("interlock.apps.contracts.fields").joinpath("providers_data", f"{name}.yaml")
    return ListedProviders(parse_providers(entry.read_text("utf-8"), entry.name))
