"""The addresses that FETCH tries, from a website as people write it."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.companies import linked_pages, page_addresses, website_of

PRIVATE = {"127.0.0.1:8431", "world:80"}
WEBSITES = {
    "acme.com": "https://acme.com",
    "  <HTTP://ACME.com./> ": "http://acme.com",
    "//acme.com": "https://acme.com",
    "acme.com:8080": "https://acme.com:8080",
    "https://acme.com/about-us/?utm_source=x#team": "https://acme.com",
    "https://acme.com/en/careers/index.html": "https://acme.com/en",
    "https://user:secret@acme.com/de/": "https://acme.com/de",
    "acme.com/a/../b": "https://acme.com/b",
    "https://münchen.example/karriere": "https://xn--mnchen-3ya.example",
    "127.0.0.1:8431/lighthouse/": "http://127.0.0.1:8431/lighthouse",
    "http://127.0.0.1:8431/lighthouse/about": "http://127.0.0.1:8431/lighthouse",
    "http://[::1]:8431/lighthouse": "http://[::1]:8431/lighthouse",
    "world:80/lighthouse": "http://world/lighthouse",
    "acme": None,
    "": None,
    "javascript:alert(1)": None,
    "ftp://acme.com": None,
    "file:///etc/passwd": None,
    "https://": None,
    "acme.com:99999": None,
    "https://acme.com/" + "a" * 2000: None,
}


@pytest.mark.parametrize("written", WEBSITES)
def test_a_website_is_read_as_it_is_meant(written: str) -> None:
    assert website_of(written, PRIVATE) == WEBSITES[written]


def test_the_pages_are_tried_in_the_order_of_the_specification() -> None:
    assert page_addresses("acme.com") == (
        "https://acme.com/about",
        "https://acme.com/about-us",
        "https://acme.com/company",
        "https://acme.com/careers",
        "https://acme.com/",
    )
    assert page_addresses("127.0.0.1:8431/lighthouse", PRIVATE)[::4] == (
        "http://127.0.0.1:8431/lighthouse/about",
        "http://127.0.0.1:8431/lighthouse",
    )
    assert page_addresses("no website") == ()


def test_a_page_names_further_ones_of_its_own_host() -> None:
    page = """<nav><a href="/de/karriere">Karriere</a><a href="/de/ueber-uns#team">Wir</a><a href="/x">Über uns</a>
      <a href="https://elsewhere.example/careers">Jobs</a><a href="/blog">Blog</a>
      <a href="/de/karriere">Jobs</a></nav>"""
    assert linked_pages("https://acme.example/", page) == (
        "https://acme.example/de/karriere",
        "https://acme.example/de/ueber-uns",
        "https://acme.example/x",
    )
