"""What an agent's token needs to claim jobs."""

from interlock.machine import Scope

CLAIMS = Scope("claims", "bring jobs, claim one and say how it went")
