"""Who pretends to be elsewhere: names that are not ours, and headers that only a proxy may write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from interlock.config import HttpSettings
from interlock.http.app import create_app
from interlock.http.host_check import HostCheck
from interlock.http.server import InThread, make_server
from interlock.people import Role
from interlock.people.attempts import MOST_BY_ADDRESS as MOST
from interlock.store import open_store
from tests.attack.talking import ask
from tests.support.api import BY, Api, open_api

PASSWORD = "correct horse battery"


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store) as made:
        yield made


# -- Host


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b", "", "10.0.0.7"]
)
def test_a_name_of_a_strangers_is_not_answered(api: Api, host: str) -> None:
    for path in ("/api/me", "/login?link=x", "/healthz", "/nothing"):
        answer = api.get(path, headers={"Host": host})
        assert answer.status_code == 421, path
        assert answer.json()["type"] == "wrong-host"
        assert "http.hosts" in answer.json()["detail"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8420", "127.0.0.1:1", "[::1]:8420", "testserver", "localhost."]
)
def test_loopback_and_configured_names_are_answered_on_every_port(api: Api, host: str) -> None:
    assert api.get("/api/me", headers={"Host": host}).status_code == 200


def test_the_address_it_listens_on_and_the_host_of_its_url_count() -> None:
    reach = HostCheck(HttpSettings(host="192.0.2.7", url="https://interlock.example.org", hosts=["*.inside.example"]))
    for name in (b"192.0.2.7:8420", b"interlock.example.org", b"a.inside.example", b"a.b.inside.example:1"):
        assert reach.knows(name), name
    for name in (b"192.0.2.8", b"inside.example", b"xinside.example", b"example.org", b"*.inside.example"):
        assert not reach.knows(name), name


def test_listening_everywhere_any_bare_address_is_ours_and_still_no_name() -> None:
    reach = HostCheck(HttpSettings(host="0.0.0.0"))
    assert reach.knows(b"192.0.2.7:8420")
    assert reach.knows(b"[2001:db8::1]")
    assert not reach.knows(b"evil.example")


def test_two_names_at_once_are_refused_and_so_is_none(api: Api) -> None:
    with InThread(create_app(api.service), api.service) as server:
        for head in ("Host: localhost\r\nHost: evil.example\r\n", ""):
            status, _, body = ask(server.url, f"GET /healthz HTTP/1.1\r\n{head}\r\n")
            assert status in {400, 421}
            assert b"localhost" not in body


def test_links_are_made_from_the_configuration_and_never_from_a_request(api: Api) -> None:
    api.service.settings = api.service.settings.model_copy(
        update={"http": HttpSettings(url="https://interlock.example.org", hosts=["testserver"])}
    )
    assert api.service.address == "https://interlock.example.org"
    api.service.settings = api.service.settings.model_copy(update={"http": HttpSettings(host="::1", port=99)})
    assert api.service.address == "http://[::1]:99"


# -- forwarded headers

LIES = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "evil.example",
    "X-Real-IP": "203.0.113.9",
    "Forwarded": "for=203.0.113.9;proto=https;host=evil.example",
}


def scope(peer: str, **headers: str) -> dict[str, Any]:
    sent_headers = [(b"host", b"localhost")]
    sent_headers += [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "client": (peer, 5), "scheme": "http", "headers": sent_headers}


def test_without_configured_proxies_nobody_is_believed_and_nothing_is_left_to_believe() -> None:
    reach = HostCheck(HttpSettings())
    for peer in ("127.0.0.1", "10.0.0.1", "203.0.113.1"):
        made = scope(peer, **LIES)
        assert reach.admit(made) == ""
        assert (made["client"][0], made["scheme"]) == (peer, "http")
        assert made["headers"] == [(b"host", b"localhost")]


def test_uvicorn_does_not_believe_them_either(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    config = make_server(create_app(api.service), api.service).config
    assert config.proxy_headers is False


def test_a_configured_proxy_says_the_client_the_scheme_and_the_name() -> None:
    reach = HostCheck(HttpSettings(proxies=["10.0.0.0/8", "::1"], url="https://interlock.example.org"))
    made = scope(
        "10.0.0.1",
        X_Forwarded_For="6.6.6.6, 203.0.113.9, 10.2.2.2",
        X_Forwarded_Proto="https",
        X_Forwarded_Host="interlock.example.org",
    )
    assert reach.admit(made) == ""
    assert made["client"] == ("203.0.113.9", 0), "what the client wrote before the first proxy does not count"
    assert made["scheme"] == "https"
    assert made["headers"] == [(b"host", b"interlock.example.org")]
    assert reach.admit(scope("10.0.0.1", X_Forwarded_Host="evil.example"))
    nonsense = scope("10.0.0.1", X_Forwarded_For="unknown, 10.2.2.2", X_Forwarded_Proto="gopher")
    assert reach.admit(nonsense) == ""
    assert (nonsense["client"], nonsense["scheme"]) == (("10.2.2.2", 0), "http")


def test_guesses_are_counted_by_the_real_address_not_by_the_stated_one(api: Api) -> None:
    with InThread(create_app(api.service), api.service) as server, httpx2.Client(base_url=server.url) as client:
        seen = []
        for n in range(MOST + 1):
            credentials = {"name": f"nobody{n}", "password": "guess"}
            lie = {"X-Forwarded-For": f"203.0.113.{n}"}
            seen.append(client.post("/api/login", json=credentials, headers=lie).status_code)
    assert seen == [401] * MOST + [429]


def test_a_cookie_is_secure_by_the_url_and_not_by_a_header_of_anybodys(api: Api) -> None:
    api.people.add("ann", password=PASSWORD, role=Role.MEMBER, by=BY)
    with InThread(create_app(api.service), api.service) as server, httpx2.Client(base_url=server.url) as client:
        login = {"name": "ann", "password": PASSWORD}
        answer = client.post("/api/login", json=login, headers={"X-Forwarded-Proto": "https"})
    assert answer.status_code == 200
    assert "Secure" not in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    ("key", "value"), [("proxies", ["everywhere"]), ("proxies", ["10.0.0.0/99"]), ("hosts", ["https://a.example"])]
)
def test_what_is_no_network_and_no_name_is_refused_at_the_start(key: str, value: list[str]) -> None:
    with pytest.raises(ValueError, match="must be"):
        HttpSettings(**{key: value})  # type: ignore[arg-type]
