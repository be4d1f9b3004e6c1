"""No request reaches a private address, however it is written and whatever DNS says."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.fetching import Forbidden, Unreachable
from interlock.apps.jobs.finder.fetching.guard import Guard, is_public
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.settings import JobsSettings

from .conftest import Made
from .site import PUBLIC, Net, Site, answer

NOT_PUBLIC = """
127.0.0.1 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1
255.255.255.255 168.63.129.16
:: ::1 ::ffff:127.0.0.1 ::ffff:a00:1 ::127.0.0.1 fe80::1 fe80::1%eth0 fec0::1 fc00::1 fd00:ec2::254 ff02::1 100::1
64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 2001::1 2001:0:53aa:64c:0:0:80ff:fffe 2001:db8::1 2001:10::1
2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 2a00:1450::5efe:7f00:1 2a00:1450::200:5efe:7f00:1
nonsense 1.2.3
"""
PRIVATE = NOT_PUBLIC.split()
OPEN = ["8.8.8.8", PUBLIC, "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"]
TRICKS = [
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://127.0.0.1../",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://\uff4c\uff4fcalhost/",
    "http://a.localhost/",
    "http://printer.local/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://intranet/",
    "http://user@example.com/",
    "http://user:word@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "http://127.0.0.1%2f@example.com/",
    "http://127.0.0.1 @example.com/",
    "http://example.com:22/",
    "http://example.com:0/",
    "http://example.com:99999/",
    "http://example..com/",
    "http://exam ple.com/",
    "http://example.com\r\nHost: 127.0.0.1/",
    "http:///etc/passwd",
    "http:/127.0.0.1/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_INFO",
    "javascript:alert(1)",
    "data:text/html,x",
    "//example.com/",
    "example.com",
    "",
    "http://example.com/" + "a" * 5000,
]


def test_which_addresses_are_public() -> None:
    assert [text for text in PRIVATE if is_public(text)] == []
    assert [text for text in OPEN if not is_public(text)] == []


@pytest.mark.parametrize("url", TRICKS)
async def test_a_trick_reaches_nothing(client: Made, net: Net, site: Site, url: str) -> None:
    with pytest.raises(Forbidden):
        await client().fetch(Request(url))
    assert (net.looked_up, net.dialled, site.asked) == ([], [], [])


async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(client: Made, net: Net) -> None:
    fetcher = client()
    for text in PRIVATE:
        net.names["jobs.example.com"] = [[text]]
        with pytest.raises(Forbidden, match=r"jobs\.example\.com.*name 'jobs\.example\.com' in \[jobs\] private_hosts"):
            await fetcher.fetch(Request("http://jobs.example.com/"))
    assert net.dialled == []


async def test_one_private_address_among_public_ones_is_enough_to_refuse(client: Made, net: Net) -> None:
    net.names["jobs.example.com"] = [[PUBLIC, "10.0.0.1"]]
    with pytest.raises(Forbidden, match=r"10\.0\.0\.1"):
        await client().fetch(Request("http://jobs.example.com/"))
    assert net.dialled == []


async def test_the_connection_goes_to_the_address_that_was_checked(client: Made, net: Net, site: Site) -> None:
    """DNS that rebinds after the check: each connection is to an address of the answer that was checked for it."""
    site.routes["/robots.txt"] = lambda _: [answer("")]  # closes its connection, so that the page needs another
    site.routes["/"] = answer("hello")
    net.names["jobs.example.com"] = [[PUBLIC], [PUBLIC], ["127.0.0.1"]]
    found = await client().fetch(Request("http://jobs.example.com/"))
    assert (found.body, found.url) == (b"hello", "http://jobs.example.com/")
    assert net.dialled == [PUBLIC, PUBLIC]
    assert len(net.looked_up) == 2, "a name is looked up once for each connection"
    assert {one.headers["host"] for one in site.asked} == {"jobs.example.com"}


async def test_a_name_that_changes_to_a_private_address_is_refused_at_the_next_connection(
    client: Made, net: Net, site: Site
) -> None:
    site.routes["/robots.txt"] = lambda _: [answer("")]
    net.names["jobs.example.com"] = [[PUBLIC], ["127.0.0.1"]]
    with pytest.raises(Forbidden):
        await client().fetch(Request("http://jobs.example.com/"))
    assert site.paths() == ["/robots.txt"]
    assert net.dialled == [PUBLIC]


async def test_a_redirect_is_checked_like_an_address(client: Made, net: Net, site: Site) -> None:
    fetcher = client()
    for to in [*TRICKS[:35], "http://jobs.example.com:22/", "file:///etc/passwd", "http://10.0.0.1/"]:
        site.routes["/"] = answer(status=302, location=to)
        with pytest.raises(Forbidden):
            await fetcher.fetch(Request("http://jobs.example.com/"))
    assert set(site.paths()) == {"/robots.txt", "/"}
    assert set(net.looked_up) == {"jobs.example.com"}


async def test_a_redirect_to_a_name_of_a_private_address_is_refused(client: Made, net: Net, site: Site) -> None:
    site.routes["/"] = answer(status=302, location="http://inside.example.com/")
    net.names["inside.example.com"] = [["10.0.0.1"]]
    with pytest.raises(Forbidden):
        await client().fetch(Request("http://jobs.example.com/"))
    assert set(net.dialled) == {PUBLIC}


async def test_a_public_page_cannot_lead_to_a_private_host_that_is_allowed(client: Made, site: Site) -> None:
    site.routes["/"] = answer(status=302, location=site.url("/admin"))
    with pytest.raises(Forbidden, match="private host"):
        await client().fetch(Request("http://jobs.example.com/"))
    assert "/admin" not in site.paths()


async def test_a_private_host_is_fetched_when_it_is_named_with_its_port(client: Made, net: Net, site: Site) -> None:
    site.routes["/jobs"] = answer("in here")
    found = await client().fetch(Request(site.url("/jobs")))
    assert found.body == b"in here"
    assert set(net.dialled) == {"127.0.0.1"}
    with pytest.raises(Forbidden, match=rf"name '127\.0\.0\.1:{site.port}' in \[jobs\] private_hosts"):
        await client(private_hosts=["127.0.0.1", "127.0.0.1:1"]).fetch(Request(site.url("/jobs")))


async def test_proxies_of_the_environment_are_not_used(
    client: Made, site: Site, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.routes["/"] = answer("direct")
    assert (await client().fetch(Request("http://jobs.example.com/"))).body == b"direct"
    assert set(net.dialled) == {PUBLIC}


async def test_a_name_without_an_address_is_unreachable() -> None:
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(Unreachable, match=r"gone\.example\.com has no address"):
        await Guard((), nowhere).addresses("gone.example.com", 443, is_exempt=False)


def test_a_password_is_not_repeated_in_the_message() -> None:
    for url in ("http://me:hush@example.com/", "http://me:hush@example.com\t/", "ftp://me:hush@example.com/"):
        with pytest.raises(Forbidden) as raised:
            Guard().target(url)
        assert "hush" not in str(raised.value)


@pytest.mark.parametrize("text", ["http://a.example.org", "a b", "a:b", "a/b", "", "::1", "[::1", "u@a.example.org"])
def test_a_private_host_is_a_host_with_a_port_at_most(text: str) -> None:
    with pytest.raises(ValueError, match="host or host:port"):
        JobsSettings(private_hosts=[text])


def test_an_address_is_cleaned() -> None:
    found = Guard().target("HTTP://Jobs.Example.COM.:80/a?b=c#d")
    assert (found.url, found.authority, found.path) == ("http://jobs.example.com/a?b=c", "jobs.example.com", "/a?b=c")
    assert Guard(["[::1]:8080"]).target("http://[::1]:8080/x").private
