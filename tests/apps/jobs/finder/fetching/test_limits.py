"""No answer costs more time or memory than is allowed, and half an answer is not taken for a whole one."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from interlock.apps.jobs.finder.fetching import CutOff, Fetcher, TimedOut, TooLarge, Unreachable
from interlock.apps.jobs.finder.fetching.decoding import decoder
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.settings import JobsSettings

from .conftest import Made
from .site import HOLD, Site, SiteRequest, answer

TEXT = b"Jobs at Example. " * 20_000


async def one_request(fetcher: Fetcher, url: str) -> Answer:
    """A request alone, without robots.txt."""
    return await fetcher._exchanges().send(fetcher.guard.target(url), "/", "GET", {"Host": "x"}, None, 100)


async def test_an_answer_that_is_too_large_is_not_read_on(client: Made, site: Site) -> None:
    site.routes["/announced"] = lambda _: [answer(b"x", content_length="50000000"), HOLD]
    site.routes["/not"] = lambda _: [b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 200_000, HOLD]
    fetcher = client(most_bytes=100_000)
    for path in ("/announced", "/not"):
        with pytest.raises(TooLarge, match=rf"{path} has more than 100,000 bytes; no more are read"):
            await fetcher.fetch(Request(site.url(path)))
    site.routes["/fits"] = answer(b"x" * 100_000)
    assert len((await fetcher.fetch(Request(site.url("/fits")))).body) == 100_000
    with pytest.raises(TooLarge):
        await fetcher.fetch(Request(site.url("/fits")), most_bytes=99_999)


async def test_a_decompression_bomb_is_stopped_at_the_limit(client: Made, site: Site) -> None:
    site.routes["/"] = answer(gzip.compress(bytes(3_000_000)), content_encoding="gzip")
    with pytest.raises(TooLarge):
        await client(most_bytes=1_000_000).fetch(Request(site.url("/")))


def test_a_bomb_is_unpacked_in_small_pieces() -> None:
    pieces = decoder("gzip").feed(gzip.compress(bytes(2_000_000)))
    assert max(len(next(pieces)) for _ in range(3)) <= 1 << 18


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("GZIP", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
        ("x-gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("identity", TEXT),
    ],
)
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_a_body_is_unpacked_whatever_its_pieces(encoding: str, packed: bytes, size: int) -> None:
    one = decoder(encoding)
    packed, wanted = (packed, TEXT) if encoding != "identity" else (packed[:1000], TEXT[:1000])
    pieces = [piece for start in range(0, len(packed), size) for piece in one.feed(packed[start : start + size])]
    assert b"".join(pieces) == wanted
    assert one.is_complete()


@pytest.mark.parametrize(("encoding", "body"), [("gzip", b"no gzip"), ("br", b"x"), ("gzip, gzip", b"x")])
async def test_a_body_that_is_packed_otherwise_than_it_says(
    client: Made, site: Site, encoding: str, body: bytes
) -> None:
    site.routes["/"] = answer(body, content_encoding=encoding)
    with pytest.raises(Unreachable, match="cannot be decompressed"):
        await client().fetch(Request(site.url("/")))


PACKED = gzip.compress(TEXT)


@pytest.mark.parametrize(
    "pieces",
    [
        [answer(b"half", content_length="100")],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
        [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + PACKED[: len(PACKED) // 2]],
    ],
    ids=["shorter than announced", "no last chunk", "half of a gzip"],
)
async def test_an_answer_that_breaks_off_is_not_an_answer(client: Made, site: Site, pieces: list[bytes]) -> None:
    site.routes["/"] = lambda _: pieces
    with pytest.raises(CutOff, match="broke off"):
        await client().fetch(Request(site.url("/")))


async def test_an_empty_body_may_call_itself_compressed(client: Made, site: Site) -> None:
    site.routes["/"] = answer(b"", content_encoding="gzip")
    assert (await client().fetch(Request(site.url("/")))).body == b""


@pytest.mark.parametrize(
    "pieces",
    [[], [b"SSH-2.0-OpenSSH\r\n\r\n"], [b"HTTP/1.1 200 OK\r\n" + b"x-a: " + b"b" * 200_000]],
    ids=["nothing", "another protocol", "endless headers"],
)
async def test_what_is_no_answer_is_unreachable(client: Made, site: Site, pieces: list[bytes]) -> None:
    site.routes["/"] = lambda _: pieces
    site.routes["/robots.txt"] = answer("")
    with pytest.raises(Unreachable):
        await client().fetch(Request(site.url("/")))


@pytest.mark.parametrize("pieces", [[HOLD], [answer(b"half", content_length="100"), HOLD]], ids=["no answer", "no end"])
async def test_a_request_ends_when_its_time_is_over(client: Made, site: Site, pieces: list[object]) -> None:
    site.routes["/"] = lambda _: pieces
    fetcher = client(timeout=0.05)
    with pytest.raises(TimedOut, match=r"0\.05 s \(\[jobs\] timeout\)"):
        await one_request(fetcher, site.url("/"))


async def test_a_host_that_refuses_connections_is_unreachable() -> None:
    closed = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = closed.sockets[0].getsockname()[1]
    closed.close()
    fetcher = Fetcher(JobsSettings(private_hosts=[f"127.0.0.1:{port}"]))
    with pytest.raises(Unreachable, match=rf"http://127\.0\.0\.1:{port}/"):
        await one_request(fetcher, f"http://127.0.0.1:{port}/")


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced(client: Made, site: Site) -> None:
    closed: list[object] = []

    def route(asked: SiteRequest) -> list[object]:
        """The first request, on the connection of robots.txt, finds it closed."""
        closed.append(asked)
        return [] if len(closed) == 1 else [answer("x")]

    site.routes["/"] = route
    assert (await client().fetch(Request(site.url("/")))).body == b"x"
    closed.clear()
    fetcher = client()
    await fetcher.fetch(Request(site.url("/robots.txt")))
    with pytest.raises(Unreachable):
        await fetcher.fetch(Request(site.url("/"), "POST"))
    assert len(closed) == 1, "a POST is not sent twice"


async def test_connections_are_used_again(client: Made, site: Site) -> None:
    site.routes["/"] = answer("x")
    fetcher = client()
    for _ in range(5):
        await fetcher.fetch(Request(site.url("/")))
    assert site.connections == 1


def test_a_client_works_on_the_loop_that_replaces_another(site: Site) -> None:
    site.routes["/"] = answer("x")
    fetcher = Fetcher(JobsSettings(private_hosts=[site.host]))

    async def once() -> bytes:
        try:
            return (await fetcher.fetch(Request(site.url("/")))).body
        finally:
            await fetcher.aclose()

    assert [asyncio.run(once()) for _ in range(2)] == [b"x", b"x"]
