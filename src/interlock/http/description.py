"""The OpenAPI description: what FastAPI knows, and who may ask, with which key, and how a refusal looks."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from interlock.http.problems import Problem

OPEN = {"/healthz", "/readyz", "/api/login"}
"""Asked without a token."""
NO_KEY = {"/api/login", "/api/logout", "/api/bulk/preview"}
"""Posts that change nothing twice."""
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token: `Authorization: Bearer il_…`."},
    "login": {
        "type": "apiKey",
        "in": "cookie",
        "name": "interlock_session",
        "description": "The cookie of a login; a write also needs the header `X-CSRF-Token`.",
    },
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request with the same key is done once; its answer is given again for 7 days.",
    "schema": {"type": "string", "pattern": r"^[\x21-\x7e]{1,200}$", "minLength": 1, "maxLength": 200},
    "example": "order-17-paid",
}


def described(app: FastAPI) -> dict[str, Any]:
    """Made once."""
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
                    continue  # it says itself that it is open
                if path not in OPEN:
                    operation["security"] = [{"token": []}, {"login": []}]
                if method != "get" and path not in NO_KEY:
                    operation.setdefault("parameters", []).append(KEY)
        app.openapi_schema = made
    return app.openapi_schema
