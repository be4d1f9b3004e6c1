"""An application's own commands: `interlock NAME …`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import command, process
from tests.support.distributions import search_path

SHOP = """'A shop.'
from interlock import FINAL, Application, Machine, Registry, State, Transition

sale = Machine("sale", initial="open", states=[State("open"), State("done", FINAL)],
               transitions=[Transition("open", "done", on="close")])
registry = Registry([Application("shop", machines=[sale], commands="shop_commands:app",
                                 docs="shop_docs")])
"""
COMMANDS = """
import typer
from interlock.console.options import DEFAULT_DATABASE, App, Database, opened

app = typer.Typer(help="Shops: what was sold.", no_args_is_help=True)

@app.command()
def sold(database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    with opened(database, apps) as engine:
        typer.echo("sold: " + engine.registry["sale"].name)

@app.command()
def greet() -> None:
    typer.echo("good morning")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "shop_commands.py").write_text(COMMANDS)
    return tmp_path


def configured(folder: Path) -> None:
    (folder / "interlock.toml").write_text('apps = ["shop:registry"]\n')


def test_an_application_of_the_configuration_has_its_commands(shop: Path) -> None:
    configured(shop)
    done = command("shop", "greet", cwd=shop)
    assert (done.code, done.out) == (0, "good morning\n"), done.err


def test_its_commands_are_listed(shop: Path) -> None:
    configured(shop)
    lines = command("--help", cwd=shop).out.splitlines()
    assert "  shop         A shop." in lines
    assert any(line.startswith("  contracts    Contract processing: ") for line in lines)


def test_an_application_that_is_named_with_the_command_has_its_commands(shop: Path) -> None:
    assert command("db", "migrate", cwd=shop).code == 0
    for option in (["--app", "shop:registry"], ["--app=shop:registry"]):
        done = command("shop", "sold", *option, cwd=shop)
        assert (done.code, done.out) == (0, "sold: sale\n"), done.err


def test_a_configuration_that_is_named_with_the_command_counts(shop: Path) -> None:
    (shop / "other.toml").write_text('apps = ["shop:registry"]\n')
    assert command("shop", "greet", "--config", "other.toml", cwd=shop).err.count("No such option") == 1
    assert command("shop", "greet", cwd=shop, INTERLOCK_CONFIG="other.toml").code == 0


def test_an_unknown_command_is_refused_with_those_that_are_like_it(shop: Path) -> None:
    done = command("contract", "list", cwd=shop)
    assert done.code == 2
    assert "No such command 'contract'. Did you mean" in done.err
    assert "'contracts'" in done.err


def test_an_application_that_cannot_be_loaded_hides_no_other(shop: Path) -> None:
    configured(shop)
    (shop / "shop.py").write_text("raise RuntimeError('closed')")
    done = process("--help", cwd=shop)
    assert done.code == 0
    assert "  contracts " in done.out
    assert (
        done.err
        == "the commands of shop:registry are missing here: 'shop:registry' cannot be loaded: RuntimeError: closed\n"
    )


def test_commands_that_are_none_are_refused(shop: Path) -> None:
    configured(shop)
    (shop / "shop_commands.py").write_text("app = 7")
    done = process("shop", "greet", cwd=shop)
    assert done.code == 1
    assert done.err == "error: commands of the application shop: 'shop_commands:app' is a int, not a Typer app\n"


def test_its_documentation_is_listed_and_printed(shop: Path) -> None:
    configured(shop)
    (shop / "shop_docs").mkdir()
    (shop / "shop_docs" / "opening.md").write_text("# When we open\n\nAt nine.\n")
    (shop / "shop_docs" / "prices.md").write_text("# Prices\n")
    listed = process("shop", "docs", cwd=shop)
    assert listed.code == 0, listed.err
    assert [line.split(maxsplit=1) for line in listed.out.splitlines()[-2:]] == [
        ["opening", "When we open"],
        ["prices", "Prices"],
    ]
    assert process("shop", "docs", "opening", cwd=shop).out == "# When we open\n\nAt nine.\n"
    missing = process("shop", "docs", "../shop", cwd=shop)
    assert (missing.code, missing.err) == (1, "error: there is no page '../shop'; there are: opening, prices\n")


def test_documentation_that_is_not_there_is_one_clear_line(shop: Path) -> None:
    configured(shop)
    done = process("shop", "docs", cwd=shop)
    assert (done.code, done.err) == (
        1,
        "error: the documentation of shop cannot be read: No module named 'shop_docs'\n",
    )


def test_an_application_without_commands_says_so(shop: Path) -> None:
    (shop / "bare.py").write_text("from interlock import Application\nbare = Application('bare')\n")
    (shop / "interlock.toml").write_text('apps = ["bare:bare"]\n')
    assert "The application bare. It has no commands." in command("bare", cwd=shop).err


def test_a_command_loads_no_application_but_its_own() -> None:
    code = (
        "import sys\nfrom interlock.cli import main\n"
        "sys.argv = ['interlock', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted(m for m in sys.modules if m.startswith('interlock.apps.')))\n"
        "print(*{'fastapi', 'interlock.engine'} & set(sys.modules))"
    )

    def loaded(*words: str) -> set[str]:
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        *_, applications, heavy = done.stdout.splitlines()
        assert heavy == ""
        return {name.split(".")[2] for name in applications.split()}

    assert loaded("--help") == set()
    assert loaded("db", "--help") == set()
    assert loaded("contracts", "--help") == {"contracts"}
    assert {"contracts", "jobs", "sessions"} <= loaded("config", "check")


def test_the_scopes_for_tokens_are_listed_with_what_they_mean(shop: Path) -> None:
    with_scope = SHOP.replace('commands="', 'scopes=[Scope("sell", "sell things")], commands="')
    (shop / "sellers.py").write_text(with_scope.replace("Registry, State", "Registry, Scope, State"))
    done = command("token", "scopes", "--app", "sellers:registry", cwd=shop)
    assert [line.split(maxsplit=1) for line in done.out.splitlines() if line.startswith(("sell", "create"))] == [
        ["create", "create instances"],
        ["sell", "sell things"],
    ]


def test_an_entry_point_with_another_name_than_its_application_works_under_both(shop: Path) -> None:
    info = shop / "corner_shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: corner-shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[interlock.registry]\ncorner = shop:registry\n")
    for name in ("shop", "corner"):
        done = process(name, "greet", cwd=shop, PYTHONPATH=search_path(shop))
        assert (done.code, done.out) == (0, "good morning\n"), done.err
    (shop / "shop.py").write_text("raise RuntimeError('closed')")
    refused = process("machine", "list", cwd=shop, PYTHONPATH=search_path(shop))
    assert refused.err == (
        "error: an application cannot be used: 'shop:registry' cannot be loaded: RuntimeError: closed "
        "(the package corner-shop brings it: fix or uninstall it)\n"
    )
