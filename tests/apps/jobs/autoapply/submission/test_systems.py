"""Each system's application, byte for byte as its server gets it, and what each answer means."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from email import message_from_bytes
from email.message import Message
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.errors import SiteUnreachable
from interlock.apps.jobs.autoapply.submission import (
    Adapter,
    AnswerLost,
    Blocked,
    BlockKind,
    FilledForm,
    Outcome,
    PostingGone,
    Rejected,
    SiteNotReached,
    Submitted,
    Unknown,
    adapter_for,
    deliver,
)
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.settings import JobsSettings
from tests.apps.jobs.finder.fetching.site import HOLD, Site, SiteRequest, answer, running

from .filled import EMAIL, FILES, filled, posting

SECRET = "s3cret-key-of-acme"
UUID = "0a1b2c3d-0000-4000-8000-000000000001"
PDF = FILES["resume.pdf"]


@dataclass
class Played:
    """A system as the tests play it."""

    page: str
    """The posting's address below the host."""
    ident: str
    apply: str
    """The path that takes applications."""
    ok: dict[str, Any]
    reference: str | None
    answers: dict[str, Any]
    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is asked before: path → answer."""
    status: int = 201
    questions: tuple[Question, ...] = ()


def _asked(key: str, kind: str = "text", *, options: str = "", source: str = "x", required: bool = False) -> Question:
    texts = tuple(filter(None, options.split(",")))
    return Question.model_validate(
        {
            "key": key,
            "label": key,
            "type": kind,
            "options": texts,
            "option_ids": tuple(str(at + 1) for at in range(len(texts))),
            "source": source,
            "required": required,
        }
    )


def _gh(label: str, name: str, kind: str, values: list[dict[str, Any]], required: bool = False) -> dict[str, Any]:
    return {"label": label, "required": required, "fields": [{"name": name, "type": kind, "values": values}]}


def _ashby(path: str, kind: str, title: str) -> dict[str, Any]:
    return {"isRequired": False, "field": {"path": path, "type": kind, "title": title}}


TWO = {"first_name": "Robin", "last_name": "Vale", "email": EMAIL}
SYSTEMS: dict[str, Played] = {
    "greenhouse": Played(
        page="/greenhouse-host/acme/jobs/123456",
        ident="123456",
        apply="/greenhouse-host/v1/boards/acme/jobs/123456",
        ok={"success": "Candidate saved successfully"},
        reference=None,
        status=200,
        questions=(
            _asked("phone"),
            _asked("resume", "file"),
            _asked("question_7[]", "multi", options="Red,Green,Blue"),
            _asked("question_8", "single", options="Yes,No", required=True),
            _asked("question_9", "file"),
        ),
        answers={
            **TWO,
            "resume": "resume.pdf",
            "question_7[]": ["Red", "Blue"],
            "question_8": "No",
            "question_9": "letter.pdf",
            "demographic_87": "Decline",
            "data_compliance.consent": True,
        },
    ),
    "lever": Played(
        page=f"/lever-host/acme/{UUID}",
        ident=UUID,
        apply=f"/lever-host/v0/postings/acme/{UUID}",
        ok={"ok": True, "applicationId": "app-1"},
        reference="app-1",
        status=200,
        answers={
            "name": "Robin Vale",
            "email": EMAIL,
            "resume": "resume.pdf",
            "urls[GitHub]": "https://example.org/robin",
        },
    ),
    "ashby": Played(
        page=f"/ashby-host/Acme/{UUID}",
        ident=UUID,
        apply="/ashby-host/applicationForm.submit",
        ok={"success": True, "results": {"submittedFormInstance": {"id": "sub-1"}}},
        reference="sub-1",
        status=200,
        before={
            "/ashby-host/jobPosting.info": {
                "success": True,
                "results": {
                    "applicationFormDefinition": {
                        "sections": [
                            {
                                "fields": [
                                    {
                                        "isRequired": True,
                                        "field": {"path": "relocate", "type": "Boolean", "title": "Move?"},
                                    },
                                    {
                                        "isRequired": False,
                                        "field": {
                                            "path": "team",
                                            "type": "ValueSelect",
                                            "title": "Team",
                                            "selectableValues": [{"label": "Core", "value": "t-1"}],
                                        },
                                    },
                                    {
                                        "isRequired": False,
                                        "field": {"path": "why", "type": "RichText", "title": "Why?"},
                                    },
                                    {
                                        "isRequired": False,
                                        "field": {"path": "at", "type": "Location", "title": "Where?"},
                                    },
                                    _ashby("n", "Number", "Years?"),
                                ]
                            }
                        ]
                    }
                },
            }
        },
        answers={
            "_systemfield_name": "Robin Vale",
            "_systemfield_email": EMAIL,
            "_systemfield_resume": "resume.pdf",
            "relocate": False,
            "team": "Core",
            "why": "Boats",
            "at": "Portland, OR, United States",
            "n": 8.0,
        },
    ),
    "smartrecruiters": Played(
        page="/smartrecruiters-host/Acme/744000012345678-cook",
        ident="744000012345678",
        apply=f"/smartrecruiters-host/postings/{UUID}/candidates",
        ok={"id": "cand-1", "createdOn": "2026-01-01T00:00:00Z"},
        reference="cand-1",
        before={
            "/smartrecruiters-host/v1/companies/Acme/postings/744000012345678": {"uuid": UUID},
            f"/smartrecruiters-host/postings/{UUID}/configuration": {
                "questions": [
                    {
                        "id": "q-1",
                        "type": "RADIO",
                        "label": "Shift?",
                        "required": True,
                        "values": [{"id": "v-1", "label": "Day"}, {"id": "v-2", "label": "Night"}],
                    }
                ],
                "privacyPolicies": [{"orgName": "Acme", "statement": "We keep your data"}],
            },
        },
        answers={
            "firstName": "Robin",
            "lastName": "Vale",
            "email": EMAIL,
            "resume": "resume.pdf",
            "q-1": "Night",
            "consent.Acme": True,
        },
    ),
    "workable": Played(
        page="/workable-host/acme/j/ABCDEF1234",
        ident="ABCDEF1234",
        apply="/workable-host/spi/v3/jobs/ABCDEF1234/candidates",
        ok={"status": "created", "candidate": {"id": "c-1"}},
        reference="c-1",
        before={
            "/workable-host/spi/v3/jobs/ABCDEF1234/application_form": {
                "form_fields": [{"key": "resume", "label": "Resume", "type": "file", "required": True}],
                "questions": [
                    {"id": "q1", "body": "Why?", "type": "free_text", "required": False},
                    {"id": "q2", "body": "Car?", "type": "boolean", "required": True},
                    {
                        "id": "q3",
                        "body": "Level",
                        "type": "dropdown",
                        "required": False,
                        "choices": [{"id": "k1", "body": "One"}, {"id": "k2", "body": "Two"}],
                    },
                ],
            }
        },
        answers={
            "firstname": "Robin",
            "lastname": "Vale",
            "email": EMAIL,
            "resume": "resume.pdf",
            "q1": "Because",
            "q2": False,
            "q3": "Two",
        },
    ),
    "recruitee": Played(
        page="/recruitee-host/acme/o/cook-1",
        ident="4711",
        apply="/recruitee-host/acme/api/offers/4711/candidates",
        ok={"candidate": {"id": 99, "name": "Robin Vale"}},
        reference="99",
        questions=(
            _asked("cv", "file", source="options_cv", required=True),
            _asked("cover_letter", "file", source="options_cover_letter"),
            _asked("286", "text", source="open_questions"),
            _asked("287", "bool", source="open_questions"),
            _asked("288", "multi", options="A,B,C", source="open_questions"),
        ),
        answers={
            "name": "Robin Vale",
            "email": EMAIL,
            "cv": "resume.pdf",
            "cover_letter": "letter.pdf",
            "286": "85000",
            "287": False,
            "288": ["A", "C"],
        },
    ),
    "personio": Played(
        page="/personio-host/acme/job/1234567",
        ident="1234567",
        apply="/personio-host/acme/v1/recruiting/applications",
        ok={"success": True},
        reference=None,
        before={"/personio-host/acme/v1/recruiting/applications/documents": {"uuid": "doc-1", "size": 3}},
        answers={**TWO, "phone": "+49 30 5550142", "cv": "resume.pdf", "message": "Moin"},
    ),
}
KEYED = [name for name in SYSTEMS if name != "recruitee"]


@pytest.fixture(scope="module")
def running_site() -> Iterator[Site]:
    with running() as made:
        yield made


@pytest.fixture
def site(running_site: Site) -> Site:
    running_site.clear()
    return running_site


def settings_for(site: Site, **key: Any) -> JobsSettings:
    """A key for each system, bound to the site."""
    keys = {
        f"k_{name}": {"system": name, "secret": SECRET, "host": site.host, "company_id": "77", **key} for name in KEYED
    }
    return JobsSettings.model_validate(
        {"private_hosts": [site.host], "timeout": 5, "autoapply": {"keys": keys, "submit_timeout": 0.4}}
    )


def posting_on(site: Site, name: str) -> Posting:
    one = SYSTEMS[name]
    return posting(ats=name, url=site.url(one.page), external_id=one.ident, board="acme", questions=one.questions)


def play(site: Site, name: str, reply: Any = None) -> None:
    one = SYSTEMS[name]
    for path, body in one.before.items():
        site.routes[path] = answer(json.dumps(body))
    site.routes[one.apply] = reply if reply is not None else answer(json.dumps(one.ok), one.status)


def form_for(adapter: Adapter, site: Site, name: str) -> FilledForm:
    one = posting_on(site, name)
    given = SYSTEMS[name].answers
    asked = asyncio.run(adapter.form(one))
    known = {question.key for question in asked}
    extra = {
        "demographic_87": Question(key="demographic_87", type="demographic", options=("Decline",), option_ids=("194",)),
        "data_compliance.consent": Question(key="data_compliance.consent", type="consent", required=True),
    }
    asked += tuple(extra[key] for key in given if key not in known)
    return filled(one, asked, given)


def apply(site: Site, name: str, reply: Any = None) -> tuple[Outcome, list[SiteRequest]]:
    """The outcome of one sending, and the requests that took part in it."""
    play(site, name)
    adapter = adapter_for(posting_on(site, name), settings_for(site))
    assert adapter.name == name, adapter.note
    if name == "greenhouse":  # its form is under the address that takes applications
        site.routes[SYSTEMS[name].apply] = answer(json.dumps({"questions": []}))
    form = form_for(adapter, site, name)
    assert adapter.validate(form) == ()
    play(site, name, reply)
    site.asked.clear()
    return asyncio.run(adapter.submit(form, "key-1")), list(site.asked)


def sent_to(asked: list[SiteRequest], name: str) -> SiteRequest:
    (one,) = [one for one in asked if one.method == "POST" and one.path.partition("?")[0] == SYSTEMS[name].apply]
    return one


def parts(asked: SiteRequest) -> dict[str, Any]:
    """A multipart body as Python's mail parser reads it: name → text, or (file name, type, content)."""
    whole = message_from_bytes(f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode() + asked.body)
    found: dict[str, Any] = {}
    for one in whole.get_payload():
        assert isinstance(one, Message)
        name = str(one.get_param("name", header="content-disposition"))
        content = one.get_payload(decode=True)
        assert isinstance(content, bytes)
        value: Any = (one.get_filename(), one.get_content_type(), content) if one.get_filename() else content.decode()
        found[name] = [*found[name], value] if name.endswith("[]") and name in found else value
        if name.endswith("[]") and not isinstance(found[name], list):
            found[name] = [found[name]]
    return found


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_application_is_accepted_with_the_sites_own_proof(site: Site, name: str) -> None:
    outcome, asked = apply(site, name)
    assert isinstance(outcome, Submitted)
    assert (outcome.proof.adapter, outcome.proof.reference) == (name, SYSTEMS[name].reference)
    assert outcome.proof.status == SYSTEMS[name].status
    sent_to(asked, name)


