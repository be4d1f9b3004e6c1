"""Compares two JSON Schemas: does all data that fits the old one fit the new one as well?

The answer errs on one side only. What is reported to fit does fit. If the comparison cannot decide (a changed pattern,
an unknown keyword), it reports a difference and its place. Titles, descriptions, defaults and order are ignored. What a
schema does not express is not compared: validators are code, and Pydantic describes `Decimal` as any text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$defs",
        "definitions",
        "$schema",
        "$id",
        "discriminator",
    }
)
"""Keywords that do not restrict values. A discriminator only says which of the alternatives applies."""
BOUNDS = {
    "minimum": 1,
    "exclusiveMinimum": 1,
    "minLength": 1,
    "minItems": 1,
    "minProperties": 1,
    "maximum": -1,
    "exclusiveMaximum": -1,
    "maxLength": -1,
    "maxItems": -1,
    "maxProperties": -1,
}
"""Keywords with a number: 1 where a greater number allows less."""
COMPARED = frozenset(
    {
        "type",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "propertyNames",
        *BOUNDS,
    }
)


def differences(old: Schema, new: Schema) -> list[str]:
    """What the old schema allows and the new one does not, with the place. Empty: all data fits."""
    return list(dict.fromkeys(_Comparison(old, new).fields()))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old, new
        self._under_way: set[tuple[str, str]] = set()
        """Pairs that are being compared by a caller: a recursive model is no difference."""
        self._fit: set[tuple[str, str]] = set()

    def fields(self) -> Iterator[str]:
        yield from self._fits(self._old, self._new, ())

    def _fits(self, old: Schema | bool, new: Schema | bool, place: tuple[str, ...]) -> Iterator[str]:
        pair = (_text(old), _text(new))
        if pair in self._under_way or pair in self._fit or (pair[0] == pair[1] and '"$ref"' not in pair[0]):
            return
        self._under_way.add(pair)
        found = False
        wider = list(self._alternatives(new, self._new))
        for one in self._alternatives(old, self._old):
            for problem in self._among(one, wider, place):
                found = True
                yield problem
        self._under_way.discard(pair)
        if not found:
            self._fit.add(pair)

    def _among(self, old: Schema, wider: Sequence[Schema], place: tuple[str, ...]) -> Iterator[str]:
        """Compare one alternative of the old schema with all alternatives of the new one."""
        values = _values(old)
        if values is not None:
            gone = [value for value in values if not any(self._allows(one, value) for one in wider)]
            if gone == [True, False] and "enum" not in old:
                yield f"{_at(place)} has another type: it was boolean and is {_kinds(wider)}"
            elif gone:
                listed = ", ".join(repr(value) for value in gone[:5])
                yield f"{_at(place)} may not be {listed} any more"
            return
        answers = [list(self._one(old, one, place)) for one in wider]
        if any(not answer for answer in answers):
            return
        kin = [answer for answer, one in zip(answers, wider, strict=True) if one.get("type") == old.get("type")]
        if kin:  # report the closest one
            yield from min(kin, key=len)
        else:
            yield f"{_at(place)} has another type: it was {_kind(old)} and is {_kinds(wider)}"

    def _one(self, old: Schema, new: Schema, place: tuple[str, ...]) -> Iterator[str]:
        """Compare one alternative with one other."""
        is_, was = new.get("type"), old.get("type")
        if is_ is not None and was != is_ and not (was == "integer" and is_ == "number"):
            yield f"{_at(place)} has another type: it was {_kind(old)} and is {_kind(new)}"
            return
        values = _values(new)
        if values is not None:
            yield f"{_at(place)} may only be one of {len(values)} values now"
            return
        yield from self._bounds(old, new, place)
        for word in sorted(set(new) - COMPARED - ANNOTATIONS):
            if not _keeps(word, old.get(word), new[word]):
                yield f"{_at(place)} must have {word} {new[word]!r} now"
        if "propertyNames" in new:
            yield from self._fits(old.get("propertyNames", {"type": "string"}), new["propertyNames"], (*place, "key"))
        if "properties" in new or "additionalProperties" in new or new.get("required"):
            yield from self._object(old, new, place)
        if "items" in new or "prefixItems" in new:
            yield from self._array(old, new, place)

    def _bounds(self, old: Schema, new: Schema, place: tuple[str, ...]) -> Iterator[str]:
        for word, sign in BOUNDS.items():
            if word not in new:
                continue
            plain = word.replace("exclusiveM", "m")
            strict = f"exclusive{plain.capitalize()}"
            bound = max((old[name] for name in (plain, strict) if name in old), key=lambda n: sign * n, default=None)
            if bound is None and word in ("minLength", "minItems", "minProperties"):
                bound = 0
            # With equal numbers, a strict bound fits only if the old bound was strict as well.
            equal = word == plain or (strict in old and old[strict] == bound)
            if bound is None or sign * bound < sign * new[word] or (bound == new[word] and not equal):
                yield f"{_at(place)} has {word} {new[word]} now"

    def _object(self, old: Schema, new: Schema, place: tuple[str, ...]) -> Iterator[str]:
        was, is_ = old.get("properties", {}), new.get("properties", {})
        more, closed = old.get("additionalProperties"), new.get("additionalProperties", True)
        for name, schema in was.items():
            here = (*place, name)
            if name in is_:
                yield from self._fits(schema, is_[name], here)
            elif closed is False or "additionalProperties" not in new:
                # A model without additionalProperties drops unknown fields: stored data would be lost.
                yield f"{_at(here)} is gone"
            else:
                yield from self._fits(schema, closed, here)
        required = set(old.get("required", ()))
        for name in new.get("required", ()):
            if name not in required:
                yield f"{_at((*place, name))} is required now"
        if more is not False and (closed is False or (more is not None and "additionalProperties" not in new)):
            yield f"{_at(place)} may not have more fields than declared any more"
        elif closed not in (True, False) and more is not False:
            yield from self._fits(True if more is None else more, closed, (*place, "*"))
        if more is not None and more is not False:
            for name in set(is_) - set(was):
                yield from self._fits(more, is_[name], (*place, name))

    def _array(self, old: Schema, new: Schema, place: tuple[str, ...]) -> Iterator[str]:
        first, now_first = list(old.get("prefixItems", ())), list(new.get("prefixItems", ()))
        rest, now_rest = old.get("items", True), new.get("items", True)
        longest = max(len(first), len(now_first))
        # Up to the length that both allow; a tuple has maxItems elements.
        for number in range(min(longest, int(old.get("maxItems", longest)))):
            item = first[number] if number < len(first) else rest
            yield from self._fits(item, now_first[number] if number < len(now_first) else now_rest, (*place, "[]"))
        if old.get("maxItems", math.inf) > longest:
            yield from self._fits(rest, now_rest, (*place, "[]"))

    def _alternatives(self, schema: Schema | bool, root: Schema, depth: int = 0) -> Iterator[Schema]:
        """The alternatives of a schema, with references resolved."""
        if schema is True or depth > 50:
            yield {} if schema is True else {"not": {}}
            return
        if schema is False:
            return
        own = {word: value for word, value in schema.items() if word not in ANNOTATIONS}
        if "$ref" in own:
            target = _target(root, own.pop("$ref"))
            for one in self._alternatives(target, root, depth + 1):
                yield _joined(one, own)
            return
        for word in ("anyOf", "oneOf", "allOf"):
            if word not in own:
                continue
            choices = own.pop(word)
            if word == "allOf" and len(choices) != 1:
                yield {**own, "allOf (several)": choices}
                return
            for choice in choices:
                for one in self._alternatives(choice, root, depth + 1):
                    yield from self._alternatives(_joined(one, own), root, depth + 1)
            return
        kinds = own.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            yield {**own, "type": kind} if kind is not None else own

    def _allows(self, schema: Schema, value: Any) -> bool:
        """Whether an alternative of the new schema certainly allows this value."""
        values = _values(schema)
        if values is not None:
            return any(_text(value) == _text(one) for one in values)
        if isinstance(value, dict | list):
            return not set(schema) - ANNOTATIONS
        return not list(self._one(_schema_of(value), schema, ()))


def _keeps(word: str, old: Any, new: Any) -> bool:
    """Whether values that satisfy the old keyword satisfy the new one as well."""
    if word == "uniqueItems" and new is False:
        return True
    if word == "multipleOf" and isinstance(old, int) and isinstance(new, int):
        return old % new == 0
    return _text(old) == _text(new) and '"$ref"' not in _text(new)


def _schema_of(value: Any) -> Schema:
    """The narrowest schema that allows this plain value."""
    if value is None or isinstance(value, bool):
        return {"type": "null" if value is None else "boolean"}
    if isinstance(value, int | float):
        kind = "integer" if isinstance(value, int) else "number"
        return {"type": kind, "minimum": value, "maximum": value}
    return {"type": "string", "minLength": len(value), "maxLength": len(value)}


def _values(schema: Schema) -> list[Any] | None:
    """The values that it allows, if they are listed."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return [True, False]
    return [None] if schema.get("type") == "null" else None


def _joined(one: Schema, more: Schema) -> Schema:
    """Both schemas at once. Keywords that contradict each other are kept apart, and then nothing is known to fit."""
    both = {word: value for word, value in more.items() if word in one and _text(one[word]) != _text(value)}
    joined = {**one, **{word: value for word, value in more.items() if word not in one}}
    return {**joined, "and also": both} if both else joined


def _target(root: Schema, reference: str) -> Schema | bool:
    found: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping | bool) else {"not": {}}


def _kind(schema: Schema) -> str:
    if "enum" in schema or "const" in schema:
        return "one of some values"
    kind = str(schema.get("type", "anything"))
    return "None" if kind == "null" else kind


def _kinds(schemas: Sequence[Schema]) -> str:
    return " or ".join(dict.fromkeys(map(_kind, schemas))) or "nothing"


def _at(place: tuple[str, ...]) -> str:
    return f"field {'.'.join(place).replace('.[]', '[]')!r} of the data" if place else "the data"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
