"""What plays a system: the addresses of its boards and postings, and its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from interlock.apps.jobs.world.exchange import Call, Reply
from interlock.apps.jobs.world.opening import Board, Opening

Match = Callable[[Board, str], Opening | None]
"""The opening of a board that has an id."""


@dataclass(frozen=True, slots=True)
class Boards:
    """The boards of a system: `boards(name)` is the one of a name."""

    named: Callable[[str], Board | None]
    every: Iterable[Board]

    def __call__(self, name: str) -> Board | None:
        return self.named(name)

    def opening(self, match: Match, given: str) -> tuple[Board, Opening] | None:
        """The opening of an id that names no board, and a board that shows it."""
        return next(((board, one) for board in self.every if (one := match(board, given))), None)


class System(ABC):
    """One applicant tracking system, played below `/SYSTEM-host/`."""

    kind: ClassVar[str]
    own_hosts: ClassVar[bool] = False
    """Whether each board has a host of its own. Its name is then the first part of the path."""

    def origin(self, base: str, board: Board) -> str:
        where = f"{base}/{self.kind}-host"
        return f"{where}/{board.name}" if self.own_hosts else where

    @abstractmethod
    def home(self, base: str, board: Board) -> str:
        """The address of a board that a careers page links to."""

    @abstractmethod
    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        """The public address of a posting."""

    @abstractmethod
    def answer(self, call: Call, boards: Boards) -> Reply | None:
        """The answer of the API or the boards' pages; None where there is nothing."""
