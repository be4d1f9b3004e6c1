"""The questions of a posting's form.

Greenhouse and Recruitee show the form with the posting. Ashby, SmartRecruiters and Workable show it to the employer's
key only, in an answer of its own (`definition`). Lever and Personio show no questions: their fixed fields are known,
and others may be on the page. What a definition has in a form that is not known is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interlock.apps.jobs.autoapply.answers.fields import field_of
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.finder.sources.row import Row

LABEL = 5000
"""Characters of a label. A consent is compared word by word, so it is kept whole as far as that."""
MOST = 300
_ASHBY = {
    "Boolean": "bool",
    "Date": "date",
    "Number": "number",
    "Email": "text",
    "Phone": "text",
    "String": "text",
    "LongText": "long",
    "RichText": "long",
    "ValueSelect": "single",
    "MultiValueSelect": "multi",
    "File": "file",
    "Location": "text",
}
ASHBY_OBJECTS = ("RichText", "Location")
"""Types whose value is an object; a question's source names them, so that the adapter can make it."""
_WORKABLE = {
    "string": "text",
    "free_text": "long",
    "file": "file",
    "boolean": "bool",
    "date": "date",
    "multiple_choice": "multi",
    "dropdown": "single",
    "numeric": "number",
}
_SMART = {
    "INPUT_TEXT": "text",
    "TEXTAREA": "long",
    "CHECKBOX": "multi",
    "RADIO": "single",
    "SINGLE_SELECT": "single",
    "MULTI_SELECT": "multi",
    "INFORMATION": "",
}


def _fixed(*names: str, source: str = "system") -> tuple[Question, ...]:
    """Questions from "key type label"; a `!` before the key marks a required one."""
    made = []
    for name in names:
        key, kind, label = name.lstrip("!").split(" ", 2)
        made.append(Question(key=key, type=kind, label=label, required=name.startswith("!"), source=source))
    return tuple(made)


FIXED: Mapping[str, tuple[Question, ...]] = {
    "greenhouse": _fixed("!first_name text First name", "!last_name text Last name", "!email text Email"),
    "lever": _fixed(
        "!name text Full name",
        "!email text Email",
        "resume file Resume",
        "phone text Phone",
        "org text Current company",
        "urls[LinkedIn] text LinkedIn",
        "urls[GitHub] text GitHub",
        "urls[Portfolio] text Portfolio",
        "comments long Additional information",
    ),
    "ashby": _fixed(
        "!_systemfield_name text Name", "!_systemfield_email text Email", "_systemfield_resume file Resume"
    ),
    "smartrecruiters": _fixed(
        "!firstName text First name",
        "!lastName text Last name",
        "!email text Email",
        "phoneNumber text Phone",
        "resume file Resume",
    ),
    "workable": _fixed("!firstname text First name", "!lastname text Last name", "!email text Email"),
    "recruitee": _fixed("!name text Full name", "!email text Email"),
    "personio": _fixed(
        "!first_name text First name",
        "!last_name text Last name",
        "!email text Email",
        "phone text Phone",
        "cv file Resume",
        "message long Message",
    ),
}
"""The fields that a system's form always has."""


def form_of(posting: Posting, definition: Mapping[str, Any] | None = None) -> tuple[Question, ...]:
    """The questions in the order of the form, each key once; fixed fields that the form does not list come first."""
    asked = list(posting.questions)
    reader = _DEFINITIONS.get(posting.ats)
    if definition is not None and reader is not None:
        asked += reader(Row(definition))
    keys = {one.key for one in asked}
    fixed = [one for one in FIXED.get(posting.ats, ()) if one.key not in keys]
    found: dict[str, Question] = {}
    for one in [*fixed, *asked]:
        found.setdefault(one.key, _marked(one, posting.ats))
    return tuple(found.values())[:MOST]


def _marked(question: Question, ats: str) -> Question:
    """A field of a resume may be a file or a text: both are one question. A consent is marked as one."""
    field = field_of(question, ats)
    updates: dict[str, Any] = {}
    if question.group is None and field.by == "id" and field.name in ("resume", "cover_letter"):
        updates["group"] = field.name
    if field.name == "consent" and question.type == "bool":
        updates["type"] = "consent"
    return question.model_copy(update=updates) if updates else question


