"""Request bodies of the workflow endpoints."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interlock.apps.contracts.fields.vertical import Range
from interlock.apps.contracts.models import FieldDecision
from interlock.apps.contracts.reading.limits import DEFAULT as LIMITS
from interlock.engine import InvalidData


class IngestBody(BaseModel):
    """A file as JSON."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"pdfBase64": "JVBERi0x…", "filename": "lease.pdf", "vertical": "commercial"}]},
    )

    pdfBase64: str = Field(min_length=1, description="The file's bytes; also Word or plain text.")
    filename: str = Field("contract.pdf", max_length=300)
    vertical: str = Field("commercial", max_length=64)
    drive: bool = Field(True, description="False: each further step waits until its endpoint is called.")
    compareWith: str | None = Field(None, max_length=200, description="A workflow's id, `template` or `offers`.")
    workspace: str | None = Field(None, max_length=200)


class ReviewBody(BaseModel):
    """A reviewer's decision."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "action": "correct",
                    "fields": [{"field": "governing_law", "action": "correct", "value": "Delaware"}],
                    "notes": "page 7 says so",
                    "expected_seq": 9,
                }
            ]
        },
    )

    action: str = Field(max_length=20, description="approve, correct or reject.")
    fields: list[FieldDecision] = Field(default_factory=list, max_length=500)
    notes: str = Field("", max_length=10_000)
    expected_seq: int | None = Field(None, ge=0, le=2**62)


class CompareBody(BaseModel):
    """What to compare it with."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"with": "template"}]})

    with_: str | None = Field(None, alias="with", max_length=200, description="A workflow's id, `template`, `offers`.")


class ProviderBody(BaseModel):
    """A provider's aliases and usual ranges."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"aliases": ["Nordwind"], "ranges": {"working_price": {"min": 0.1, "max": 0.5}}}]
        },
    )

    aliases: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list, max_length=100)
    ranges: dict[Annotated[str, Field(max_length=64)], Range] = Field(default_factory=dict, max_length=100)


async def uploaded(request: Request) -> tuple[bytes, IngestBody]:
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=20, max_part_size=LIMITS.bytes) as form:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise InvalidData("file: the form has no file; send it as the part `file`")
            content = await file.read()
            named = {n: v for n, v in form.items() if isinstance(v, str)}
            return content, _body({"pdfBase64": "-", "filename": file.filename or "contract.pdf", **named})
    return await asyncio.to_thread(_from_json, await request.body())  # it may be tens of megabytes


def _from_json(content: bytes) -> tuple[bytes, IngestBody]:
    try:
        body = IngestBody.model_validate_json(content)
    except ValidationError as error:
        raise InvalidData(_said(error)) from None
    try:
        return base64.b64decode(body.pdfBase64, validate=True), body
    except (binascii.Error, ValueError):
        raise InvalidData("pdfBase64: it is not base64") from None


def _body(named: dict[str, Any]) -> IngestBody:
    try:
        return IngestBody.model_validate(named)
    except ValidationError as error:
        raise InvalidData(_said(error)) from None


def _said(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors()[:10])
