"""A model that says what a test tells it to, as a real server that speaks both wire protocols.

    with FakeModel({"score": 5}) as model:
        ai.configure(trial.engine, model.settings())
        ...
        assert len(model.requests) == 1

Each entry of the script is the answer to one request; the last one is given forever. A mapping is an answer as the
task's type wants it; the classes here are everything else that a server can do to a client.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from interlock.config import AiSettings

LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Says:
    """Text instead of a tool call; with `called`, as the tool's arguments."""

    text: str
    called: bool = False
    cut: bool = False
    """As if the token limit was reached."""


@dataclass(frozen=True, slots=True)
class Refuses:
    """The model refuses to answer."""

    why: str = "I cannot help with that."


@dataclass(frozen=True, slots=True)
class Fails:
    """An HTTP error."""

    status: int
    message: str = "something went wrong"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Garbles:
    """A response that violates the protocol."""

    body: str = "<html>Bad gateway</html>"


@dataclass(frozen=True, slots=True)
class Cuts:
    """The connection breaks during the response."""


@dataclass(frozen=True, slots=True)
class Waits:
    """No response until `release` is set; then `then`."""

    release: threading.Event
    then: Any = field(default_factory=dict)
    came: threading.Event = field(default_factory=threading.Event)
    """Set when the request has arrived."""


@dataclass(frozen=True, slots=True)
class Drips:
    """A response sent one space at a time until `release` is set, so that no single read times out."""

    release: threading.Event


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A recorded request."""

    protocol: Literal["anthropic", "openai"]
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def tool(self) -> str:
        tool = self.body["tools"][0]
        return str(tool["name"] if self.protocol == "anthropic" else tool["function"]["name"])

    @property
    def system(self) -> str:
        """The instructions."""
        if self.protocol == "anthropic":
            found = self.body.get("system", "")
        else:
            found = [m["content"] for m in self.body["messages"] if m["role"] in {"system", "developer"}]
        return (
            found
            if isinstance(found, str)
            else "\n".join(one if isinstance(one, str) else one["text"] for one in found)
        )

    @property
    def user(self) -> str:
        """The last message that is not the model's own, as text."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


class FakeModel:
    """The fake server, used with `with`. `requests` contains the requests in order."""

    def __init__(self, *script: Any, tokens: tuple[int, int] = (100, 20)) -> None:
        self.script: list[Any] = list(script) or [{}]
        self.tokens = tokens
        self.requests: list[RecordedRequest] = []
        self.broken = 0
        """Responses that nobody waited for."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def settings(self, provider: Literal["anthropic", "openai"] = "anthropic", **more: Any) -> AiSettings:
        """Settings that point to this server."""
        where = self.url if provider == "anthropic" else f"{self.url}/v1"
        given = {"cheap": "fake-small", "strong": "fake-big", "api_key": "fake-key-123456", "timeout": 10.0, **more}
        return AiSettings.model_validate({"provider": provider, "base_url": where, **given})

    def next(self, request: RecordedRequest) -> Any:
        with self._lock:
            self.requests.append(request)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            return None

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            protocol: Literal["anthropic", "openai"] = "anthropic" if self.path.endswith("/messages") else "openai"
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = RecordedRequest(protocol, self.path, headers, body)
            said = model.next(request)
            if isinstance(said, Waits):
                said.came.set()
                said.release.wait(LONGEST_WAIT)
                said = said.then
            try:
                self._say(request, said)
            except OSError:
                model.broken += 1
                self.close_connection = True

        def _say(self, request: RecordedRequest, said: Any) -> None:
            match said:
                case Fails():
                    self._send(said.status, json.dumps(_error(request, said)), retry_after=said.retry_after)
                case Garbles():
                    self._send(200, said.body)
                case Cuts():
                    whole = json.dumps(_answer(request, {}, model.tokens))
                    self._send(200, whole[: len(whole) // 2], length=len(whole))
                    self.close_connection = True
                case Drips():
                    self._send(200, " ", length=1_000_000)
                    for _ in range(round(LONGEST_WAIT / 0.02)):
                        if said.release.wait(0.02):
                            break
                        self.wfile.write(b" ")
                    self.close_connection = True
                case _:
                    self._send(200, json.dumps(_answer(request, said, model.tokens)))

        def _send(self, status: int, text: str, *, length: int | None = None, retry_after: int | None = None) -> None:
            sent = text.encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(length or len(sent)))
            if retry_after is not None:
                self.send_header("retry-after", str(retry_after))
            self.end_headers()
            self.wfile.write(sent)

    return Handler


def _error(request: RecordedRequest, said: Fails) -> dict[str, Any]:
    if request.protocol == "anthropic":
        kinds = {
            401: "authentication_error",
            403: "permission_error",
            404: "not_found_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        kind = kinds.get(said.status, "api_error" if said.status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": said.message}}
    return {"error": {"message": said.message, "type": "error", "code": None, "param": None}}


def _answer(request: RecordedRequest, said: Any, tokens: tuple[int, int]) -> dict[str, Any]:
    return (_anthropic if request.protocol == "anthropic" else _openai)(request, said, *tokens)


def _anthropic(request: RecordedRequest, said: Any, came: int, went: int) -> dict[str, Any]:
    match said:
        case Refuses():
            content, stop = [{"type": "text", "text": said.why}], "refusal"
        case Says() if not said.called:
            content, stop = [{"type": "text", "text": said.text}], "max_tokens" if said.cut else "end_turn"
        case Says():  # arguments are always JSON in this protocol
            content, stop = [_use(request, {"said": said.text})], "max_tokens" if said.cut else "tool_use"
        case _:
            content, stop = [_use(request, said)], "tool_use"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": came, "output_tokens": went},
    }


def _use(request: RecordedRequest, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": request.tool, "input": given}


def _openai(request: RecordedRequest, said: Any, came: int, went: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    finish = "stop"
    match said:
        case Refuses():
            message["refusal"] = said.why
        case Says() if not said.called:
            message["content"] = said.text
            finish = "length" if said.cut else finish
        case _:
            given = said.text if isinstance(said, Says) else json.dumps(said)
            call = {"id": "call_1", "type": "function", "function": {"name": request.tool, "arguments": given}}
            message["tool_calls"], finish = [call], "length" if isinstance(said, Says) and said.cut else "tool_calls"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": came, "completion_tokens": went, "total_tokens": came + went},
    }