def _options(rows: list[Row], label: str, ident: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = [(text, one.ident(ident) or "") for one in rows if (text := one.text(label))]
    return tuple(text for text, _ in pairs), tuple(key for _, key in pairs)


def _greenhouse(row: Row) -> list[Question]:
    """Blocks beside `questions`, which the posting has: location, compliance, demographic data, data protection."""
    found = []
    for block in ("location_questions", "compliance"):
        asked = [one for part in row.rows(block) for one in (part.rows("questions") or [part])]
        for one in asked:
            for part in one.rows("fields"):
                options, ids = _options(part.rows("values"), "label", "value")
                if key := part.ident("name"):
                    kind = "demographic" if block == "compliance" else "single" if options else "text"
                    found.append(
                        _question(key, one.text("label", LABEL), kind, one.flag("required"), options, ids, block)
                    )
    for one in row.rows("demographic_questions.questions"):
        options, ids = _options(one.rows("answer_options"), "label", "id")
        if key := one.ident("id"):
            name = f"demographic_{key}"
            found.append(
                _question(
                    name, one.text("label", LABEL), "demographic", one.flag("required"), options, ids, "demographic"
                )
            )
    for one in row.rows("data_compliance"):
        for kind in ("consent", "processing_consent", "retention_consent"):
            if one.flag(f"requires_{kind}"):
                label = f"{(one.text('type') or 'data protection').upper()}: {kind.replace('_', ' ')}"
                found.append(_question(f"data_compliance.{kind}", label, "consent", True, (), (), "data_compliance"))
    return found


def _question(
    key: str,
    label: str | None,
    kind: str,
    required: bool | None,
    options: tuple[str, ...],
    ids: tuple[str, ...],
    source: str,
) -> Question:
    return Question.model_validate(
        {
            "key": key,
            "label": label,
            "type": kind,
            "required": required,
            "options": options,
            "option_ids": ids,
            "source": source,
        }
    )


def _ashby(row: Row) -> list[Question]:
    parts = row.rows("fields") or [one for part in row.rows("sections") for one in part.rows("fields")]
    found = []
    for one in parts:
        key, given = one.ident("field.path") or one.ident("field.id"), str(one.get("field.type"))
        if key and (kind := _ASHBY.get(given)):
            options, ids = _options(one.rows("field.selectableValues"), "label", "value")
            source = f"form.{given}" if given in ASHBY_OBJECTS else "form"
            found.append(
                _question(key, one.text("field.title", LABEL), kind, one.flag("isRequired"), options, ids, source)
            )
    return found


def _workable(row: Row) -> list[Question]:
    found = []
    for one in row.rows("form_fields"):
        kind = _WORKABLE.get(str(one.get("type")))
        if (key := one.ident("key")) and kind:
            found.append(_question(key, one.text("label", LABEL), kind, one.flag("required"), (), (), "form_fields"))
    for one in row.rows("questions"):
        kind = _WORKABLE.get(str(one.get("type")))
        if kind == "multi" and one.flag("single_answer"):
            kind = "single"
        if (key := one.ident("id")) and kind:
            options, ids = _options(one.rows("choices"), "body", "id")
            found.append(_question(key, one.text("body", LABEL), kind, one.flag("required"), options, ids, "questions"))
    return found


def _smartrecruiters(row: Row) -> list[Question]:
    """Screening questions, those about diversity last, then the consents to privacy policies."""
    screening: list[Question] = []
    diversity: list[Question] = []
    for one in row.rows("questions"):
        options, ids = _options(one.rows("values"), "label", "id")
        kind = _SMART.get(str(one.get("type")), "single" if options else "text")
        diverse = one.get("complianceType") == "DIVERSITY"
        if (key := one.ident("id")) and kind:
            made = _question(
                key,
                one.text("label", LABEL),
                "demographic" if diverse else kind,
                one.flag("required"),
                options,
                ids,
                "questions",
            )
            (diversity if diverse else screening).append(made)
    policies = [
        _question(
            f"consent.{key}",
            one.text("statement", LABEL) or "Privacy policy",
            "consent",
            True,
            (),
            (),
            "privacyPolicies",
        )
        for one in row.rows("privacyPolicies")
        if (key := one.ident("id") or one.ident("orgName"))
    ]
    return [*screening, *diversity, *policies]


_DEFINITIONS: Mapping[str, Callable[[Row], list[Question]]] = {
    "greenhouse": _greenhouse,
    "ashby": _ashby,
    "workable": _workable,
    "smartrecruiters": _smartrecruiters,
}
