"""What a user of the library needs to test machines: a virtual clock, trials, random walks, and the laws as checks.

with Trial([order]) as trial:
    it = trial.create("order", {"item": "tea"})
    trial.run_until_idle()
    trial.advance(hours=24)
    assert trial.state(it) == "shipped"

assert random_walk(order, seed=1).problems == []
"""

from interlock.testing.clock import START, VirtualClock
from interlock.testing.laws import broken_laws
from interlock.testing.trial import NeverIdle, Trial
from interlock.testing.walk import Mishap, Walk, random_walk

__all__ = ["START", "Mishap", "NeverIdle", "Trial", "VirtualClock", "Walk", "broken_laws", "random_walk"]
