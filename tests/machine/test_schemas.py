"""Whether data of one schema fits another: no false comfort, and no alarm for what only widens."""

from __future__ import annotations

import json
import random
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from interlock.machine.schemas import differences


class Inner(BaseModel):
    a: int = 0


class InnerWithMore(BaseModel):
    a: int = 0
    b: str = ""


class InnerThatNeedsMore(BaseModel):
    a: int = 0
    b: int


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = []


class OldDog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = []
    age: int


class Tree(BaseModel):
    value: int = 0
    children: list[Tree] = []


Red = Enum("Red", {"red": "red"})
RedOrBlue = Enum("RedOrBlue", {"red": "red", "blue": "blue"})
BlueOrRed = Enum("BlueOrRed", {"blue": "blue", "red": "red"})
Numbers = Enum("Numbers", {"one": 1, "two": 2})


def schema(kind: Any, *, root: type[BaseModel] | None = None, **config: Any) -> dict[str, Any]:
    if root is not None:
        return root.model_json_schema()
    made = create_model("D", __config__=ConfigDict(**config) if config else None, c=(kind, ...))
    return made.model_json_schema()


def compare(old: Any, new: Any) -> list[str]:
    return differences(schema(old), schema(new))


WIDER: list[tuple[Any, Any]] = [
    (int, int),
    (int, float),
    (int, int | None),
    (int, int | str),
    (int | str, str | int | None),
    (str, Any),
    (Annotated[str, Field(max_length=2)], Annotated[str, Field(max_length=3)]),
    (Annotated[str, Field(max_length=2)], str),
    (Annotated[str, Field(pattern="^a")], str),
    (Annotated[str, Field(pattern="^a")], Annotated[str, Field(pattern="^a", title="new", description="words")]),
    (Annotated[int, Field(ge=5)], Annotated[int, Field(ge=4)]),
    (Annotated[int, Field(ge=5)], Annotated[int, Field(gt=4)]),
    (Annotated[int, Field(gt=5)], Annotated[int, Field(ge=5)]),
    (Annotated[int, Field(gt=5, lt=9)], Annotated[int, Field(gt=5, le=9)]),
    (Annotated[int, Field(multiple_of=10)], Annotated[int, Field(multiple_of=5)]),
    (str, Annotated[str, Field(min_length=0)]),
    (Red, RedOrBlue),
    (RedOrBlue, BlueOrRed),
    (Red, str),
    (Literal["red"], RedOrBlue),
    (Numbers, int),
    (Literal["a", 1, None], str | int | None),
    (bool, bool | None),
    (bool, Literal[True, False]),
    (list[int], list[float]),
    (list[Red], list[RedOrBlue]),
    (tuple[int, str], tuple[int, str | None]),
    (tuple[int, int], list[int]),
    (dict[str, int], dict[str, float]),
    (dict[str, int], dict[str, Any]),
    (dict[Red, int], dict[RedOrBlue, int]),
    (Inner, InnerWithMore),
    (Inner, Inner | None),
    (Inner, dict[str, Any]),
    (list[Inner], list[InnerWithMore]),
    (Cat, Cat | Dog),
    (Cat | Dog, Annotated[Cat | Dog, Field(discriminator="kind")]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], Annotated[Dog | Cat, Field(discriminator="kind")]),
    (Tree, Tree),
    (Tree, Tree | None),
    (datetime, datetime | None),
    (datetime, str),
    (Decimal, Decimal | None),
]
NARROWER: list[tuple[Any, Any, str]] = [
    (str, int, "field 'c' of the data has another type: it was string and is integer"),
    (int, str, "field 'c' of the data has another type: it was integer and is string"),
    (float, int, "field 'c' of the data has another type: it was number and is integer"),
    (bool, int, "field 'c' of the data has another type: it was boolean and is integer"),
    (Any, str, "field 'c' of the data has another type: it was anything and is string"),
    (str | None, str, "field 'c' of the data may not be None any more"),
    (int | str, int, "field 'c' of the data has another type: it was string and is integer"),
    (RedOrBlue, Red, "field 'c' of the data may not be 'blue' any more"),
    (Literal["a", "b"], Literal["a"], "field 'c' of the data may not be 'b' any more"),
    (str, Red, "field 'c' of the data may only be one of 1 values now"),
    (Red, Annotated[str, Field(max_length=2)], "field 'c' of the data may not be 'red' any more"),
    (Numbers, Annotated[int, Field(ge=2)], "field 'c' of the data may not be 1 any more"),
    (str, Annotated[str, Field(max_length=2)], "field 'c' of the data has maxLength 2 now"),
    (str, Annotated[str, Field(min_length=1)], "field 'c' of the data has minLength 1 now"),
    (str, Annotated[str, Field(pattern="^a")], "field 'c' of the data must have pattern '^a' now"),
    (int, Annotated[int, Field(ge=0)], "field 'c' of the data has minimum 0 now"),
    (Annotated[int, Field(ge=0)], Annotated[int, Field(gt=0)], "field 'c' of the data has exclusiveMinimum 0 now"),
    (Annotated[int, Field(le=9)], Annotated[int, Field(le=8)], "field 'c' of the data has maximum 8 now"),
    (int, Annotated[int, Field(multiple_of=5)], "field 'c' of the data must have multipleOf 5 now"),
    (str, datetime, "field 'c' of the data must have format 'date-time' now"),
    (datetime, date, "field 'c' of the data must have format 'date' now"),
    (list[int], list[str], "field 'c[]' of the data has another type: it was integer and is string"),
    (list[int], Annotated[list[int], Field(max_length=3)], "field 'c' of the data has maxItems 3 now"),
    (list[int], set[int], "field 'c' of the data must have uniqueItems True now"),
    (list[RedOrBlue], list[Red], "field 'c[]' of the data may not be 'blue' any more"),
    (list[int], tuple[int, int], "field 'c' of the data has minItems 2 now"),
    (dict[str, Any], dict[str, int], "field 'c.*' of the data has another type: it was anything and is integer"),
    (dict[str, int], dict[Red, int], "field 'c.key' of the data may only be one of 1 values now"),
    (dict[RedOrBlue, int], dict[Red, int], "field 'c.key' of the data may not be 'blue' any more"),
    (Inner, InnerThatNeedsMore, "field 'c.b' of the data is required now"),
    (InnerWithMore, Inner, "field 'c.b' of the data is gone"),
    (list[Inner], list[InnerThatNeedsMore], "field 'c[].b' of the data is required now"),
    (Inner | None, Inner, "field 'c' of the data may not be None any more"),
    (dict[str, Any], Inner, "field 'c' of the data may not have more fields than declared any more"),
    (Cat | Dog, Cat, "field 'c.tricks' of the data is gone"),
    (Cat | Dog, Cat | OldDog, "field 'c.age' of the data is required now"),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        Annotated[Cat | OldDog, Field(discriminator="kind")],
        "field 'c.age' of the data is required now",
    ),
]


