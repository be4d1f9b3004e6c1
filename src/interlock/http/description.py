"""The OpenAPI description: FastAPI's schema, plus authentication, idempotency keys and problem documents."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from interlock.http.problems import Problem

OPEN = {"/healthz", "/readyz", "/api/login"}
"""Endpoints without authentication."""
NO_KEY = {"/api/login", "/api/logout", "/api/bulk/preview"}
"""POST endpoints that are naturally idempotent."""
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token: `Authorization: Bearer il_…`."},
    "login": {
        "type": "apiKey",
        "in": "cookie",
        "name": "interlock_session",
        "description": "The session cookie; a write also needs the header `X-CSRF-Token`.",
    },
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request repeated with the same key is executed once; its answer is repeated for 7 days.",
    "schema": {"type": "string", "pattern": r"^[\x21-\x7e]{1,200}$", "minLength": 1, "maxLength": 200},
    "example": "order-17-paid",
}


REFERENCE = "#/components/schemas/"
GENERAL = {"api", "apps", "interlock", "http", "answers", "bodies", "models", "reading"}
"""Parts of a module's name that tell models apart badly."""
BYTES = "application/octet-stream"
"""Any file is also served as this type to a caller that accepts nothing else (`http/asgi.py`)."""
SENDABLE = ("application/json", BYTES, "multipart/form-data", "application/x-www-form-urlencoded")
TEXT = ("text/", "application/json", "application/problem+json", BYTES)


def described(app: FastAPI) -> dict[str, Any]:
    """Built once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        problem = Problem.model_json_schema(ref_template=f"{REFERENCE}{{model}}")
        schemas |= problem.pop("$defs", {})
        schemas["Problem"] = problem
        names = _names(schemas)
        made = _tidied(made, names)
        parts = made["components"]
        parts["schemas"] = {names[key]: {**schema, "title": names[key]} for key, schema in parts["schemas"].items()}
        parts["securitySchemes"] = SCHEMES
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                for response in operation.get("responses", {}).values():
                    _offer_bytes(response.get("content", {}))
                _readable_body(operation.get("requestBody", {}))
                if operation.get("security") == []:
                    continue  # declared as open by itself
                if path not in OPEN:
                    operation["security"] = [{"token": []}, {"login": []}]
                if method != "get" and path not in NO_KEY:
                    operation.setdefault("parameters", []).append(KEY)
        app.openapi_schema = made
    return app.openapi_schema


def _names(schemas: dict[str, Any]) -> dict[str, str]:
    """The names of the schemas. Models of one name in two modules are distinguished by their subject: `OutboxWhy`."""
    found: dict[str, str] = {}
    for key in sorted(schemas, key=lambda one: ("__" in one, one)):
        *modules, name = key.split("__")
        words = ["".join(word.title() for word in part.split("_")) for part in modules if part not in GENERAL]
        prefixes = ["", *("".join(words[start:]) for start in reversed(range(len(words))))] if words else [""]
        if modules:
            prefixes = prefixes[1:] or prefixes
        made = next((one + name for one in prefixes if one + name not in found.values()), key)
        found[key] = made
    return found


def _tidied(part: Any, names: dict[str, str]) -> Any:
    """The description with these names, in the words of OpenAPI 3.1: no `itemSchema`, and each array has `items`."""
    if isinstance(part, list):
        return [_tidied(one, names) for one in part]
    if not isinstance(part, dict):
        return part
    made = {key: _tidied(value, names) for key, value in part.items() if key != "itemSchema"}
    if "itemSchema" in part:
        made["schema"] = {"type": "string", "description": "Server-sent events."}
    reference = made.get("$ref")
    if isinstance(reference, str) and reference.startswith(REFERENCE):
        made["$ref"] = REFERENCE + names.get(reference.removeprefix(REFERENCE), reference.removeprefix(REFERENCE))
    if made.get("type") == "array":
        made.setdefault("items", {})
    return made


def _offer_bytes(content: dict[str, Any]) -> None:
    """Name the type that every client can read beside one that some cannot, such as an image's."""
    if content and not any(kind.startswith(TEXT) for kind in content):
        content[BYTES] = {"schema": {"type": "string", "format": "binary"}}


def _readable_body(body: dict[str, Any]) -> None:
    """Describe a body in the types that clients can send: as JSON, a form or bytes. Others are named in words."""
    content = body.get("content", {})
    named = [kind for kind in content if kind not in SENDABLE]
    if named:
        kept = {kind: one for kind, one in content.items() if kind in SENDABLE}
        body["content"] = kept or {BYTES: {"schema": {"type": "string", "format": "binary"}}}
        body["description"] = f"{body.get('description', '')} Also taken as {', '.join(named)}.".strip()
