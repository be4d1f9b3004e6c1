"""Contract processing: a PDF becomes checked fields and a comparison, with a person where the machine is unsure.

Only workers run a step. The step endpoints arm a step that is held and wait for its answer; a call while it runs
attaches to it, and a disconnect cancels nothing.
"""

from interlock.apps.contracts.machine import contract
from interlock.machine import Registry

registry = Registry([contract])

__all__ = ["contract", "registry"]
