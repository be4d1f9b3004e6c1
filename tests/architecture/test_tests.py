"""Tests are where their code is: each folder mirrors one of `src/interlock`, or is one of the few that cross layers."""

from __future__ import annotations

from pathlib import Path

import interlock

TESTS = Path(__file__).parents[1]
SOURCE = Path(interlock.__file__).parent
OTHERS = {
    "acceptance",
    "apps/contracts/written",
    "apps/machines",
    "architecture",
    "attack",
    "docs",
    "engine/model",
    "examples",
    "support",
}


def test_each_folder_mirrors_one_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")}
    strangers = {
        folder.as_posix()
        for folder in folders
        if not (SOURCE / folder).is_dir() and not {one.as_posix() for one in (folder, *folder.parents)} & OTHERS
    }
    assert strangers == set()


def test_each_folder_that_crosses_layers_is_there() -> None:
    assert {name for name in OTHERS if not (TESTS / name).is_dir()} == set()
