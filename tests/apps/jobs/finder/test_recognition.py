"""What an address that somebody adds is taken for."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.recognition import recognise
from interlock.engine import InvalidData


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("kelp.example", "company"),
        ("https://kelp.example/", "company"),
        ("https://kelp.example/de", "company"),
        ("https://kelp.example/careers", "source"),
        ("https://kelp.example/company/Jobs/", "source"),
        ("https://kelp.example/careers/cook-17", "listing"),
        ("https://kelp.example/blog/we-need-a-cook", "listing"),
        ("https://kelp.example/jobs.rss", "source"),
        ("https://boards.greenhouse.io/kelp", "source"),
        ("https://boards.greenhouse.io/kelp/jobs/17", "listing"),
        ("https://jobs.lever.co/kelp/0b8ff6f2-4c1e-4b0e-9a55-5c3f6d9f2a10", "listing"),
        ("http://127.0.0.1:8430/greenhouse-host/kelp", "source"),
        ("http://127.0.0.1:8430/greenhouse-host/kelp/jobs/17", "listing"),
        ("http://127.0.0.1:8430/kelp", "company"),
        ("127.0.0.1:8430/kelp", "company"),
        ("http://intranet/careers", "source"),
    ],
)
def test_an_address_is_taken_for_what_it_looks_like(url: str, kind: str) -> None:
    found = recognise(url, ["127.0.0.1:8430"])
    assert found.kind == kind
    assert found.reason
    assert "://" in found.url


@pytest.mark.parametrize(
    "url", ["", "kelp", "kelp/jobs", "two words", "ftp://kelp.example", "javascript:alert(1)", "https://"]
)
def test_what_is_no_address_is_refused_with_its_value(url: str) -> None:
    with pytest.raises(InvalidData, match="is not a web address"):
        recognise(url)
