"""The same workflow for Windmill: steps that call the endpoints, in the OpenFlow shape. The service owns the state."""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped]

RETRY = {
    "exponential": {"attempts": 3, "multiplier": 2, "seconds": 5, "random_factor": 20},
    "retry_if": {"expr": "error?.retryable !== false"},
}
CALL = """import json, urllib.error, urllib.request


def main(base: str, token: str, path: str, body: dict | None = None) -> dict:
    request = urllib.request.Request(
        base + path,
        data=json.dumps(body or {}).encode() if METHOD == "POST" else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method=METHOD,
    )
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            told = json.load(answer)
    except urllib.error.HTTPError as error:
        told = json.load(error)
    if not told["success"]:
        raise Exception(json.dumps(told["error"]))
    return told["data"]
"""
APPROVAL = """import json, urllib.request, wmill


def main(base: str, token: str, workflow: str) -> dict:
    request = urllib.request.Request(
        f"{base}/workflows/{workflow}/resume-link", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        link = json.load(answer)["data"]["url"]
    return {**wmill.get_resume_urls("reviewer"), "review": link}
"""


def _call(id: str, summary: str, path: str, body: str | None = None, method: str = "POST") -> dict[str, Any]:
    inputs = {
        "base": {"type": "javascript", "expr": "flow_input.base"},
        "token": {"type": "javascript", "expr": "flow_input.token"},
        "path": {"type": "javascript", "expr": path},
    }
    if body is not None:
        inputs["body"] = {"type": "javascript", "expr": body}
    return {
        "id": id,
        "summary": summary,
        "value": {
            "type": "rawscript", "language": "python3", "content": f'METHOD = "{method}"\n{CALL}',
            "input_transforms": inputs,
        },
        "retry": RETRY,
        "timeout": {"type": "static", "value": 660},
    }  # fmt: skip


def openflow(base: str) -> dict[str, Any]:
    """Ingest, extract, a person where one is needed, compare."""
    workflow = "results.ingest.workflowId"
    given = ", ".join(f"{name}: flow_input.{name}" for name in ("pdfBase64", "filename", "vertical"))
    approval = {
        "id": "approval",
        "summary": "A person looks at the fields",
        "value": {
            "type": "rawscript", "language": "python3", "content": APPROVAL,
            "input_transforms": {
                "base": {"type": "javascript", "expr": "flow_input.base"},
                "token": {"type": "javascript", "expr": "flow_input.token"},
                "workflow": {"type": "javascript", "expr": workflow},
            },
        },
        "suspend": {
            "required_events": 1, "timeout": 86400, "continue_on_disapprove_timeout": True, "user_auth_required": True,
            "resume_form": {
                "schema": {
                    "type": "object", "required": ["action"],
                    "properties": {
                        "action": {"type": "string", "enum": ["approve", "reject", "correct"]},
                        "fields": {"type": "array", "items": {"type": "object"}},
                        "notes": {"type": "string"},
                    },
                }
            },
        },
    }  # fmt: skip
    decide = (
        "resume?.action ? {action: resume.action, fields: resume.fields ?? [], notes: resume.notes ?? ''} "
        ": {action: 'reject', notes: resume?.error?.message ?? 'disapproved'}"
    )
    tell = _call("review", "Tell the service", f"`/workflows/${{{workflow}}}/review`", decide)
    return {
        "summary": "Process Contract",
        "description": "Interlock owns the state of the workflow; this flow only decides what is called next.",
        "value": {
            "modules": [
                _call("ingest", "Take the contract in", "'/workflows/ingest'", f"{{{given}, drive: false}}"),
                _call("extract", "Read its fields", f"`/workflows/${{{workflow}}}/extract`"),
                {
                    "id": "route",
                    "summary": "Is a person needed?",
                    "value": {
                        "type": "branchone",
                        "branches": [
                            {
                                "summary": "review",
                                "expr": "results.extract.needsReview === true",
                                "modules": [
                                    approval,
                                    {
                                        **tell,
                                        "skip_if": {"expr": "resume?.error?.name === 'SuspendedTimedOut'"},
                                    },
                                ],
                            }
                        ],
                        "default": [],
                    },
                },
                {
                    **_call("look", "Where it is now", f"`/workflows/${{{workflow}}}`", method="GET"),
                    "stop_after_if": {"expr": "result.state !== 'validated'", "skip_if_stopped": False},
                },
                _call("compare", "Compare it", f"`/workflows/${{{workflow}}}/compare`"),
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


def text(base: str) -> str:
    made: str = yaml.safe_dump(openflow(base), sort_keys=False, allow_unicode=True, width=120)
    return made
