"""The profile over HTTP: read from YAML or JSON, and answered as either."""

from __future__ import annotations

import json
from typing import Any

import yaml  # type: ignore[import-untyped]
from fastapi import Request
from fastapi.responses import Response

from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.profile_file import LONGEST, ProfileError, check_profile, parse_profile
from interlock.http.problems import BadRequest

YAML = "application/yaml"
KINDS = (YAML, "application/x-yaml", "text/yaml", "text/x-yaml")
_EXAMPLE = {
    "identity": {"name": "Mika Sand"},
    "titles": ["Backend Engineer"],
    "skills": [{"name": "Python", "years": 8}],
}
_SCHEMA = {
    "schema": {
        "type": "object",
        "title": "Profile",
        "description": "Its keys are in docs/reference/profile.md.",
        "properties": {"identity": {"type": "object"}, "titles": {"type": "array"}, "skills": {"type": "array"}},
        "examples": [_EXAMPLE],
    }
}
RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {YAML: _SCHEMA}}}
REQUEST_BODY = {
    "requestBody": {"required": True, "content": {"application/json": _SCHEMA, YAML: _SCHEMA}},
}


def read(request: Request, body: bytes) -> Profile:
    """The profile of a request's body. Every problem is named with its key."""
    if len(body) > LONGEST:
        raise BadRequest(f"the profile has {len(body):,} bytes; it may have {LONGEST:,}", status=413, kind="too-large")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = body.decode("utf-8")
        text.encode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"the profile is no UTF-8 text: {error.reason} at byte {error.start}") from None
    try:
        if not kind.endswith("json"):
            return parse_profile(text)
        given = json.loads(text)
        if not isinstance(given, dict):
            raise ProfileError("profile must have keys and values, such as identity, titles and skills")
        return check_profile(given)
    except ProfileError as error:
        raise BadRequest(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the profile is not JSON: {error}") from None


def values(profile: Profile) -> dict[str, Any]:
    """The profile as plain values."""
    return profile.model_dump(mode="json", exclude_none=True)


def answer(request: Request, profile: Profile, digest: str) -> Response:
    """The profile as YAML if the caller accepts that, else as JSON. The ETag changes with it."""
    found, headers = values(profile), {"ETag": f'"{digest[:32]}"', "Vary": "Accept"}
    if any(kind in request.headers.get("accept", "") for kind in KINDS):
        text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True)
        return Response(text, media_type=f"{YAML}; charset=utf-8", headers=headers)
    return Response(json.dumps(found, ensure_ascii=False), media_type="application/json", headers=headers)
