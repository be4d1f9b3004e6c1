"""Whoever reads pages, logs, records or the configuration does not learn where a webhook posts to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.config import ConfigError, Settings, load, shown
from interlock.config.addresses import origin, secret_parts
from interlock.engine import Engine, secrets
from interlock.http.process import Process
from interlock.machine import Registry
from interlock.store import open_store
from interlock.worker.deliverer import DeliveryFailed
from tests.support.api import open_api
from tests.support.commands import command
from tests.support.letters import letter
from tests.support.receiver import Receiver, Reply
from tests.support.site import Site
from tests.worker.test_webhook import Hooks, hooks, message

__all__ = ["hooks"]
KEY = "T0AAAAAAA-B0BBBBBBB-xyzxyzxyzxyz"
ADDRESS = f"https://chat.example.org/services/{KEY}?token=sesame-sesame"
HOOK = {"chat": {"url": ADDRESS, "secret": "0123456789abcdef"}}
FILE = f'[webhooks.chat]\nurl = "{ADDRESS}"\nsecret = "0123456789abcdef"\n'


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    yield
    secrets.forget()


def test_the_configuration_shows_its_host_alone(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text(FILE)
    for arguments in (("config", "show"), ("config", "show", "--json")):
        done = command(*arguments, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert "https://chat.example.org/********" in done.out
        assert KEY not in done.out
        assert "sesame" not in done.out
    settings = Settings(webhooks=HOOK)
    for text in (repr(settings), str(settings), str(settings.model_dump()), str(shown(settings))):
        assert KEY not in text


def test_a_wrong_address_is_refused_without_repeating_it(tmp_path: Path) -> None:
    wrong = tmp_path / "interlock.toml"
    wrong.write_text(FILE.replace("https://", "htps://"))
    with pytest.raises(ConfigError, match=r"webhooks\.chat\.url") as refused:
        load(wrong)
    assert KEY not in str(refused.value)


def test_the_settings_page_shows_its_name_alone(sqlite_url: str) -> None:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, webhooks=HOOK) as api:
        page = Site(api).get("/ui/settings").text
        assert "chat" in page
        assert KEY not in page


def test_a_process_hides_it_in_histories_logs_and_errors(
    sqlite_url: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = Settings(database=sqlite_url, data=tmp_path / "data", webhooks=HOOK)
    process = Process(settings, lambda _: Registry([letter]), serve=False, work=False)
    with process.engine as engine:
        _used(engine)
        logging.getLogger("interlock.test").error("cannot post to %s", ADDRESS)
        logging.getLogger("interlock.test").error("cannot post to /services/%s", KEY)
        for part in (KEY, "sesame"):
            assert part not in str(engine.page().instances[0].data)
            assert part not in str(engine.history(engine.page().instances[0].id))
    said = capfd.readouterr().err
    assert "cannot post to https://chat.example.org[hidden]" in said
    assert KEY not in said
    assert "sesame" not in said


def _used(engine: Engine) -> None:
    engine.create("letter", {"to": f"see {ADDRESS} or {KEY}"})


def test_a_receiver_that_repeats_it_does_not_bring_it_into_the_records(hooks: Hooks) -> None:
    with Receiver() as receiver:
        url = f"{origin(receiver.url)}/{KEY}?token=sesame-sesame"
        receiver._replies += [Reply(200, f"took it at {url}".encode()), Reply(500, f"no route /{KEY}".encode())]
        channel = hooks.to(url)
        answers = [channel.deliver(message())]
        with pytest.raises(DeliveryFailed) as failed:
            channel.deliver(message())
        answers.append(str(failed.value))
    assert KEY not in str(answers)
    assert "sesame" not in str(answers)


@pytest.mark.parametrize(
    ("url", "host", "hidden"),
    [
        ("https://a.example/x/y?k=v", "https://a.example", ["/x/y?k=v"]),
        ("https://u:pass%20word@a.example:8443/", "https://a.example:8443", ["pass%20word", "pass word"]),
        ("https://t0ken@a.example/", "https://a.example", ["t0ken"]),
        ("https://long-token:x-oauth-basic@a.example", "https://a.example", ["long-token", "x-oauth-basic"]),
        (
            "https://a.example/#secret%21part",
            "https://a.example",
            ["/#secret%21part", "/#secret!part", "secret%21part", "secret!part"],
        ),
        ("http://[::1]:9", "http://[::1]:9", []),
        ("https://[bad", "", ["https://[bad"]),
    ],
)
def test_of_an_address_the_host_is_shown_and_what_follows_is_secret(url: str, host: str, hidden: list[str]) -> None:
    assert (origin(url), secret_parts(url)) == (host, hidden)
