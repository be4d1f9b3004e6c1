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
    missing = {one for one in named if not (CODE / one).exists() and not called(one)}
    assert len(named) > 50
    assert missing == set()


def called(name: str) -> list[Path]:
    """The files of the code whose path ends so."""
    return [
        path for path in CODE.rglob(Path(name).name) if f"/{path.relative_to(CODE).as_posix()}".endswith(f"/{name}")
    ]


def test_every_page_template_and_table_that_it_names_is_there() -> None:
    named = set(re.findall(r"`([\w./-]+\.(?:md|html|csv|txt|toml))`", MAP))
    assert len(named) > 20
    assert {one for one in named if not (ROOT / one).exists() and not called(one)} == set()


def test_every_module_beside_the_code_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:tests|bench|docs)(?:\.\w+)+)`", MAP))
    assert len(named) > 5
    places = {one: ROOT.joinpath(*one.split(".")) for one in named}
    assert {one for one, at in places.items() if not at.is_dir() and not at.with_suffix(".py").is_file()} == set()


def test_every_name_that_it_places_in_a_file_is_there() -> None:
    """It says `choose` in `engine/firing.py`; a name that moved would lead people astray."""
    placed = re.findall(r"`(\w+)`(?: and `(\w+)`)? (?:in|of) `((?:\w+/)*\w+\.py)`", MAP)
    assert len(placed) > 25
    lost = [
        f"{name} in {file}"
        for *names, file in placed
        for name in names
        if name and not any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in called(file))
    ]
    assert lost == []
