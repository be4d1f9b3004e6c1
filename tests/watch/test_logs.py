"""Logs are one line an event, say what they are about, and give nothing away."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.engine import secrets
from interlock.machine import InterlockError
from interlock.watch import logs

log = logging.getLogger("interlock.test")


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)


def events(said: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_its_time_in_utc(said: io.StringIO) -> None:
    logs.configure("json", "info", stream=said)
    begun = datetime.now(UTC)
    log.info("%d parcels", 3, extra={"queue": "parcel"})
    log.warning("late")
    first, second = events(said)
    assert (first["event"], first["level"], first["logger"]) == ("3 parcels", "info", "interlock.test")
    assert (first["queue"], second["level"]) == ("parcel", "warning")
    assert abs(datetime.fromisoformat(first["timestamp"]) - begun).total_seconds() < 60
    assert datetime.fromisoformat(first["timestamp"]).utcoffset() == begun.utcoffset()
    assert list(first)[:4] == ["timestamp", "level", "logger", "event"]


def test_for_people_it_is_one_line_too(said: io.StringIO) -> None:
    logs.configure("console", "info", stream=said)
    with logs.about(machine="parcel"):
        log.info("packed")
    [line] = said.getvalue().splitlines()
    assert line.endswith("Z info    interlock.test: packed machine=parcel")


def test_what_it_is_about_stands_in_every_line_inside(said: io.StringIO) -> None:
    logs.configure("json", "info", stream=said)
    with logs.about(trace_id="0af7", instance="i1", machine="parcel", step=None):
        log.info("outer")
        with logs.about(step="packing"):
            log.info("inner")
    log.info("after")
    outer, inner, after = events(said)
    assert (outer["trace_id"], outer["instance"], outer["machine"]) == ("0af7", "i1", "parcel")
    assert "step" not in outer
    assert (inner["step"], inner["trace_id"]) == ("packing", "0af7")
    assert "trace_id" not in after


def test_what_is_below_the_level_is_not_said(said: io.StringIO) -> None:
    logs.configure("json", "warning", stream=said)
    log.info("quiet")
    assert said.getvalue() == ""


def test_configuring_again_replaces_and_does_not_double(said: io.StringIO) -> None:
    logs.configure("console", "info", stream=said)
    logs.configure("json", "info", stream=said)
    log.info("once")
    assert len(events(said)) == 1


def failing() -> None:
    hidden_local = "value of a variable"
    try:
        raise KeyError(len(hidden_local))
    except KeyError as error:
        raise ValueError("bad\nnews") from error


@pytest.mark.parametrize("format", ["json", "console"])
def test_an_error_is_logged_with_its_place_and_cause_and_without_variables(said: io.StringIO, format: str) -> None:
    logs.configure(format, "info", stream=said)
    try:
        failing()
    except ValueError:
        log.exception("it failed")
    text = said.getvalue()
    assert len(text.splitlines()) == 1
    assert "value of a variable" not in text
    if format == "console":
        assert "| ValueError: bad\\nnews at test_logs.py:" in text
        assert "in failing" in text
        assert "; caused by KeyError: 19" in text
        return
    [event] = events(said)
    assert (event["error"]["type"], event["error"]["message"]) == ("ValueError", "bad\\nnews")
    assert event["error"]["where"][-1].endswith("in failing")
    assert event["error"]["cause"]["type"] == "KeyError"


@pytest.mark.parametrize("format", ["json", "console"])
@pytest.mark.parametrize("control", ["\n", "\r", "\x1b[31m", "\x00", "\x7f", "\x85", "\u2028", "\u202e"])
def test_nothing_in_an_event_can_begin_a_line_or_colour_a_terminal(
    said: io.StringIO, format: str, control: str
) -> None:
    logs.configure(format, "info", stream=said)
    with logs.about(machine=f"a{control}b"):
        log.info("user%sname", control, extra={"nested": {f"k{control}": [control]}})
    text = said.getvalue()
    assert text.endswith("\n")
    assert control[0] not in text[:-1]
    assert "user" in text


@pytest.mark.parametrize("format", ["json", "console"])
def test_half_a_character_does_not_stop_the_log(said: io.StringIO, format: str) -> None:
    logging.getLogger().handlers.clear()  # pytest's own keep it for a report that cannot be sent
    logs.configure(format, "info", stream=said)
    log.info("half \ud800")
    said.getvalue().encode()
    assert "half ?" in said.getvalue()


def test_secrets_are_hidden_wherever_they_stand(said: io.StringIO) -> None:
    logs.configure("json", "info", stream=said, redact=secrets.hide)
    key = "sk-" + "a1B2" * 6
    with logs.about(instance=key):
        try:
            raise ValueError(f"refused {key}")
        except ValueError:
            log.exception("sent %s", key, extra={"headers": {"x": [f"Bearer {key}"]}})
    text = said.getvalue()
    assert key not in text
    assert text.count(secrets.HIDDEN) == 4


def test_other_values_are_shown_as_text(said: io.StringIO) -> None:
    logs.configure("json", "info", stream=said)
    log.info("x", extra={"when": datetime(2026, 1, 5, tzinfo=UTC), "n": 3, "ok": True, "none": None})
    [event] = events(said)
    assert (event["when"], event["n"], event["ok"], event["none"]) == ("2026-01-05 00:00:00+00:00", 3, True, None)


@pytest.mark.parametrize(("format", "level"), [("xml", "info"), ("json", "loud")])
def test_what_is_unknown_is_refused_by_name(format: str, level: str) -> None:
    with pytest.raises(InterlockError, match=r"'(xml|loud)' is unknown; use"):
        logs.configure(format, level)
