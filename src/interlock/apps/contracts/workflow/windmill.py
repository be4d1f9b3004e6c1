"""The same workflow as an OpenFlow for Windmill: its steps call the endpoints. The service owns the state."""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped]

HOPELESS = r"""/"retryable": false/.test(error?.message ?? "")"""
"""A script's error reaches the flow as its message, which is the error of the envelope."""
RETRY = {
    "exponential": {"attempts": 3, "multiplier": 2, "seconds": 5, "random_factor": 20},
    "retry_if": {"expr": f"error?.retryable !== false && !{HOPELESS}"},
}
ASK = '''import json
import urllib.error
import urllib.request


def ask(method: str, url: str, token: str, body: dict | None = None) -> tuple[int, dict]:
    """The status and the envelope. Asks again after 202, while the step runs."""
    while True:
        request = urllib.request.Request(
            url,
            data=None if method == "GET" else json.dumps(body or {}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                status, envelope = answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            status, envelope = error.code, json.load(error)
        if status != 202:
            return status, envelope


def data_of(answer: dict) -> dict:
    if not answer["success"]:
        raise RuntimeError(json.dumps(answer["error"]))
    return answer["data"]
'''
CALL = f"""{ASK}

def main(base: str, token: str, path: str, body: dict | None = None, method: str = "POST") -> dict:
    return data_of(ask(method, base + path, token, body)[1])
"""
APPROVAL = f"""import wmill

{ASK}

def main(base: str, token: str, path: str) -> dict:
    link = data_of(ask("GET", base + path, token)[1])["url"]
    return {{**wmill.get_resume_urls("reviewer"), "review": link}}
"""
DECISION = f'''{ASK}

def main(base: str, token: str, path: str, resume: dict | None = None) -> dict:
    """Report the decision to the service, unless it was decided there or is over."""
    resume = resume or {{}}
    error = resume.get("error") or {{}}
    if error.get("name") == "SuspendedTimedOut":
        return {{"reported": False}}
    body = {{"action": resume.get("action", "reject"), "fields": resume.get("fields") or []}}
    body["notes"] = resume.get("notes") or error.get("message") or ""
    status, answer = ask("POST", base + path, token, body)
    if status == 409:
        return {{"reported": False}}
    return data_of(answer)
'''
WORKFLOW = "results.ingest.workflowId"


def _script(id: str, summary: str, content: str, path: str, **inputs: str) -> dict[str, Any]:
    """A module that runs Python; each input is an expression of JavaScript."""
    given = {"base": "flow_input.base", "token": "flow_input.token", "path": path, **inputs}
    return {
        "id": id,
        "summary": summary,
        "value": {
            "type": "rawscript",
            "language": "python3",
            "content": content,
            "input_transforms": {name: {"type": "javascript", "expr": expr} for name, expr in given.items()},
        },
        "retry": RETRY,
        "timeout": {"type": "static", "value": 3600},
    }


def _of_workflow(rest: str = "") -> str:
    return f"`/workflows/${{{WORKFLOW}}}{rest}`"


def openflow(base: str) -> dict[str, Any]:
    """Ingest, extract, a person where one is needed, compare."""
    given = ", ".join(f"{name}: flow_input.{name}" for name in ("pdfBase64", "filename", "vertical"))
    approval = {
        **_script("approval", "A person reviews the fields", APPROVAL, _of_workflow("/resume-link")),
        "suspend": {
            "required_events": 1,
            "timeout": 86400,
            "continue_on_disapprove_timeout": True,
            "user_auth_required": True,
            "hide_cancel": False,
            "resume_form": {"schema": _resume_form()},
        },
    }
    review = _script("review", "Report the decision", DECISION, _of_workflow("/review"), resume="resume")
    look = _script("look", "Read the state", CALL, _of_workflow(), method="'GET'")
    route = {
        "id": "route",
        "summary": "Is a person needed?",
        "value": {
            "type": "branchone",
            "branches": [
                {
                    "summary": "review",
                    "expr": "results.extract.needsReview === true",
                    "modules": [approval, review],
                }
            ],
            "default": [],
        },
    }
    return {
        "summary": "Process Contract",
        "description": "Interlock owns the state of the workflow; this flow only decides what is called next.",
        "value": {
            "modules": [
                _script(
                    "ingest", "Ingest the contract", CALL, "'/workflows/ingest'", body=f"({{{given}, drive: false}})"
                ),
                _script("extract", "Extract the fields", CALL, _of_workflow("/extract")),
                route,
                {**look, "stop_after_if": {"expr": "result.state !== 'validated'", "skip_if_stopped": False}},
                _script("compare", "Compare it", CALL, _of_workflow("/compare")),
            ],
        },
        "schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["pdfBase64", "token"],
            "properties": {
                "base": {"type": "string", "default": base},
                "token": {"type": "string", "format": "password"},
                "pdfBase64": {"type": "string", "contentEncoding": "base64"},
                "filename": {"type": "string", "default": "contract.pdf"},
                "vertical": {"type": "string", "default": "commercial"},
            },
        },
    }


def _resume_form() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["action"],
        "properties": {
            "action": {"type": "string", "enum": ["approve", "reject", "correct"]},
            "fields": {"type": "array", "items": {"type": "object"}},
            "notes": {"type": "string"},
        },
    }


class _Readable(yaml.SafeDumper):  # type: ignore[misc]
    """Scripts as blocks, and nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Readable.add_representer(str, _text)


def text(base: str) -> str:
    made: str = yaml.dump(openflow(base), Dumper=_Readable, sort_keys=False, allow_unicode=True, width=120)
    return made
