"""Every endpoint that shares the router of what comes after applying."""

from interlock.apps.jobs.autoapply.board import api as board
from interlock.apps.jobs.autoapply.board.access import router
from interlock.apps.jobs.autoapply.exchange import api as exchange
from interlock.apps.jobs.autoapply.mail import api as mail

__all__ = ["board", "exchange", "mail", "router"]
