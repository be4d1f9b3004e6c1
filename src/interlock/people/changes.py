"""The notification that tells other processes about changed permissions."""

from __future__ import annotations

CHANGED = "*people"
"""The hint sent when people, roles, tokens or sessions change. No queue has this name.

Hints only speed things up: callers are re-checked every two seconds in any case.
"""
