"""Errors in verticals, calibration tables and labels."""

from __future__ import annotations

from interlock.machine import InterlockError


class BadVertical(InterlockError):
    """A vertical's file cannot be used; the message names the file, the key and the remedy."""


class BadCalibration(InterlockError):
    """A calibration table cannot be used; the message says why."""


class BadLabels(InterlockError):
    """The labels of an evaluation cannot be read; the message names the file and the column."""
