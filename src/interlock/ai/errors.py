"""Errors of model calls, as types, so that failure rules can distinguish them."""

from __future__ import annotations

from interlock.machine import WorkError


class ModelError(WorkError):
    """A model gave no usable answer; the subclass says why."""


class ModelTimeout(ModelError):
    """No answer arrived in time. The call may have been charged."""


class ModelQuota(ModelError):
    """The provider asks for fewer requests or more credit; `retry_after` is the requested wait."""


class BudgetSpent(ModelQuota):
    """The user's daily budget is spent, so nothing was sent; `until` is the start of the next day."""


class TotalBudgetSpent(BudgetSpent):
    """The budget of the application or of the installation is spent; `until` is the start of its next period."""


class ModelRefused(ModelError):
    """The provider or the model refuses; repeating the call does not help."""


class InputTooBig(ModelRefused):
    """The input has more characters than may be sent."""


class NoModel(ModelRefused):
    """No model is configured, and the task has no rules."""


class PriceUnknown(ModelRefused):
    """The model's price is unknown, so a budget in dollars cannot be enforced."""


class ModelMalformed(ModelError):
    """The answer did not match the type, nor did the second one after the error was reported to the model."""


class ModelUnavailable(ModelError):
    """The provider cannot be reached or cannot answer now."""
