"""Changes: how other processes hear that somebody may have lost a right."""

from __future__ import annotations

CHANGED = "*people"
"""Hinted beside the queues when people, roles, tokens or sessions changed; no queue has this name.

A hint only makes it quick: a caller is asked about anew every two seconds, whatever comes.
"""