def test_greenhouse_gets_json_with_ids_and_base64(site: Site) -> None:
    sent = sent_to(apply(site, "greenhouse")[1], "greenhouse")
    assert sent.headers["authorization"] == "Basic " + base64.b64encode(f"{SECRET}:".encode()).decode()
    assert json.loads(sent.body) == {
        **TWO,
        "resume_content": base64.b64encode(PDF).decode(),
        "resume_content_filename": "resume.pdf",
        "question_7": [1, 3],
        "question_8": 2,
        "question_9_content": base64.b64encode(FILES["letter.pdf"]).decode(),
        "question_9_content_filename": "letter.pdf",
        "demographic_answers": [{"question_id": 87, "answer_options": [{"answer_option_id": 194}]}],
        "data_compliance": {"gdpr_consent_given": True},
    }


def test_lever_gets_a_form_with_the_key_in_the_address(site: Site) -> None:
    sent = sent_to(apply(site, "lever")[1], "lever")
    assert sent.path.endswith(f"?key={SECRET}")
    assert "authorization" not in sent.headers
    assert parts(sent) == {
        "name": "Robin Vale",
        "email": EMAIL,
        "urls[GitHub]": "https://example.org/robin",
        "resume": ("resume.pdf", "application/pdf", PDF),
    }


