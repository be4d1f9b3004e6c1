"""Where settings come from: the command line, the environment, the file, in this order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from interlock.apps.jobs.settings import ApiKey, AutoApplySettings
from interlock.apps.sessions.agents.config import AgentConfig
from interlock.apps.sessions.sandbox.config import SandboxConfig
from interlock.apps.sessions.settings import AllocatorSettings
from interlock.config import BudgetSettings, ConfigError, PriceSettings, Settings, load

from .conftest import Write

SAMPLE, NOTES = "interlock.apps.sample:parcel", "tests.support.notes:application"
SETTINGS: list[tuple[str, str, str, str, Any, Any]] = [
    # table, key, in the file, in the environment, what the file means, what the environment means
    ("", "database", '"sqlite:///a.db"', "sqlite:///b.db", "sqlite:///a.db", "sqlite:///b.db"),
    ("", "data", '"here"', "there", Path("here"), Path("there")),
    ("", "durability", '"normal"', "full", "normal", "full"),
    ("", "listen_url", '"postgresql://a/x"', "postgresql://b/x", "postgresql://a/x", "postgresql://b/x"),
    ("", "wakeup", '"poll"', "listen", "poll", "listen"),
    ("", "apps", f'["{SAMPLE}"]', f'["{SAMPLE}", "{NOTES}"]', [SAMPLE], [SAMPLE, NOTES]),
    ("", "owner", '"ann"', "ben", "ann", "ben"),
    ("", "token", '"il_a"', "il_b", SecretStr("il_a"), SecretStr("il_b")),
    ("", "redis_url", '"redis://a"', "redis://b", SecretStr("redis://a"), SecretStr("redis://b")),
    ("http", "host", '"0.0.0.0"', "::1", "0.0.0.0", "::1"),
    ("http", "port", "9000", "9001", 9000, 9001),
    ("http", "url", '"https://a.org/"', "http://b.org", "https://a.org", "http://b.org"),
    ("http", "max_body", "2048", "4096", 2048, 4096),
    ("http", "max_artifact", "2048", "4096", 2048, 4096),
    ("http", "open_metrics", "true", "false", True, False),
    ("http", "stream_limit", "3", "4", 3, 4),
    ("http", "streams_per_caller", "3", "4", 3, 4),
    ("http", "hosts", '["a.org"]', '["*.b.org"]', ["a.org"], ["*.b.org"]),
    ("http", "proxies", '["10.0.0.1"]', '["10.0.0.0/8"]', ["10.0.0.1"], ["10.0.0.0/8"]),
    ("http", "connections", "3", "4", 3, 4),
    ("http", "connections_per_address", "3", "4", 3, 4),
    ("http", "head_seconds", "3", "4", 3.0, 4.0),
    ("http", "body_seconds", "3", "4", 3.0, 4.0),
    ("http", "idle_seconds", "3", "4", 3.0, 4.0),
    ("worker", "concurrency", "3", "4", 3, 4),
    ("worker", "queues", '["a"]', '["b"]', ["a"], ["b"]),
    ("worker", "drain", "1.5", "2", 1.5, 2.0),
    ("mail", "host", '"a.org"', "b.org", "a.org", "b.org"),
    ("mail", "port", "25", "465", 25, 465),
    ("mail", "sender", '"a@a.org"', "b@b.org", "a@a.org", "b@b.org"),
    ("mail", "username", '"a"', "b", "a", "b"),
    ("mail", "password", '"pa"', "pb", SecretStr("pa"), SecretStr("pb")),
    ("mail", "security", '"tls"', "none", "tls", "none"),
    ("mail", "timeout", "5", "6", 5.0, 6.0),
    ("alerts", "notify", '["mail:a@a.org"]', '["webhook:b"]', ["mail:a@a.org"], ["webhook:b"]),
    ("alerts", "repeat_hours", "1", "2", 1.0, 2.0),
    ("alerts", "queue_lag_minutes", "1", "2", 1.0, 2.0),
    ("alerts", "failure_rate_percent", "1", "2", 1.0, 2.0),
    ("alerts", "review_age_hours", "1", "2", 1.0, 2.0),
    ("alerts", "dead_letters", "1", "2", 1, 2),
    ("alerts", "model_budget_percent", "1", "2", 1.0, 2.0),
    ("alerts", "off", '["no_worker"]', "[]", ["no_worker"], []),
    ("ai", "provider", '"anthropic"', "openai", "anthropic", "openai"),
    ("ai", "base_url", '"http://a/v1/"', "http://b", "http://a/v1", "http://b"),
    ("ai", "api_key", '"ka"', "kb", SecretStr("ka"), SecretStr("kb")),
    ("ai", "cheap", '"a"', "b", "a", "b"),
    ("ai", "strong", '"a"', "b", "a", "b"),
    ("ai", "timeout", "5", "6", 5.0, 6.0),
    ("ai", "max_tokens", "5", "6", 5, 6),
    ("ai", "max_input", "5", "6", 5, 6),
    ("ai", "cache", "false", "true", False, True),
    ("ai", "budget_dollars", "5", "6.5", 5.0, 6.5),
    ("ai", "budget_tokens", "5", "6", 5, 6),
    (
        "ai",
        "budgets",
        "{ all = { day = 1 } }",
        '{"all": {"day": 2}}',
        {"all": BudgetSettings(day=1)},
        {"all": BudgetSettings(day=2)},
    ),
    (
        "ai",
        "prices",
        "{ m = { input = 1, output = 2 } }",
        '{"m": {"output": 4, "input": 3}}',
        {"m": PriceSettings(input=1, output=2)},
        {"m": PriceSettings(input=3, output=4)},
    ),
    ("sessions", "pool_size", "2", "3", 2, 3),
    ("sessions", "max_turns", "2", "3", 2, 3),
    ("sessions", "max_budget_usd", "2", "0.5", 2.0, 0.5),
    ("sessions", "approval_timeout", "5", "6", 5.0, 6.0),
    ("sessions", "prompt_timeout", "5", "6", 5.0, 6.0),
    ("sessions", "return_after", "5", "6", 5.0, 6.0),
    ("sessions", "folder", '"a"', "b", Path("a"), Path("b")),
    (
        "sessions",
        "sandbox",
        "{seconds = 4}",
        '{"seconds": 5}',
        SandboxConfig(seconds=4),
        SandboxConfig(seconds=5),
    ),
    (
        "sessions",
        "repos",
        '{"a/b" = "/srv/b.git"}',
        '{"a/b": "/srv/c.git"}',
        {"a/b": "/srv/b.git"},
        {"a/b": "/srv/c.git"},
    ),
    ("sessions", "agent", '"claude"', "demo", "claude", "demo"),
    (
        "sessions",
        "agents",
        '{codex = {command = ["codex"]}}',
        '{"codex": {"command": ["cx"]}}',
        {"codex": AgentConfig(command=["codex"])},
        {"codex": AgentConfig(command=["cx"])},
    ),
    ("sessions", "allowed_tools", '["Read"]', '["WebSearch"]', ["Read"], ["WebSearch"]),
    (
        "sessions",
        "allocator",
        '{pool = "a"}',
        '{"pool": "b"}',
        AllocatorSettings(pool="a"),
        AllocatorSettings(pool="b"),
    ),
    ("jobs", "profile", '"a"', "b", Path("a"), Path("b")),
    ("jobs", "contact", '"a@b.org"', "c@d.org", "a@b.org", "c@d.org"),
    ("jobs", "crawl_every", '"1d"', "2h", "1d", "2h"),
    ("jobs", "digest_hour", "6", "7", 6, 7),
    ("jobs", "digest_to", '["a@b.example"]', '["c@d.example"]', ["a@b.example"], ["c@d.example"]),
    ("jobs", "keep_answers", '"1d"', "2h", "1d", "2h"),
    ("jobs", "keep_closed", '"1d"', "2h", "1d", "2h"),
    ("jobs", "max_retries", "1", "2", 1, 2),
    ("jobs", "rate", "2", "0.5", 2.0, 0.5),
    ("jobs", "timeout", "5", "6", 5.0, 6.0),
    ("jobs", "most_bytes", "2000", "3000", 2000, 3000),
    ("jobs", "private_hosts", '["a.org"]', '["b.org:8500"]', ["a.org"], ["b.org:8500"]),
    (
        "jobs",
        "api_keys",
        '{ a = { host = "a.org", secret = "k" } }',
        '{"A": {"host": "b.org", "secret": "l"}}',
        {"a": ApiKey(host="a.org", secret=SecretStr("k"))},
        {"a": ApiKey(host="b.org", secret=SecretStr("l"))},
    ),
    (
        "jobs",
        "autoapply",
        "{ planned = true }",
        '{"planned": false, "submit_timeout": 5}',
        AutoApplySettings(planned=True),
        AutoApplySettings(submit_timeout=5),
    ),
    ("jobs", "browser", '"a"', "b", Path("a"), Path("b")),
    ("jobs", "browser_sandbox", "false", "true", False, True),
    ("contracts", "verticals", '"a"', "b", Path("a"), Path("b")),
    ("contracts", "templates", '"a"', "b", Path("a"), Path("b")),
    ("contracts", "review_uncalibrated", "false", "true", False, True),
    ("contracts", "blind_share", "0.1", "0", 0.1, 0.0),
    ("contracts", "notify", '["mail:a@b.org"]', "[]", ["mail:a@b.org"], []),
    ("contracts", "remind", '["mail:a@b.org"]', "[]", ["mail:a@b.org"], []),
    ("contracts", "remind_before", "[1]", "[2, 3]", [1], [2, 3]),
    ("contracts", "wait", "5", "6", 5.0, 6.0),
    ("retention", "default", '"90d"', "26w", "90d", "26w"),
    ("retention", "machines", '{ parcel = "1d" }', '{"parcel": "2d"}', {"parcel": "1d"}, {"parcel": "2d"}),
    ("retention", "folder", '"a"', "b", Path("a"), Path("b")),
    ("retention", "messages", '"1d"', "2d", "1d", "2d"),
    ("retention", "alerts", '"1d"', "2d", "1d", "2d"),
    ("retention", "actions", '"1d"', "2d", "1d", "2d"),
    ("retention", "answers", '"1d"', "never", "1d", "never"),
    ("retention", "every", "5", "6", 5.0, 6.0),
    ("audit", "key", '"a"', "b", SecretStr("a"), SecretStr("b")),
    ("audit", "key_file", '"a"', "b", Path("a"), Path("b")),
    ("audit", "file", '"a"', "b", Path("a"), Path("b")),
    ("audit", "every", "5", "6", 5.0, 6.0),
    ("log", "format", '"json"', "console", "json", "console"),
    ("log", "level", '"debug"', "error", "debug", "error"),
    ("telemetry", "endpoint", '"http://a:4318"', "http://b:4318", "http://a:4318", "http://b:4318"),
    ("telemetry", "service", '"a"', "b", "a", "b"),
]
MAIL = 'host = "m.org"\nsender = "i@m.org"\n'
AI = 'api_key = "k"\ncheap = "c"\nstrong = "s"\n'
BESIDE = {"mail": MAIL, "ai": AI}
"""What a table must have, or its other settings mean nothing."""


def leaves() -> set[tuple[str, str]]:
    """Every setting that is one value."""
    found = set()
    for name, field in type(load()).model_fields.items():
        kind = field.annotation
        inner = getattr(kind, "model_fields", None)
        if name == "mail":
            inner = type(Settings(mail={"host": "h", "sender": "s"}).mail).model_fields  # type: ignore[arg-type]
        if inner is None:
            found.add(("", name))
        else:
            found |= {(name, key) for key in inner}
    return found


def value(settings: Settings, table: str, key: str) -> Any:
    return getattr(getattr(settings, table) if table else settings, key)


def toml(table: str, key: str, text: str) -> str:
    rest = "\n".join(line for line in BESIDE.get(table, "").splitlines() if not line.startswith(f"{key} "))
    return (f"[{table}]\n" if table else "") + f"{key} = {text}\n{rest}\n"


def variable(table: str, key: str) -> str:
    return f"INTERLOCK_{f'{table}__' if table else ''}{key}".upper()


def test_every_setting_is_tried_here() -> None:
    assert {(table, key) for table, key, *_ in SETTINGS} | {("", "secrets"), ("", "webhooks")} == leaves()


@pytest.mark.parametrize(("table", "key", "text", "given", "from_file", "from_environment"), SETTINGS)
def test_a_setting_comes_from_the_file_and_a_variable_wins_over_it(
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    key: str,
    text: str,
    given: str,
    from_file: Any,
    from_environment: Any,
) -> None:
    write(toml(table, key, text))
    assert value(load(), table, key) == from_file
    monkeypatch.setenv(variable(table, key), given)
    assert value(load(), table, key) == from_environment


def test_a_variable_alone_is_enough_and_the_rest_of_the_file_stays(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_HTTP__PORT", "9000")
    assert load().http.port == 9000
    write('[http]\nhost = "0.0.0.0"\nport = 1\n[worker]\nconcurrency = 3\n')
    found = load()
    assert (found.http.port, found.http.host, found.worker.concurrency) == (9000, "0.0.0.0", 3)


def test_a_variables_case_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("interlock_http__port", "9000")
    assert load().http.port == 9000


def test_a_whole_table_is_json_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_MAIL", '{"host": "m.org", "sender": "i@m.org"}')
    mail = load().mail
    assert mail is not None
    assert (mail.host, mail.port, mail.security) == ("m.org", 587, "starttls")


def test_webhooks_are_tables_by_their_names(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        '[webhooks.shop]\nurl = "https://shop.org/in"\nsecret = "0123456789abcdef"\ntimeout = 3\n'
        '[webhooks.shop.headers]\nX-Key = "open sesame"\n'
        '[webhooks.bank]\nurl = "http://bank.org"\nsecret = "fedcba9876543210"\n'
    )
    found = load().webhooks
    assert set(found) == {"shop", "bank"}
    shop = found["shop"]
    assert (shop.url.get_secret_value(), shop.timeout, shop.headers["X-Key"].get_secret_value()) == (
        "https://shop.org/in",
        3,
        "open sesame",
    )
    assert (found["bank"].headers, found["bank"].timeout) == ({}, 15)
    monkeypatch.setenv("INTERLOCK_WEBHOOKS__SHOP__TIMEOUT", "9")
    again = load().webhooks["shop"]
    assert (again.timeout, again.url.get_secret_value()) == (9, "https://shop.org/in")


def test_secrets_are_given_by_name(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write('[secrets]\nmail_key = "from the file"\n')
    monkeypatch.setenv("INTERLOCK_SECRETS__BANK_KEY", "from outside")
    known = {name: one.get_secret_value() for name, one in load().secrets.items()}
    assert known == {"mail_key": "from the file", "bank_key": "from outside"}


def test_what_the_command_line_says_wins_over_all(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write('data = "file"\n')
    monkeypatch.setenv("INTERLOCK_DATA", "variable")
    assert load(overrides={"data": "line"}).data == Path("line")


def test_without_a_file_everything_has_its_default(plain: Settings) -> None:
    assert load().model_dump(exclude={"contracts", "jobs", "sessions"}) == plain.model_dump()
    assert plain.database_url == f"sqlite:///{Path('data') / 'interlock.db'}"
    assert Settings(data=Path("x")).database_url == f"sqlite:///{Path('x') / 'interlock.db'}"
    assert Settings(database="postgresql://u@h/x").database_url == "postgresql://u@h/x"


def test_the_file_is_named_by_the_caller_else_by_a_variable_else_it_lies_here(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write('owner = "here"\n')
    for name in ("named", "variable"):
        (tmp_path / f"{name}.toml").write_text(f'owner = "{name}"\n')
    assert load().owner == "here"
    monkeypatch.setenv("INTERLOCK_CONFIG", str(tmp_path / "variable.toml"))
    assert load().owner == "variable"
    assert load(tmp_path / "named.toml").owner == "named"


def test_a_file_that_was_named_and_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no configuration file .*nothing\.toml"):
        load(tmp_path / "nothing.toml")
    monkeypatch.setenv("INTERLOCK_CONFIG", "gone.toml")
    with pytest.raises(ConfigError, match=r"no configuration file gone\.toml"):
        load()
    monkeypatch.setenv("INTERLOCK_CONFIG", "")
    assert load().owner == "owner"
