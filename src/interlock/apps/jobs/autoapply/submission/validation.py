"""Checks of a filled form that apply to every system, before anything is sent.

Greenhouse accepts an application without its required answers, so nobody else would notice that one is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from interlock.apps.jobs.autoapply.answers.formats import read_date
from interlock.apps.jobs.autoapply.submission.values import FilledForm, Problem, media_type
from interlock.apps.jobs.finder.postings.posting import Question

MOST_FILE = 5_000_000
"""Bytes of one file; SmartRecruiters takes 2 MB, the others more."""
TEXT = 100_000
"""Characters of one answer."""
EMAIL = re.compile(r"[^@\s,;<>\"']{1,64}@[^@\s,;<>\"'.]{1,63}(?:\.[^@\s,;<>\"'.]{1,63}){1,8}")
LINK = re.compile(r"https?://|www\.", re.IGNORECASE)
_SHOWN = 80


def problems_of(form: FilledForm, *, most_file: int = MOST_FILE) -> tuple[Problem, ...]:
    """Everything that is wrong, in the order of the form."""
    found = [
        Problem(f"the file {name} is not the one of the packet; prepare it again") for name in form.changed_files()
    ]
    found += [
        Problem(f"the file {name} has {len(data):,} bytes; at most {most_file:,} are taken")
        for name, data in form.files.items()
        if len(data) > most_file
    ]
    answered = {one.group for one in form.questions if one.group and _is_given(form.packet.answers.get(one.key))}
    for question in form.questions:
        value = form.packet.answers.get(question.key)
        if _is_given(value):
            found += _checked(question, value, form.files)
        elif question.required and question.group not in answered:
            found.append(Problem(f"{_name(question)} needs an answer", question.key))
    known = {one.key for one in form.questions}
    found += [
        Problem(f"{key[:_SHOWN]!r} is not a question of the form; read the form again", key)
        for key in form.packet.answers
        if key not in known
    ]
    return tuple(found)


def contact_problems(form: FilledForm, names: Iterable[str], email: str) -> tuple[Problem, ...]:
    """Names without links and an address that can be one: systems refuse everything else."""
    found = []
    for key in names:
        text = str(form.packet.answers.get(key) or "")
        if not text.strip() or len(text) > 255 or LINK.search(text):
            found.append(Problem(f"{key} must have 1 to 255 characters and no link", key))
    if not EMAIL.fullmatch(str(form.packet.answers.get(email) or "").strip()):
        found.append(Problem(f"{email} must be a mail address", email))
    return tuple(found)


def _is_given(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != ()


def _checked(question: Question, value: Any, files: Mapping[str, bytes]) -> list[Problem]:
    """Problems of a value that is there."""
    key = question.key
    if question.type == "file":
        if not isinstance(value, str) or value not in files:
            return [Problem(f"{_name(question)} needs one of the packet's files, not {_cut(value)}", key)]
        if not files[value] or media_type(value) == "application/octet-stream":
            return [Problem(f"the file {value} is empty, or no PDF, DOCX, DOC, RTF or TXT", key)]
        return []
    if question.options:
        chosen = value if isinstance(value, list | tuple) else [value]
        if question.type not in ("multi", "demographic") and len(chosen) > 1:
            return [Problem(f"{_name(question)} takes one option, not {len(chosen)}", key)]
        return [
            Problem(f"{_cut(one)} is not an option of {_name(question)}", key)
            for one in chosen
            if one not in question.options
        ]
    return _plain(question, value)


def _plain(question: Question, value: Any) -> list[Problem]:
    key = question.key
    if question.type in ("bool", "consent"):
        fits = isinstance(value, bool)
    elif question.type == "number":
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    elif question.type == "date":
        fits = isinstance(value, str) and read_date(value) is not None
    else:
        fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not fits:
        return [Problem(f"{_name(question)} takes a {question.type}, not {_cut(value)}", key)]
    most = min(question.max_len or TEXT, TEXT)
    if isinstance(value, str) and len(value) > most:
        return [Problem(f"{_name(question)} takes {most} characters, not {len(value)}", key)]
    if question.required and question.type == "consent" and value is False:
        return [Problem(f"{_name(question)} is needed to apply, and you declined it", key)]
    return []


def _name(question: Question) -> str:
    return repr((question.label or question.key)[:_SHOWN])


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
