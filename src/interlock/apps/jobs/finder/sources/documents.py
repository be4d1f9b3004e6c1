"""Bodies of answers, loaded within limits: JSON, XML without entities, HTML in whatever encoding."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import orjson

from interlock.apps.jobs.finder.sources.answer import MOST_BYTES, Answer
from interlock.apps.jobs.finder.sources.nesting import beyond_reason

MOST_TAGS = 500_000
CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
TEXT_ENCODINGS = re.compile(
    r"(iso-?8859|windows-125|cp125|latin|koi8|shift_?jis|euc|gb|big5|utf|us-ascii).*", re.IGNORECASE
)
"""Python has encodings that are none of pages, and some of them are slow."""
CHALLENGE = re.compile(r"just a moment|verify you are human|attention required|captcha", re.IGNORECASE)


class Unreadable(Exception):
    """The body is not what it should be. The message says what it is."""


def load(format: Literal["json", "xml", "html"], answer: Answer) -> Any:
    """The document of an answer. Raises Unreadable."""
    body = answer.body
    if len(body) > MOST_BYTES:
        raise Unreadable(f"the answer has {len(body)} bytes; at most {MOST_BYTES} are read")
    if not body.strip():
        raise Unreadable("the answer is empty")
    if format == "json":
        return load_json(body)
    if body.count(b"<") > MOST_TAGS:
        raise Unreadable(f"the answer has more than {MOST_TAGS} tags")
    if format == "xml":
        return load_xml(body)
    text = decoded(answer)
    if beyond_reason(text):
        raise Unreadable("the markup is nested beyond reason")
    return text


def load_json(body: bytes) -> Any:
    """JSON; HTML in its place is named as such."""
    if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
        page = body[:20_000].decode("utf-8", "replace")
        raise Unreadable("a challenge page instead of JSON" if CHALLENGE.search(page) else "HTML instead of JSON")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # The slower parser takes a byte order mark, other encodings and lone surrogates.
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else "no JSON, or cut off"
        raise Unreadable(f"the answer is {what}") from None


def load_xml(body: bytes) -> Any:
    """The root of an XML document. Entities and external references are refused."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(body)
    except DefusedXmlException:
        raise Unreadable("XML with entities of its own, which are not resolved") from None
    except (ParseError, ValueError, LookupError, RecursionError):
        start = body[:2000].lstrip().lower()
        html = start.startswith((b"<!doctype html", b"<html"))
        raise Unreadable("HTML instead of XML" if html else "the answer is no XML, or cut off") from None


def decoded(answer: Answer) -> str:
    """The text of a page, in the encoding that the header, the page or its bytes name."""
    body = answer.body
    if body.startswith(b"\xef\xbb\xbf"):
        return body[3:].decode("utf-8", "replace")
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    named = CHARSET.search((answer.header("Content-Type") or "").encode("latin-1", "replace")) or CHARSET.search(
        body[:4096]
    )
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    name = named[1].decode() if named else "cp1252"
    try:
        return body.decode(name if TEXT_ENCODINGS.fullmatch(name) else "cp1252", "replace")
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace")
