"""Over TLS the name is checked although the connection goes to an address."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.apps.jobs.finder.fetching import Fetcher, RobotsUnknown, Unreachable
from interlock.apps.jobs.finder.fetching.exchange import _tls
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.settings import JobsSettings

from .site import PUBLIC, Net, Site, answer, running

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make a certificate")
named: list[str] = []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of jobs.example.com, signed by nobody, with its key."""
    folder = tmp_path_factory.mktemp("tls")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=jobs.example.com", "-addext", "subjectAltName=DNS:jobs.example.com"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run(["openssl", "req", *kind, *name, *files], check=True, capture_output=True)
    return folder / "certificate.pem"


@pytest.fixture(scope="module")
def site(certificate: Path) -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    context.sni_callback = lambda _, name, __: named.append(name)
    with running(context) as made:
        made.routes["/"] = answer("hello")
        yield made


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    _tls.cache_clear()
    yield
    _tls.cache_clear()


async def fetched(site: Site, url: str) -> bytes:
    net = Net(site)
    fetcher = Fetcher(JobsSettings(rate=0), resolver=net.resolve, dial=net.dial)
    try:
        return (await fetcher.fetch(Request(url))).body
    finally:
        await fetcher.aclose()
        assert set(net.dialled) == {PUBLIC}


@pytest.mark.usefixtures("trusted")
async def test_the_name_is_sent_and_must_be_the_certificates(site: Site) -> None:
    named.clear()
    assert await fetched(site, "https://jobs.example.com/") == b"hello"
    assert set(named) == {"jobs.example.com"}
    with pytest.raises(Unreachable, match="certificate verify failed"):
        await fetched(site, "https://boards-api.greenhouse.io/")


async def test_a_certificate_that_nobody_signed_is_refused(site: Site) -> None:
    with pytest.raises(RobotsUnknown, match="certificate verify failed"):
        await fetched(site, "https://jobs.example.com/")