def test_ashby_gets_the_fields_as_json_in_one_part(site: Site) -> None:
    sent = sent_to(apply(site, "ashby")[1], "ashby")
    got = parts(sent)
    assert got["jobPostingId"] == UUID
    assert got["file_1"] == ("resume.pdf", "application/pdf", PDF)
    assert json.loads(got["applicationForm"])["fieldSubmissions"] == [
        {"path": "_systemfield_name", "value": "Robin Vale"},
        {"path": "_systemfield_email", "value": EMAIL},
        {"path": "_systemfield_resume", "value": "file_1"},
        {"path": "relocate", "value": False},
        {"path": "team", "value": "t-1"},
        {"path": "why", "value": {"type": "PlainText", "value": "Boats"}},
        {"path": "at", "value": {"country": "United States", "city": "Portland", "region": "OR"}},
        {"path": "n", "value": 8},
    ]


def test_ashby_takes_whole_numbers(site: Site) -> None:
    play(site, "ashby")
    adapter = adapter_for(posting_on(site, "ashby"), settings_for(site))
    asked = asyncio.run(adapter.form(posting_on(site, "ashby")))
    form = filled(posting_on(site, "ashby"), asked, {**SYSTEMS["ashby"].answers, "n": 8.5})
    assert [one.message for one in adapter.validate(form)] == ["Years? takes a whole number"]


