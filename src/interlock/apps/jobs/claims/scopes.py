"""What an agent's token needs to claim jobs."""

from interlock.machine import Scope

CLAIMS = Scope("claims", "add jobs, claim one and report on it")
