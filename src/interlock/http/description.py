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


def described(app: FastAPI) -> dict[str, Any]:
    """Built once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs", {})
        schemas["Problem"] = problem
        parts["securitySchemes"] = SCHEMES
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                if operation.get("security") == []:
                    continue  # declared as open by itself
                if path not in OPEN:
                    operation["security"] = [{"token": []}, {"login": []}]
                if method != "get" and path not in NO_KEY:
                    operation.setdefault("parameters", []).append(KEY)
        app.openapi_schema = made
    return app.openapi_schema
