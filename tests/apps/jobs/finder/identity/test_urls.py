"""One key for one posting, and never one key for two."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.identity.urls import canonical_url, registered_domain, url_key, web_url

ID = "0b8ff6f2-4c1e-4b0e-9a55-5c3f6d9f2a10"
few = settings(max_examples=60, deadline=None)
names = st.text("abcdijkrtx_-", min_size=1, max_size=6)
queries = st.lists(st.tuples(names, st.text(max_size=6)), max_size=5)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Jobs.Example.COM:80/a/", "https://jobs.example.com/a"),
        ("https://user:secret@example.com:443/a#apply", "https://example.com/a"),
        ("https://example.com:8443/", "https://example.com:8443"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/%7Ekoch/%c3%a4/%2f", "https://example.com/~koch/%C3%A4/%2F"),
        ("https://müller.example/ä b", "https://xn--mller-kva.example/%C3%A4%20b"),
        ("https://example.com/a?b=2&a=1&a=0", "https://example.com/a?a=0&a=1&b=2"),
        ("https://example.com/a?utm_source=x&UTM_Medium=y&gclid=1&id=7", "https://example.com/a?id=7"),
        ("https://example.com/a//", "https://example.com/a//"),
    ],
)
def test_an_address_has_one_form(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "  ",
        "cook",
        "mailto:a@example.com",
        "javascript:alert(1)",
        "ftp://example.com/a",
        "file:///etc/passwd",
        "https://",
        "https://[::1",
        "https://a b/",
        "https://example.com:99999/",
        "https://exa\x00mple.com/",
        "https://example.com/\ud800",
        "https://example.com/" + "a" * 5000,
        "//example.com/a",
    ],
)
def test_what_is_no_web_address_has_no_key(url: str | None) -> None:
    assert canonical_url(url) is None
    assert url_key(url) is None
    assert registered_domain(url) is None


IDENTITY = "gh_jid ashby_jid jobId job_id id jid token for pid req ref source src t".split()  # noqa: SIM905


@pytest.mark.parametrize("name", IDENTITY)
def test_parameters_that_may_be_the_identity_stay(name: str) -> None:
    assert url_key(f"https://example.com/job?{name}=1") != url_key(f"https://example.com/job?{name}=2")


@pytest.mark.parametrize(
    ("host", "name"), [("acme.wd5.myworkdayjobs.com/Site", "source"), ("boards.greenhouse.io/acme", "t")]
)
def test_parameters_that_track_on_one_system_go_there(host: str, name: str) -> None:
    assert canonical_url(f"https://{host}?{name}=1") == f"https://{host}"


@pytest.mark.parametrize(
    ("key", "urls"),
    [
        (
            "greenhouse:acme:4007",
            [
                "https://boards.greenhouse.io/Acme/jobs/4007?gh_src=abc#app",
                "https://job-boards.greenhouse.io/acme/jobs/4007",
                "https://job-boards.eu.greenhouse.io/acme/jobs/4007",
                "https://boards-api.greenhouse.io/v1/boards/acme/jobs/4007?questions=true",
                "https://boards.greenhouse.io/embed/job_app?token=4007&for=acme",
            ],
        ),
        (
            f"lever:acme:{ID}",
            [
                f"https://jobs.lever.co/Acme/{ID}",
                f"https://jobs.lever.co/acme/{ID}/apply?lever-source=LinkedIn",
                f"https://api.eu.lever.co/v0/postings/acme/{ID}",
            ],
        ),
        (
            f"ashby:AcmeLabs:{ID}",
            [f"https://jobs.ashbyhq.com/AcmeLabs/{ID}", f"https://jobs.ashbyhq.com/AcmeLabs/{ID.upper()}/application"],
        ),
        (
            "workday:acme.Careers_Site:R-123456",
            [
                "https://acme.wd5.myworkdayjobs.com/Careers_Site/job/Kiel/Cook_R-123456",
                "https://acme.wd5.myworkdayjobs.com/en-US/Careers_Site/job/Kiel/Cook_R-123456-2?source=LinkedIn",
                "https://acme.wd5.myworkdayjobs.com/de-DE/Careers_Site/details/Cook_R-123456/apply/autofillWithResume",
                "https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/Careers_Site/job/Kiel/Cook_R-123456",
            ],
        ),
        (
            "smartrecruiters:acme:743999671674844",
            [
                "https://jobs.smartrecruiters.com/Acme/743999671674844-cook-kiel",
                "https://careers.smartrecruiters.com/acme/743999671674844",
                "https://api.smartrecruiters.com/v1/companies/acme/postings/743999671674844",
            ],
        ),
        (
            "workable:j:DD136DD7E7",
            ["https://apply.workable.com/j/DD136DD7E7", "https://apply.workable.com/acme/j/DD136DD7E7/apply/"],
        ),
    ],
)
def test_a_systems_posting_has_one_key_under_all_its_addresses(key: str, urls: list[str]) -> None:
    assert {url_key(url) for url in urls} == {key}


def test_an_employers_own_page_belongs_to_the_board_that_it_was_found_on() -> None:
    own = "https://acme.example/careers/?gh_jid=4007&utm_source=x"
    assert url_key(own, ("greenhouse", "acme")) == "greenhouse:acme:4007"
    assert url_key(own) == "https://acme.example/careers?gh_jid=4007"
    assert url_key(f"https://acme.example/jobs?ashby_jid={ID}", ("ashby", "AcmeLabs")) == f"ashby:AcmeLabs:{ID}"


def test_capitals_tell_boards_of_ashby_and_workday_apart() -> None:
    assert url_key(f"https://jobs.ashbyhq.com/acme/{ID}") != url_key(f"https://jobs.ashbyhq.com/Acme/{ID}")
    site = "https://acme.wd1.myworkdayjobs.com/{}/job/Cook_R-1"
    assert url_key(site.format("site")) != url_key(site.format("Site"))


@pytest.mark.parametrize(
    "url",
    [
        "https://boards.greenhouse.io/embed/job_board/js?callback=x",
        "https://jobs.lever.co",
        "https://apply.workable.com/api/",
        "https://www.myworkdayjobs.com/",
        "https://jobs.ashbyhq.com/../x",
        "https://evilgreenhouse.io/acme/jobs/1",
        "https://greenhouse.io.evil.example/acme/jobs/1",
    ],
)
def test_what_only_looks_like_a_board_is_none(url: str) -> None:
    assert url_key(url) == canonical_url(url)


@few
@given(
    st.text("ab./%2eF~ä;=+-", max_size=20),
    queries,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", ":80", ":443"]),
)
def test_the_form_of_a_form_is_itself(path: str, query: list[tuple[str, str]], scheme: str, port: str) -> None:
    once = canonical_url(f"{scheme}://Example.com{port}/{path}?{urlencode(query, errors='replace')}")
    assert once is not None
    assert canonical_url(once) == once


@few
@given(queries, st.randoms(use_true_random=False))
def test_the_order_of_parameters_does_not_count_and_tracking_neither(
    query: list[tuple[str, str]], random: object
) -> None:
    mixed = [*query, ("utm_campaign", "x"), ("fbclid", "y")]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    plain = "https://example.com/a?" + urlencode(query, errors="replace")
    assert canonical_url("https://example.com/a?" + urlencode(mixed, errors="replace")) == canonical_url(plain)


@few
@given(st.text(max_size=6), st.text(max_size=6))
def test_different_values_keep_different_keys(one: str, other: str) -> None:
    first, second = (canonical_url(f"https://example.com/?id={quote(v, errors='replace')}") for v in (one, other))
    assert (first == second) == (quote(one, errors="replace") == quote(other, errors="replace"))


@few
@given(st.text(max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    for url in (text, f"https://{text}", f"https://jobs.lever.co/{text}", f"https://a.wd1.myworkdayjobs.com/{text}"):
        url_key(url)
        web_url(url, "https://example.com/")


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://jobs.acme.co.uk/a", "acme.co.uk"),
        ("https://127.0.0.1:80/", "127.0.0.1"),
        ("https://localhost/", "localhost"),
    ],
)
def test_the_registered_domain_comes_from_a_list_on_board(url: str, domain: str) -> None:
    assert registered_domain(url) == domain


def test_a_relative_address_is_made_absolute() -> None:
    assert web_url("../job/7", "https://acme.example/careers/list") == "https://acme.example/job/7"
    assert web_url("javascript:void(0)", "https://acme.example/") is None
    assert web_url(7) is None
