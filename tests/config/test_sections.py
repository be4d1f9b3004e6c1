"""An application's section is part of the configuration: read, checked, shown and hidden like the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from interlock.config import ConfigError, Table, load, shown
from interlock.config.loading import HIDDEN
from interlock.config.sections import secret_values, with_sections
from interlock.machine import Application, InterlockError
from tests.support.notes.settings import NotesSettings

from .conftest import Refused, Write

NOTES = 'apps = ["tests.support.notes:application"]\n'


def test_a_section_is_read_from_the_file_and_the_environment(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f'{NOTES}[notes]\ngreeting = "good day"\n[notes.printer]\nname = "attic"\n')
    monkeypatch.setenv("INTERLOCK_NOTES__PRINTER__COPIES", "3")
    section = load().section("notes")
    assert isinstance(section, NotesSettings)
    assert (section.greeting, section.printer.name, section.printer.copies) == ("good day", "attic", 3)


def test_without_a_section_there_are_its_defaults(write: Write) -> None:
    write(NOTES)
    assert load().section("notes") == NotesSettings()
    assert load().section("of_nobody") is None


@pytest.mark.parametrize("place", ["file", "variable", "option"])
def test_an_application_may_be_named_anywhere(write: Write, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    write((NOTES if place == "file" else "") + '[notes]\ngreeting = "hey"\n')
    if place == "variable":
        monkeypatch.setenv("INTERLOCK_APPS", '["tests.support.notes:application"]')
    settings = load(apps=["tests.support.notes:application"] if place == "option" else [])
    assert settings.section("notes").greeting == "hey"
    assert settings.apps == ["tests.support.notes:application"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[notes]\ncolour = 1",
            "notes.colour (INTERLOCK_NOTES__COLOUR, or interlock.toml): there is no such setting",
        ),
        ("[notes.printer]\ncopies = 12", "notes.printer.copies (INTERLOCK_NOTES__PRINTER__COPIES, or interlock.toml)"),
        ("[notes.printer]\ncopies = 12", "not 12"),
    ],
)
def test_what_is_wrong_is_refused_by_place_and_value(write: Write, refused: Refused, text: str, said: str) -> None:
    write(NOTES + text)
    assert said in refused()


def test_the_section_of_an_application_that_is_not_loaded_is_refused_with_the_remedy(
    write: Write, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("[notes]\ngreeting = 'hey'")
    assert "no application 'notes' is loaded: install its package, or name it in apps" in refused()
    write("")
    monkeypatch.setenv("INTERLOCK_NOTES__GREETING", "hey")
    assert "no application 'notes' is loaded" in refused()


def test_an_application_that_cannot_be_loaded_is_a_mistake_in_the_configuration(write: Write, refused: Refused) -> None:
    write('apps = ["no_such_module:application"]')
    assert "no_such_module" in refused()


def test_a_secret_of_a_section_is_shown_nowhere(write: Write, refused: Refused) -> None:
    write(f'{NOTES}[notes]\npassword = "sesame"\n[notes.marks]\nred = "pepper"\n')
    settings = load()
    displayed = shown(settings)["notes"]
    assert (displayed["password"], displayed["marks"], displayed["greeting"]) == (HIDDEN, {"red": HIDDEN}, "hello")
    assert sorted(secret_values(settings.section("notes"))) == ["pepper", "sesame"]
    write(f"{NOTES}[notes.marks]\nred = 987654\n")
    assert "987654" not in refused()


@pytest.mark.parametrize("name", ["http", "worker", "data", "apps", "section", "database_url", "config", "user"])
def test_a_section_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(InterlockError, match=f"'{name}' cannot have settings"):
        with_sections([Application(name, settings=NotesSettings)])


class Loose(BaseModel):
    colour: str = "red"


class Nested(Table):
    inner: list[Loose] | None = None


@pytest.mark.parametrize(
    ("model", "said"),
    [(Loose, "Loose .* accepts unknown keys"), (Nested, "Loose .* accepts unknown keys"), (dict, "Pydantic model")],
)
def test_settings_that_would_take_any_key_are_refused(model: Any, said: str) -> None:
    with pytest.raises(InterlockError, match=said):
        with_sections([Application("notes", settings=model)])


class Demanding(Table):
    address: str


DEMANDING = Application("demanding", settings=Demanding)


def test_a_key_that_must_be_given_is_named(write: Write, refused: Refused) -> None:
    write('apps = ["tests.config.test_sections:DEMANDING"]')
    assert "demanding.address (INTERLOCK_DEMANDING__ADDRESS, or interlock.toml): it must be given" in refused()
    with pytest.raises(ConfigError):
        load()


class Nervous(Table):
    address: str = "here"

    @field_validator("address")
    @classmethod
    def look_up(cls, value: str) -> str:
        return {"here": "there"}[value]


NERVOUS = Application("nervous", settings=Nervous)


def test_a_validator_that_fails_is_a_mistake_in_the_configuration(write: Write, refused: Refused) -> None:
    write('apps = ["tests.config.test_sections:NERVOUS"]\n[nervous]\naddress = "nowhere"\n')
    assert refused() == "the settings cannot be checked: KeyError: 'nowhere'"