def test_smartrecruiters_gets_answers_by_id_and_the_consent(site: Site) -> None:
    sent = sent_to(apply(site, "smartrecruiters")[1], "smartrecruiters")
    assert sent.headers["x-smarttoken"] == SECRET
    body = json.loads(sent.body)
    assert body.pop("resume") == {
        "fileName": "resume.pdf",
        "mimeType": "application/pdf",
        "fileContent": base64.b64encode(PDF).decode(),
    }
    assert body == {
        "firstName": "Robin",
        "lastName": "Vale",
        "email": EMAIL,
        "answers": [{"id": "q-1", "records": [{"fields": {"value": ["v-2"]}}]}],
        "attachments": [],
        "consentDecisions": {"SINGLE": True},
    }


def test_workable_gets_a_candidate_who_applied_himself(site: Site) -> None:
    sent = sent_to(apply(site, "workable")[1], "workable")
    assert sent.headers["authorization"] == f"Bearer {SECRET}"
    assert json.loads(sent.body) == {
        "sourced": False,
        "candidate": {
            "firstname": "Robin",
            "lastname": "Vale",
            "email": EMAIL,
            "resume": {"name": "resume.pdf", "data": base64.b64encode(PDF).decode()},
            "answers": [
                {"question_key": "q1", "body": "Because"},
                {"question_key": "q2", "checked": False},
                {"question_key": "q3", "choices": ["k2"]},
            ],
        },
    }


def test_recruitee_gets_a_form_without_any_key(site: Site) -> None:
    sent = sent_to(apply(site, "recruitee")[1], "recruitee")
    assert "authorization" not in sent.headers
    prefix = "candidate[open_question_answers_attributes]"
    assert parts(sent) == {
        "candidate[name]": "Robin Vale",
        "candidate[email]": EMAIL,
        "candidate[cv]": ("resume.pdf", "application/pdf", PDF),
        "candidate[cover_letter]": "letter",
        f"{prefix}[0][open_question_id]": "286",
        f"{prefix}[0][content]": "85000",
        f"{prefix}[1][open_question_id]": "287",
        f"{prefix}[1][flag]": "false",
        f"{prefix}[2][open_question_id]": "288",
        f"{prefix}[2][multi_content][]": ["A", "C"],
    }


def test_personio_gets_the_documents_first(site: Site) -> None:
    asked = apply(site, "personio")[1]
    assert [one.path.rpartition("/")[2] for one in asked] == ["documents", "applications"]
    assert all(one.headers["x-company-id"] == "77" for one in asked)
    assert all(one.headers["authorization"] == f"Bearer {SECRET}" for one in asked)
    assert parts(asked[0]) == {"file": ("resume.pdf", "application/pdf", PDF)}
    assert json.loads(asked[1].body) == {
        **TWO,
        "job_position_id": 1234567,
        "message": "Moin",
        "files": [{"uuid": "doc-1", "original_filename": "resume.pdf", "category": "cv"}],
        "attributes": [{"id": "phone", "value": "+49 30 5550142"}],
    }


