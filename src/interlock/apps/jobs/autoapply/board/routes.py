"""Every endpoint that shares the router of what comes after applying."""

from interlock.apps.jobs.autoapply.board import api as board
from interlock.apps.jobs.autoapply.board.access import router
from interlock.apps.jobs.autoapply.exchange import api as exchange

__all__ = ["board", "exchange", "router"]
