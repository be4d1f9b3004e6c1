"""What can go wrong with a model, as types, so that failure rules tell them apart."""

from __future__ import annotations

from interlock.machine import WorkError


class ModelError(WorkError):
    """A model did not give a usable answer; the subclass says why."""


class ModelTimeout(ModelError):
    """No answer came in time. It may have been paid for."""


class ModelQuota(ModelError):
    """The provider wants fewer requests, or more money; `retry_after` is how long it asked to wait."""


class BudgetSpent(ModelQuota):
    """The user's budget of the day is spent, so nothing was asked; `until` is when the next day begins."""


class ModelRefused(ModelError):
    """The provider or the model will not answer this; asking again changes nothing."""


class InputTooBig(ModelRefused):
    """The input has more characters than may be sent."""


class NoModel(ModelRefused):
    """No model is configured, and the task has no rules."""


class PriceUnknown(ModelRefused):
    """Nobody knows what the model costs, so a budget in dollars cannot be kept."""


class ModelMalformed(ModelError):
    """The answer did not fit the type, nor did the one after the model was told what was wrong."""


class ModelUnavailable(ModelError):
    """The provider cannot be reached, or cannot answer now."""