# -- answers

CAPTCHA = b"<html><title>Just a moment...</title><p>Verify you are human</p></html>"


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    "reply",
    [
        answer(b"<html>Thank you</html>", 200, content_type="text/html"),
        answer(CAPTCHA, 200),
        answer(b"{]", 201),
        answer(b"[]", 200),
        answer(b'{"error": "something"}', 200),
        answer(b"", 500),
        answer(b"", 502),
        answer(b"", 503, retry_after="60"),
        answer(b"", 408),
        answer(b"", 302, location="https://elsewhere.example.org/"),
        answer(b"", 307, location="/again"),
        answer(b"{}" + b" " * 3_000_000, 200),
        answer(b'{"ok": tr', 200, content_length="100"),
        answer(b"nothing compressed", 200, content_encoding="gzip"),
        b"",
        b"HTTP/1.1 2",
    ],
    ids=lambda reply: repr(reply[:40]),
)
def test_what_may_have_arrived_is_unknown_and_sent_once(site: Site, name: str, reply: bytes) -> None:
    outcome, asked = apply(site, name, lambda _: [reply])
    assert isinstance(outcome, Unknown), outcome
    sent_to(asked, name)


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_answer_within_the_time_is_unknown(site: Site, name: str) -> None:
    outcome, asked = apply(site, name, lambda _: [HOLD])
    assert isinstance(outcome, Unknown)
    assert "may" in outcome.reason or "sent" in outcome.reason
    sent_to(asked, name)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_refusal_says_what_the_site_said(site: Site, name: str) -> None:
    body = {"error": {"message": f"email \u202ewrong, {SECRET}"}, "errors": ["<b>bad</b>", {"cv": ["too big"]}]}
    outcome, _ = apply(site, name, answer(json.dumps(body), 422))
    assert isinstance(outcome, Rejected)
    said = [one.message for one in outcome.problems]
    hidden = SECRET if name == "recruitee" else "***"  # Recruitee was sent no key, so it knows none
    assert said == [f"email wrong, {hidden}", "<b>bad</b>", "cv: too big"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_second_application_is_named_as_one(site: Site, name: str) -> None:
    outcome, _ = apply(site, name, answer(b'{"error": "duplicate"}', 409))
    assert isinstance(outcome, Rejected)
    assert "already" in outcome.problems[0].message


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b"{}", BlockKind.CLOSED),
        (410, b"{}", BlockKind.CLOSED),
        (401, b"{}", None),
        (403, b"{}", None),
        (403, CAPTCHA, BlockKind.CHALLENGE),
        (429, b"{}", BlockKind.BUSY),
    ],
)
def test_a_blocked_application_did_not_arrive(
    site: Site, name: str, status: int, body: bytes, kind: BlockKind | None
) -> None:
    outcome, _ = apply(site, name, answer(body, status, retry_after="120"))
    assert isinstance(outcome, Blocked), outcome
    assert outcome.kind is (kind or (BlockKind.LOGIN if name == "recruitee" else BlockKind.KEY))
    assert outcome.retry_after == (timedelta(seconds=120) if status == 429 else None)


def test_a_success_that_says_no_is_a_refusal(site: Site) -> None:
    for name, body in (
        ("lever", {"ok": False, "error": "closed"}),
        ("ashby", {"success": False, "errors": ["closed"]}),
    ):
        outcome, _ = apply(site, name, answer(json.dumps(body), 200))
        assert isinstance(outcome, Rejected)
        assert outcome.problems[0].message == "closed"


def test_what_delivering_raises_tells_whether_it_may_be_sent_again(site: Site) -> None:
    def delivered(reply: Any) -> None:
        play(site, "lever", reply)
        adapter = adapter_for(posting_on(site, "lever"), settings_for(site))
        asyncio.run(deliver(adapter, form_for(adapter, site, "lever"), "key"))

    with pytest.raises(SiteNotReached) as caught:
        delivered(answer(b"", 429, retry_after="7200"))
    assert caught.value.retry_after == timedelta(hours=1)
    with pytest.raises(PostingGone):
        delivered(answer(b"", 404))
    with pytest.raises(AnswerLost):
        delivered(answer(b"", 500))


