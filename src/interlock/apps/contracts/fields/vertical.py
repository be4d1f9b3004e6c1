"""A kind of contract: its fields and rules as data, from YAML.

Two verticals are shipped, `commercial` and `energy`. Any other is one more file in the folder that the configuration
names; it may use the rules shipped here and two that need no code: `label` ("Label: value") and `pattern` (a regular
expression).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from interlock.apps.contracts.fields.errors import BadVertical
from interlock.apps.contracts.fields.extract.names import EXTRACTORS

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Kind = Literal["text", "parties", "date", "money", "duration", "law", "clause", "number", "provider"]
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*(?:[^\\][+*]|\{\d*,\})(?:[^()\\]|\\.)*\)(?:[+*]|\{\d*,\})")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _sound(pattern: str) -> str:
    if len(pattern) > 2_000:
        raise ValueError(f"the pattern has {len(pattern)} characters; 2,000 are allowed")
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the pattern {pattern[:60]!r} is not a regular expression: {error}") from error
    if _NESTED.search(pattern):
        raise ValueError(
            f"the pattern {pattern[:60]!r} repeats a repetition, which can take forever; bound it: {{0,40}} for *"
        )
    return pattern


class Range(_Data):
    """The smallest and the largest number, sum or number of days that is usual."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class FieldDefinition(_Data):
    """One field of a vertical."""

    name: Name
    label: str
    type: Kind
    required: bool = False
    help: str = ""
    extractors: tuple[str, ...] = ()
    """In order of trust; several that agree are worth more than one."""
    patterns: tuple[str, ...] = ()
    """For `pattern` and `clause`; the group `value` is the value, else the whole match."""
    near: tuple[str, ...] = ()
    """For `clause`: words of which a sentence must have one before its patterns are tried."""
    unless: tuple[str, ...] = ()
    """For `clause`: patterns that take a sentence out again."""
    labels: tuple[str, ...] = ()
    """For `label`: what stands before the value."""
    unit: str | None = None
    range: Range | None = None
    earliest: str | None = None
    """For dates: not before this day."""
    years_ahead: int | None = None
    """For dates: not more than so many years from today."""
    choices: tuple[str, ...] = ()
    least: float = Field(default=0.5, ge=0, le=1)
    """A value that is less likely right than this is no answer: it is offered to the reviewer, and not stated. Of a
    field that is not required the lower end of the probability's interval counts."""
    column: str | None = None
    """The column of an evaluation's labels, where it has one."""

    @field_validator("patterns", "unless")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_sound(pattern) for pattern in patterns)

    @field_validator("extractors")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in EXTRACTORS:
                raise ValueError(f"there is no rule {name!r}; there are {', '.join(EXTRACTORS)}")
        return names

    @model_validator(mode="after")
    def _complete(self) -> FieldDefinition:
        for extractor, needs in (("pattern", "patterns"), ("clause", "patterns"), ("label", "labels")):
            if extractor in self.extractors and not getattr(self, needs):
                raise ValueError(f"field {self.name!r} uses the rule {extractor!r}, which needs {needs!r}")
        return self


class Order(_Data):
    """One date is not after another."""

    rule: Literal["order"]
    first: Name
    then: Name


class Shorter(_Data):
    """One duration is shorter than another."""

    rule: Literal["shorter"]
    field: Name
    than: Name


class Ends(_Data):
    """An end date is the start plus a term, give or take some days."""

    rule: Literal["ends"]
    start: Name
    term: Name
    end: Name
    days: int = 5


class Twelfth(_Data):
    """A yearly sum is twelve times the monthly one, give or take a share."""

    rule: Literal["twelfth"]
    monthly: Name
    yearly: Name
    share: float = 0.02


class Differ(_Data):
    """There are at least two different parties."""

    rule: Literal["several"]
    field: Name
    least: int = 2


Rule = Annotated[Order | Shorter | Ends | Twelfth | Differ, Field(discriminator="rule")]


class Vertical(_Data):
    """A kind of contract: its fields, the rules between them, and how to tell that a text is one."""

    name: Name
    label: str
    locale: Literal["en", "de"] = "en"
    threshold: int = Field(default=80, ge=0, le=100)
    """The final confidence from which on nobody needs to look."""
    signs: tuple[str, ...] = ()
    """Words that contracts of this kind have; a text with fewer than `signs_needed` of them is another kind."""
    signs_needed: int = 0
    providers: str | None = None
    """The list of providers to look names up in."""
    fields: tuple[FieldDefinition, ...] = Field(min_length=1)
    rules: tuple[Rule, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Vertical:
        names = [field.name for field in self.fields]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"fields are named twice: {', '.join(sorted(twice))}")
        for rule in self.rules:
            for key, value in rule.model_dump().items():
                if (
                    key in ("first", "then", "field", "than", "start", "term", "end", "monthly", "yearly")
                    and value not in names
                ):
                    raise ValueError(f"the rule {rule.rule!r} names the field {value!r}, which is not there")
        return self

    @property
    def required(self) -> tuple[FieldDefinition, ...]:
        return tuple(field for field in self.fields if field.required)

    def field(self, name: str) -> FieldDefinition:
        """The field of this name."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"vertical {self.name!r} has no field {name!r}; it has {', '.join(f.name for f in self.fields)}")


def parse_vertical(text: str, source: str) -> Vertical:
    """The vertical that a YAML text describes. `BadVertical` names `source` and the key that is wrong."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadVertical(f"{source} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, Mapping):
        raise BadVertical(f"{source} must be a mapping with name, label and fields, not {type(data).__name__}")
    try:
        return Vertical.model_validate(data)
    except ValidationError as error:
        raise BadVertical("\n".join(f"{source}: {line}" for line in _told(error, data))) from error


def _told(error: ValidationError, data: Mapping[str, Any]) -> list[str]:
    lines = []
    for problem in error.errors():
        path = ""
        place: Any = data
        for part in problem["loc"]:
            place = (
                place[part]
                if isinstance(place, list | tuple) and isinstance(part, int) and part < len(place)
                else (place.get(part) if isinstance(place, Mapping) else None)
            )
            if isinstance(part, int):
                named = place.get("name") if isinstance(place, Mapping) else None
                path += f"[{named or part}]"
            else:
                path += f".{part}" if path else str(part)
        lines.append(f"{path or 'the file'}: {problem['msg'].removeprefix('Value error, ')}")
    return lines


def shipped() -> dict[str, Vertical]:
    """The verticals that come with the package, by name."""
    return dict(_shipped())


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Vertical]:
    """Read once: it takes 40 ms, and every step of every contract asks."""
    found = {}
    for entry in sorted(files("interlock.apps.contracts.fields").joinpath("verticals").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".yaml"):
            vertical = parse_vertical(entry.read_text("utf-8"), entry.name)
            found[vertical.name] = vertical
    return found


def load_verticals(folder: Path | None = None) -> dict[str, Vertical]:
    """The shipped verticals and those of a folder; a file there replaces the shipped one of the same name."""
    found = shipped()
    if folder is None:
        return found
    if not folder.is_dir():
        raise BadVertical(f"the folder of verticals {folder} does not exist; create it or correct the configuration")
    own: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        vertical = parse_vertical(path.read_text("utf-8"), str(path))
        if vertical.name in own:
            raise BadVertical(f"{path} and {own[vertical.name]} both describe {vertical.name!r}; rename one")
        own[vertical.name] = path
        found[vertical.name] = vertical
    return found
