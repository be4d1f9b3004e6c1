"""Builds a form from a JSON Schema, and the answer from the posted form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.engine import InvalidData

BEFORE = "f_"
"""Prefix of a form's own fields, so that they cannot collide with the hidden fields of every form."""


ABBREVIATIONS = frozenset({"ai", "api", "id", "ip", "json", "pdf", "uri", "url", "utc"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    title: str
    kind: str
    """text, long, number, integer, check, choice, json"""
    required: bool
    value: str
    choices: tuple[str, ...] = ()
    help: str = ""
    low: float | None = None
    high: float | None = None


def fields(schema: Mapping[str, Any] | None, given: Mapping[str, Any]) -> list[Field]:
    """The fields of the schema, filled with the known values."""
    if not schema:
        return []
    required = set(schema.get("required", ()))
    return [
        _field(name, _plain(part, schema), name in required, given.get(name, part.get("default")))
        for name, part in schema.get("properties", {}).items()
    ]


def _plain(part: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve references, and reduce an optional type to its non-null part."""
    if "$ref" in part:
        found = schema.get("$defs", {}).get(str(part["$ref"]).rpartition("/")[2], {})
        # The title of a type is the name of its class, and this is a field of that type.
        return {**{k: v for k, v in found.items() if k != "title"}, **{k: v for k, v in part.items() if k != "$ref"}}
    options = [o for o in part.get("anyOf", ()) if o.get("type") != "null"]
    if len(options) == 1:
        inner = {k: v for k, v in _plain(options[0], schema).items() if k != "title"}
        return {**inner, **{k: v for k, v in part.items() if k not in {"anyOf", "default"}}}
    return dict(part)


def _field(name: str, part: Mapping[str, Any], required: bool, value: Any) -> Field:
    choices = tuple(map(str, part.get("enum", ())))
    kind = {"integer": "integer", "number": "number", "boolean": "check", "string": "text"}.get(
        str(part.get("type", "")), "json"
    )
    if choices:
        kind = "choice"
    elif kind == "text" and (part.get("maxLength", 0) > 200 or part.get("format") == "textarea"):
        kind = "long"
    shown = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if kind == "check":
        shown = "yes" if value else ""
    return Field(
        name,
        _title(name, str(part.get("title", ""))),
        kind,
        required,
        shown,
        choices,
        str(part.get("description", "")),
        part.get("minimum"),
        part.get("maximum"),
    )


def _title(name: str, given: str) -> str:
    """The title of a field. Pydantic makes Company Url of its name, which is written as others are: Company URL."""
    if given and given != name.replace("_", " ").title():
        return given
    words = [word.upper() if word in ABBREVIATIONS else word for word in name.split("_") if word]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]]) if words else name


def answer(schema: Mapping[str, Any] | None, posted: Mapping[str, str]) -> dict[str, Any]:
    """Parse the posted values to the types of the schema. Empty optional fields are left out."""
    found: dict[str, Any] = {}
    for one in fields(schema, {}):
        text = posted.get(BEFORE + one.name, "")
        if one.kind == "check":
            found[one.name] = text == "yes"
        elif text == "" and not one.required:
            continue
        elif one.kind in {"integer", "number", "json"}:
            found[one.name] = _read(one, text)
        else:
            found[one.name] = text
    return found


def json_object(text: str, what: str) -> dict[str, Any]:
    """The object that a field of JSON contains; empty is {}."""
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidData(f"{what}: {text[:80]!r} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidData(f"{what} must be a JSON object, such as {{}}, not {text[:80]!r}")
    return found


def _read(one: Field, text: str) -> Any:
    try:
        if one.kind == "integer":
            return int(text)
        if one.kind == "number":
            return float(text.replace(",", "."))
        return json.loads(text)
    except ValueError:
        wanted = {"integer": "a whole number", "number": "a number"}.get(one.kind, "JSON")
        raise InvalidData(f"{one.title}: {text[:80]!r} is not {wanted}") from None
