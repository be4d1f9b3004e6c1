"""Live events: each line once and in order, whoever comes late, and for those alone who may read the session."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import UUID

import pytest
import uvicorn

from interlock.apps.sessions.api.live import Position, look
from interlock.people import Principal, Role
from tests.support.sessions import Sessions
from tests.support.waiting import eventually


@contextmanager
def served(sessions: Sessions) -> Iterator[str]:
    """The address of the service on a real server: streams do not pass through a test client."""
    server = uvicorn.Server(uvicorn.Config(sessions.api.client.app, port=0, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started or not thread.is_alive())
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        sessions.api.service.stopping = True
        server.should_exit = True
        thread.join()


@contextmanager
def following(sessions: Sessions, url: str, path: str, who: str = "viewer", **headers: str) -> Iterator[Any]:
    """The events of a stream, as they come."""
    given = {"Authorization": f"Bearer {sessions.api.tokens[who]}", "Host": "testserver", **headers}
    with urlopen(Request(url + path, headers=given), timeout=30) as stream:
        yield _events(stream)


def _events(stream: Any) -> Iterator[tuple[str, str | None, Any]]:
    kind, named, data = "", None, ""
    for raw in stream:
        name, _, value = raw.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            named = value
        elif name == "data":
            data = value
        elif not name and data:
            yield kind, named, json.loads(data)
            kind, named, data = "", None, ""


def test_each_line_comes_once_and_in_order_while_the_agent_works(sessions: Sessions) -> None:
    made = sessions.start("Write it down. demo: slow 1")
    with served(sessions) as url, sessions.working():
        seen: list[tuple[str, str | None, Any]] = []
        with following(sessions, url, f"/sessions/{made['id']}/events?after=0.0") as events:
            for event in events:
                seen.append(event)
                if event[0] == "session" and event[2]["result"] == "done":
                    break
        ids = [named for kind, named, _ in seen if kind == "message"]
        lines = sessions.messages(made["prompt_id"])
        assert ids == [f"1.{one['seq']}" for one in lines]
        assert [one[2]["data"] for one in seen if one[0] == "message"] == [one["data"] for one in lines]
        states = [one["ui_status"] for kind, _, one in seen if kind == "session"]
        assert list(dict.fromkeys(states))[:2] == ["pending", "in_progress"]
        assert [one["inbox_status"] for kind, _, one in seen if kind == "prompt"][-1] == "done"
        with following(sessions, url, f"/sessions/{made['id']}/events", **{"Last-Event-ID": ids[-3] or ""}) as events:
            rest = [next(event for event in events if event[0] == "message")[1] for _ in range(2)]
        assert rest == ids[-2:]


def test_a_stream_is_for_those_who_may_read_the_session(sessions: Sessions) -> None:
    made = sessions.start("One")
    with served(sessions) as url:
        with following(sessions, url, f"/sessions/{made['id']}/events", "viewer") as events:
            assert next(events)[0] == "prompt"
        with (
            pytest.raises(HTTPError, match="404"),
            following(sessions, url, f"/sessions/{made['id']}/events", "north-owner"),
        ):
            pass


@pytest.mark.parametrize("after", ["x", "1", "1.x", "-1.2", "1.2.3", "\u0663.\u0661"])
def test_a_position_that_is_none_is_refused(sessions: Sessions, after: str) -> None:
    made = sessions.start("One")
    assert sessions.api.get(f"/sessions/{made['id']}/events", "viewer", params={"after": after}).status_code == 422


def test_many_lines_and_prompts_are_read_in_pieces_without_a_gap(sessions: Sessions) -> None:
    made = sessions.start("One")
    for number in range(3):
        sessions.prompt(made["id"], f"More {number}")
    sessions.go_on(40)
    every = sessions.prompts(made["id"])
    wanted = [(one["number"], line["seq"]) for one in every for line in sessions.messages(one["id"])]
    position, seen = Position(), []
    who = Principal("person", "test", roles={"default": Role.VIEWER})
    while True:
        events = sessions.engine.read(lambda conn: look(conn, UUID(made["id"]), who, position))
        found = [one.id for one in events if one.event == "message"]
        if not found:
            break
        seen += found
    assert seen == [f"{number}.{seq}" for number, seq in wanted]
