"""A fake of the Messages API on loopback: a test says what the model answers, and sees what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Answer = Callable[[list[dict[str, Any]]], list[Block]]
"""From the messages of a request to the content of the answer. Raises Refuse for an error."""


class Refuse(Exception):
    """The API answers with an error."""

    def __init__(self, status: int, kind: str) -> None:
        super().__init__(kind)
        self.status, self.kind = status, kind


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def use(tool: str, given: Mapping[str, Any], number: int = 1) -> Block:
    return {"type": "tool_use", "id": f"toolu_{number:02}", "name": tool, "input": dict(given)}


def tool_results(messages: list[dict[str, Any]]) -> list[str]:
    """What tools have answered so far."""
    every = [message.get("content") for message in messages]
    blocks = [block for content in every if isinstance(content, list) for block in content]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


@dataclass
class FakeApi:
    """What was asked, and what is answered."""

    answer: Answer = lambda messages: [text("All done.")]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    waits: threading.Event = field(default_factory=threading.Event)
    """While set, answers wait; it is for a run that is to be ended in the middle."""
    released: threading.Event = field(default_factory=threading.Event)

    def events(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        usage = {"input_tokens": 100, **cached, "output_tokens": 1}
        blocks = self.answer(body["messages"])
        stop = "tool_use" if any(one["type"] == "tool_use" for one in blocks) else "end_turn"
        message = {
            "id": f"msg_{len(self.asked):04}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield {"type": "message_start", "message": message}
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                begin: Block = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                begin = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {**usage, "output_tokens": 20}}
        yield {"type": "message_stop"}


@contextmanager
def messages_api() -> Iterator[FakeApi]:
    fake = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "count_tokens" in self.path:
                self._send(200, json.dumps({"input_tokens": 100}).encode())
                return
            fake.asked.append(body)
            try:
                events = list(fake.events(body))
            except Refuse as refused:
                error = {"type": "error", "error": {"type": refused.kind, "message": refused.kind}}
                self._send(refused.status, json.dumps(error).encode())
                return
            if fake.waits.is_set():
                fake.released.wait(60)
            spelled = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
            self._send(200, spelled.encode(), "text/event-stream")

        def do_GET(self) -> None:
            self._send(404, b"{}")

        do_HEAD = do_GET

        def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                return  # the agent was ended

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        fake.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