@pytest.mark.parametrize(("old", "new"), WIDER, ids=[str(n) for n in range(len(WIDER))])
def test_what_only_widens_fits(old: Any, new: Any) -> None:
    assert compare(old, new) == []


@pytest.mark.parametrize(("old", "new", "problem"), NARROWER, ids=[str(n) for n in range(len(NARROWER))])
def test_what_narrows_is_reported_with_its_place(old: Any, new: Any, problem: str) -> None:
    assert problem in compare(old, new)


def test_words_and_defaults_mean_nothing() -> None:
    class Before(BaseModel):
        """Before."""

        a: int = 1
        b: str = Field("x", description="one", examples=["y"])

    class After(BaseModel):
        """After, the other way round."""

        b: str = Field("z", description="another", title="B", deprecated=True)
        a: int = 2

    assert differences(Before.model_json_schema(), After.model_json_schema()) == []


def test_fields_beside_those_declared() -> None:
    free, silent, strict = (schema(int, extra=extra) for extra in ("allow", "ignore", "forbid"))
    closed = "the data may not have more fields than declared any more"
    assert differences(silent, free) == differences(strict, free) == differences(strict, silent) == []
    assert differences(free, strict) == differences(silent, strict) == differences(free, silent) == [closed]


def test_the_same_name_for_another_model_is_seen() -> None:
    def named(inner: type[BaseModel]) -> dict[str, Any]:
        made = create_model("D", c=(create_model("Same", __base__=inner), ...)).model_json_schema()
        assert "Same" in made["$defs"]
        return made

    assert differences(named(Inner), named(InnerThatNeedsMore)) == ["field 'c.b' of the data is required now"]


def test_a_model_inside_itself_is_compared() -> None:
    def tree(value: Any) -> dict[str, Any]:
        made = Tree.model_json_schema()
        text = json.dumps(made).replace('"type": "integer"', json.dumps(value)[1:-1])
        found: dict[str, Any] = json.loads(text)
        return found

    assert differences(tree({"type": "integer"}), tree({"type": "number"})) == []
    problem, inside = differences(tree({"type": "number"}), tree({"type": "integer"}))
    assert problem == "field 'value' of the data has another type: it was number and is integer"
    assert "'children[].value'" in inside


def test_what_is_not_known_is_not_trusted() -> None:
    old = {"type": "object", "properties": {"c": {"type": "string"}}}
    for unknown in (
        {"not": {"const": "x"}},
        {"if": {}, "then": {}},
        {"$ref": "#/$defs/none"},
        {"dependentRequired": {}},
    ):
        assert differences(old, {"type": "object", "properties": {"c": {"type": "string", **unknown}}})


UNSAID = (Decimal, Decimal | None)
"""What Pydantic's schema says less of than its validator asks for."""
KINDS: list[Any] = [kind for old, new, *_ in [*WIDER, *NARROWER] for kind in (old, new) if kind not in UNSAID]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    5,
    7,
    10,
    -3,
    2.5,
    "",
    "a",
    "red",
    "blue",
    "abc",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "1",
    [],
    [1],
    [1, 2],
    [1, "a"],
    ["red"],
    ["red", "blue"],
    {},
    {"a": 1},
    {"a": 1, "b": 2},
    {"a": 1, "b": "x"},
    {"red": 1},
    {"blue": 2},
    {"kind": "cat", "lives": 3},
    {"kind": "dog", "tricks": ["sit"]},
    {"kind": "dog", "age": 3},
    {"value": 1, "children": [{"value": 2, "children": []}]},
    [{"a": 1}],
    [{"a": 1, "b": 2}],
]


def test_whatever_is_said_to_fit_does() -> None:
    """Each kind of field above against each other, with the data that the first one stores."""
    chance = random.Random(1)
    models = [create_model("D", c=(kind, ...)) for kind in KINDS]
    stored: list[list[Any]] = []
    for model in models:
        kept = []
        for value in VALUES:
            try:
                kept.append(model.model_validate({"c": value}).model_dump(mode="json"))
            except ValidationError:
                continue
        stored.append(kept)
    pairs = [(n, m) for n in range(len(models)) for m in range(len(models))]
    fit = 0
    for n, m in chance.sample(pairs, 2500):
        if not differences(models[n].model_json_schema(), models[m].model_json_schema()):
            fit += 1
            for data in stored[n]:
                models[m].model_validate(data)
    assert fit > 100
