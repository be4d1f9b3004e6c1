"""The map of the code names layers and files that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs/explanation/code.md").read_text(encoding="utf-8")
CODE = ROOT / "src/interlock"


def test_the_drawing_and_the_table_have_every_layer_in_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    drawing = MAP.split("```")[1]
    assert re.findall(r"^ +(\w+)  ", drawing, re.M) == layers
    assert re.findall(r"^\| `(\w+)` \|", MAP, re.M) == layers[::-1]


def test_every_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.py|(?:\w+/)+)`", MAP)) - {
        "apps/NAME/",
        "apps/NAME/settings.py",
        "pages/",
        "tests/",
    }
    names = {path.relative_to(CODE).as_posix() for path in CODE.rglob("*.py")}
    missing = {
        one
        for one in named
        if not (CODE / one).exists() and not any(name == one or name.endswith(f"/{one}") for name in names)
    }
    assert len(named) > 50
    assert missing == set()
