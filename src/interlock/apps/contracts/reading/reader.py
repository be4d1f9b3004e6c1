"""Reading in a process of its own, for files from strangers: a crash, a hang or a memory bomb ends only that process.

The process stays for the next file, so that a file costs no start of an interpreter. One file at a time goes through
it, which PDFium needs anyway. It reports each page; when none comes for the time that the limits give, it is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from interlock.apps.contracts.reading import file, images
from interlock.apps.contracts.reading.document import Box, Document, Page, Span
from interlock.apps.contracts.reading.errors import ParseTimeout, ReaderDied, ReaderStopped
from interlock.apps.contracts.reading.limits import DEFAULT, Limits
from interlock.apps.contracts.reading.pdf import Progress

FILES_A_PROCESS = 500
"""After so many it is replaced, whatever a library may have kept."""
_CONTEXT = multiprocessing.get_context("spawn")
_START_SECONDS = 60.0
LOOK_EVERY = 0.1
"""Seconds between two looks whether it shall stop."""


class Reader:
    """`read`, `render`, `boxes_of`, `visible`, `span_at` in a child with `memory_mb` of its own. Safe for threads."""

    def __init__(self, limits: Limits = DEFAULT, memory_mb: int = 2048) -> None:
        self._limits, self._memory_mb = limits, memory_mb
        self._lock = threading.Lock()
        self._child: Any = None
        self._pipe: Connection | None = None
        self._files = 0
        self.stop: threading.Event | None = None
        """Whoever has the reader alone may end what it does: the process is killed when this is set."""

    def read(self, data: bytes, filename: str = "", progress: Progress | None = None) -> Document:
        """The document in these bytes; `progress` hears of each page, as (page, of how many)."""
        found: Document = self._ask("read", (data, filename, self._limits), progress)
        return found

    def render(self, pdf: bytes, page: int, scale: float = 2.0) -> bytes:
        """A page as a PNG."""
        found: bytes = self._ask("render", (pdf, page, scale, self._limits))
        return found

    def boxes_of(self, document: Document, spans: Sequence[Span], data: bytes) -> list[list[Box]]:
        """For each span its boxes, one a line."""
        part = _only(document, {span.page for span in spans})
        found: list[list[Box]] = self._ask("boxes_of", (part, list(spans), data))
        return found

    def visible(self, document: Document, spans: Sequence[Span], data: bytes) -> list[bool]:
        """For each span whether all of its words can be seen on the page."""
        part = _only(document, {span.page for span in spans})
        found: list[bool] = self._ask(
            "visible",
            (part, list(spans), data, self._limits),
            seconds=min(self._limits.look_seconds, self._limits.seconds),
        )
        return found

    def span_at(self, document: Document, page: int, box: Box, data: bytes) -> Span | None:
        """The text under a rectangle on the page."""
        found: Span | None = self._ask("span_at", (_only(document, {page}), page, box, data))
        return found

    def close(self) -> None:
        """End the process; the next call starts another."""
        with self._lock:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self, name: str, arguments: tuple[Any, ...], progress: Progress | None = None, *, seconds: float | None = None
    ) -> Any:
        with self._lock:
            if self._files >= FILES_A_PROCESS or (self._child is not None and not self._child.is_alive()):
                self._end()
            pipe = self._pipe or self._start()
            self._files += 1
            try:
                pipe.send((name, arguments))
                while True:
                    self._wait(pipe, name, seconds or max(self._limits.seconds, self._limits.ocr_seconds_a_page))
                    kind, value = pipe.recv()
                    if kind == "page":
                        if progress is not None:
                            progress(*value)
                        continue
                    break
            except (EOFError, OSError) as error:
                self._child.join()
                code = self._child.exitcode
                self._end()
                raise ReaderDied(
                    f"the process that reads files ended with code {code}; its memory limit is {self._memory_mb} MB"
                ) from error
            except BaseException:  # what the pipe still brings would be taken for the next answer
                self._end()
                raise
        if kind == "error":
            raise value
        return value

    def _wait(self, pipe: Connection, name: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not pipe.poll(min(LOOK_EVERY, max(0.0, end - time.monotonic()))):
            if self.stop is not None and self.stop.is_set():
                raise ReaderStopped(f"{name} was ended, because nobody waits for it any more")
            if time.monotonic() >= end:
                raise ParseTimeout(f"{name} gave no sign for {seconds:g} s and was ended")

    def _start(self) -> Connection:
        ours, theirs = _CONTEXT.Pipe()
        child = _CONTEXT.Process(target=_serve, args=(theirs, self._memory_mb), daemon=True)
        try:
            child.start()
        except OSError as error:  # no memory or no process left; the next call tries again
            ours.close()
            raise ReaderDied(f"the process that reads files could not start ({error})") from error
        finally:
            theirs.close()
        self._child = child
        self._pipe, self._files = ours, 0
        try:
            self._wait(ours, "the process that reads files", _START_SECONDS)
            ours.recv()
        except EOFError as error:
            self._end()
            raise ReaderDied("the process that reads files could not start") from error
        except BaseException:
            self._end()
            raise
        return ours

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._child.close()
        self._child = self._pipe = None


def _only(document: Document, numbers: set[int]) -> Document:
    """The document with the text of these pages alone: the others need not travel."""
    pages = tuple(page if page.number in numbers else Page(page.number, "") for page in document.pages)
    return Document(document.media_type, pages)


def _serve(pipe: Connection, memory_mb: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends this one
    threading.Thread(target=_end_with_parent, name="interlock-parent", daemon=True).start()
    _bound_memory(memory_mb)
    pipe.send(("ready", None))

    def read(data: bytes, filename: str, limits: Limits) -> Document:
        return file.read(data, filename, limits, progress=lambda page, of: pipe.send(("page", (page, of))))

    offered: dict[str, Callable[..., Any]] = {
        "read": read,
        "render": images.render,
        "boxes_of": file.boxes_of,
        "span_at": file.span_at,
        "visible": file.visible,
    }
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("answer", offered[name](*arguments))
        except MemoryError:
            answer = ("error", ReaderDied(f"{name} needed more than its {memory_mb} MB of memory"))
        except Exception as error:
            answer = ("error", error)
        del arguments
        try:
            pipe.send(answer)
        except (TypeError, AttributeError) as error:  # an error that cannot travel
            pipe.send(("error", ReaderDied(f"{name} failed: {answer[1]!r} ({error})")))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bound_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # no such limit on Windows
        return
    taken = Path("/proc/self/statm")
    pages = int(taken.read_text().split()[0]) if taken.exists() else 0
    bound = pages * resource.getpagesize() + megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
