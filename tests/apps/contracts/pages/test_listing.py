"""The register's pages without a script: the list, upload, comparison, calendar, export, and who may what."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from html import unescape
from typing import Any

import pytest

from tests.support.api import BY
from tests.support.contracts import CLEAR, DOUBTFUL, ENERGY, Contracts
from tests.support.files import pdf
from tests.support.site import EVIL, Site


@pytest.fixture
def site(contracts: Contracts) -> Site:
    return Site(contracts.api)


def token(site: Site, who: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', site.get("/ui/settings", who).text)
    assert found is not None
    return found[1]


def send(site: Site, *files: tuple[str, bytes], who: str = "owner", json: bool = False, **fields: str) -> Any:
    data = {"csrf": token(site, who), "vertical": "", **fields}
    headers = {"accept": "application/json"} if json else {}
    parts = [("file", one) for one in files]
    return site.browser(who).post("/ui/contracts/upload", data=data, files=parts, headers=headers)


# -- the list


def test_a_row_has_parties_law_term_value_and_state(contracts: Contracts, site: Site) -> None:
    contracts.taken(CLEAR, filename="clear.pdf")
    contracts.taken(ENERGY, filename="strom.pdf", vertical="energy")
    text = unescape(site.get("/ui/contracts").text)
    for value in (
        "clear.pdf",
        "Nordwind Tools, Inc.; Harbor Retail LLC",
        "New York",
        "until 2027-03-05, renewed by 1 year",
        "completed",
        "Working price",
        "until 2025-02-28",
    ):
        assert value in text, value


def test_words_are_searched_in_the_text_whatever_their_capitals(contracts: Contracts, site: Site) -> None:
    clear = contracts.taken(CLEAR, filename="clear.pdf")
    contracts.taken(ENERGY, filename="strom.pdf", vertical="energy")
    found = site.get("/ui/contracts?q=LIMITATION%20liability").text
    assert "clear.pdf" in found
    assert "strom.pdf" not in found
    assert "<mark>Limitation</mark>" in found
    assert f'href="/ui/contracts/{clear}/review?q=LIMITATION%20liability"' in found
    assert "strom.pdf" in site.get("/ui/contracts?q=kündigungsfrist").text
    assert "No contracts match" in site.get("/ui/contracts?q=100%25%20nowhere").text
    assert "clear.pdf" not in site.get("/ui/contracts?vertical=energy").text
    assert "strom.pdf" not in site.get("/ui/contracts?show=review").text


def test_nobody_sees_the_contracts_of_another_workspace(contracts: Contracts, site: Site) -> None:
    contracts.taken(CLEAR, filename="clear.pdf")
    assert "clear.pdf" not in site.get("/ui/contracts", "north-owner").text
    assert "clear.pdf" not in site.get("/ui/contracts?q=agreement", "north-owner").text
    assert site.get("/ui/contracts?workspace=default", "north-owner").status_code == 404
    for path in ("calendar", "calendar.ics", "export?format=csv"):
        assert "clear.pdf" not in site.get(f"/ui/contracts/{path}", "north-owner").text


def test_hostile_names_are_text(contracts: Contracts, site: Site) -> None:
    contracts.taken(DOUBTFUL, filename=EVIL)
    for path in ("", "/calendar?months=all", "?q=agreement"):
        assert "<script>alert" not in site.get(f"/ui/contracts{path}").text


def test_a_rejected_one_is_processed_again_from_the_list(contracts: Contracts, site: Site) -> None:
    it = contracts.in_review(filename="no.pdf")
    contracts.review(it, "reject", notes="wrong contract")
    assert "rejected by a reviewer" in site.get("/ui/contracts?show=closed").text
    action = f"/ui/contracts/{it}/reprocess"
    answer = site.send("/ui/contracts", action, who="owner")
    assert "is processed again" in unescape(answer.text)
    contracts.trial.run_until_idle()
    assert "no.pdf" in site.get("/ui/contracts?show=review").text
    refused = site.browser("viewer").post(action, data={"csrf": token(site, "viewer")})
    assert refused.status_code == 403


# -- two to compare


def test_two_are_compared_and_the_older_is_the_one_before(contracts: Contracts, site: Site) -> None:
    a, b = contracts.taken(CLEAR, filename="first.pdf"), contracts.taken(DOUBTFUL, filename="second.pdf")
    page = site.get(f"/ui/contracts/compare?id={b}&id={a}")
    assert page.status_code == 200
    assert "first.pdf → second.pdf" in unescape(page.text)
    assert "comparison/comparison.css" in page.text
    assert "select two to compare" in site.get(f"/ui/contracts/compare?id={a}").text
    assert site.get(f"/ui/contracts/compare?id={a}&id={b}", "north-owner").status_code == 404


def test_the_preview_of_a_comparison_has_its_styles(contracts: Contracts, site: Site) -> None:
    it = contracts.taken(CLEAR)
    text = unescape(site.get(f"/ui/instances/{it}?tab=artifacts").text)
    sheet = re.search(r'srcdoc="<link rel="stylesheet" href="(/ui/static/\w+/comparison/comparison.css)">', text)
    assert sheet is not None
    assert '<div class="comparison">' in text
    assert site.get(sheet[1]).status_code == 200


# -- upload


def test_several_files_are_taken_in_and_their_kind_is_guessed_and_shown(contracts: Contracts, site: Site) -> None:
    answer = send(site, ("clear.pdf", pdf(CLEAR)), ("strom.pdf", pdf(ENERGY)))
    text = unescape(answer.text)
    assert "2 of 2 accepted" in text
    assert "it looks like: Commercial agreement" in text
    assert re.search(r"strom\.pdf</b>.*?it looks like: [^(]*nergy", text, re.DOTALL)
    contracts.trial.run_until_idle()
    found = site.get("/ui/contracts?vertical=energy").text
    assert "strom.pdf" in found


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.pdf", b"hello", "'x.pdf' is not a PDF"),
        ("people.csv", b"a,b,c\n1,2,3\n4,5,6\n", "'people.csv' is a table (CSV)"),
        ("torn.pdf", b"%PDF-1.4\n%%EOF", "the PDF cannot be opened"),
    ],
)
def test_what_is_no_contract_is_refused_by_name_everywhere(
    contracts: Contracts, site: Site, name: str, content: bytes, reason: str
) -> None:
    answer = send(site, (name, content))
    assert answer.status_code == 422
    text = unescape(answer.text)
    assert reason in text
    assert f"<b>{name}</b>" in text
    assert "0 of 1 accepted" in text
    assert "No contracts yet" in site.get("/ui/contracts").text
    if name != "torn.pdf":  # the endpoint lets the worker open it
        refused = contracts.upload(content, name).json()
        assert reason in refused["error"]["message"]


def test_a_script_gets_an_answer_for_each_file_and_the_same_file_is_known(contracts: Contracts, site: Site) -> None:
    first = send(site, ("clear.pdf", pdf(CLEAR)), json=True, vertical="commercial").json()
    again = send(site, ("copy.pdf", pdf(CLEAR)), json=True, vertical="commercial").json()
    assert first["files"][0]["said"] == "Accepted as Commercial agreement"
    assert again["files"][0]["said"].startswith("Known already")
    assert again["files"][0]["to"] == first["files"][0]["to"]


def test_only_members_upload_and_only_from_our_page(contracts: Contracts, site: Site) -> None:
    assert site.get("/ui/contracts/upload", "viewer").status_code == 403
    refused = send(site, ("clear.pdf", pdf(CLEAR)), who="viewer")
    assert refused.status_code == 403
    forged = site.browser().post("/ui/contracts/upload", data={"csrf": "x"}, files=[("file", ("a.pdf", pdf(CLEAR)))])
    assert forged.status_code == 403
    elsewhere = site.browser().post(
        "/ui/contracts/upload",
        data={"csrf": token(site, "owner")},
        files=[("file", ("a.pdf", pdf(CLEAR)))],
        headers={"sec-fetch-site": "cross-site"},
    )
    assert elsewhere.status_code == 403
    assert "No contracts yet" in site.get("/ui/contracts").text


# -- calendar


def test_the_calendar_has_ends_and_notice_dates_and_says_what_is_computed(contracts: Contracts, site: Site) -> None:
    contracts.taken(CLEAR, filename="clear.pdf")
    text = site.get("/ui/contracts/calendar?months=36").text
    assert "March 2027" in text
    assert "90 days before its end on 2027-03-05" in text
    assert "Last day for notice" in text
    file = site.get("/ui/contracts/calendar.ics")
    assert file.headers["content-type"].startswith("text/calendar")
    assert "DTSTART;VALUE=DATE:20261205" in file.text


def address(site: Site, who: str) -> str:
    found = re.search(r'id="feed">[^<]*?(/contracts/calendar/[^<]+)<', site.get("/ui/contracts/calendar", who).text)
    assert found is not None
    return found[1]


def test_a_secret_address_needs_no_login_until_it_is_replaced_or_removed(contracts: Contracts, site: Site) -> None:
    contracts.taken(CLEAR, filename="clear.pdf")
    page, action = "/ui/contracts/calendar", "/ui/contracts/calendar/feed"
    site.send(page, action, {"do": "make"}, "viewer")
    first = address(site, "viewer")
    stranger = contracts.api.client
    assert "clear.pdf" in stranger.get(first).text.replace("\r\n ", "")
    for changed in (first.replace(".ics", "x.ics"), first[:-8] + ".ics"):
        assert stranger.get(changed).status_code == 404
    site.send(page, action, {"do": "make"}, "viewer")
    assert stranger.get(first).status_code == 404
    second = address(site, "viewer")
    assert stranger.get(second).status_code == 200
    person = contracts.api.people.find("viewer")
    contracts.api.people.disable(person.id, by=BY)
    assert stranger.get(second).status_code == 404, "whoever may no longer read has no calendar"


def test_an_address_is_removed(contracts: Contracts, site: Site) -> None:
    page, action = "/ui/contracts/calendar", "/ui/contracts/calendar/feed"
    site.send(page, action, {"do": "make"})
    old = address(site, "owner")
    site.send(page, action, {"do": "remove"})
    assert contracts.api.client.get(old).status_code == 404


# -- export


def test_lists_are_exported_and_no_cell_is_a_formula(contracts: Contracts, site: Site) -> None:
    contracts.taken(DOUBTFUL, filename="=1+1.pdf")
    contracts.taken(CLEAR, filename="clear.pdf")
    rows = list(csv.DictReader(io.StringIO(site.get("/ui/contracts/export?format=csv").text)))
    assert [row["File"] for row in rows] == ["clear.pdf", "'=1+1.pdf"]
    assert rows[0]["Governing law"] == "New York"
    assert rows[0]["Ends"] == "2027-03-05"
    answer = site.get("/ui/contracts/export?format=xlsx")
    assert answer.headers["content-disposition"] == 'attachment; filename="contracts.xlsx"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as book:
        texts = book.read("xl/sharedStrings.xml").decode()
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "'=1+1.pdf" in texts
    assert "<f>" not in sheet
    assert site.get("/ui/contracts/export?format=csv&q=nowhere").text.count("\n") == 1


def test_every_row_is_exported_once(contracts: Contracts, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.apps.contracts.register import export

    monkeypatch.setattr(export, "AT_ONCE", 2)
    for number in range(5):
        contracts.taken([(*CLEAR[0], f"No. {number}"), CLEAR[1]], read=False, filename=f"{number}.pdf")
    rows = list(csv.DictReader(io.StringIO(site.get("/ui/contracts/export?format=csv").text)))
    assert [row["File"] for row in rows] == ["4.pdf", "3.pdf", "2.pdf", "1.pdf", "0.pdf"]


def test_the_endpoints_list_export_and_date_the_same(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR, filename="clear.pdf")
    contracts.taken(ENERGY, filename="strom.pdf", vertical="energy")
    body = contracts.api.get("/workflows?q=limitation").json()["data"]
    assert [(one["workflowId"], one["law"], one["ends"]) for one in body["workflows"]] == [
        (str(it), "New York", "2027-03-05")
    ]
    first = contracts.api.get("/workflows?limit=1").json()["data"]
    rest = contracts.api.get(f"/workflows?limit=1&after={first['next']}").json()["data"]
    assert [one["filename"] for one in (*first["workflows"], *rest["workflows"])] == ["strom.pdf", "clear.pdf"]
    assert rest["next"] is None
    assert "clear.pdf" in contracts.api.get("/workflows?format=csv").text
    assert "20270305" in contracts.api.get("/workflows/calendar.ics").text
    assert contracts.api.get("/workflows", "north-owner").json()["data"]["workflows"] == []
    assert contracts.api.get("/workflows?workspace=default", "north-owner").status_code == 404