@pytest.mark.parametrize("name", ["smartrecruiters", "personio"])
def test_what_goes_wrong_before_the_application_is_retried(site: Site, name: str) -> None:
    play(site, name)
    adapter = adapter_for(posting_on(site, name), settings_for(site))
    form = form_for(adapter, site, name)
    path = next(iter(SYSTEMS[name].before))
    for reply in (answer(b"", 500), answer(b"<html>", 200), b""):
        site.routes[path] = (lambda given: lambda _: [given])(reply)
        site.asked.clear()
        with pytest.raises(SiteUnreachable):
            asyncio.run(adapter.submit(form, "key"))
        assert SYSTEMS[name].apply not in [one.path for one in site.asked]


# -- keys


@pytest.mark.parametrize("name", KEYED)
def test_without_its_key_a_person_sends_it_and_sees_why(site: Site, name: str) -> None:
    one = posting_on(site, name)
    for settings, why in (
        (JobsSettings(private_hosts=[site.host]), "jobs.autoapply.keys"),
        (settings_for(site, boards=["other"]), "board"),
        (settings_for(site, host=None), "is for"),
        (settings_for(site, host="boards.example.org"), "is for"),
    ):
        adapter = adapter_for(one, settings)
        assert adapter.name == "assisted"
        assert why in adapter.note
        assert SECRET not in adapter.note
    assert site.asked == []


def test_personio_also_wants_the_employers_id(site: Site) -> None:
    adapter = adapter_for(posting_on(site, "personio"), settings_for(site, company_id=None))
    assert (adapter.name, "company_id" in adapter.note) == ("assisted", True)


def test_the_systems_own_hosts(site: Site) -> None:
    keys = {name: {"system": name, "secret": SECRET, "company_id": "77"} for name in KEYED}
    settings = JobsSettings.model_validate({"autoapply": {"keys": keys}})
    found = {}
    for name, one in SYSTEMS.items():
        board = posting(ats=name, board="acme", external_id=one.ident)
        adapter: Any = adapter_for(board, settings)
        assert adapter.name == name, adapter.note
        found[name] = adapter.request("/x", b"").url
    assert found == {
        "greenhouse": "https://boards-api.greenhouse.io/x",
        "lever": "https://api.lever.co/x",
        "ashby": "https://api.ashbyhq.com/x",
        "smartrecruiters": "https://api.smartrecruiters.com/x",
        "workable": "https://acme.workable.com/x",
        "recruitee": "https://acme.recruitee.com/x",
        "personio": "https://api.personio.de/x",
    }
    europe = posting(ats="lever", url=f"https://jobs.eu.lever.co/acme/{UUID}", external_id=UUID)
    assert "api.eu.lever.co" in adapter_for(europe, settings).note


def test_a_key_that_the_form_refuses_leaves_the_known_fields(site: Site) -> None:
    one = posting_on(site, "workable")
    site.routes[next(iter(SYSTEMS["workable"].before))] = answer(b"{}", 401)
    adapter = adapter_for(one, settings_for(site))
    asked = asyncio.run(adapter.form(one))
    assert [question.key for question in asked] == ["firstname", "lastname", "email"]
    assert "refuses the key" in adapter.note


@pytest.mark.parametrize("ident", ["../../admin", "1?x=1", "1/2", "", "a" * 200])
def test_an_id_that_would_lead_elsewhere_is_not_put_into_an_address(site: Site, ident: str) -> None:
    one = posting(ats="lever", url=site.url("/lever-host/acme"), external_id=ident, board="acme")
    assert adapter_for(one, settings_for(site)).name == "assisted"


@pytest.mark.parametrize("name", KEYED)
def test_no_log_error_or_value_shows_the_key(site: Site, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    basic = base64.b64encode(f"{SECRET}:".encode()).decode()
    forms = [SECRET, basic] if name in ("greenhouse", "ashby") else [SECRET]
    echo = json.dumps({"error": f"you sent {' and '.join(forms)}"})
    texts = [repr(apply(site, name, answer(echo, status))[0]) for status in (200, 400, 500)]
    texts.append(repr(apply(site, name, lambda _: [b"HTTP/1.1 200 X\r\n" + SECRET.encode()])[0]))
    play(site, name)
    adapter: Any = adapter_for(posting_on(site, name), settings_for(site))
    texts += [repr(adapter.request("/x", b"")), repr(vars(adapter)), repr(settings_for(site)), caplog.text]
    assert not [form for form in (SECRET, basic) for text in texts if form in text]
