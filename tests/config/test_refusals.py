"""What is wrong is refused by its name and its value, and a secret is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from interlock.config import (
    AiSettings,
    AlertSettings,
    ConfigError,
    HttpSettings,
    LogSettings,
    MailSettings,
    PriceSettings,
    Settings,
    TelemetrySettings,
    WebhookSettings,
    WorkerSettings,
    load,
    shown,
)
from interlock.config.loading import HIDDEN
from interlock.watch.rules import built_in

from .conftest import Refused, Write

HOOK = '[webhooks.shop]\nurl = "https://shop.org"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 1", "colour (INTERLOCK_COLOUR, or interlock.toml): there is no such setting"),
        ("[http]\nprot = 1", "http.prot (INTERLOCK_HTTP__PROT, or interlock.toml): there is no such setting"),
        ("[https]\nport = 1", "https (INTERLOCK_HTTPS, or interlock.toml): there is no such setting"),
        ('[http]\nport = "many"', "http.port (INTERLOCK_HTTP__PORT, or interlock.toml): Input should be"),
        ('[http]\nport = "many"', "not 'many'"),
        ("[http]\nport = 65536", "less than or equal to 65535, not 65536"),
        ("[http]\nmax_body = 1", "http.max_body"),
        ('[http]\nurl = "a.org"', "must begin with http:// or https://, not 'a.org'"),
        ("http = 5", "http (INTERLOCK_HTTP, or interlock.toml)"),
        ("[worker]\nconcurrency = 0", "worker.concurrency"),
        ("[worker]\ndrain = -1", "worker.drain"),
        ("[worker]\ndrain = inf", "worker.drain"),
        ("[worker]\ndrain = nan", "worker.drain"),
        ('durability = "half"', "durability (INTERLOCK_DURABILITY, or interlock.toml)"),
        ('database = "nonsense"', "must be an address such as sqlite:///file.db"),
        ('database = "mysql://h/x"', "not 'mysql://h/x'"),
        ('listen_url = "h:5432"', "listen_url (INTERLOCK_LISTEN_URL"),
        ('apps = "a:b"', "apps (INTERLOCK_APPS"),
        ('[mail]\nhost = "m.org"', "mail.sender (INTERLOCK_MAIL__SENDER, or interlock.toml): it must be given"),
        ('[mail]\nhost = "m"\nsender = "s"\nsecurity = "ssl"', "mail.security"),
        ('[webhooks.shop]\nurl = "https://shop.org"', "webhooks.shop.secret"),
        ('[webhooks.shop]\nurl = "shop.org"\nsecret = "0123456789abcdef"', "webhooks.shop.url"),
        ('[alerts]\nnotify = ["ann"]', "'ann' is neither mail:ADDRESS nor webhook:NAME"),
        ('[alerts]\noff = ["everything"]', "not 'everything'"),
        ("[alerts]\nrepeat_hours = 0.001", "alerts.repeat_hours"),
        ("[alerts]\nrepeat_hours = inf", "alerts.repeat_hours"),
        ("[alerts]\nfailure_rate_percent = 101", "alerts.failure_rate_percent"),
        ("[alerts]\nmodel_budget_percent = 101", "alerts.model_budget_percent"),
        ('[log]\nlevel = "loud"', "log.level"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_name_and_value(
    write: Write, refused: Refused, text: str, said: str
) -> None:
    write(text)
    assert said in refused()


def test_every_mistake_is_named_at_once(write: Write, refused: Refused) -> None:
    write('colour = 1\n[http]\nport = "many"\n[log]\nlevel = "loud"\n')
    message = refused()
    for name in ("colour", "http.port", "log.level"):
        assert name in message


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("INTERLOCK_COLOUR", "red", "the variable INTERLOCK_COLOUR is not a setting; there are INTERLOCK_DATABASE"),
        ("INTERLOCK_PORT", "9000", "the variable INTERLOCK_PORT is not a setting"),
        ("INTERLOCK_HTTP__PROT", "9000", "http.prot (INTERLOCK_HTTP__PROT): there is no such setting"),
        ("INTERLOCK_HTTP__PORT", "many", "http.port (INTERLOCK_HTTP__PORT): Input should be"),
        ("INTERLOCK_HTTP", "many", "http"),
        ("INTERLOCK_APPS", "a:b", "write lists and tables in variables as JSON"),
        ("INTERLOCK_MAIL__HOST", "m.org", "mail.sender (INTERLOCK_MAIL__SENDER): it must be given"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, refused: Refused, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert said in refused()


@pytest.mark.parametrize("variable", ["INTERLOCK_USER", "INTERLOCK_SOAK"])
def test_variables_of_ours_that_are_no_settings_are_let_be(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "x")
    assert load().owner == "owner"


def test_an_unreadable_file_is_reported_with_line_and_column(write: Write, refused: Refused, tmp_path: Path) -> None:
    write("port = = 1")
    assert refused().startswith("interlock.toml is not TOML: ")
    (tmp_path / "interlock.toml").write_bytes(b"\xff")
    assert refused().startswith("interlock.toml cannot be read: ")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'token = ["sesame"]',
        "[secrets]\nbank = {a = 'sesame'}",
        f'{HOOK}secret = "sesame"',
        f'{HOOK}secret = "0123456789abcdef"\n[webhooks.shop.headers]\nX-Key = ["sesame"]',
        '[mail]\nhost = "m"\nsender = "s"\npassword = ["sesame"]',
        'redis_url = ["sesame"]',
        'database = "postgresql://u:sesame@h:port/x"',
        'database = "mysql://h/x?password=sesame"',
        f'{HOOK}secret = "0123456789abcdef"\nurl2 = "sesame"',
        '[telemetry]\nendpoint = ["sesame"]',
    ],
)
def test_a_secret_is_in_no_message(write: Write, refused: Refused, text: str) -> None:
    write(text)
    assert "sesame" not in refused()


def test_a_secret_in_a_variable_is_in_no_message(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    for name in ("INTERLOCK_SECRETS", "INTERLOCK_WEBHOOKS", "INTERLOCK_MAIL"):
        with monkeypatch.context() as one:
            one.setenv(name, '{"a": "sesame')
            assert "sesame" not in refused()


def test_what_is_shown_has_every_setting_and_no_secret(write: Write) -> None:
    write(
        'database = "postgresql://u:sesame@h/x?password=sesame"\nlisten_url = "postgresql://u:sesame@h/x"\n'
        'token = "il_sesame"\nredis_url = "redis://:sesame@h"\n[secrets]\nbank = "sesame"\n'
        '[mail]\nhost = "m.org"\nsender = "i@m.org"\npassword = "sesame"\n'
        f'{HOOK}secret = "sesame-sesame-sesame"\n[webhooks.shop.headers]\nX-Key = "sesame"\n'
    )
    displayed = shown(load())
    assert "sesame" not in str(displayed)
    assert set(displayed) == {*Settings.model_fields, "contracts", "jobs", "sessions"}
    assert displayed["database"] == f"postgresql://u:{HIDDEN}@h/x?password={HIDDEN}"
    assert (displayed["token"], displayed["secrets"], displayed["mail"]["password"]) == (
        HIDDEN,
        {"bank": HIDDEN},
        HIDDEN,
    )
    assert displayed["webhooks"]["shop"]["url"] == "https://shop.org"
    assert displayed["webhooks"]["shop"]["headers"] == {"X-Key": HIDDEN}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://u:a@b@h/x", f"postgresql://u:{HIDDEN}@h/x"),
        ("postgresql://u@h/x", "postgresql://u@h/x"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("postgresql://h/x?sslmode=require&password=p&x=1", f"postgresql://h/x?sslmode=require&password={HIDDEN}&x=1"),
    ],
)
def test_only_the_password_of_an_address_is_hidden(address: str, message: str) -> None:
    assert shown(Settings.model_construct(database=address))["database"] == message


def test_what_is_not_set_is_shown_as_not_set(plain: Settings) -> None:
    displayed = shown(plain)
    assert (displayed["token"], displayed["mail"], displayed["webhooks"], displayed["data"]) == (None, None, {}, "data")


@pytest.mark.parametrize(
    "table",
    [
        AiSettings,
        AlertSettings,
        HttpSettings,
        LogSettings,
        MailSettings,
        PriceSettings,
        TelemetrySettings,
        WebhookSettings,
        WorkerSettings,
    ],
)
def test_every_setting_says_what_it_means(table: type[BaseModel]) -> None:
    assert table.__doc__
    for name, field in table.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_every_setting_outside_a_table_says_what_it_means() -> None:
    tables = {
        "http",
        "worker",
        "mail",
        "webhooks",
        "alerts",
        "ai",
        "retention",
        "audit",
        "log",
        "telemetry",
    }
    without = {name for name, field in Settings.model_fields.items() if not field.description}
    assert without <= tables


def test_settings_do_not_change_after_the_start(plain: Settings) -> None:
    with pytest.raises(ValueError, match="frozen"):
        plain.http.port = 1  # type: ignore[misc]


def test_the_smallest_and_the_biggest_thresholds_make_rules() -> None:
    for settings in (
        AlertSettings(repeat_hours=1 / 60, queue_lag_minutes=0.01, review_age_hours=0.01, failure_rate_percent=0.1),
        AlertSettings(repeat_hours=8760, queue_lag_minutes=1e6, review_age_hours=1e6, failure_rate_percent=100),
    ):
        assert len(built_in(settings)) == 6
