"""Programs of an application: `interlock NAME` runs a function of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.machine import Application, InterlockError, Registry
from tests.support.commands import command

APPLICATION = """'A kiosk.'
from interlock import Application, Registry

registry = Registry([Application("kiosk", programs={"%s": "%s_program:start"})])
"""
PROGRAM = '''
from typing import Annotated
import typer

def start(hour: Annotated[int, typer.Option("--hour")] = 9) -> None:
    """Open the kiosk.

    Nobody reads this line in a list."""
    typer.echo(f"open at {hour}")
'''
LISTED = ["open-kiosk", "Open", "the", "kiosk."]


def kiosk(folder: Path, module: str, name: str = "open-kiosk", program: str = PROGRAM) -> Path:
    """A folder with the application. Each has modules of its own, as those of another folder stay on the path."""
    (folder / f"{module}.py").write_text(APPLICATION % (name, module))
    (folder / f"{module}_program.py").write_text(program)
    (folder / "interlock.toml").write_text(f'apps = ["{module}:registry"]\n')
    return folder


def test_a_program_of_a_configured_application_is_a_command(tmp_path: Path) -> None:
    home = kiosk(tmp_path, "kiosk_a")
    done = command("open-kiosk", "--hour", "7", cwd=home)
    assert (done.code, done.out) == (0, "open at 7\n"), done.err
    assert LISTED in [line.split() for line in command("--help", cwd=home).out.splitlines()]
    assert "--hour" in command("open-kiosk", "--help", cwd=home).out


def test_a_program_of_an_installed_application_is_listed_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = kiosk(tmp_path, "kiosk_b")
    (home / "interlock.toml").unlink()
    info = home / "corner_kiosk-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: corner-kiosk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[interlock.registry]\nkiosk = kiosk_b:registry\n")
    monkeypatch.syspath_prepend(str(home))
    (home / "kiosk_b.py").write_text("raise RuntimeError('imported')\n" + APPLICATION % ("open-kiosk", "kiosk_b"))
    assert LISTED in [line.split() for line in command("--help", cwd=home).out.splitlines()]
    (home / "kiosk_b.py").write_text(APPLICATION % ("open-kiosk", "kiosk_b"))
    assert command("open-kiosk", cwd=home).out == "open at 9\n"


GROUP = '''
import typer

start = typer.Typer(help="Open the kiosk.\\n\\nNobody reads this line in a list.", rich_markup_mode=None)

@start.command()
def door() -> None:
    """Open its door."""
    typer.echo("the door is open")

@start.command()
def window() -> None:
    """Open its window."""
    typer.echo("the window is open")
'''


def test_a_program_may_be_a_group_of_commands(tmp_path: Path) -> None:
    home = kiosk(tmp_path, "kiosk_g", program=GROUP)
    assert command("open-kiosk", "window", cwd=home).out == "the window is open\n"
    assert LISTED in [line.split() for line in command("--help", cwd=home).out.splitlines()]
    assert "Open its door." in command("open-kiosk", "--help", cwd=home).out


def test_a_program_with_the_name_of_a_command_is_refused(tmp_path: Path) -> None:
    home = kiosk(tmp_path, "kiosk_c", "doctor")
    said = "the application 'kiosk' has a program 'doctor', but that is a command of interlock; rename the program"
    done = command("kiosk", cwd=home)
    assert done.code == 1
    assert said in done.err
    assert said in command("--help", cwd=home).err


def test_a_program_that_is_none_is_refused(tmp_path: Path) -> None:
    home = kiosk(tmp_path, "kiosk_d", program="start = 7\n")
    done = command("open-kiosk", cwd=home)
    assert done.code == 1
    assert "the program 'open-kiosk' of the application 'kiosk': 'kiosk_d_program:start' is a int, not a" in done.err


@pytest.mark.parametrize(
    ("programs", "words"),
    [
        ({"Open": "shop:start"}, "small letters, digits and -"),
        ({"open": "shop"}, "package.module:function"),
    ],
)
def test_a_program_is_named_as_commands_are(programs: dict[str, str], words: str) -> None:
    with pytest.raises(InterlockError, match=words):
        Application("shop", programs=programs)


def test_two_commands_of_one_name_are_refused() -> None:
    first = Application("shop", programs={"open-shop": "a:b"})
    for other in (Application("kiosk", programs={"open-shop": "c:d"}), Application("kiosk", programs={"shop": "c:d"})):
        with pytest.raises(InterlockError, match="both have a command `interlock"):
            Registry([first, other])
    with pytest.raises(InterlockError, match="a program of its own name"):
        Registry([Application("shop", programs={"shop": "a:b"})])
